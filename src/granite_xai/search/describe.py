"""A tree that puts clusters into rules."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.vectors import Vectors
from granite_xai.regions.nodes import find_leaves
from granite_xai.regions.partition import Partition
from granite_xai.search.problem import PartitionResult, Problem, measured
from granite_xai.search.scatter import scattered

FLOOR = 1e-12
"""Gini's impurity below which a region counts as pure."""


def describe(problem: Problem, labels: IntArray) -> PartitionResult:
    """Regions that reproduce clusters as well as the tree of the estimator's options can.

    Splits lower Gini's impurity of the clusters; the price of a region is a share of the impurity of all rows. The
    disagreement of the regions is that of the question.

    Parameters
    ----------
    problem : Problem
    labels : (n,) int
        Cluster of each row, from 0.

    Returns
    -------
    Found
        With ``clusters_`` (the labels) and ``description_accuracy_`` (share of the rows whose region belongs mostly
        to their own cluster).
    """
    indicators = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    pure, _ = scattered(problem, [Vectors(indicators)], FLOOR)
    node = problem.tree.grown(pure)
    leaves = find_leaves(node, problem.table, problem.table.names)
    learned = {
        "clusters_": labels,
        "description_accuracy_": accuracy(leaves, labels, problem.evaluations.weights),
    }
    return PartitionResult(Partition(measured(node, problem), problem.table.names), learned)


def accuracy(regions: IntArray, labels: IntArray, weights: FloatArray) -> float:
    """Weighted share of the rows that carry the most frequent label of their region.

    >>> accuracy(np.array([0, 0, 0, 1]), np.array([2, 2, 1, 1]), np.ones(4))
    0.75
    """
    table = np.zeros((int(regions.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (regions, labels), weights)
    return float(table.max(axis=1).sum() / weights.sum())

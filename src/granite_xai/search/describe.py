"""What partitioners that group rows share: a local explanation to group by, and a tree that puts groups into rules."""

from __future__ import annotations

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.catalog import explanations
from granite_xai.evaluations.vectors import Vectors
from granite_xai.explainer import Explainer
from granite_xai.regions.nodes import find_leaves
from granite_xai.search.problem import PartitionResult, Problem, measured
from granite_xai.search.scatter import scattered

FLOOR = 1e-12
"""Gini's impurity below which a region counts as pure."""


def describe(problem: Problem, labels: IntArray) -> PartitionResult:
    """Regions that reproduce clusters, given by the label of each row, as well as the estimator's tree can.

    Splits lower Gini's impurity of the clusters; the price of a region is a share of the impurity of all rows. The
    disagreement of the regions is that of the question. ``description_accuracy_`` is the share of the rows whose region
    belongs mostly to their own cluster.
    """
    indicators = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    pure, _ = scattered(problem, [Vectors(indicators)], FLOOR)
    node = problem.tree.grown(pure)
    leaves = find_leaves(node, problem.table, problem.table.names)
    attributes = {
        "clusters_": labels,
        "description_accuracy_": accuracy(leaves, labels, problem.evaluations.weights),
    }
    return PartitionResult(measured(node, problem), attributes)


def accuracy(regions: IntArray, labels: IntArray, weights: FloatArray) -> float:
    """Weighted share of the rows that carry the most frequent label of their region.

    >>> accuracy(np.array([0, 0, 0, 1]), np.array([2, 2, 1, 1]), np.ones(4))
    0.75
    """
    table = np.zeros((int(regions.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (regions, labels), weights)
    return float(table.max(axis=1).sum() / weights.sum())


def local_explainer(choice: str | Explainer, argument: str) -> Explainer:
    """An explanation with one value a row."""
    explainer = choose(argument, choice, explanations())
    if not explainer.behavior.per_row:
        words = f"{argument} has {explainer.behavior.key} behavior: one value for all rows cannot tell rows apart."
        hint = 'Choose an explanation with local behavior, such as "shap".'
        raise InputError(words, code="P03", argument=argument, hint=hint)
    return explainer

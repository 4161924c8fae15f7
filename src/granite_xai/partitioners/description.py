"""Groups of rows put into rules: a tree that tells the groups apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.vectors import Vectors
from granite_xai.explanation.catalog import explanations
from granite_xai.explanation.explainer import Explainer
from granite_xai.partitioners.scatter import ZERO_SCATTER, pose_scatter
from granite_xai.regions import find_leaves
from granite_xai.search.given_rules import measured
from granite_xai.search.partitioner import PartitionResult
from granite_xai.search.problem import Problem


def describe_groups(problem: Problem, labels: IntArray) -> PartitionResult:
    """Find regions that reproduce groups as well as a greedy tree can, by Gini's impurity.

    Parameters
    ----------
    problem : Problem
    labels : array of shape (n,)
        Group of each row, numbered from 0.

    Returns
    -------
    PartitionResult
        With ``description_accuracy_`` and ``clusters_``.
    """
    table = problem.table
    n_groups = int(labels.max()) + 1
    indicators = (labels[:, None] == np.arange(n_groups)).astype(np.float64)  # (n, n_groups)
    posed = pose_scatter(problem, [Vectors(indicators)], ZERO_SCATTER).problem
    root = replace(problem.tree, search="greedy").grown(posed)
    regions = find_leaves(root, table, table.names)
    accuracy = description_accuracy(regions, labels, problem.evaluations.weights)
    return PartitionResult(
        partition=measured(root, problem),
        extra_attributes={"description_accuracy_": accuracy},
        row_attributes={"clusters_": labels},
    )


def one_group(problem: Problem) -> IntArray:
    """The labels of rows that are not told apart."""
    return np.zeros(problem.table.n_rows, dtype=np.intp)


def description_accuracy(regions: IntArray, labels: IntArray, weights: FloatArray) -> float:
    """Weighted share of the rows that carry the most frequent label of their region.

    Parameters
    ----------
    regions, labels, weights : arrays of shape (n,)
    """
    mass = np.zeros((int(regions.max()) + 1, int(labels.max()) + 1))  # (regions, labels)
    np.add.at(mass, (regions, labels), weights)
    return float(mass.max(axis=1).sum() / weights.sum())


def local_explainer(choice: str | Explainer, argument: str) -> Explainer:
    """An explanation with one value a row; another one is an error.

    Parameters
    ----------
    choice : name of ``gx.explanations()``, or Explainer
    argument : str
        The option that it was passed as, for the error.
    """
    explainer = choose(argument, choice, explanations())
    if not explainer.behavior.per_row:
        raise InputError(
            f"{argument} has {explainer.behavior.key} behavior: one value for all rows cannot tell "
            "rows apart.",
            code="P03",
            argument=argument,
            hint='Choose an explanation with local behavior, such as "shap".',
        )
    return explainer

"""What partitioners that group rows share: a local explanation to group by, and a tree that puts groups into rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.catalog import explanations
from granite_xai.evaluations.steps import Vectors
from granite_xai.explainer import Explainer
from granite_xai.regions.nodes import find_leaves
from granite_xai.search.problem import PartitionResult, Problem, measured
from granite_xai.search.scatter import scattered

FLOOR = 1e-12
"""Gini's impurity below which a region counts as pure."""


def describe(problem: Problem, grouped: Callable[[], IntArray]) -> PartitionResult:
    """Regions that reproduce clusters, found as the label of each row, as well as the estimator's tree can.

    Splits lower Gini's impurity of the clusters; the price of a region is a share of the impurity of all rows. The
    disagreement of the regions is that of the question. ``description_accuracy_`` is the share of the rows whose region
    belongs mostly to their own cluster. Where the question has nothing to explain all rows are one cluster.
    """
    labels = np.zeros(problem.table.n_rows, dtype=np.intp) if problem.below_noise_floor else grouped()
    indicators = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    pure, _ = scattered(problem, [Vectors(indicators)], FLOOR)
    node = problem.tree.grown(pure)
    leaves = find_leaves(node, problem.table, problem.table.names)
    right = accuracy(leaves, labels, problem.evaluations.weights)
    return PartitionResult(measured(node, problem), {"clusters_": labels, "description_accuracy_": right})


def accuracy(regions: IntArray, labels: IntArray, weights: FloatArray) -> float:
    """Weighted share of the rows that carry the most frequent label of their region."""
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

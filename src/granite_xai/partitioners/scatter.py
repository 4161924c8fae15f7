"""Scatter: how far the rows of a region are apart, whatever vectors describe them.

    R(region) = mean over its rows of the squared distance between a row's vector and the region's mean vector

With ICE curves on a grid this is the loss of REPID and GADGET, with indicators of a cluster it is Gini's impurity, with
one number a row CART's variance: one search serves them all. A tree that lowers Gini's impurity puts groups into rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.validation import choose
from granite_xai.disagreement.objective import Measure, ScaledObjective
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.vectors import Vectors, centred
from granite_xai.explanation.catalog import explanations
from granite_xai.explanation.explainer import Explainer
from granite_xai.regions.nodes import find_leaves
from granite_xai.search.problem import PartitionResult, Problem, measured

FLOOR = 1e-12  # scatter of indicators below which a region counts as pure


@dataclass(frozen=True, slots=True)
class Scatter:
    """Mean squared distance of the rows' vectors to their mean, summed over all vectors of the evaluations."""

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        return 8 * n_rows * 4

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """Scatter of both sides of every split, shape (K, 2)."""
        return sum(
            (_scatter(vectors, splits) for vectors in evaluations.vectors),
            np.zeros_like(splits.mass),
        )


def _scatter(vectors: Vectors, splits: Splits) -> FloatArray:
    found = np.stack(
        [_side(vectors.values, splits.left), _side(vectors.values, splits.right)], axis=1
    )
    if vectors.column is None:
        return found
    for k in np.flatnonzero(
        splits.columns == vectors.column
    ):  # here the cut also shortens the curves
        if (entries := vectors.inner_entries(splits.inside[k], vectors.column)) is not None:
            sides = ((splits.left[k], entries), (splits.right[k], ~entries))
            found[k] = [
                _side(centred(vectors.values[:, kept]), weights[None])[0] for weights, kept in sides
            ]
    return found


def _side(values: FloatArray, members: FloatArray) -> FloatArray:
    """Scatter of each region, given by the (K, n) weights of its rows."""
    mass = members.sum(axis=1)
    divisor = np.where(mass > 0, mass, 1.0)
    # Centred by the common mean first: what all rows share must not swamp what sets them apart.
    apart = values - members.sum(axis=0) @ values / max(float(mass.sum()), 1e-300)
    means, squares = (
        (members @ apart) / divisor[:, None],
        (members @ np.square(apart).sum(axis=1)) / divisor,
    )
    return np.asarray(np.maximum(squares - np.square(means).sum(axis=1), 0.0))


def rescaled(
    problem: Problem, measure: Measure, evaluations: Evaluations, floor: float
) -> tuple[Problem, float]:
    """The same problem with another end, in shares of its own value on all rows, and that value."""
    root = float(measure.regional(evaluations, Splits.whole(evaluations.weights))[0, 0])
    factor = np.array([1.0 / root if root > floor else 0.0])
    shares = ScaledObjective((measure,), factor, np.array([floor]), problem.shares.total)
    return replace(
        problem, evaluations=evaluations, shares=shares, roots=np.array([root]), chance=None
    ), root


def scattered(
    problem: Problem, vectors: Sequence[Vectors], floor: float = 0.0
) -> tuple[Problem, float]:
    """The problem of making vectors alike in each region, and their scatter on all rows."""
    return rescaled(problem, Scatter(), replace(problem.evaluations, vectors=tuple(vectors)), floor)


def describe(problem: Problem, grouped: Callable[[], IntArray]) -> PartitionResult:
    """Regions that reproduce clusters (the label of each row) as well as the tree can, by Gini's impurity."""
    labels = (
        np.zeros(problem.table.n_rows, dtype=np.intp) if problem.below_noise_floor else grouped()
    )
    indicators = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    node = replace(problem.tree, search="greedy").grown(
        scattered(problem, [Vectors(indicators)], FLOOR)[0]
    )
    right = accuracy(
        find_leaves(node, problem.table, problem.table.names), labels, problem.evaluations.weights
    )
    return PartitionResult(
        measured(node, problem),
        extra_attributes={"description_accuracy_": right},
        row_attributes={"clusters_": labels},
    )


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

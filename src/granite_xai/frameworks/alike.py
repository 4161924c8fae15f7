"""Regions in which the rows are alike, whatever vectors describe them; and how a framework becomes a `Granite`.

    R(region) = mean over its rows of the squared distance between a row's vector and the region's mean vector

With ICE curves on a grid this is the loss of REPID and GADGET, with indicators of a cluster it is Gini's
impurity, with one number a row CART's variance: the tree of the options grows on it in place of the question.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.catalog import explanations
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.algebra.objective import Measure, ScaledObjective
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.engine.splits import Splits
from granite_xai.estimator import Granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.vectors import Vectors, centred
from granite_xai.regions import Node, find_leaves
from granite_xai.search.problem import PartitionResult, Problem, measured

ZERO_SCATTER = 1e-12
"""Scatter of indicators below which a region counts as pure."""

BYTES_OF_NUMBER = 8  # double precision

ARRAYS_ALIVE = 4
"""Arrays of one number a row and split that exist at once while splits are scored."""


def configured(
    model: Any,
    question: Any,
    settings: dict[str, Any],
    options: dict[str, Any],
    feature: Hashable | None = None,
) -> Granite:
    """A `Granite` of a framework.

    Parameters
    ----------
    model : model
    question : as in `Granite`
        Unless the options have another one.
    settings : dict
        Options of `Granite` that make the framework.
    options : dict
        Those of the user, which go before.
    feature : label, optional
        The one feature that the framework is about.
    """
    choices = {"question": question, "search": "greedy", **settings, **options}
    if feature is not None:
        choices.setdefault("features", [feature])
        posed = choices["question"]  # of a name `Granite` itself asks about these features
        if isinstance(posed, Disagreement) and posed.first.influence == Individual():
            choices["question"] = posed.with_influence(Individual([feature]))
    return Granite(model, **choices)


def original_settings(points: int | None = None) -> dict[str, Any]:
    """What the originals do: all rows are used, and nothing is corrected for sampling noise.

    Parameters
    ----------
    points : int, optional
        Values of a feature at which effects are read; None: all of them.
    """
    return {"confidence_level": None, "resources": Resources(max_grid=points)}


class GrownTree(NamedTuple):
    """A tree that makes rows alike."""

    root: Node  # with shares of the measure on all rows
    of_all_rows: float  # the measure there


def grow(
    problem: Problem,
    measure: Measure,
    floor: float,
    vectors: Sequence[Vectors],
    **tree_options: Any,
) -> GrownTree:
    """Grow the tree of the options greedily, on another measure than the question's disagreement.

    Parameters
    ----------
    problem : Problem
    measure : Measure
        What shall become small, such as `Scatter`.
    floor : float
        Value up to which the measure on all rows counts as nothing.
    vectors : sequence of Vectors
        What the measure reads of each row, besides the evaluations.
    **tree_options
        Of `Tree`, where they are not those of the fit.
    """
    evaluations = problem.evaluations
    if vectors:
        evaluations = replace(evaluations, vectors=tuple(vectors))
    whole = Splits.whole(evaluations.weights)
    of_all_rows = float(measure.regional(evaluations, whole)[0, 0])
    factor = 1.0 / of_all_rows if of_all_rows > floor else 0.0
    shares = ScaledObjective(
        comparisons=(measure,),
        factors=np.array([factor]),
        floors=np.array([floor]),
        total=problem.shares.total,
    )
    posed = replace(
        problem,
        evaluations=evaluations,
        shares=shares,
        roots=np.array([of_all_rows]),
        chance=None,
    )
    tree = replace(problem.tree, search="greedy", **tree_options)
    return GrownTree(root=tree.grown(posed), of_all_rows=of_all_rows)


@dataclass(frozen=True, slots=True)
class Scatter:
    """Mean squared distance of the rows' vectors to their mean, summed over all vectors: a `Measure`."""

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        return BYTES_OF_NUMBER * n_rows * ARRAYS_ALIVE

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """Scatter of both sides of every split, (K, 2); ``jobs`` is not used: the sums are products of matrices."""
        total = np.zeros_like(splits.mass)
        for vectors in evaluations.vectors:
            left = _scatter_of_regions(vectors.values, splits.left_weights)
            right = _scatter_of_regions(vectors.values, splits.right_weights)
            scatter = np.stack([left, right], axis=1)
            if vectors.column is not None:
                _shorten_curves(scatter, vectors, vectors.column, splits)
            total = total + scatter
        return total


def _shorten_curves(scatter: FloatArray, vectors: Vectors, column: int, splits: Splits) -> None:
    """Score cuts along the column of a curve anew, in place: they shorten the curve as well."""
    for split in np.flatnonzero(splits.columns == column):
        entries = vectors.left_entries(splits.inside[split], column)
        if entries is not None:
            left_curves = centred(vectors.values[:, entries])
            right_curves = centred(vectors.values[:, ~entries])
            scatter[split, 0] = _scatter_of_regions(left_curves, splits.left_weights[[split]])[0]
            scatter[split, 1] = _scatter_of_regions(right_curves, splits.right_weights[[split]])[0]


def _scatter_of_regions(values: FloatArray, members: FloatArray) -> FloatArray:
    """Scatter of vectors in each of some regions, (K,).

    Parameters
    ----------
    values : array of shape (n, n_entries)
    members : array of shape (K, n)
        Weight of each row in each region; 0 outside.
    """
    mass = members.sum(axis=1)  # (K,)
    divisor = np.where(mass > 0, mass, 1.0)
    # Centred by the common mean first: what all rows share must not swamp what sets them apart.
    total_mass = float(mass.sum()) or 1.0
    deviations = values - members.sum(axis=0) @ values / total_mass
    means = (members @ deviations) / divisor[:, None]  # (K, n_entries)
    mean_squares = (members @ np.square(deviations).sum(axis=1)) / divisor
    return np.asarray(np.maximum(mean_squares - np.square(means).sum(axis=1), 0.0))


def put_into_rules(problem: Problem, labels: IntArray) -> PartitionResult:
    """Find regions that reproduce groups of rows as well as a greedy tree can, by Gini's impurity.

    Parameters
    ----------
    problem : Problem
    labels : array of shape (n,)
        Group of each row, numbered from 0.

    Returns
    -------
    PartitionResult
        With ``clusters_`` and ``description_accuracy_``: the weighted share of the rows that carry the most
        frequent label of their region.
    """
    table = problem.table
    indicators = (labels[:, None] == np.arange(int(labels.max()) + 1)).astype(np.float64)
    root = grow(problem, Scatter(), ZERO_SCATTER, [Vectors(indicators)]).root
    regions = find_leaves(root, table, table.names)
    weights = problem.evaluations.weights
    mass = np.zeros((int(regions.max()) + 1, indicators.shape[1]))  # (regions, labels)
    np.add.at(mass, (regions, labels), weights)
    return PartitionResult(
        partition=measured(root, problem),
        extra_attributes={
            "description_accuracy_": float(mass.max(axis=1).sum() / weights.sum()),
        },
        row_attributes={"clusters_": labels},
    )


def one_group(problem: Problem) -> PartitionResult:
    """Rows that are not told apart: one region, one cluster."""
    return put_into_rules(problem, np.zeros(problem.table.n_rows, dtype=np.intp))


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

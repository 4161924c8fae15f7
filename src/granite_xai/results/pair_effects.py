"""What the joint effects of pairs of features add to the curves of the regions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.request import request_matrices
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.memory import fits_memory
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import MAX_ROWS
from granite_xai.results.fit_values import FitValues
from granite_xai.surrogate.additive import (
    additive_predictions,
    centred_predictions,
    fit_surrogate,
    in_unit_interval,
)
from granite_xai.surrogate.grids import dependence_bins

N_PAIRS = 3
"""Pairs that are looked at."""

MOST_COLUMNS = 20
"""Columns among which they are searched."""

COST_BY_TREES = 4
"""Times the evaluations of the fit that pairs may take where the model's trees answer."""

WEAK = 1e-9
"""Share of the strongest interaction below which another is none."""

ROUNDING = 1e-20
"""Share of the variance of the predictions (a square) below which an interaction is rounding."""

TINY = 1e-300
"""Stands for the mass of an empty bin."""

Pair = tuple[Coalition, Coalition]


class PairEffects(NamedTuple):
    """What the strongest pairs add.

    Attributes
    ----------
    explained : float or None
        Share of the variance that curves and these pairs describe in the regions; None: there are no pairs, or they
        would cost too much.
    pairs : tuple of pairs
    needed : int
        Model rows that they would take; 0: they did not cost too much.
    spent : int
        Model rows of the fit, at all values of its columns.
    """

    explained: float | None
    pairs: tuple[Pair, ...]
    needed: int
    spent: int


def pair_effects(values: FitValues) -> PairEffects:
    """What the joint effects of the strongest pairs describe, on top of the regions' own curves.

    Parameters
    ----------
    values : FitValues
    """
    pairs = strongest_pairs(values)
    coalitions = {union(pair) for pair in pairs}
    needed = request_matrices(values.table, coalitions).n_model_rows
    spent = request_matrices(values.table, values.evaluations.matrices).n_model_rows
    limit = min(_affordable_rows(values, spent), values.resources.max_evaluations or MAX_ROWS)
    requested = request(values.table, [], coalitions)
    is_in_memory = fits_memory(requested, values.route, values.resources)
    if pairs and (needed > limit or not is_in_memory):
        return PairEffects(explained=None, pairs=(), needed=needed, spent=spent)
    if not pairs or values.evaluations.everything in coalitions:
        return PairEffects(explained=None, pairs=(), needed=0, spent=spent)
    weights = values.evaluations.weights
    joint, _ = evaluate(
        values.route,
        requested,
        FittedMaskings({}, {}, {}),
        resources=values.resources,
        weights=weights,
        y=None,
    )
    squared_error = 0.0
    for scope in values.regions:
        squared_error += _squared_error(values, scope.rows, joint, pairs)
    explained = 1.0 - squared_error / float(weights.sum()) / values.variance
    return PairEffects(explained=explained, pairs=tuple(pairs), needed=0, spent=spent)


def _affordable_rows(values: FitValues, spent: int) -> int:
    """Model rows that pairs may take: as many as the fit took, more where trees answer."""
    if values.by_trees:
        return COST_BY_TREES * spent
    return spent


def _squared_error(
    values: FitValues, rows: IntArray, joint: Evaluations, pairs: Sequence[Pair]
) -> float:
    """``sum of (F - G)²`` in one region, where G adds pairs to the curves.

    ``G = mean + sum of curves + sum over pairs of (joint effect - curve of first - curve of second)``, in a fit with a
    confidence level every summand less its own mean.

    F and G are counted from the offset of the evaluations, which are centred; the mean of the surrogate is not.

    Parameters
    ----------
    values : FitValues
    rows : array of int
        Of the region.
    joint : Evaluations
        Of all rows, with both columns of each pair visible.
    pairs : sequence of pairs
    """
    inside = joint.restrict(rows)
    shares = inside.weights / inside.weights.sum()
    players = tuple(dict.fromkeys(chain.from_iterable(pairs)))
    (surrogate,) = fit_surrogate(
        values.table, values.evaluations, players, 1, [rows], centred=False
    ).regions
    effects: dict[Coalition, FloatArray] = {}  # of the rows, by player
    for curve in surrogate.curves:
        codes = curve.column.codes[rows]
        effects[frozenset({curve.column.position})] = curve.effects[codes + 1]
    layout = values.fitted.layout
    (described,) = additive_predictions(
        values.table, values.evaluations, layout.explained, 1, [rows]
    )
    for first, second in pairs:
        matrix = inside.matrix(first | second)
        mean_of_values = shares @ matrix.values.T
        joint_effect = mean_of_values[matrix.codes] + inside.offset - surrogate.mean
        described = described + joint_effect - effects[first] - effects[second]
    if values.fitted.confidence is not None:
        (described,) = centred_predictions(values.evaluations, [rows], [described])
    if values.fitted.predictor.is_probability:
        described = in_unit_interval(described, values.evaluations.offset)
    errors = values.evaluations.predictions[rows] - described
    return float(inside.weights @ np.square(errors))


def strongest_pairs(values: FitValues, n_pairs: int = N_PAIRS) -> list[Pair]:
    """The pairs of columns whose ICE curves depend on each other most, inside the regions.

    How much curves depend on another column is the variance of their means over its bins (tenths of a number). Of both
    directions the smaller one counts: a column that merely depends on one that interacts has flat curves.

    Parameters
    ----------
    values : FitValues
    n_pairs : int
        At most.
    """
    evaluated = values.evaluations.stored_as
    players = values.fitted.layout.explained
    columns = [player for player in players if len(player) == 1 and player in evaluated]
    if len(columns) < 2 or len(values.evaluations.everything) < 3:
        return []
    if len(columns) > MOST_COLUMNS:
        columns = _most_heterogeneous(values.evaluations, columns)
    strength = dict.fromkeys(combinations(columns, 2), 0.0)
    evaluations = _only(values.evaluations, columns)
    for scope in values.regions:
        inside = evaluations.restrict(scope.rows)
        mass = float(inside.weights.sum())
        bins = {}
        curves = {}
        for column in columns:
            bins[column] = dependence_bins(values.table.columns[min(column)].take(scope.rows))
            curves[column] = _centred_curves(inside, column)
        for first, second in strength:
            first_by_second = _variance_between_bins(curves[first], bins[second], inside.weights)
            second_by_first = _variance_between_bins(curves[second], bins[first], inside.weights)
            strength[first, second] += mass * min(first_by_second, second_by_first)
    ranked = sorted(strength, key=lambda pair: -strength[pair])
    rounding = ROUNDING * values.variance * float(evaluations.weights.sum())
    weakest = max(WEAK * max(strength.values()), rounding)
    return [pair for pair in ranked[:n_pairs] if strength[pair] > weakest]


def _most_heterogeneous(evaluations: Evaluations, columns: Sequence[Coalition]) -> list[Coalition]:
    """The columns whose curves differ most between rows, in the order of the table."""
    spread = {}
    for column in columns:
        spread[column] = float(_centred_curves(evaluations, column).var(axis=1).sum())
    ranked = sorted(columns, key=lambda column: -spread[column])
    return sorted(ranked[:MOST_COLUMNS], key=min)


def _only(evaluations: Evaluations, coalitions: Collection[Coalition]) -> Evaluations:
    """The evaluations of some coalitions: what is restricted to a region costs no more than what is read there."""
    stores = set()
    for columns in coalitions:
        if columns in evaluations.stored_as:
            stores.add(evaluations.stored_as[columns][0])
    matrices = {store: matrix for store, matrix in evaluations.matrices.items() if store in stores}
    return replace(
        evaluations,
        matrices=matrices,
        coordinates=None,
        vectors=(),
        snapped={},
        bins={},
        against={},
        ale={},
        errors={},
        attributions={},
    )


def _centred_curves(evaluations: Evaluations, player: Coalition) -> FloatArray:
    """ICE curves around their own mean, (values, rows), times the square root of how frequent a value is."""
    matrix = evaluations.matrix(player)
    mass = np.bincount(matrix.codes, weights=evaluations.weights, minlength=len(matrix.values))
    shares = mass / evaluations.weights.sum()
    occurs = shares > 0
    centred = (matrix.values - shares @ matrix.values)[occurs]
    return np.asarray(centred * np.sqrt(shares[occurs])[:, None])


def _variance_between_bins(curves: FloatArray, bins: IntArray, weights: FloatArray) -> float:
    """Variance of the mean curves of the bins of another column, summed over the values.

    Parameters
    ----------
    curves : array of shape (n_values, n_rows)
    bins, weights : arrays of shape (n_rows,)
    """
    is_member = bins == np.arange(bins.max() + 1)[:, None]
    members = np.where(is_member, weights, 0.0)  # (n_bins, n_rows)
    mass = members.sum(axis=1)
    means = curves @ members.T / np.maximum(mass, TINY)  # (n_values, n_bins)
    centre = curves @ weights / weights.sum()
    return float((np.square(means - centre[:, None]) @ mass).sum() / weights.sum())

"""Bands in which the ICE curves of a feature run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.evaluations.values import FineCurve
from granite_xai.results.values import Values
from granite_xai.tables import Column

LOW_QUANTILE = 0.1
HIGH_QUANTILE = 0.9
ROUNDING = 1e-12  # share of the largest prediction, or of a mass, that is rounding


class Band(NamedTuple):
    """The ICE curves of a column in one scope, at some places of an axis; arrays of shape (n_places,).

    Attributes
    ----------
    low, high : arrays
        Where eight of ten curves run, each moved so that its own mean is that of all of them.
    error : array
        Standard error of the mean curve, over clusters of rows.
    effect_error : array
        Standard error of the mean curve around its own mean.
    """

    low: FloatArray
    high: FloatArray
    error: FloatArray
    effect_error: FloatArray


class IceCurves(NamedTuple):
    """Predictions of all rows at some values of a column.

    Attributes
    ----------
    predictions : array of shape (n_values, n_rows)
    line_of_level : array of shape (1 + n_levels,)
        Which line of the predictions is that of a missing value, and of each level.
    """

    predictions: FloatArray
    line_of_level: IntArray


ReadCurves = Callable[[FloatArray, IntArray], FloatArray]
"""From (predictions, line_of_level) to the predictions at the places of an axis, (n_places, n_rows)."""


def ice_bands(values: Values, position: int, read_curves: ReadCurves) -> list[Band]:
    """The ICE curves of one column in every scope.

    Parameters
    ----------
    values : Values
    position : int
        Of the column.
    read_curves : callable
        Reads curves at the places of an axis.

    Returns
    -------
    list of Band
        One for each of the scopes of ``values``.
    """
    evaluations = values.evaluations
    column = values.table.columns[position]
    curves = _ice_curves(values, position)
    at_places = read_curves(curves.predictions, curves.line_of_level)
    rounding = ROUNDING * np.abs(evaluations.f).max()
    bands = []
    for scope in values.scopes:
        rows = scope.rows
        weights = evaluations.weights[rows]
        lines_of_rows = curves.line_of_level[column.codes[rows] + 1]
        mass = np.bincount(lines_of_rows, weights=weights, minlength=len(curves.predictions))
        mean_of_curve = mass / mass.sum() @ curves.predictions  # over the values of the scope
        means = mean_of_curve[rows]
        band = _band(at_places[:, rows], means, weights, values.rows.clusters[rows], rounding)
        offset = evaluations.offset
        bands.append(band._replace(low=band.low + offset, high=band.high + offset))
    return bands


def _ice_curves(values: Values, position: int) -> IceCurves:
    """The curves at the values that were evaluated, and at those between that pilot rows were asked at (C22)."""
    column = values.table.columns[position]
    matrix = _shown_matrix(values.evaluations, column)
    line_of_level = np.zeros(1 + len(column.levels), dtype=np.intp)
    line_of_level[column.codes + 1] = matrix.codes
    curves = IceCurves(matrix.values.T, line_of_level)
    cells = values.curve_maker.cells.get(position)
    if cells is None or not cells.curves or matrix.levels is None:
        return curves
    fine = cells.curves[values.curve_maker.output]
    return _with_pilot_values(column, curves, matrix.levels, fine)


def _shown_matrix(evaluations: Evaluations, column: Column) -> Matrix:
    """``E`` of a column, also where the evaluations hold that of the others, or none as it is the only one."""
    if evaluations.n_columns == 1:
        _, carriers, codes = np.unique(column.codes, return_index=True, return_inverse=True)
        return Matrix(np.tile(evaluations.f[carriers], (len(evaluations), 1)), codes.reshape(-1))
    matrix, is_shown = evaluations.reading(frozenset({column.position}))
    return matrix if is_shown else matrix.turned()


def _with_pilot_values(
    column: Column, curves: IceCurves, levels_of_lines: IntArray, fine: FineCurve
) -> IceCurves:
    """Curves of single rows at the values that pilot rows were asked at, too.

    All rows were asked at a few values, each of which stands for a cell of others; pilot rows at many. Between the
    few, a row's curve runs as those of the pilot rows let expect (`FineCurve`). A level lies at the nearest value of
    the pilot; a label that the pilot has not seen stays with the value that stands for it.

    Parameters
    ----------
    column : Column
    curves : IceCurves
        At the values that stand for cells.
    levels_of_lines : array of shape (n_lines,)
        Level of each of them.
    fine : FineCurve
    """
    standing_lines = np.searchsorted(levels_of_lines, fine.standing)
    at_pilot = fine.at_levels(curves.predictions[standing_lines])  # (n_pilot_values, n_rows)
    levels = np.arange(len(column.levels))
    above = np.clip(np.searchsorted(fine.levels, levels), 0, len(fine.levels) - 1)
    below = np.maximum(above - 1, 0)
    is_nearer_below = levels - fine.levels[below] < fine.levels[above] - levels
    nearest = np.where(is_nearer_below, below, above)
    is_covered = column.is_ordered | (fine.levels[nearest] == levels)
    line_of_level = curves.line_of_level.copy()
    line_of_level[1:][is_covered] = len(curves.predictions) + nearest[is_covered]
    return IceCurves(np.concatenate([curves.predictions, at_pilot]), line_of_level)


def _band(
    curves: FloatArray,
    means: FloatArray,
    weights: FloatArray,
    clusters: IntArray,
    rounding: float,
) -> Band:
    """The band of some curves.

    Parameters
    ----------
    curves : array of shape (n_places, n_rows)
    means, weights, clusters : arrays of shape (n_rows,)
        Mean of each row's curve over the values of the scope; weight and cluster of each row.
    rounding : float
        Size below which an effect is none.
    """
    mass = weights.sum()
    effects = curves - means
    effects[np.abs(effects) < rounding] = 0.0
    centre = float(means @ weights / mass)
    return Band(
        low=centre + _weighted_quantile(effects, weights, LOW_QUANTILE),
        high=centre + _weighted_quantile(effects, weights, HIGH_QUANTILE),
        error=_error_of_mean(curves, weights, clusters),
        effect_error=_error_of_mean(effects, weights, clusters),
    )


def _weighted_quantile(values: FloatArray, weights: FloatArray, share: float) -> FloatArray:
    """The smallest value of each line that at least a share of the weight does not exceed."""
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    mass_up_to = np.cumsum(weights[order], axis=1)
    needed = share * weights.sum() * (1 - ROUNDING)
    places = (mass_up_to < needed).sum(axis=1)
    return np.asarray(ranked[np.arange(len(ranked)), places])


def _error_of_mean(lines: FloatArray, weights: FloatArray, clusters: IntArray) -> FloatArray:
    """Standard error of the weighted mean of each line, over clusters of rows.

    ``sqrt of sum over clusters of (sum over its rows of p (y - mean))²``, with p the share of a row in the weight.
    Random signs of the clusters (`inference.noise`) estimate the same.
    """
    shares = weights / weights.sum()
    deviations = (lines - lines @ shares[:, None]) * shares
    numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    by_cluster = np.stack([np.bincount(numbers, weights=line) for line in deviations])
    return np.asarray(np.sqrt(np.square(by_cluster).sum(axis=1)))

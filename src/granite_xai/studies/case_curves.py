"""Average effects of a feature in one region by one case."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.results.values import Scope
from granite_xai.studies.case_figures import Case
from granite_xai.tables import MISSING_CODE


class CaseCurve(NamedTuple):
    """The average effect of a feature by one case in one region.

    Parameters
    ----------
    case : str
        Name of the case.
    scope : Scope
        The region and its rows.
    levels : array of shape (points,)
        Values of the feature.
    mean, low, high : arrays of shape (points,)
        The centred partial dependence there, and the ends of its pointwise interval.
    """

    case: str
    scope: Scope
    levels: NDArray[Any]
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def average_effect(
    case: Case, scope: Scope, position: int, max_points: int, level: float
) -> CaseCurve:
    """Read the average effect of a feature in one region off what a case knows.

    Every row's ICE curve is centred at its own mean over the values that occur in the region; the
    curve is the mean of the centred ones. Its interval takes the rows of a cluster together, and is as
    wide as Student's quantile for their number says.

    Parameters
    ----------
    case : Case
    scope : Scope
        A region of the case that has rows.
    position : int
        Position of the feature.
    max_points : int
        Values at which an ordered feature is shown, at most; categories are shown in full.
    level : float
        Confidence level of the interval.
    """
    rows = scope.rows
    evaluations = case.values.evaluations
    column = case.values.table.columns[position]
    matrix, is_shown = evaluations.reading(frozenset({position}))
    if not is_shown:
        matrix = matrix.turned()
    # Two numberings of the feature's values: a level is a value that occurs in the table, a line one at
    # which the model was asked. They are the same unless a pilot chose values (C22), where several levels
    # share the line of the level that stands for them.
    line_of_row = matrix.codes[rows]  # (m,)
    level_of_row = column.codes[rows]  # (m,)
    if matrix.levels is not None:
        level_of_row = matrix.levels[line_of_row]
    levels, first_row = np.unique(level_of_row, return_index=True)  # that occur in the region
    n_points = len(levels)
    if column.is_ordered:
        n_points = min(n_points, max_points)
    places = _shown_levels(levels, n_points)  # of the shown ones among these levels, (points,)
    lines = line_of_row[first_row[places]]  # of the shown levels, (points,)

    weights = evaluations.weights[rows]
    shares = weights / weights.sum()  # (m,)
    curves = matrix.values[rows].T  # (lines, m), one ICE curve a row
    line_shares = np.bincount(line_of_row, weights=shares, minlength=len(curves))  # (lines,)
    mean_of_row = line_shares @ curves  # of each ICE curve over the values of the region, (m,)
    centred = curves[lines] - mean_of_row  # (points, m)
    mean = centred @ shares  # (points,)
    # The squared standard error is the sum over clusters of (sum over rows of share * deviation)^2.
    deviations = (centred - mean[:, None]) * shares
    clusters = case.values.rows.clusters[rows]
    by_cluster = [np.bincount(clusters, weights=deviation) for deviation in deviations]
    degrees = max(len(np.unique(clusters)) - 1, 1)
    quantile = float(stdtrit(degrees, 0.5 + level / 2))
    half_width = quantile * np.sqrt(np.square(by_cluster).sum(axis=1))
    return CaseCurve(
        case=case.name,
        scope=scope,
        levels=column.levels[levels[places]],
        mean=mean,
        low=mean - half_width,
        high=mean + half_width,
    )


def _shown_levels(levels: IntArray, n_points: int) -> IntArray:
    """Places of so many levels among all of them, evenly spread; a missing value is not shown."""
    places = np.unique(np.linspace(0, len(levels) - 1, n_points).astype(np.intp))
    return places[levels[places] > MISSING_CODE]

"""The central row of each region: the one closest to the region's lower medians and modes."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Coordinates


def central_rows(coordinates: Coordinates, weights: FloatArray) -> IntArray:
    """Position of the central row of each region.

    The distance of a row is the sum over ordered columns of the difference in rank (as a share of the fitting rows)
    plus 1 for each nominal column that differs; a missing value differs by 1 from any other. Ties: the first row.

    Parameters
    ----------
    coordinates : Coordinates
    weights : (K, n) float
        Weight of each row in each region; 0 outside.

    Examples
    --------
    >>> line = Coordinates(np.array([[0.1, 0.2, 0.9]]), np.empty((0, 3), dtype=np.intp))
    >>> central_rows(line, np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]))
    array([1, 2])
    """
    distance = np.zeros(weights.shape)
    for ranks in coordinates.ranks:
        distance += _rank_distance(ranks, weights)
    for levels in coordinates.levels:
        distance += levels != _modes(levels, weights)[:, None]
    # Rounded, so that rows at the same distance are a tie whatever the order of the sums.
    closest: IntArray = np.argmin(np.where(weights > 0, np.round(distance, 12), np.inf), axis=1)
    return closest


def _rank_distance(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    missing = np.isnan(ranks)
    median = _lower_medians(ranks, weights)[:, None]
    apart = np.abs(ranks - median)
    unlike: BoolArray = missing != np.isnan(median)
    return np.where(unlike, 1.0, np.where(missing, 0.0, apart))


def _lower_medians(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    """Smallest value with at least half of the weight of the present rows at or below it; NaN without any."""
    order = np.argsort(ranks, kind="stable")  # missing values last
    order = order[: int(np.count_nonzero(~np.isnan(ranks)))]
    if not len(order):
        return np.full(len(weights), np.nan)
    below = np.cumsum(weights[:, order], axis=1)
    half = np.argmax(2 * below >= below[:, -1:], axis=1)
    return np.where(below[:, -1] > 0, ranks[order][half], np.nan)


def _modes(levels: IntArray, weights: FloatArray) -> IntArray:
    """The heaviest level of each region, ties to the first; missing only where nothing else is there."""
    table = weights @ (levels[:, None] == np.arange(levels.max(initial=-1) + 1)).astype(np.float64)
    if not table.shape[1]:
        return np.full(len(weights), -1, dtype=np.intp)
    return np.where(table.max(axis=1) > 0, np.argmax(table, axis=1), -1)

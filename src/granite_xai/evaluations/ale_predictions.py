"""Predictions of each row along one column, from which accumulated local effects (ALE) are read.

A column is divided into intervals, and these into parts. The ends of parts are *points*, numbered along the
column; some of them are *edges* of intervals. The effect of a row n is the change of F when the column moves
from the lower to the upper edge of the row's interval (docs/method.rst, "Accumulated effects"):

    change(n) = F(upper edge, rest of row n) - F(lower edge, rest of row n)

Where a row lies is told by its *place*: 2 p on the point p, 2 p - 1 between the points p - 1 and p, and -1 if
its value is missing. So ``(place + 1) // 2`` is the first point at or above a row, ``place // 2`` the last one
at or below it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray

BATCH_CELLS = 2**16  # rows times splits worked on at once; about a dozen arrays of this size exist


class _RowChanges(NamedTuple):
    """The change across the interval of each row, in each of K splits."""

    changes: FloatArray  # (n, K)
    intervals: IntArray  # (n, K): the interval that each row is counted to, from 1


@dataclass(frozen=True, slots=True, eq=False)
class AlePredictions:
    """The predictions of each row at the points of its interval and of others it may be counted to.

    In a region, intervals end where the region ends: none reaches beyond the region's smallest and
    largest value, so that a jump where two regions meet belongs to neither.

    Parameters
    ----------
    edges : array of shape (n_intervals + 1,)
        Numbers of the points that are edges of intervals.
    places : array of shape (n,)
        Where each row lies, as the module tells.
    starts : array of shape (n,)
        Where in ``values`` a prediction of the row at point 0 would stand.
    values : array of shape (n_predictions,)
        The predictions of all rows, one row after the other.
    """

    edges: IntArray
    places: IntArray
    starts: IntArray
    values: FloatArray

    @property
    def intervals(self) -> IntArray:
        """Interval of each row, (n,), counted from 1; 0 for missing values, and where there is no interval."""
        if not self._has_intervals:
            return np.zeros_like(self.places)
        return np.where(self.places < 0, 0, intervals_of(self.places, self.edges))

    @property
    def _has_intervals(self) -> bool:
        return len(self.edges) >= 2

    def restrict(self, rows: IntArray) -> AlePredictions:
        """Only these rows."""
        return replace(self, places=self.places[rows], starts=self.starts[rows])

    def combined_changes(
        self, members: BoolArray, weights: FloatArray, *, row_factor: float, mean_factor: float
    ) -> FloatArray:
        """``row_factor * change(n) + mean_factor * mean change over the interval of n``, (n, K).

        Both changes are those of the side of the split that holds the row; 0 for missing values.

        Parameters
        ----------
        members : array of shape (n, K)
            Whether a row is on the left of each split.
        weights : array of shape (n, 1) or (n, K)
            Weights of the rows in the means.
        row_factor, mean_factor : float
        """
        result = np.zeros(members.shape)
        rows = np.flatnonzero(self.places >= 0)
        if len(rows) == 0 or not self._has_intervals:
            return result
        rows = rows[np.argsort(self.places[rows], kind="stable")]
        n_splits = members.shape[1]
        splits_at_once = max(1, BATCH_CELLS // len(rows))
        for start in range(0, n_splits, splits_at_once):
            splits = slice(start, start + splits_at_once)
            is_left = members[rows, splits]
            changes, intervals = self._row_changes(rows, is_left)
            result[rows, splits] = row_factor * changes
            if mean_factor:
                has_one_weight = weights.shape[1] == 1
                row_weights = weights[rows] if has_one_weight else weights[rows, splits]
                row_weights = np.broadcast_to(row_weights, is_left.shape)
                means = _interval_means(changes, intervals, is_left, row_weights)
                result[rows, splits] += mean_factor * means
        return result

    def _row_changes(self, rows: IntArray, is_left: BoolArray) -> _RowChanges:
        """The change of each row across its interval, which ends where the row's side ends.

        First every row is read across its whole interval, which is the same in all splits. Then those
        rows and splits are read again whose side begins or ends inside the interval.

        Parameters
        ----------
        rows : array of shape (n,)
            Ascending by place.
        is_left : array of shape (n, K)
        """
        places = self.places[rows]
        whole_intervals = intervals_of(places, self.edges)  # (n,)
        lower = self.edges[whole_intervals - 1]
        upper = self.edges[whole_intervals]
        whole_changes = self._change(rows, lower, upper)
        n_splits = is_left.shape[1]
        intervals = np.repeat(whole_intervals[:, None], n_splits, axis=1)
        changes = np.repeat(whole_changes[:, None], n_splits, axis=1)

        side_low, side_high = _range_of_own_side(places, is_left)  # (n, K)
        is_cut = (lower[:, None] < side_low) | (upper[:, None] > side_high)
        cut_rows, cut_splits = np.nonzero(is_cut)  # (c,) each
        low = side_low[cut_rows, cut_splits]
        high = side_high[cut_rows, cut_splits]
        counted_to = self._intervals_within(whole_intervals[cut_rows], low, high)
        low = np.maximum(low, self.edges[counted_to - 1])
        high = np.minimum(high, self.edges[counted_to])
        # An interval without width has no change: both ends are read at one point that was evaluated.
        has_width = low < high
        evaluated = lower[cut_rows]
        low = np.where(has_width, low, evaluated)
        high = np.where(has_width, high, evaluated)
        intervals[cut_rows, cut_splits] = counted_to
        changes[cut_rows, cut_splits] = self._change(rows[cut_rows], low, high)
        return _RowChanges(changes, intervals)

    def _change(self, rows: IntArray, lower: IntArray, upper: IntArray) -> FloatArray:
        """The change of the prediction of each row from one point to another."""
        starts = self.starts[rows]
        return np.asarray(self.values[starts + upper] - self.values[starts + lower])

    def _intervals_within(self, intervals: IntArray, low: IntArray, high: IntArray) -> IntArray:
        """The interval of each row, or the nearest one that shares a part with the range of its side.

        Parameters
        ----------
        intervals : array of shape (c,)
        low, high : arrays of shape (c,)
            First and last point of the range.
        """
        first = np.searchsorted(self.edges, low, side="right")
        last = np.searchsorted(self.edges, high, side="left")
        last = np.clip(last, 1, len(self.edges) - 1)
        return np.asarray(np.minimum(np.maximum(intervals, first), last))


def intervals_of(places: IntArray, edges: IntArray) -> IntArray:
    """Number of the interval that holds each place, (n,), counted from 1.

    The interval k is ``(edges[k - 1], edges[k]]``; the first holds its lower edge too. Places outside
    all intervals are counted to the nearest.

    Parameters
    ----------
    places : array of shape (n,)
    edges : array of shape (n_intervals + 1,)
        Numbers of the points that are edges.
    """
    return np.clip(np.searchsorted(2 * edges, places, side="left"), 1, len(edges) - 1)


def _range_of_own_side(places: IntArray, is_left: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last point within the range of the side that holds each row, (n, K) each; places ascend."""
    left_low, left_high = _range_of_members(places, is_left)
    right_low, right_high = _range_of_members(places, ~is_left)
    return np.where(is_left, left_low, right_low), np.where(is_left, left_high, right_high)


def _range_of_members(places: IntArray, is_member: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last point within the range of the members of each split, (K,) each; places ascend."""
    first = is_member.argmax(axis=0)
    last = len(places) - 1 - is_member[::-1].argmax(axis=0)
    return (places[first] + 1) // 2, places[last] // 2


def _interval_means(
    changes: FloatArray, intervals: IntArray, is_left: BoolArray, weights: FloatArray
) -> FloatArray:
    """Mean change over the rows of the same interval and side, at every row; all arrays (n, K)."""
    n_splits = is_left.shape[1]
    n_cells = 2 * (int(intervals.max()) + 1) * n_splits
    cells = (2 * intervals + is_left) * n_splits + np.arange(n_splits)  # interval, side and split
    mass = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=n_cells)
    total = np.bincount(cells.ravel(), weights=(weights * changes).ravel(), minlength=n_cells)
    means = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    return np.asarray(means[cells])

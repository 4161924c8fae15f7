"""Predictions of each row along one column, from which accumulated local effects (ALE) are read.

A column is divided into intervals, and these into parts; ends of parts are *points*, some of which are
*edges* of intervals. A row's effect is the change of F when the column moves from the lower to the upper
edge of the row's interval (method page, "Accumulated effects").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray

BATCH_CELLS = 2**16  # rows times splits worked on at once; about a dozen arrays of this size exist


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The predictions of each row at the points of its interval and of others it may be counted to.

    In a region, intervals end where the region ends: none reaches beyond the region's smallest and
    largest value, so that a jump where two regions meet belongs to neither.

    Parameters
    ----------
    edges : array of shape (n_intervals + 1,)
        Numbers of the points that are edges of intervals.
    places : array of shape (n,)
        Where each row lies: twice the number of its point, one less if just before it; -1 is missing.
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
    def cells(self) -> IntArray:
        """Interval of each row, (n,); 0 for missing values, and where there is no interval."""
        if len(self.edges) < 2:
            return np.zeros_like(self.places)
        return np.where(self.places < 0, 0, intervals_of(self.places, self.edges))

    def restrict(self, rows: IntArray) -> Steps:
        """Only these rows."""
        return replace(self, places=self.places[rows], starts=self.starts[rows])

    def gaps(
        self, members: BoolArray, weights: FloatArray, own_factor: float, mean_factor: float
    ) -> FloatArray:
        """Each row's change across its interval and the mean change there, combined, (n, K).

        Both changes are those of the side of the split that holds the row.

        Parameters
        ----------
        members : array of shape (n, K)
            Whether a row is on the left of each split.
        weights : array of shape (n, 1) or (n, K)
        own_factor, mean_factor : float
            What the row's change, and the mean over its interval, are multiplied by.
        """
        result = np.zeros(members.shape)
        rows = np.flatnonzero(self.places >= 0)
        if len(rows) == 0 or len(self.edges) < 2:
            return result
        rows = rows[np.argsort(self.places[rows], kind="stable")]
        batch = max(1, BATCH_CELLS // len(rows))
        for start in range(0, members.shape[1], batch):
            splits = slice(start, start + batch)
            inside = members[rows, splits]
            changes, intervals = self._changes(rows, inside)
            result[rows, splits] = own_factor * changes
            if mean_factor:
                row_weights = weights[rows] if weights.shape[1] == 1 else weights[rows, splits]
                row_weights = np.broadcast_to(row_weights, inside.shape)
                means = _interval_means(changes, intervals, inside, row_weights)
                result[rows, splits] += mean_factor * means
        return result

    def _changes(self, rows: IntArray, inside: BoolArray) -> tuple[FloatArray, IntArray]:
        """The change across each row's interval, and the interval it is counted to, (n, K) each.

        ``rows`` ascend by place. ``inside`` (n, K): whether each is on the left.
        """
        places = self.places[rows]
        starts = self.starts[rows]
        intervals_whole = intervals_of(places, self.edges)  # (n,)
        lower = self.edges[intervals_whole - 1]
        upper = self.edges[intervals_whole]
        changes_whole = self.values[starts + upper] - self.values[starts + lower]
        n_splits = inside.shape[1]
        intervals = np.repeat(intervals_whole[:, None], n_splits, axis=1)
        changes = np.repeat(changes_whole[:, None], n_splits, axis=1)

        # Where the region ends inside a row's interval, the interval is cut there.
        region_low, region_high = _own_side_range(places, inside)  # (n, K)
        is_cut = (lower[:, None] < region_low) | (upper[:, None] > region_high)
        cut_rows, cut_splits = np.nonzero(is_cut)
        low = region_low[cut_rows, cut_splits]
        high = region_high[cut_rows, cut_splits]
        first_interval = np.searchsorted(self.edges, low, side="right")
        last_interval = np.searchsorted(self.edges, high, side="left")
        last_interval = np.clip(last_interval, 1, len(self.edges) - 1)
        counted_to = np.maximum(intervals_whole[cut_rows], first_interval)
        counted_to = np.minimum(counted_to, last_interval)
        low = np.maximum(low, self.edges[counted_to - 1])
        high = np.minimum(high, self.edges[counted_to])
        # An interval without width has no change: both ends are read at one point that was evaluated.
        has_width = low < high
        some_point = lower[cut_rows]
        at_high = self.values[starts[cut_rows] + np.where(has_width, high, some_point)]
        at_low = self.values[starts[cut_rows] + np.where(has_width, low, some_point)]
        intervals[cut_rows, cut_splits] = counted_to
        changes[cut_rows, cut_splits] = at_high - at_low
        return changes, intervals


def intervals_of(places: IntArray, edges: IntArray) -> IntArray:
    """Number of the interval ``(edge, edge]`` that holds each place; the first holds its lower edge too."""
    return np.clip(np.searchsorted(2 * edges, places, side="left"), 1, len(edges) - 1)


def _own_side_range(places: IntArray, inside: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last point within the range of each row's own side, (n, K) each; rows ascend by place."""
    left_low, left_high = _side_range(places, inside)
    right_low, right_high = _side_range(places, ~inside)
    return np.where(inside, left_low, right_low), np.where(inside, left_high, right_high)


def _side_range(places: IntArray, members: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last point within the range of the members of each split, (K,) each."""
    first = members.argmax(axis=0)
    last = len(places) - 1 - members[::-1].argmax(axis=0)
    return (places[first] + 1) // 2, places[last] // 2


def _interval_means(
    changes: FloatArray, intervals: IntArray, inside: BoolArray, weights: FloatArray
) -> FloatArray:
    """Mean change over the rows of the same interval and side, at every row, (n, K)."""
    n_splits = inside.shape[1]
    n_cells = 2 * (int(intervals.max()) + 1) * n_splits
    cells = (2 * intervals + inside) * n_splits + np.arange(n_splits)
    mass = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=n_cells)
    total = np.bincount(cells.ravel(), weights=(weights * changes).ravel(), minlength=n_cells)
    means = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    return np.asarray(means[cells])

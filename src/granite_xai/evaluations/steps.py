"""A few numbers for each row: its predictions along one column (ALE), or a vector that a region shall make alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray

CELLS = 2**16  # rows times splits that are worked on at once: a dozen such arrays are


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The predictions of each row at the points of its own interval and of those that it may be counted to."""

    # In a region, intervals end where the region ends: none reaches beyond the region's smallest and largest value, so
    # that a jump where two regions meet belongs to neither. The first interval holds its lower end.
    edges: IntArray  # (B + 1,) int: the points that are ends of intervals
    # (n,) int: where each row lies, twice the number of its point, one less if just before it; -1 is missing
    places: IntArray
    starts: IntArray  # (n,) int: where in the values a prediction of the row at point 0 would stand
    values: FloatArray  # the predictions of all rows

    @property
    def cells(self) -> IntArray:
        """Interval of each row of the fit; 0 for missing values, and where there is but one."""
        found = (
            intervals_of(self.places, self.edges)
            if len(self.edges) > 1
            else np.zeros_like(self.places)
        )
        return np.where(self.places < 0, 0, found)

    def restrict(self, rows: IntArray) -> Steps:
        """Only these rows."""
        return replace(self, places=self.places[rows], starts=self.starts[rows])

    def gaps(self, members: BoolArray, weights: FloatArray, own: float, mean: float) -> FloatArray:
        """``own`` times each row's change across its interval plus ``mean`` times the mean change there, (n, K)."""
        # Both are those of the side of the split that holds the row; ``weights`` are (n, 1), or (n, K).
        found, rows = np.zeros(members.shape), np.flatnonzero(self.places >= 0)
        if len(rows) == 0 or len(self.edges) < 2:
            return found
        rows = rows[np.argsort(self.places[rows], kind="stable")]
        step = max(1, CELLS // len(rows))
        for start in range(0, members.shape[1], step):
            some = slice(start, start + step)
            inside = members[rows, some]
            changes, intervals = self._across(rows, inside)
            found[rows, some] = own * changes
            if mean:
                heavy = np.broadcast_to(
                    weights[rows, some] if weights.shape[1] > 1 else weights[rows], inside.shape
                )
                found[rows, some] += mean * _means(changes, intervals, inside, heavy)
        return found

    def _across(self, rows: IntArray, inside: BoolArray) -> tuple[FloatArray, IntArray]:
        """Changes of some rows, in the order of their places, and their intervals, (n, K) each."""
        places, starts = self.places[rows], self.starts[rows]
        (low, high), (low_right, high_right) = (_ends(places, side) for side in (inside, ~inside))
        lows, highs = np.where(inside, low, low_right), np.where(inside, high, high_right)
        own = intervals_of(places, self.edges)
        lower, upper = self.edges[own - 1], self.edges[own]
        intervals = np.repeat(own[:, None], inside.shape[1], axis=1)
        changes = np.repeat(
            (self.values[starts + upper] - self.values[starts + lower])[:, None], len(low), axis=1
        )
        at = np.nonzero(
            (lower[:, None] < lows) | (upper[:, None] > highs)
        )  # where the region ends inside an interval
        low, high = lows[at], highs[at]
        first, last = (
            np.searchsorted(self.edges, low, side="right"),
            np.searchsorted(self.edges, high, side="left"),
        )
        there = np.minimum(np.maximum(own[at[0]], first), np.clip(last, 1, len(self.edges) - 1))
        low, high = np.maximum(low, self.edges[there - 1]), np.minimum(high, self.edges[there])
        begin, wide = starts[at[0]], low < high
        ends = [self.values[begin + np.where(wide, end, lower[at[0]])] for end in (high, low)]
        intervals[at], changes[at] = there, ends[0] - ends[1]
        return changes, intervals


def intervals_of(places: IntArray, edges: IntArray) -> IntArray:
    """Number of the interval that holds each place: ``(edge, edge]``, and the first its lower end as well."""
    return np.clip(np.searchsorted(2 * edges, places, side="left"), 1, len(edges) - 1)


def _ends(places: IntArray, members: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last point within the range of the members of each split; rows ascend by place."""
    first, last = members.argmax(axis=0), len(places) - 1 - members[::-1].argmax(axis=0)
    return (places[first] + 1) // 2, places[last] // 2


def _means(
    changes: FloatArray, intervals: IntArray, inside: BoolArray, weights: FloatArray
) -> FloatArray:
    """Mean change over the rows of the same interval and side, at every row."""
    n_splits, count = inside.shape[1], 2 * (int(intervals.max()) + 1)
    cells = (2 * intervals + inside) * n_splits + np.arange(n_splits)
    own = weights.ravel(), (weights * changes).ravel()
    mass, total = (
        np.bincount(cells.ravel(), weights=each, minlength=count * n_splits) for each in own
    )
    return np.asarray(np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)[cells])


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector a row: a curve on a grid, indicators of a cluster, a value to predict."""

    # With a column, its grid is cut with the region (GADGET): a region that is a part of this column's range reads only
    # the grid points inside it, and curves are centred again on these; ``grid`` is the column's value at each entry,
    # ``own`` that of each row. None: all entries count everywhere.
    values: FloatArray
    column: int | None = None
    grid: FloatArray | None = None
    own: FloatArray | None = None

    def restrict(self, rows: IntArray) -> Vectors:
        """Only these rows."""
        return replace(
            self, values=self.values[rows], own=None if self.own is None else self.own[rows]
        )

    def inner_entries(self, inside: BoolArray, column: int) -> BoolArray | None:
        """Which entries the inner side of a cut along a column reads; None where both sides read all."""
        # The grid is cut halfway between the neighbours on both sides, as in the original.
        if (
            self.column != column
            or self.grid is None
            or self.own is None
            or not (inside.any() and (~inside).any())
        ):
            return None
        low, high = self.own[inside].max(), self.own[~inside].min()
        return np.asarray(self.grid <= (low + high) / 2)

    def part(self, rows: IntArray, entries: BoolArray | None) -> Vectors:
        """Some rows and entries; curves on a part of their grid are centred again."""
        found = self.restrict(rows)
        if entries is None or self.grid is None:
            return found
        return replace(found, values=centred(found.values[:, entries]), grid=self.grid[entries])


def centred(values: FloatArray) -> FloatArray:
    """Each row minus its own mean."""
    return values - values.mean(axis=1, keepdims=True) if values.shape[1] else values

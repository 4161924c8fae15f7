"""Accumulated local effects (ALE): nothing is hidden, one column moves across its interval of the data.

A column is divided into intervals, and these into parts. The ends of parts are *points*, numbered along
the column; some of them are *edges* of intervals. The effect of a row n is the change of F when the
column moves from the lower to the upper edge of the row's interval (docs/method.rst, "Accumulated
effects"):

    change(n) = F(upper edge, rest of row n) - F(lower edge, rest of row n)

Where a row lies is told by its *place*: 2 p on the point p, 2 p - 1 between the points p - 1 and p, and
-1 if its value is missing. So ``(place + 1) // 2`` is the first point at or above a row, ``place // 2``
the last one at or below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from granite_xai.algebra.behavior import Behavior, Local
from granite_xai.algebra.conditional import (
    INTERVALS,
    interval_edges,
    level_codes,
    ranks_among,
    rows_stood_for,
)
from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.algebra.interaction import Full, Interaction, Pure
from granite_xai.algebra.masked_model import Averaged, MaskedModel
from granite_xai.algebra.masking import Masking
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.options import whole_number
from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.request import Learned, Needs, Recombined
from granite_xai.tables import Column, Rows, Table

PARTS = 10  # parts of an interval: a region's first and last interval end at ends of parts
CELLS_AT_ONCE = 2**16  # rows times weighings; about a dozen arrays of this size exist


class Change(NamedTuple):
    """What ALE reads in the place of a masked model: the change along a column, or its mean in the interval."""

    column: int
    is_mean: bool


@dataclass(frozen=True, slots=True)
class Accumulated(Masking):
    """Nothing is hidden: one column moves across its interval of the data, the others stay (ALE).

    The full effect of a row is ``F(upper, x_{-i}) - F(lower, x_{-i})`` in its interval, the pure effect the mean of
    that over the region's rows in the interval. The interval in which a region ends is cut there, so that a jump
    between two regions counts in neither. For local behavior and individual influence only.

    Parameters
    ----------
    intervals : int
        Of each column, with about as many rows in each; one for each value where there are no more values.

    Examples
    --------
    >>> Accumulated(intervals=20).key
    'accumulated'
    """

    intervals: int = INTERVALS
    key: ClassVar[str] = "accumulated"
    hides: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole_number("intervals", self.intervals, at_least=1)

    def terms(
        self, behavior: Behavior, interaction: Interaction, layout: PlayersAndSets
    ) -> tuple[Mapping[Any, float], ...]:
        """Changes across intervals: each row's own, or their mean in the interval."""
        is_of_columns = all(len(members) == 1 == len(members[0]) for members in layout.sets)
        is_known = isinstance(interaction, Full | Pure) and isinstance(behavior, Local)
        if not is_known or not is_of_columns:
            raise InputError(
                "accumulated masking (ALE) is defined for local behavior, individual influence, and full or pure "
                "effects.",
                code="P03",
                argument="masking",
                hint="Use marginal or conditional masking for other settings.",
            )
        is_mean = isinstance(interaction, Pure)
        return tuple({Change(min(member), is_mean): 1.0} for (member,) in layout.sets)

    def learn(
        self,
        rows: Rows,
        coalitions: AbstractSet[Coalition],
        seed: int,
        guarded: bool = True,
        record: Diagnostics | None = None,
    ) -> dict[Coalition, Learned]:
        """Intervals between the minimum of a column and the edges of its bins (C8).

        None of nominal and constant columns, along which nothing moves.
        """
        learned: dict[Coalition, Learned] = {}
        multiplicity = rows_stood_for(rows.weights)
        for visible in coalitions:
            column = rows.table.columns[min(visible)]
            if column.kind == "nominal" or len(column.levels) < 2:
                continue
            upper_edges = interval_edges(column, multiplicity, self.intervals)
            ends_of_parts = interval_edges(column, multiplicity, PARTS * self.intervals)
            edges = np.union1d([0], upper_edges).astype(np.intp)
            parts = np.union1d(edges, ends_of_parts).astype(np.intp)
            carriers = np.unique(column.codes, return_index=True)[1][-len(column.levels) :][parts]
            learned[visible] = Intervals(column, edges, rows.table.take(carriers), parts)
        return learned

    def needs(self, coalitions: AbstractSet[Any]) -> Needs:
        """The predictions along each column that moves."""
        columns = {read.column for read in coalitions if isinstance(read, Change)}
        return Needs(facts=frozenset((self, Coalition([column])) for column in columns))

    def masked_model(self, evaluations: Evaluations, visible: Any) -> Averaged:
        """The changes of the rows; the mean prediction where nothing is visible."""
        if not isinstance(visible, Change):
            return MaskedModel.mean_of(evaluations.f)
        path = evaluations.facts.get((self, Coalition([visible.column])))
        if path is None:
            return MaskedModel.of_rows(np.zeros(len(evaluations)))
        return Changes(path, of_mean=1.0) if visible.is_mean else Changes(path, of_row=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The intervals of one column that ALE moves across, and the points inside them where a region may end.

    Parameters
    ----------
    fitted : Column
        On the fitting rows.
    edges : array of shape (n_intervals + 1,)
        Ends of intervals, as positions among the fitting levels: the minimum and the upper ends of the bins (C8).
    ends : Table
        A fitting row that carries each end of a part.
    parts : array of shape (n_points,)
        Ends of the parts of intervals (*points*), the edges among them.
    """

    fitted: Column
    edges: IntArray
    ends: Table
    parts: IntArray
    follows_values: ClassVar[bool] = False

    @property
    def edge_points(self) -> IntArray:
        """Numbers of the points that are edges of intervals, (n_intervals + 1,)."""
        return np.searchsorted(self.parts, self.edges)

    def asks(self, table: Table) -> Recombined:
        """Every row at the points of its interval, and of the one beside it where a region may count it there."""
        _, first, counts = self._points(table.columns[self.fitted.position])
        rows = np.repeat(np.arange(table.n_rows), counts)
        starts = np.cumsum(counts) - counts - first
        points = np.arange(len(rows)) - starts[rows]
        return Recombined(table, rows, self.ends, points, [self.fitted.position])

    def fact(self, table: Table, predictions: FloatArray | None) -> PredictionsAlong:
        """The predictions of each row along the column."""
        places, first, counts = self._points(table.columns[self.fitted.position])
        return PredictionsAlong(
            edges=self.edge_points,
            places=places,
            starts=np.cumsum(counts) - counts - first,
            values=cast(FloatArray, predictions),  # asked for above
        )

    def within(self, column: Column) -> tuple[IntArray, IntArray]:
        """The intervals of a region, which end where the region ends.

        Parameters
        ----------
        column : Column
            This column on the rows of the region.

        Returns
        -------
        ends : array of shape (n_intervals + 1,)
            Among the fitting levels.
        intervals : array of shape (n,)
            The interval of each row, from 1; 0: missing.
        """
        places, _, _ = self._points(column)
        present = places[places >= 0]
        first_point = 0
        last_point = 0
        if len(present):
            first_point = (present.min() + 1) // 2
            last_point = present.max() // 2
        edges = self.edge_points
        inner_edges = edges[(edges > first_point) & (edges < last_point)]
        edges = np.union1d(inner_edges, [first_point, last_point]).astype(np.intp)
        ends = self.parts[edges]
        if len(edges) < 2:
            return ends, np.zeros(len(places), dtype=np.intp)
        return ends, np.where(places < 0, 0, intervals_of(places, edges))

    def _points(self, column: Column) -> tuple[IntArray, IntArray, IntArray]:
        """The place of each row, the first point at which it is predicted, and the number of these points.

        Of a missing value -1, and no points.
        """
        if self.fitted.kind == "boolean":
            level_at_or_above = level_codes(column, self.fitted)
            level_at_or_below = level_at_or_above
        else:
            level_at_or_above = ranks_among(column, self.fitted, side="left")
            level_at_or_below = ranks_among(column, self.fitted, side="right")
        next_point = np.searchsorted(self.parts, level_at_or_above, side="left")
        level_of_next_point = np.append(self.parts, -1)[next_point]  # -1: behind the last point
        is_a_level = level_at_or_above == level_at_or_below
        is_a_point = is_a_level & (level_of_next_point == level_at_or_above)
        places = np.where(is_a_point, 2 * next_point, 2 * next_point - 1)
        places = np.clip(places, 0, 2 * len(self.parts) - 2).astype(np.intp)
        edges = self.edge_points
        interval = intervals_of(places, edges)
        # If a region begins with this row, the first point of the region is the next one behind the row: is that the
        # upper edge, nothing of the interval is left, and the row is counted to the next interval. If a region ends
        # with this row, the same holds for the lower edge and the interval before.
        just_behind_lower_edge = places == 2 * edges[interval - 1] + 1
        just_before_upper_edge = places >= 2 * edges[interval] - 1
        lower = np.where(just_behind_lower_edge, np.maximum(interval - 2, 0), interval - 1)
        upper = np.where(just_before_upper_edge, np.minimum(interval + 1, len(edges) - 1), interval)
        missing = column.codes < 0
        counts = np.where(missing, 0, edges[upper] - edges[lower] + 1)
        return np.where(missing, -1, places), edges[lower], counts


@dataclass(frozen=True, slots=True, eq=False)
class PredictionsAlong:
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
        Where in `values` a prediction of the row at point 0 would stand.
    values : array of shape (n_predictions,)
        The predictions of all rows, one row after the other.
    """

    edges: IntArray
    places: IntArray
    starts: IntArray
    values: FloatArray

    def take(self, places: IntArray) -> PredictionsAlong:
        """Those of some of the rows."""
        return replace(self, places=self.places[places], starts=self.starts[places])

    def changes(self, rows: IntArray, is_left: BoolArray) -> tuple[FloatArray, IntArray]:
        """The change of each row across its interval, which ends where the row's side ends.

        First every row is read across its whole interval, which is the same for all weighings. Then those
        rows are read again whose side begins or ends inside the interval.

        Parameters
        ----------
        rows : array of shape (n,)
            Ascending by place.
        is_left : array of shape (n, K)

        Returns
        -------
        changes : array of shape (n, K)
        intervals : array of shape (n, K)
            The interval that each row is counted to, from 1.
        """

        def change(rows: IntArray, lower: IntArray, upper: IntArray) -> FloatArray:
            """The change of the prediction of each row from one point to another."""
            starts = self.starts[rows]
            return np.asarray(self.values[starts + upper] - self.values[starts + lower])

        places = self.places[rows]
        whole_intervals = intervals_of(places, self.edges)  # (n,)
        lower = self.edges[whole_intervals - 1]
        upper = self.edges[whole_intervals]
        count = is_left.shape[1]
        intervals = np.repeat(whole_intervals[:, None], count, axis=1)
        changes = np.repeat(change(rows, lower, upper)[:, None], count, axis=1)

        left_low, left_high = _range_of_members(places, is_left)
        right_low, right_high = _range_of_members(places, ~is_left)
        side_low = np.where(is_left, left_low, right_low)  # (n, K): points
        side_high = np.where(is_left, left_high, right_high)
        is_cut = (lower[:, None] < side_low) | (upper[:, None] > side_high)
        cut_rows, cut_weighings = np.nonzero(is_cut)  # (c,) each
        low = side_low[cut_rows, cut_weighings]
        high = side_high[cut_rows, cut_weighings]
        # The row's interval, or the nearest one that shares a part with its side.
        first = np.searchsorted(self.edges, low, side="right")
        last = np.clip(np.searchsorted(self.edges, high, side="left"), 1, len(self.edges) - 1)
        counted_to = np.minimum(np.maximum(whole_intervals[cut_rows], first), last)
        low = np.maximum(low, self.edges[counted_to - 1])
        high = np.minimum(high, self.edges[counted_to])
        # An interval without width has no change: both ends are read at one point that was evaluated.
        has_width = low < high
        evaluated = lower[cut_rows]
        low = np.where(has_width, low, evaluated)
        high = np.where(has_width, high, evaluated)
        intervals[cut_rows, cut_weighings] = counted_to
        changes[cut_rows, cut_weighings] = change(rows[cut_rows], low, high)
        return changes, intervals


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Changes along a column, in any region: ``of_row * change(n) + of_mean * mean change in n's interval``.

    They are those of the region that a row is in; 0 for missing values.

    Parameters
    ----------
    path : PredictionsAlong
    of_row, of_mean : float
    """

    path: PredictionsAlong
    of_row: float = 0.0
    of_mean: float = 0.0

    @property
    def adds_up(self) -> bool:
        """Those along one column are read together."""
        return True

    @classmethod
    def combined(cls, weighted: Sequence[tuple[float, Changes]]) -> list[Changes]:
        """The sum of some of them, with those along one path together."""
        by_path: dict[int, Changes] = {}
        for factor, changes in weighted:
            so_far = by_path.get(id(changes.path), cls(changes.path))
            by_path[id(changes.path)] = cls(
                changes.path,
                of_row=so_far.of_row + factor * changes.of_row,
                of_mean=so_far.of_mean + factor * changes.of_mean,
            )
        return list(by_path.values())

    def values(self, regions: RegionWeights) -> FloatArray:
        """The changes at each row, (n, K)."""
        result = np.zeros(regions.weights.shape)
        places = self.path.places
        rows = np.flatnonzero(places >= 0)
        rows = rows[np.argsort(places[rows], kind="stable")]
        if not len(rows):
            return result
        start = 0
        for part in regions.take(rows).blocks(max(1, CELLS_AT_ONCE // len(rows))):
            is_left = part.weights != 0  # of lines: whether a row is in the region at all
            if part.total is None and is_left.all():
                of_part = self._everywhere(rows, part.weights)
            else:
                weights = part.weights
                if part.total is not None:
                    weights = np.broadcast_to(part.total[:, None], part.weights.shape)
                changes, intervals = self.path.changes(rows, is_left)
                of_part = self.of_row * changes
                if self.of_mean:
                    of_part += self.of_mean * _interval_means(changes, intervals, is_left, weights)
            result[rows, start : start + part.count] = of_part
            start += part.count
        return result

    def _everywhere(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """The changes at some rows, (n, K), where every line has weight at all of them."""
        changes, intervals = self.path.changes(rows, np.ones((len(rows), 1), dtype=np.bool_))
        if not self.of_mean:
            return self.of_row * changes
        numbers, number_of_row = np.unique(intervals[:, 0], return_inverse=True)
        is_inside = (number_of_row == np.arange(len(numbers))[:, None]).astype(np.float64)
        means = (is_inside @ (changes * weights)) / (is_inside @ weights)
        return np.asarray(self.of_row * changes + self.of_mean * means[number_of_row])

    def cell_sizes(self) -> IntArray | None:
        """Rows in the interval of each row, (n,), where changes are averaged."""
        if not self.of_mean:
            return None
        places = self.path.places
        intervals = np.where(places < 0, 0, intervals_of(places, self.path.edges))
        return np.bincount(intervals)[intervals]


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


def _range_of_members(places: IntArray, is_member: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last point within the range of the members, (K,) each; places ascend."""
    first = is_member.argmax(axis=0)
    last = len(places) - 1 - is_member[::-1].argmax(axis=0)
    return (places[first] + 1) // 2, places[last] // 2


def _interval_means(
    changes: FloatArray, intervals: IntArray, is_left: BoolArray, weights: FloatArray
) -> FloatArray:
    """Mean change over the rows of the same interval and side, at every row; all arrays (n, K)."""
    count = is_left.shape[1]
    n_cells = 2 * (int(intervals.max()) + 1) * count
    cells = (2 * intervals + is_left) * count + np.arange(count)  # interval, side and weighing
    mass = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=n_cells)
    total = np.bincount(cells.ravel(), weights=(weights * changes).ravel(), minlength=n_cells)
    means = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    return np.asarray(means[cells])

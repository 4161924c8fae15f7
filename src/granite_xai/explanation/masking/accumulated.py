"""Accumulated local effects (ALE): nothing is hidden, one column moves across its interval of the data.

See docs/method.rst, "Accumulated effects", and `evaluations.ale_predictions` for what is read of the model.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import whole_number
from granite_xai.base.typing import (
    AleColumn,
    AleDifference,
    Coalition,
    FloatArray,
    IntArray,
    Term,
    Terms,
)
from granite_xai.compute.primitives import as_part
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.ale_predictions import intervals_of
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking.intervals import (
    N_INTERVALS,
    interval_edges,
    rows_stood_for,
)
from granite_xai.explanation.masking.levels import carriers, level_codes, ranks_among
from granite_xai.explanation.masking.masking import Masking, Needed
from granite_xai.tables import Column, Table

PARTS = 10  # parts of an interval: a region's first and last interval end at ends of parts


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

    intervals: int = N_INTERVALS
    key: ClassVar[str] = "accumulated"
    hides: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole_number("intervals", self.intervals, at_least=1)

    def terms(self, keys: tuple[str, str, str], sets: PlayersAndSets) -> tuple[Terms, ...]:
        """Changes across intervals: each row's own, or their mean in the interval."""
        behavior, interaction, influence = keys
        if behavior != "local" or influence != "individual" or interaction not in ("full", "pure"):
            raise InputError(
                "accumulated masking (ALE) is defined for local behavior, individual influence, and full or pure "
                "effects.",
                code="P03",
                argument="masking",
                hint="Use marginal or conditional masking for other settings.",
            )
        effects: list[Terms] = []
        for (member,) in sets.sets:
            column = AleColumn(min(member), self.intervals)
            effects.append({AleDifference(column, averaged=interaction == "pure"): 1.0})
        return tuple(effects)

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """None of coalitions: changes are evaluated by themselves."""
        return Needed()

    def cell_sizes(self, evaluations: Evaluations, term: Term) -> IntArray | None:
        """Rows in the interval of each row, (n,), where changes are averaged."""
        if not isinstance(term, AleDifference) or not term.averaged:
            return None
        intervals = evaluations.ale[term.column].intervals
        return np.bincount(intervals)[intervals]

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """The changes of each row, and their means."""
        return Changes(evaluations, splits)


@dataclass(frozen=True, slots=True, eq=False)
class AleIntervals:
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
        Ends of the parts of intervals (*points*), the edges among them; in older files no others.
    """

    fitted: Column
    edges: IntArray
    ends: Table
    parts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def __post_init__(self) -> None:
        if not len(self.parts):
            object.__setattr__(self, "parts", self.edges)
        ascending = np.all(np.diff(self.edges) > 0) and np.all(np.diff(self.parts) > 0)
        if not ascending or len(self.edges) < 2 or not np.isin(self.edges, self.parts).all():
            raise ValueError("its edges and parts are not places in ascending order")
        inside = self.parts[0] >= 0 and self.parts[-1] < len(self.fitted.levels)
        if not inside or len(self.parts) != self.ends.n_rows:
            raise ValueError("its parts are not levels of the column, one for each end")

    @property
    def edge_points(self) -> IntArray:
        """Numbers of the points that are edges of intervals, (n_intervals + 1,)."""
        return np.searchsorted(self.parts, self.edges)

    def points(self, column: Column) -> tuple[IntArray, IntArray, IntArray]:
        """The points at which each row is predicted.

        Parameters
        ----------
        column : Column
            This column on some rows.

        Returns
        -------
        places : array of shape (n,)
            Twice the number of the row's point, one less if the row lies just before it; -1: missing.
        first : array of shape (n,)
            The first point at which the row is predicted.
        counts : array of shape (n,)
            The number of points at which it is; 0: missing.
        """
        places = self._places(column)
        edges = self.edge_points
        interval = intervals_of(places, edges)
        # A row is predicted at all points of its interval, and of the one beside it where a region may count it there.
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

    def _places(self, column: Column) -> IntArray:
        """The place of each row among the points (`evaluations.ale_predictions`), (n,).

        That of a missing value means nothing.
        """
        if self.fitted.kind == "boolean":
            level_at_or_above = level_codes(column, self.fitted)
            level_at_or_below = level_at_or_above
        else:
            level_at_or_above = ranks_among(column, self.fitted, side="left")
            level_at_or_below = ranks_among(column, self.fitted, side="right")
        next_point = np.searchsorted(self.parts, level_at_or_above, side="left")
        is_a_level = level_at_or_above == level_at_or_below
        level_of_next_point = np.append(self.parts, -1)[next_point]  # -1: behind the last point
        is_a_point = is_a_level & (level_of_next_point == level_at_or_above)
        places = np.where(is_a_point, 2 * next_point, 2 * next_point - 1)
        return np.asarray(np.clip(places, 0, 2 * len(self.parts) - 2), dtype=np.intp)

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
        places, _, _ = self.points(column)
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


def fit_intervals(
    ale_column: AleColumn, table: Table, weights: FloatArray | None = None
) -> AleIntervals | None:
    """Intervals between the minimum of a column and the edges of its bins (C8).

    Parameters
    ----------
    ale_column : AleColumn
        The column, and how many intervals it shall have.
    table : Table
        The fitting rows.
    weights : array of shape (n,), optional

    Returns
    -------
    AleIntervals or None
        None for nominal and constant columns, along which nothing moves.
    """
    column = table.columns[ale_column.column]
    if column.kind == "nominal" or len(column.levels) < 2:
        return None
    multiplicity = rows_stood_for(weights)
    upper_edges = interval_edges(column, multiplicity, ale_column.intervals)
    upper_ends_of_parts = interval_edges(column, multiplicity, PARTS * ale_column.intervals)
    minimum = np.array([0])
    edges = np.union1d(minimum, upper_edges).astype(np.intp)
    parts = np.union1d(edges, upper_ends_of_parts).astype(np.intp)
    return AleIntervals(
        fitted=column, edges=edges, ends=table.take(carriers(column, parts)), parts=parts
    )


@dataclass(frozen=True, slots=True, eq=False)
class Changes(Masked):
    """Changes of the prediction across intervals, in every region of a batch."""

    evaluations: Evaluations
    splits: Splits

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of changes, and of the mean prediction that effects are counted from."""
        coalitions: dict[Term, float] = {}
        own_factors: dict[AleColumn, float] = {}  # of each row's change
        mean_factors: dict[AleColumn, float] = {}  # of the mean change in the row's interval
        for term, coefficient in terms.items():
            if isinstance(term, frozenset):
                coalitions[term] = coefficient
            elif isinstance(term, AleDifference):
                factors = mean_factors if term.averaged else own_factors
                factors[term.column] = coefficient
        values = Averages(self.evaluations, self.splits).combined(coalitions)
        if self.splits.lines is None:
            weights = self.splits.weights[:, None]  # (n, 1)
        else:
            weights = self.splits.lines.T  # (n, K)
        parts = list(values.parts)
        for column in own_factors | mean_factors:
            changes = self.evaluations.ale[column].combined_changes(
                self.splits.members,
                weights,
                row_factor=own_factors.get(column, 0.0),
                mean_factor=mean_factors.get(column, 0.0),
            )
            parts.append(as_part(changes))
        return values._replace(parts=tuple(parts))

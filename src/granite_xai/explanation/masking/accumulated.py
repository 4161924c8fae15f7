"""Accumulated local effects (ALE): nothing is hidden, one column moves across its interval of the data."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import (
    AleColumn,
    AleDifference,
    Coalition,
    FloatArray,
    IntArray,
    Term,
    Terms,
)
from granite_xai.base.validation import whole_number
from granite_xai.compute.primitives import as_part
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.steps import intervals_of
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking.bins import (
    COUNT,
    carriers,
    interval_edges,
    level_codes,
    ranks_among,
    rows_stood_for,
)
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
        Of each column, with about as many rows in each; a value each where there are no more values.

    Examples
    --------
    >>> Accumulated(intervals=20).key
    'accumulated'
    """

    intervals: int = COUNT
    key: ClassVar[str] = "accumulated"
    hides: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole_number("intervals", self.intervals, at_least=1)

    def terms(self, keys: tuple[str, str, str], sets: PlayersAndSets) -> tuple[Terms, ...]:
        """Changes across intervals: each row's own, or their mean in the interval."""
        behavior, interaction, influence = keys
        if behavior != "local" or influence != "individual" or interaction not in ("full", "pure"):
            where = "local behavior, individual influence, and full or pure effects"
            hint = "Use marginal or conditional masking for other settings."
            message = f"accumulated masking (ALE) is defined for {where}."
            raise InputError(message, code="P03", argument="masking", hint=hint)
        keys_of = (AleColumn(min(member), self.intervals) for (member,) in sets.sets)
        return tuple({AleDifference(key, interaction == "pure"): 1.0} for key in keys_of)

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """None of coalitions: changes are evaluated by themselves."""
        return Needed()

    def cell_sizes(self, evaluations: Evaluations, term: Term) -> IntArray | None:
        """Rows in the interval of each row, where changes are averaged."""
        if not isinstance(term, AleDifference) or not term.averaged:
            return None
        intervals = evaluations.changes[term.column].cells
        return np.bincount(intervals)[intervals]

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """The changes of each row, and their means."""
        return Changes(evaluations, splits)


@dataclass(frozen=True, slots=True, eq=False)
class AleIntervals:
    """The intervals of one column that ALE moves across, and the points inside them where a region may end."""

    fitted: Column  # on the fitting rows
    edges: IntArray  # (k,) int: ends of intervals, among the fitting levels: the minimum and the upper ends of the bins
    ends: Table  # A fitting row that carries each end of a part
    # (m,) int: ends of the parts of intervals, the edges among them; in older files no others
    parts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def __post_init__(self) -> None:
        if not len(self.parts):
            object.__setattr__(self, "parts", self.edges)
        ascending = all(np.all(np.diff(each) > 0) for each in (self.edges, self.parts))
        if not ascending or len(self.edges) < 2 or not np.isin(self.edges, self.parts).all():
            raise ValueError("its edges and parts are not places in ascending order")
        inside = self.parts[0] >= 0 and self.parts[-1] < len(self.fitted.levels)
        if not inside or len(self.parts) != self.ends.n_rows:
            raise ValueError("its parts are not levels of the column, one for each end")

    def points(self, column: Column) -> tuple[IntArray, IntArray, IntArray]:
        """Place of each row (see `Steps`), the first point at which it is predicted, and how many there are."""
        if self.fitted.kind == "boolean":
            above = below = level_codes(column, self.fitted)
        else:
            above, below = (
                ranks_among(column, self.fitted, side=side) for side in ("left", "right")
            )
        after = np.searchsorted(self.parts, above, side="left")
        met = (above == below) & (np.append(self.parts, -1)[after] == above)
        places, edges = (
            np.clip(2 * after - ~met, 0, 2 * len(self.parts) - 2),
            np.searchsorted(self.parts, self.edges),
        )
        own, last = intervals_of(places, edges), len(edges) - 1
        # A row before the first point of its region is counted to the next interval, one behind the last to the former.
        down = np.where(places == 2 * edges[own - 1] + 1, np.maximum(own - 2, 0), own - 1)
        up, missing = (
            np.where(places >= 2 * edges[own] - 1, np.minimum(own + 1, last), own),
            column.codes < 0,
        )
        counts = np.where(missing, 0, edges[up] - edges[down] + 1)
        return np.where(missing, -1, places), edges[down], counts

    def within(self, column: Column) -> tuple[IntArray, IntArray]:
        """Ends of a region's intervals among the fitting levels, each row's interval from 1; 0 for a missing one."""
        places = self.points(column)[0]
        present, edges = places[places >= 0], np.searchsorted(self.parts, self.edges)
        low, high = ((present.min() + 1) // 2, present.max() // 2) if len(present) else (0, 0)
        edges = np.union1d(edges[(edges > low) & (edges < high)], [low, high]).astype(np.intp)
        if len(edges) < 2:
            return self.parts[edges], np.zeros(len(places), dtype=np.intp)
        return self.parts[edges], np.where(places < 0, 0, intervals_of(places, edges))


def fit_steps(
    key: AleColumn, table: Table, weights: FloatArray | None = None
) -> AleIntervals | None:
    """Intervals between the minimum and the edges of the bins; None for nominal and constant columns."""
    column, count = table.columns[key.column], key.intervals
    if column.kind == "nominal" or len(column.levels) < 2:
        return None
    coarse, fine = (
        interval_edges(column, rows_stood_for(weights), each) for each in (count, PARTS * count)
    )
    edges, parts = (
        np.union1d([0], found).astype(np.intp) for found in (coarse, np.union1d(coarse, fine))
    )
    return AleIntervals(column, edges, table.take(carriers(column, parts)), parts)


@dataclass(frozen=True, slots=True, eq=False)
class Changes(Masked):
    """Changes of the prediction across intervals, in every region of a batch."""

    evaluations: Evaluations
    splits: Splits

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of changes, and of the mean prediction that effects are counted from."""
        P, splits = self.splits.primitives, self.splits
        predictions: Terms = {
            term: value for term, value in terms.items() if isinstance(term, frozenset)
        }
        values = Averages(self.evaluations, splits).combined(predictions)
        weights, parts = (
            splits.weights[:, None] if splits.lines is None else splits.lines.T,
            list(values.parts),
        )
        for column in dict.fromkeys(
            term.column for term in terms if isinstance(term, AleDifference)
        ):
            own, mean = (
                terms.get(AleDifference(column, averaged), 0.0) for averaged in (False, True)
            )
            found = self.evaluations.changes[column].gaps(splits.members, weights, own, mean)
            parts.append(as_part(P, P.array(found)))
        return values._replace(parts=tuple(parts))

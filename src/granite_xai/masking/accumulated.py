"""Accumulated local effects (ALE): nothing is hidden, one column moves across its interval of the data."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import AleDifference, Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.compute.primitives import Array, Part
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.engine.values import RowValues
from granite_xai.evaluations.evaluations import Bins, Evaluations
from granite_xai.influence import PlayersAndSets
from granite_xai.masking.bins import interval_edges, ranks_among, rows_stood_for
from granite_xai.masking.masking import Masking, Needed
from granite_xai.tables import Column, Table


@dataclass(frozen=True, slots=True)
class Accumulated(Masking):
    """Nothing is hidden: one column moves across its interval of the data, the others stay (ALE).

    The full effect of a row is ``F(upper, x_{-i}) - F(lower, x_{-i})`` in its interval, the pure effect the mean of
    that over the region's rows in the interval. For local behavior and individual influence only.

    Examples
    --------
    >>> Accumulated().key
    'accumulated'
    """

    key: ClassVar[str] = "accumulated"
    hides: ClassVar[bool] = False

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
        return tuple({AleDifference(min(member), interaction == "pure"): 1.0} for (member,) in sets.sets)

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """None of coalitions: changes are evaluated by themselves."""
        return Needed()

    def cells(self, evaluations: Evaluations, term: Term) -> IntArray | None:
        """The interval of each row, where changes are averaged."""
        averaged = isinstance(term, AleDifference) and term.averaged
        return evaluations.changes[term.column][1] if averaged else None  # type: ignore[union-attr]

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """The changes of each row, and their means."""
        return Changes(evaluations, splits)


@dataclass(frozen=True, slots=True, eq=False)
class AleIntervals:
    """The intervals of one column that ALE moves across."""

    fitted: Column  # on the fitting rows
    # (k,) int: ends of the intervals as positions among the fitting levels: the minimum and the upper ends of the bins
    edges: IntArray
    ends: Table  # A fitting row that carries each end

    def intervals(self, column: Column) -> IntArray:
        """Number of each row's interval, from 1; 0 for missing values."""
        if self.fitted.kind == "boolean":
            return (column.codes >= 0).astype(np.intp)
        ranks = ranks_among(column, self.fitted, side="left")
        found = np.clip(np.searchsorted(self.edges, ranks, side="left"), 1, len(self.edges) - 1)
        return np.where(column.codes < 0, 0, found).astype(np.intp)


def fit_steps(column: Column, table: Table, weights: FloatArray | None = None) -> AleIntervals | None:
    """Intervals between the minimum and the edges of the bins; None for nominal and constant columns."""
    if column.kind == "nominal" or len(column.levels) < 2:
        return None
    edges = np.union1d([0], interval_edges(column, rows_stood_for(weights))).astype(np.intp)
    carriers = [int(np.flatnonzero(column.codes == code)[0]) for code in edges]
    return AleIntervals(column, edges, table.take(np.array(carriers)))


@dataclass(frozen=True, slots=True, eq=False)
class Changes(Masked):
    """Changes of the prediction across intervals, in every region of a batch."""

    evaluations: Evaluations
    splits: Splits

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of changes, and of the mean prediction that effects are counted from."""
        P = self.splits.primitives
        values = Averages(self.evaluations, self.splits).combined(
            {term: value for term, value in terms.items() if isinstance(term, frozenset)}
        )
        own, parts = values.own, list(values.parts)
        for term, coefficient in terms.items():
            if isinstance(term, AleDifference):
                changes, intervals = self.evaluations.changes[term.column]
                if term.averaged:
                    parts.append(self._means(changes, intervals, coefficient))
                else:
                    own = own + coefficient * P.array(changes)
        return values._replace(own=own, parts=tuple(parts))

    def _means(self, changes: Array, intervals: IntArray, coefficient: float) -> Part:
        P, numbers = self.splits.primitives, Bins.of(intervals).numbers
        count = int(numbers.max()) + 1
        left, total = self.splits.sums(P.array(np.where(numbers[:, None] == np.arange(count), changes[:, None], 0.0)))
        own = P.numbers(numbers)
        return Part(left, total, coefficient * self.splits.scales(numbers, count), own, own)

"""Accumulated local effects (ALE): nothing is hidden, one column moves across its interval of the data."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import AleDifference, Coalition, FloatArray, IntArray, Terms
from granite_xai.engine.changes import Changes
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.masking.bins import interval_edges, ranks_among, rows_stood_for
from granite_xai.masking.masking import Masking, Needed

if TYPE_CHECKING:
    from granite_xai.influence import PlayersAndSets
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

    @property
    def hides(self) -> bool:
        """No."""
        return False

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

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """The changes of each row, and their means."""
        return Changes(evaluations, splits)


@dataclass(frozen=True, slots=True, eq=False)
class AleIntervals:
    """The intervals of one column that ALE moves across.

    Parameters
    ----------
    fitted : Column
        On the fitting rows.
    edges : (k,) int
        Ends of the intervals as positions among the fitting levels: the minimum and the upper ends of the bins.
    ends : Table
        A fitting row that carries each end.
    """

    fitted: Column
    edges: IntArray
    ends: Table

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

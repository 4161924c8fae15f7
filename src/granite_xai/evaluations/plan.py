"""The plan: which recombined rows a set of coalitions needs, before any model call."""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from granite_xai.base.typing import Coalition
from granite_xai.evaluations.values import EVERY_VALUE, Distinct, Grid

if TYPE_CHECKING:
    from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which matrices ``E_S`` are evaluated, and where each coalition is read.

    Parameters
    ----------
    stores : mapping from S to its distinct values
    places : mapping from a coalition T to ``(S, shown)``: T is S (shown) or everything but S (hidden)
    n_rows : rows of the table
    """

    stores: dict[Coalition, Distinct]
    places: dict[Coalition, tuple[Coalition, bool]]
    n_rows: int

    @property
    def rows(self) -> int:
        """Recombined rows sent to the model."""
        return self.n_rows * sum(map(len, self.stores.values()))


def plan(
    table: Table,
    coalitions: Iterable[Coalition],
    grid: Grid = EVERY_VALUE,
    apart: AbstractSet[Coalition] = frozenset(),
) -> Plan:
    """Choose for each coalition the cheaper of ``E_T`` and ``E_{D without T}``, each evaluated once.

    Since ``R^{-S}`` is the transpose of ``R^S``, one matrix serves a coalition and its complement. The empty and the
    full coalition need no matrix: they are read from the predictions. A column on a grid has a matrix of its own, which
    serves its complement only in the column's own gap (`Evaluations.own`); sets of several columns that are compared
    themselves (``apart``) are evaluated exactly.
    """
    everything = frozenset(range(table.n_columns))
    stores: dict[Coalition, Distinct] = {}
    places: dict[Coalition, tuple[Coalition, bool]] = {}
    wanted = set(coalitions) - {frozenset(), everything}
    for position in grid.columns:
        single = frozenset({position})
        rest = everything - single
        if single in wanted or rest in wanted:
            stores[single], places[single] = grid.distinct(table, position), (single, True)
            wanted -= {rest} - apart if len(rest) > 1 else set()
    for coalition in sorted(wanted, key=_size_first):
        if coalition in places:
            continue
        rest = everything - coalition
        side, distinct = (
            _fewer_values(table, coalition, rest) if rest not in stores else (coalition, _own(table, coalition))
        )
        stores[side] = distinct
        # The complement is served as well, whether or not it was asked for.
        places[coalition] = (side, side == coalition)
        places.setdefault(rest, (side, side == rest))
    return Plan(stores, places, table.n_rows)


def _fewer_values(table: Table, coalition: Coalition, rest: Coalition) -> tuple[Coalition, Distinct]:
    """The side with fewer distinct rows; on a tie the coalition, which is the smaller one."""
    own = _own(table, coalition)
    # A set of columns has at least as many distinct rows as its richest column: mostly no need to count them.
    if len(own) <= max(len(table.columns[i].levels) for i in rest):
        return coalition, own
    other = _own(table, rest)
    return (coalition, own) if len(own) <= len(other) else (rest, other)


def _own(table: Table, coalition: Coalition) -> Distinct:
    return Distinct(*table.distinct(sorted(coalition)))


def _size_first(coalition: Coalition) -> tuple[int, list[int]]:
    return len(coalition), sorted(coalition)

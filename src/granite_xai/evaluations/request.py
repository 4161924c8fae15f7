"""Which matrices ``E_S`` the model is asked for, and how many rows that is.

A coalition T is read from ``E_T`` or from E of the other columns: since one is the other turned round,
one matrix serves both, and the one with fewer values is asked. The empty and the full coalition are
read from the predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from math import isqrt
from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.evaluations.needs import Learned, Needs
from granite_xai.evaluations.values import (
    Cells,
    Values,
    combined_values,
    every_value,
    few_values,
    stand_ins,
)
from granite_xai.tables import Table

MOST_CHECKED_ROWS = 200  # rows on which exact gaps are compared with those at quantiles
END_VALUES = 2  # of a column at quantiles: the smallest and the largest


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked about the rows of a table.

    Parameters
    ----------
    needs : Needs
    matrices : mapping of coalition S to Values
        ``E_S`` that are kept.
    summed : mapping of coalition S to Values
        ``E_S`` that are only summed up into attributions.
    learned : mapping of key to Learned
        What maskings learned of the fitting rows.
    n_rows : int
    n_asked_beside : int
        Rows that what was learned asks about.
    at_quantiles : bool
        Whether quantiles stand for columns, rather than values that a pilot chose.
    """

    needs: Needs
    matrices: Mapping[Coalition, Values]
    summed: Mapping[Coalition, Values]
    learned: Mapping[Any, Learned] = field(default_factory=dict)
    n_rows: int = 0
    n_asked_beside: int = 0
    at_quantiles: bool = False

    @property
    def n_recombined(self) -> int:
        """Rows that the matrices consist of."""
        both = [*self.matrices.values(), *self.summed.values()]
        return self.n_rows * sum(len(values) for values in both)

    @property
    def combines_values(self) -> bool:
        """Whether values of several columns are combined that no row may have together."""
        return any(values.donors is not None for values in self.matrices.values())

    @property
    def columns_of_few_values(self) -> list[Coalition]:
        """Sets of columns of which some values stand for the others."""
        return [columns for columns, values in self.matrices.items() if values.stand_for_others]

    @property
    def n_checked_rows(self) -> int:
        """Rows whose exact gaps are compared with those at quantiles."""
        if not self.at_quantiles or not self.columns_of_few_values:
            return 0
        return n_checked_rows(self.n_rows, [len(values) for values in self.matrices.values()])

    def n_model_rows(self, is_read: bool = False) -> int:
        """Rows that are sent to the model.

        Parameters
        ----------
        is_read : bool
            Whether recombined rows are answered by the model's own trees.
        """
        total = self.n_rows + self.n_asked_beside
        if is_read:
            return total
        total += self.n_recombined
        if self.at_quantiles:
            total += END_VALUES * self.n_rows * len(self.columns_of_few_values)
            total += self.n_checked_rows**2 * len(self.matrices)
        return total


def n_checked_rows(n_rows: int, n_values: Sequence[int]) -> int:
    """So many rows that asking about all of their values costs no more than the request itself.

    Parameters
    ----------
    n_rows : int
    n_values : sequence of int
        Of each matrix.
    """
    affordable = isqrt(n_rows * sum(n_values) // len(n_values))
    return min(MOST_CHECKED_ROWS, n_rows, affordable)


def request(
    needs: Needs,
    table: Table,
    *,
    values: int | Mapping[int, Cells] | None = None,
    model_cells: IntArray | None = None,
    learned: Mapping[Any, Learned] | None = None,
    combined: Mapping[Coalition, Mapping[int, Cells]] | None = None,
) -> Request:
    """What some effects ask of the model about a table, together, each matrix once.

    Parameters
    ----------
    needs : Needs
    table : Table
    values : int, mapping of column to Cells, or None
        Values that stand for a column (C22): so many quantiles, or those of a pilot; None: all.
    model_cells : array of shape (n_rows, n_columns), optional
        Values with the same number are one to the model.
    learned : mapping of key to Learned, optional
    combined : mapping of coalition S to mapping of column to Cells
        Sets of several columns whose gap is read at all combinations of a few values: from these also
        every part of S, and the columns outside it.
    """
    learned = learned or {}
    chooser = _Chooser(table, model_cells)
    everything = chooser.everything
    few = stand_ins(table, values)
    singles_compared = {Coalition([position]) for position in few} & needs.compared
    # A compared column of few values has its matrix also under a baseline, which reads none: its gap
    # reads the predictions of the moved rows from it.
    to_ask = set(needs.coalitions | singles_compared) - {Coalition(), everything}
    for position, stand_in in few.items():
        single = Coalition([position])
        complement = everything - single
        if single not in to_ask and complement not in to_ask:
            continue
        chooser.take(single, few_values(table.columns[position], stand_in))
        if len(complement) == 1:  # of two columns both are read
            to_ask.add(complement)
        elif complement not in needs.compared:
            to_ask.discard(complement)
    for columns, cells in (combined or {}).items():
        values_of_columns = {}
        for position in sorted(columns):
            column = table.columns[position]
            values_of_columns[position] = few_values(column, cells[position].stand_ins(column))
        chooser.take(columns, combined_values(table, values_of_columns))
        parts = parts_of(columns)
        read_there = parts | {everything - part for part in parts}
        to_ask -= {part for part in read_there if len(part) > 1}
    for coalition in sorted(to_ask, key=_by_size):
        if coalition not in chooser.answered:
            chooser.take_cheaper_side(coalition)
    summed = set[Coalition]()
    for attribution in needs.attributions.values():
        summed |= attribution.terms.keys()
    of_sums = _Chooser(table, model_cells)
    for coalition in sorted(summed - chooser.answered - {Coalition(), everything}, key=_by_size):
        if coalition not in of_sums.answered:
            of_sums.take_cheaper_side(coalition)
    n_asked_beside = 0
    for of_key in learned.values():
        asked = of_key.asks(table)
        if asked is not None:
            n_asked_beside += len(asked.base_rows)
    return Request(
        needs=needs,
        matrices=chooser.chosen,
        summed=of_sums.chosen,
        learned=learned,
        n_rows=table.n_rows,
        n_asked_beside=n_asked_beside,
        at_quantiles=isinstance(values, int),
    )


def _by_size(coalition: Coalition) -> tuple[int, list[int]]:
    """Small sets first, then by their columns: the order does not depend on hashes."""
    return len(coalition), sorted(coalition)


class _Chooser:
    """The matrices chosen so far, and the coalitions that are read from them."""

    def __init__(self, table: Table, model_cells: IntArray | None) -> None:
        self.everything = Coalition(range(table.n_columns))
        self.chosen: dict[Coalition, Values] = {}
        self.answered: set[Coalition] = set()
        self._table = table
        self._model_cells = model_cells
        # Each column has at least so many values. Numbers of cells begin with 0 or 1.
        self._fewest_values = [len(column.levels) for column in table.columns]
        if model_cells is not None:
            self._fewest_values = model_cells.max(axis=0).tolist()

    def take(self, columns: Coalition, values: Values) -> None:
        """Ask about a set; the other columns are not read from it."""
        self.chosen[columns] = values
        self.answered.add(columns)

    def take_cheaper_side(self, coalition: Coalition) -> None:
        """Ask about a coalition or about the other columns, and read both from there."""
        complement = self.everything - coalition
        side = coalition
        values = every_value(self._table, coalition, self._model_cells)
        # Mostly there is no need to count the values of the others: they have at least so many.
        fewest = max(self._fewest_values[position] for position in complement)
        if complement not in self.chosen and len(values) > fewest:
            of_complement = every_value(self._table, complement, self._model_cells)
            if len(of_complement) < len(values):
                side = complement
                values = of_complement
        self.take(side, values)
        self.answered |= {coalition, complement}


def reads_single_columns(reads: Mapping[Coalition, AbstractSet[Coalition]], n_columns: int) -> bool:
    """Whether a few values can stand for every column: effects of single columns, shown or hidden.

    Parameters
    ----------
    reads : mapping of set to coalitions
        What the gap of each set reads.
    n_columns : int
    """
    if n_columns == 1:
        return False
    everything = Coalition(range(n_columns))
    for members, coalitions in reads.items():
        if len(members) > 1 or _others(members, coalitions, everything):
            return False
    return True


def parts_of(columns: Coalition) -> set[Coalition]:
    """All sets of some of the columns, themselves among them."""
    parts = set[Coalition]()
    for size in range(1, len(columns) + 1):
        parts.update(map(Coalition, combinations(sorted(columns), size)))
    return parts


def reads_parts_of_sets(
    reads: Mapping[Coalition, AbstractSet[Coalition]], pairs: AbstractSet[Coalition], n_columns: int
) -> bool:
    """Whether every gap reads some columns of its own set, shown or hidden: interactions.

    Parameters
    ----------
    reads : mapping of set to coalitions
        What the gap of each set reads.
    pairs : set of coalitions
        Those that are read for all pairs of rows.
    n_columns : int
    """
    everything = Coalition(range(n_columns))
    for members, coalitions in reads.items():
        parts = parts_of(members)
        of_parts = parts | {everything - part for part in parts}
        read = set(coalitions) - {Coalition(), everything}
        is_interaction = any(len(part) < len(members) and part in read for part in parts)
        if not is_interaction or not read <= of_parts & pairs:
            return False
    return True


def require_few_values(
    reads: Mapping[Coalition, AbstractSet[Coalition]], table: Table, columns: AbstractSet[int]
) -> None:
    """Refuse quantiles where the gap of a set reads more than the set and the other columns (C22).

    Parameters
    ----------
    reads : mapping of set to coalitions
        What the gap of each set reads.
    table : Table
    columns : set of int
        Those of which quantiles stand for the other values.

    Raises
    ------
    InputError
        P03, with the columns.
    """
    everything = Coalition(range(table.n_columns))
    for members, coalitions in reads.items():
        others = _others(members, coalitions, everything)
        alone = set[int]()  # columns that are shown, or hidden, by themselves
        for coalition in others:
            for side in (coalition, everything - coalition):
                if len(side) == 1:
                    alone |= side
        if (columns & members and others) or columns & alone:
            names = ", ".join(table.names[position] for position in sorted(members))
            moved = sorted((members | alone) & columns)
            raise InputError(
                "Resources(max_grid=) is defined for pure and full effects of single features and of "
                f"groups: the effect of {names} reads other features one by one.",
                code="P03",
                argument="max_grid",
                columns=tuple(table.names[position] for position in moved),
                hint="For partial effects, interactions and 'coe' leave max_grid at None and lower "
                "max_samples.",
            )


def _others(
    members: Coalition, coalitions: AbstractSet[Coalition], everything: Coalition
) -> set[Coalition]:
    return set(coalitions) - {Coalition(), members, everything - members, everything}

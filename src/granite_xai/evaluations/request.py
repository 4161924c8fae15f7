"""Which matrices ``E_S`` are asked of the model.

A coalition T is read from ``E_T`` or from ``E_{D without T}``: since one is the other turned round, one
matrix serves both, and the one with fewer values is evaluated. The empty and the full coalition need no
matrix: they are read from the predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass

from granite_xai.base.typing import Coalition, IntArray
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.value_grid import EVERY_VALUE, ValueGrid
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRequest:
    """The matrices that are evaluated, and where each coalition is read.

    Parameters
    ----------
    stores : mapping of coalition S to DistinctValues
        The matrices ``E_S``, with the values of S.
    stored_as : mapping of coalition T to (S, shown)
        T is read from ``E_S``: it is S itself (shown), or everything but S.
    n_rows : int
        Rows of the table.
    binned : set of coalitions
        Sets whose values are told apart even where the model does not tell them apart.
    """

    stores: Mapping[Coalition, DistinctValues]
    stored_as: Mapping[Coalition, tuple[Coalition, bool]]
    n_rows: int
    binned: AbstractSet[Coalition] = frozenset()

    @property
    def n_model_rows(self) -> int:
        """Recombined rows that are sent to the model."""
        return self.n_rows * sum(len(distinct) for distinct in self.stores.values())


def request_matrices(
    table: Table,
    coalitions: Iterable[Coalition],
    grid: ValueGrid = EVERY_VALUE,
    compared: AbstractSet[Coalition] = frozenset(),
    cells: IntArray | None = None,
    binned: AbstractSet[Coalition] = frozenset(),
) -> MatrixRequest:
    """Choose for each coalition the cheaper of ``E_T`` and ``E_{D without T}``, each evaluated once.

    Parameters
    ----------
    table : Table
    coalitions : iterable of coalitions
        What is read.
    grid : ValueGrid
        Columns that are evaluated at a few of their values. Such a column has a matrix of its own,
        which serves its complement only in the column's own gap (`Evaluations.on_grid`).
    compared : set of coalitions
        Sets of several columns that are compared themselves: evaluated at all their values.
    cells : array of shape (n_rows, n_columns), optional
        Values of a column with the same number are one to the model, and one of them is evaluated.
    binned : set of coalitions
        Sets whose bins tell values apart that the model does not: evaluated at all their values.
    """
    everything = frozenset(range(table.n_columns))
    chooser = _MatrixChooser(table=table, everything=everything, cells=cells, binned=binned)
    to_store = set(coalitions) - {frozenset(), everything}
    for position in grid.columns:
        single = frozenset({position})
        complement = everything - single
        if single not in to_store and complement not in to_store:
            continue
        chooser.store_grid(single, grid.distinct(table, position))
        if len(complement) == 1:  # of two columns both are read
            to_store.add(complement)
        elif complement not in compared:
            to_store.discard(complement)
    for coalition in sorted(to_store, key=_by_size):
        if coalition not in chooser.stored_as:
            chooser.store_cheaper_side(coalition)
    return MatrixRequest(
        stores=chooser.stores,
        stored_as=chooser.stored_as,
        n_rows=table.n_rows,
        binned=frozenset(binned),
    )


def _by_size(coalition: Coalition) -> tuple[int, list[int]]:
    """Small sets first, then by their columns: the order does not depend on hashes."""
    return len(coalition), sorted(coalition)


class _MatrixChooser:
    """The matrices chosen so far."""

    def __init__(
        self,
        table: Table,
        everything: Coalition,
        cells: IntArray | None,
        binned: AbstractSet[Coalition],
    ) -> None:
        self.stores: dict[Coalition, DistinctValues] = {}
        self.stored_as: dict[Coalition, tuple[Coalition, bool]] = {}
        self._table = table
        self._everything = everything
        self._cells = cells
        self._binned = binned
        # Each column has at least so many values: its levels, or (where the model tells no more apart) its
        # cells, whose numbers begin with 0 or 1, so that the largest number is no more than their count.
        self._level_counts = [len(column.levels) for column in table.columns]
        self._cell_counts: list[int] = []
        if cells is not None:
            self._cell_counts = cells.max(axis=0).tolist()

    def store_grid(self, single: Coalition, values: DistinctValues) -> None:
        """Evaluate one column on its grid; its complement is not read from it."""
        self.stores[single] = values
        self.stored_as[single] = (single, True)

    def store_cheaper_side(self, coalition: Coalition) -> None:
        """Evaluate a coalition or its complement, whichever has fewer values, and read both from it."""
        complement = self._everything - coalition
        may_store_complement = complement not in self.stores  # it may be there, on its own grid
        cells = self._cells
        # Where bins tell values apart that are one to the model, both sides are counted at all values.
        if coalition in self._binned or (complement in self._binned and may_store_complement):
            cells = None
        side = coalition
        values = DistinctValues(*self._table.distinct(coalition, cells))
        # Mostly there is no need to count the complement's values: they are at least this many.
        fewest_of_complement = self._values_of_richest_column(complement, cells)
        if may_store_complement and len(values) > fewest_of_complement:
            complement_values = DistinctValues(*self._table.distinct(complement, cells))
            if len(complement_values) < len(values):
                side = complement
                values = complement_values
        self.stores[side] = values
        self.stored_as[coalition] = (side, side == coalition)
        self.stored_as.setdefault(complement, (side, side == complement))

    def _values_of_richest_column(self, columns: Coalition, cells: IntArray | None) -> int:
        counts = self._cell_counts
        if cells is None:
            counts = self._level_counts
        return max(counts[position] for position in columns)

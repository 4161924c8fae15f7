"""The plan: which values of which columns are evaluated, at which rows, and what that takes; before any model call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from granite_xai.base.typing import Coalition, IntArray
from granite_xai.compute import MemoryNeeds, Resources, require_budget
from granite_xai.evaluations.values import LearnedValues, ValueCells
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The values of the columns S that are evaluated: the code of each row, and a row that carries each value."""

    codes: IntArray
    representatives: IntArray
    levels: IntArray | None = (
        None  # where the values are a grid of one column, their levels (-1: missing)
    )

    def __len__(self) -> int:
        return len(self.representatives)


Values = int | LearnedValues | None  # of a column: so many quantiles, chosen by a pilot, or all


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The columns that are snapped to a few of their values, by position.

    Parameters
    ----------
    columns : mapping of position to array of shape (n_levels,)
        The level that stands for each level of the column.
    cells : mapping of position to ValueCells
        Where a pilot chose the values, what it learned.
    """

    columns: Mapping[int, IntArray] = field(default_factory=dict)
    cells: Mapping[int, ValueCells] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, values: Values) -> Grid:
        """The columns of a table that have more values than are evaluated.

        None of a table with one column: there is nothing to combine its values with.
        """
        if values is None or table.n_columns == 1:
            return cls()
        if isinstance(values, LearnedValues):
            return cls(values.stand_ins(table), values.columns)
        many = (
            column for column in table.columns if column.is_ordered and len(column.levels) > values
        )
        return cls(
            {
                column.position: nearest(np.bincount(column.codes[column.codes >= 0]), values)
                for column in many
            }
        )

    def distinct(self, table: Table, position: int) -> Distinct:
        """The grid of one column, and the value of it that stands for each row's own; missing stays missing."""
        own = table.columns[position].codes
        stand_in = np.where(own < 0, -1, self.columns[position][own])
        levels, codes = np.unique(stand_in, return_inverse=True)
        carried, first = np.unique(own, return_index=True)
        return Distinct(codes.reshape(-1), first[np.searchsorted(carried, levels)], levels)


def ends(table: Table, position: int) -> Distinct:
    """The smallest and the largest value of a column, which stand for no row."""
    own = table.columns[position].codes
    rows = [
        int(np.flatnonzero(own == level)[0])
        for level in (0, len(table.columns[position].levels) - 1)
    ]
    return Distinct(np.zeros(0, dtype=np.intp), np.array(rows))


SMALLEST = 32  # values of the coarsest grid that a plan chooses by itself
EVERY_VALUE = Grid()  # no column is snapped


def nearest(counts: IntArray, size: int) -> IntArray:
    """The grid level nearest to each level, from the rows at each: by rank among the levels, ties to the lower."""
    # The grid holds the values at the places ``ceil(N (g - 1/2) / size)`` of the sorted rows, g = 1 … size.
    places = -(-int(counts.sum()) * (2 * np.arange(1, size + 1) - 1) // (2 * size))
    grid = np.unique(np.searchsorted(np.cumsum(counts), places))
    middles = (
        grid[:-1] + grid[1:]
    ) // 2  # the last level that the lower of two neighbours stands for
    return np.asarray(grid[np.searchsorted(middles, np.arange(len(counts)))])


# Bytes of a cell of the table: its value and its code in the table that was read, these and a copy in
# the user's container for the rows that are used, and how trees see it.
CELL = 2 * 8 + 3 * 8 + 4
MEMBER = 80  # bytes of a column in a set of columns
CHEAP = 2**24  # bytes of sets of columns that any plan may make before it is refused


def footprint(n_rows: int, n_columns: int, members: int, vectors: int = 0) -> int:
    """Bytes of a table, of the columns of all sets that the plan names, and of further numbers kept of each row."""
    return CELL * n_rows * n_columns + 8 * vectors * n_rows + MEMBER * members


def require_room(table: Table, resources: Resources) -> None:
    """Refuse a wide table that no plan could fit at once, before every set of columns is named (D33)."""
    # Every fit evaluates every column at each of its values, or the others at theirs, of which there are at least as
    # many as the richest of them has; and every plan names what is left without each column.
    members = table.n_columns * (table.n_columns - 1)
    if MEMBER * members < CHEAP:
        return
    grid = SMALLEST if resources.max_grid == "auto" else resources.grid or table.n_rows
    levels = sorted(min(len(column.levels), grid) for column in table.columns)
    evaluations = 8 * table.n_rows * (sum(levels[:-1]) + levels[-2])
    rows, columns = table.n_rows, table.n_columns
    least = MemoryNeeds(footprint(rows, columns, members), evaluations)
    if least.least_limit > resources.memory_limit:
        # The limit that the error names shall be enough for the whole plan.
        whole = MemoryNeeds(footprint(rows, columns, 3 * members, 6 * columns), evaluations)
        require_budget(resources, whole, rows, ["fewer columns (features=)"])


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which matrices ``E_S`` are evaluated, and where each coalition is read."""

    stores: dict[Coalition, Distinct]
    stored_as: dict[
        Coalition, tuple[Coalition, bool]
    ]  # ``(S, shown)``: it is S, or everything but S (hidden)
    n_rows: int
    binned: AbstractSet[Coalition] = (
        frozenset()
    )  # sets whose values are told apart even where the model does not

    @property
    def rows(self) -> int:
        """Recombined rows sent to the model."""
        return self.n_rows * sum(map(len, self.stores.values()))


def plan(
    table: Table,
    coalitions: Iterable[Coalition],
    grid: Grid = EVERY_VALUE,
    apart: AbstractSet[Coalition] = frozenset(),
    cells: IntArray | None = None,
    binned: AbstractSet[Coalition] = frozenset(),
) -> Plan:
    """Choose for each coalition the cheaper of ``E_T`` and ``E_{D without T}``, each evaluated once."""
    # Since ``R^{-S}`` is the transpose of ``R^S``, one matrix serves a coalition and its complement. The empty and the
    # full coalition need no matrix: they are read from the predictions. A column on a grid has a matrix of its own,
    # which serves its complement only in the column's own gap (`Evaluations.own`); sets of several columns that are
    # compared themselves (``apart``) are evaluated exactly. ``cells`` (n, d): values with the same number are one to
    # the model, and one of them is evaluated; but for sets that are ``binned``: bins tell values apart that the model
    # does not.
    everything = frozenset(range(table.n_columns))
    stores, stored_as = dict[Coalition, Distinct](), dict[Coalition, tuple[Coalition, bool]]()
    wanted = set(coalitions) - {frozenset(), everything}
    levels = [len(column.levels) for column in table.columns]
    numbers = levels if cells is None else cells.max(axis=0).tolist()
    for position in grid.columns:
        single = frozenset({position})
        rest = everything - single
        if single in wanted or rest in wanted:
            stores[single], stored_as[single] = grid.distinct(table, position), (single, True)
            wanted = (
                wanted - ({rest} - apart) if len(rest) > 1 else wanted | {rest}
            )  # of two columns both are read
    for coalition in sorted(wanted, key=lambda coalition: (len(coalition), sorted(coalition))):
        if coalition in stored_as:
            continue
        rest = everything - coalition
        told = None if coalition in binned or (rest in binned and rest not in stores) else cells
        side, distinct = coalition, Distinct(*table.distinct(coalition, told))
        # A set of columns has at least as many distinct rows as its richest column: mostly no need to count them.
        richest = max(map((levels if told is None else numbers).__getitem__, rest))
        if rest not in stores and len(distinct) > richest:
            other = Distinct(*table.distinct(rest, told))
            side, distinct = (coalition, distinct) if len(distinct) <= len(other) else (rest, other)
        stores[side] = distinct
        # The complement is served as well, whether or not it was asked for.
        stored_as[coalition] = (side, side == coalition)
        stored_as.setdefault(rest, (side, side == rest))
    return Plan(stores, stored_as, table.n_rows, frozenset(binned))

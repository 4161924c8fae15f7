"""Values at which the model is asked about some columns: all, or a few that stand for the others.

A value is given by a row that carries it, so that the model gets cells exactly as the user's table
has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.tables import Column, Table, read_table, recombine


class Values(NamedTuple):
    """Values of some columns, and which of them each row has.

    Parameters
    ----------
    codes : array of shape (n,)
    carriers : array of shape (U,)
        A row that carries each value.
    levels : array of shape (U,), optional
        Of a single column, its level at each value; -1: missing.
    stand_for_others : bool
        Whether rows with other values are counted to the nearest of these.
    sizes : tuple of int
        Of several columns whose values are combined in every way: how many values each of them has.
    donors : Table, optional
        The table of the carriers, where it is not that of the rows themselves.
    """

    codes: IntArray
    carriers: IntArray
    levels: IntArray | None = None
    stand_for_others: bool = False
    sizes: tuple[int, ...] = ()
    donors: Table | None = None

    def __len__(self) -> int:
        return len(self.carriers)


def every_value(
    table: Table, columns: Iterable[int], model_cells: IntArray | None = None
) -> Values:
    """All distinct values of some columns.

    Parameters
    ----------
    table : Table
    columns : iterable of int
    model_cells : array of shape (n, n_columns), optional
        Values of a column with the same number are one to the model, and asked once.
    """
    positions = sorted(columns)
    codes, carriers = table.distinct(positions, model_cells)
    levels = None
    if len(positions) == 1:
        levels = table.columns[positions[0]].codes[carriers]
    return Values(codes=codes, carriers=carriers, levels=levels)


def few_values(column: Column, stand_in: IntArray) -> Values:
    """The values of a column that stand for the others; a missing value stays one by itself.

    Parameters
    ----------
    column : Column
    stand_in : array of shape (n_levels,)
        The level that stands for each level.
    """
    level_read = np.where(column.codes < 0, -1, stand_in[column.codes])  # (n,)
    levels, codes = np.unique(level_read, return_inverse=True)
    present, first_rows = np.unique(column.codes, return_index=True)
    return Values(
        codes=codes.reshape(-1),
        carriers=first_rows[np.searchsorted(present, levels)],
        levels=levels,
        stand_for_others=True,
    )


def combined_values(table: Table, of_columns: Mapping[int, Values]) -> Values:
    """All combinations of a few values of several columns, whether or not a row has them.

    Parameters
    ----------
    table : Table
    of_columns : mapping of column to Values
        Ascending by column.
    """
    sizes = tuple(len(values) for values in of_columns.values())
    codes = tuple(values.codes for values in of_columns.values())
    numbers_of_columns = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    donors = table
    rows = np.zeros(math.prod(sizes), dtype=np.intp)
    for (position, values), numbers in zip(of_columns.items(), numbers_of_columns, strict=True):
        carried = recombine(donors, rows, table, values.carriers[numbers], [position])
        donors = read_table(carried, missing="allow", like=table)
        rows = np.arange(donors.n_rows)
    return Values(
        codes=np.ravel_multi_index(codes, sizes),
        carriers=rows,
        stand_for_others=True,
        sizes=sizes,
        donors=donors,
    )


def stand_ins(table: Table, values: int | Mapping[int, Cells] | None) -> dict[int, IntArray]:
    """For each column of which a few values are asked, the level that stands for each of its levels.

    Parameters
    ----------
    table : Table
    values : int, mapping of column to Cells, or None
        So many quantiles of each ordered column; or the values that a pilot chose; None: all values.
    """
    if values is None or table.n_columns == 1:  # one column has nothing to be combined with
        return {}
    if not isinstance(values, int):
        return {
            position: cells.stand_ins(table.columns[position]) for position, cells in values.items()
        }
    of_columns = {}
    for column in table.columns:
        if column.is_ordered and len(column.levels) > values:
            rows_of_level = np.bincount(column.codes[column.codes >= 0])
            of_columns[column.position] = nearest_quantile(rows_of_level, values)
    return of_columns


def nearest_quantile(rows_of_level: IntArray, size: int) -> IntArray:
    """The quantile that stands for each level: the nearest by rank among levels, ties to the lower.

    Quantiles are the values at the places ``ceil(N (g - 1/2) / size)``, g = 1 … size, of the sorted
    rows (C22).

    Parameters
    ----------
    rows_of_level : array of shape (n_levels,)
    size : int
        Quantiles, at most.
    """
    n_rows = int(rows_of_level.sum())
    odd_numbers = 2 * np.arange(1, size + 1) - 1  # 2 g - 1
    places = -(-n_rows * odd_numbers // (2 * size))  # rounded up, in whole numbers
    quantiles = np.unique(np.searchsorted(np.cumsum(rows_of_level), places))
    last_of_lower = (quantiles[:-1] + quantiles[1:]) // 2  # of two neighbouring quantiles
    return np.asarray(quantiles[np.searchsorted(last_of_lower, np.arange(len(rows_of_level)))])


@dataclass(frozen=True, eq=False)
class FineCurve:
    """How the mean curve of some rows runs between the values that stand for cells.

    At the pilot's levels it is ``offsets + weights @ curve[standing]``.

    Parameters
    ----------
    standing : array of shape (n_cells,)
        Levels at which the curve is known: those that stand for cells.
    levels : array of shape (n_pilot_values,)
        Levels at which the pilot rows were asked, ascending.
    offsets : array of shape (n_pilot_values,)
    weights : array of shape (n_pilot_values, n_cells)
        Each line adds up to 1; that of a standing level is 1 for its cell, and its offset is 0.
    """

    standing: IntArray
    levels: IntArray
    offsets: FloatArray
    weights: FloatArray

    def at_levels(self, at_standing: FloatArray) -> FloatArray:
        """One curve (n_cells,), or several (n_cells, n_curves), at the pilot's levels."""
        between = self.weights @ at_standing
        offsets = self.offsets if at_standing.ndim == 1 else self.offsets[:, None]
        return np.asarray(offsets + between)


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a column's values: one value stands for all of a cell (C22).

    Parameters
    ----------
    column : Column
        As the fitting rows have it.
    cell_of_level : array of shape (n_levels,)
    standing : array of shape (n_cells,)
        The level that stands for each cell.
    curves : tuple of FineCurve
        For each output how curves run between the standing levels; none of placeholders.
    vectors : array of shape (n_cells, n), optional
        What the standing values are told apart by; None: of placeholders.
    mass : array of shape (n_cells,), optional
        Weight of the rows in each cell.
    """

    column: Column
    cell_of_level: IntArray
    standing: IntArray
    curves: tuple[FineCurve, ...] = ()
    vectors: FloatArray | None = None
    mass: FloatArray | None = None

    def stand_ins(self, column: Column) -> IntArray:
        """For each level of the column the level of the same column that stands for it, (n_levels,).

        In another table than the fit's it is the level of the cell that is nearest to the fit's.
        """
        if column is self.column:
            return np.asarray(self.standing[self.cell_of_level])
        places = places_among(column, self.column)
        cells = self._cells_at(places)
        if not self.column.is_ordered:  # a label that the fit has not seen is far from all cells
            places = np.where(places < 0, 2 * len(self.cell_of_level), places)
        stand_in = np.empty(len(cells), dtype=np.intp)
        for cell in np.unique(cells):
            members = np.flatnonzero(cells == cell)
            distance = np.abs(places[members] - self.standing[cell])
            stand_in[members] = members[int(np.argmin(distance))]
        return stand_in

    def _cells_at(self, places: IntArray) -> IntArray:
        """Cells of levels at some places among the fit's; a label not seen joins the largest cell."""
        cells = self.cell_of_level[np.maximum(places, 0)]
        if self.column.is_ordered:
            return np.asarray(cells)
        largest_cell = int(np.argmax(np.bincount(self.cell_of_level)))
        return np.where(places < 0, largest_cell, cells)


def every_level(column: Column) -> Cells:
    """Cells of one level each."""
    levels = np.arange(len(column.levels))
    return Cells(column=column, cell_of_level=levels, standing=levels)


def places_among(column: Column, fitted: Column) -> IntArray:
    """Place of each level of a column among the levels of the same column in the fit, (n_levels,).

    An ordered level takes the place of the last one that is not above it; -1: below all. A label has
    the place of itself; -1: the fit has not seen it.
    """
    if not fitted.is_ordered:
        place_of_label = {label: place for place, label in enumerate(fitted.levels.tolist())}
        places = [place_of_label.get(label, -1) for label in column.levels.tolist()]
        return np.array(places, dtype=np.intp)
    fitted_ranks = fitted.levels
    ranks = column.levels
    if fitted.order is not None:
        rank_of_label = {label: rank for rank, label in enumerate(fitted.order)}
        unseen = len(rank_of_label)  # above all
        fitted_ranks = np.array([rank_of_label[label] for label in fitted.levels])
        ranks = np.array([rank_of_label.get(label, unseen) for label in column.levels])
    return np.asarray(np.searchsorted(fitted_ranks, ranks, side="right") - 1)

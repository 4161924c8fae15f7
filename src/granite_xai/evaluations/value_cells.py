"""Cells of a column's values, of which one value stands for the others (C22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.evaluations.fine_curve import FineCurve
from granite_xai.tables import Column, Table


@dataclass(frozen=True, slots=True, eq=False)
class ValueCells:
    """The cells of one column.

    Parameters
    ----------
    column : Column
        As the fitting rows have it.
    cell_of_level : array of shape (n_levels,)
    standing : array of shape (n_cells,)
        The level that stands for each cell.
    curves : tuple of FineCurve
        For each output how curves run between the standing levels; none where the cells are for
        other rows than those of the fit.
    """

    column: Column
    cell_of_level: IntArray
    standing: IntArray
    curves: tuple[FineCurve, ...] = ()

    def __post_init__(self) -> None:
        """Check what a file may have wrong."""
        n_levels = len(self.column.levels)
        if len(self.cell_of_level) != n_levels:
            raise ValueError(f"{len(self.cell_of_level)} of {n_levels} levels have a cell")
        if not _are_indices_of(self.cell_of_level, len(self.standing)):
            raise ValueError("a level has a cell that does not exist")
        if not _are_indices_of(self.standing, n_levels):
            raise ValueError("a cell stands for a level that does not exist")

    def cells_of(self, column: Column) -> IntArray:
        """Cell of each level of the same column in another table, (n_levels,).

        An ordered level between two of the fit joins the lower one; a label that the fit has not
        seen joins the largest cell.
        """
        if column is self.column:
            return self.cell_of_level
        if self.column.is_ordered:
            places = ordered_places(column, self.column)
            return self.cell_of_level[np.clip(places, 0, len(self.cell_of_level) - 1)]
        fitted_labels = self.column.levels.tolist()
        cell_of_label = dict(zip(fitted_labels, self.cell_of_level.tolist(), strict=True))
        largest_cell = int(np.argmax(np.bincount(self.cell_of_level)))
        cells = [cell_of_label.get(label, largest_cell) for label in column.levels.tolist()]
        return np.array(cells, dtype=np.intp)

    def stand_ins(self, column: Column) -> IntArray:
        """For each level of a column the level of the same column that stands for it, (n_levels,).

        In another table than the fit's it is the level of the cell that is nearest to the fit's.
        """
        if column is self.column:
            return self.standing[self.cell_of_level]
        cells = self.cells_of(column)
        places = self._places_in_fit(column)
        stand_in = np.empty(len(cells), dtype=np.intp)
        for cell in np.unique(cells):
            members = np.flatnonzero(cells == cell)
            distance = np.abs(places[members] - self.standing[cell])
            stand_in[members] = members[int(np.argmin(distance))]
        return stand_in

    def _places_in_fit(self, column: Column) -> IntArray:
        """Number of each level of another table's column among the levels of the fit, (n_levels,)."""
        if self.column.is_ordered:
            return ordered_places(column, self.column)
        place_of_label = {label: place for place, label in enumerate(self.column.levels.tolist())}
        unseen = 2 * len(place_of_label)  # further from all cells than any label of the fit
        return np.array([place_of_label.get(label, unseen) for label in column.levels.tolist()])


def _are_indices_of(numbers: IntArray, length: int) -> bool:
    """Whether all numbers are places in something of a length."""
    return bool(np.all((numbers >= 0) & (numbers < length)))


def ordered_places(column: Column, fitted: Column) -> IntArray:
    """Where each level of a column lies among those of the fit: the last that is not above it; -1: below all."""
    if fitted.order is None:
        fitted_ranks, ranks = fitted.levels, column.levels
    else:
        rank_of_label = {label: rank for rank, label in enumerate(fitted.order)}
        unseen = len(rank_of_label)  # above all
        fitted_ranks = np.array([rank_of_label[label] for label in fitted.levels])
        ranks = np.array([rank_of_label.get(label, unseen) for label in column.levels])
    return np.asarray(np.searchsorted(fitted_ranks, ranks, side="right") - 1)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedValues:
    """The cells of all columns that have some.

    Parameters
    ----------
    columns : mapping of position to ValueCells
        Other columns keep all their values.
    pilot_rows : int
        Rows that the model was asked about to choose the cells.
    """

    columns: Mapping[int, ValueCells] = field(default_factory=dict)
    pilot_rows: int = 0

    def stand_ins(self, table: Table) -> dict[int, IntArray]:
        """For each column with cells, the level that stands for each level of the table."""
        return {
            position: cells.stand_ins(table.columns[position])
            for position, cells in self.columns.items()
        }

    def without_curves(self) -> LearnedValues:
        """What other rows need: the cells alone."""
        bare = {position: replace(cells, curves=()) for position, cells in self.columns.items()}
        return LearnedValues(bare, self.pilot_rows)

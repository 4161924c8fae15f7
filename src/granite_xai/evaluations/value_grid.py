"""Columns of many values, of which a few are evaluated (C22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.value_cells import LearnedValues, ValueCells
from granite_xai.tables import Table

COARSEST = 32  # values of the coarsest grid that a fit chooses by itself

# Values that stand for a column: so many quantiles, those that a pilot chose, or None for all.
Values = int | LearnedValues | None


@dataclass(frozen=True, slots=True, eq=False)
class ValueGrid:
    """The columns that are snapped to a few of their values, by position.

    Parameters
    ----------
    columns : mapping of position to array of shape (n_levels,)
        For each column that is snapped, the level that stands for each of its levels.
    cells : mapping of position to ValueCells
        Where a pilot chose the values, what it learned.
    """

    columns: Mapping[int, IntArray] = field(default_factory=dict)
    cells: Mapping[int, ValueCells] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, values: Values) -> ValueGrid:
        """The columns of a table that have more values than are evaluated.

        Parameters
        ----------
        table : Table
        values : int, LearnedValues or None
            The number of quantiles, or the values that a pilot chose. None: no column is snapped.
            A table with one column has no grid: there is nothing to combine its values with.
        """
        if values is None or table.n_columns == 1:
            return cls()
        if isinstance(values, LearnedValues):
            return cls(columns=values.stand_ins(table), cells=values.columns)
        snapped = {}
        for column in table.columns:
            if column.is_ordered and len(column.levels) > values:
                rows_of_level = np.bincount(column.codes[column.codes >= 0])
                snapped[column.position] = nearest_quantile(rows_of_level, values)
        return cls(columns=snapped)

    def distinct(self, table: Table, position: int) -> DistinctValues:
        """The grid of one column, and the grid value of each row; a missing value stays missing."""
        codes = table.columns[position].codes
        stand_in = np.where(codes < 0, -1, self.columns[position][codes])  # (n,) level or -1
        levels, numbers = np.unique(stand_in, return_inverse=True)
        observed, first_rows = np.unique(codes, return_index=True)
        return DistinctValues(
            codes=numbers.reshape(-1),
            representatives=first_rows[np.searchsorted(observed, levels)],
            levels=levels,
        )


EVERY_VALUE = ValueGrid()  # no column is snapped


def nearest_quantile(rows_of_level: IntArray, size: int) -> IntArray:
    """The grid level that stands for each level: nearest by rank among the levels, ties to the lower.

    The grid holds the values at the places ``ceil(N (g - 1/2) / size)``, g = 1 … size, of the sorted
    rows (C22).

    Parameters
    ----------
    rows_of_level : array of shape (n_levels,)
        Number of rows at each level.
    size : int
        Values of the grid, at most.
    """
    n_rows = int(rows_of_level.sum())
    odd_numbers = 2 * np.arange(1, size + 1) - 1  # 2 g - 1
    places = -(-n_rows * odd_numbers // (2 * size))  # rounded up, in whole numbers
    grid = np.unique(np.searchsorted(np.cumsum(rows_of_level), places))
    # Of two neighbours on the grid, the last level that the lower one stands for.
    last_of_lower = (grid[:-1] + grid[1:]) // 2
    levels = np.arange(len(rows_of_level))
    return np.asarray(grid[np.searchsorted(last_of_lower, levels)])

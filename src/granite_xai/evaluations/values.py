"""The values of a set of columns that are evaluated: every distinct one, or a grid that stands for many (C22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import IntArray

if TYPE_CHECKING:
    from granite_xai.tables import Column, Table


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The values of the columns S that are evaluated: the code of each row, and a row that carries each value.

    Parameters
    ----------
    codes : (n,) int
    representatives : (U,) int
    levels : (U,) int, optional
        Where the values are a grid of one column, the level of each (-1: missing); None: every value is there.
    """

    codes: IntArray
    representatives: IntArray
    levels: IntArray | None = None

    def __len__(self) -> int:
        return len(self.representatives)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The columns of a table that are snapped to a few of their values.

    Parameters
    ----------
    columns : mapping from a column's position to the level that stands for each of its levels
    """

    columns: Mapping[int, IntArray] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, size: int | None) -> Grid:
        """The ordered columns with more than ``size`` values; none without a size, or in a table of one column."""
        if size is None or table.n_columns == 1:
            return cls()
        many = (column for column in table.columns if len(column.levels) > size)
        return cls({c.position: nearest(_counts(c), size) for c in many if c.kind not in ("nominal", "boolean")})

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
    rows = [int(np.flatnonzero(own == level)[0]) for level in (0, len(table.columns[position].levels) - 1)]
    return Distinct(np.zeros(0, dtype=np.intp), np.array(rows))


EVERY_VALUE = Grid()
"""No column is snapped."""


def nearest(counts: IntArray, size: int) -> IntArray:
    """The grid level nearest to each level, from the rows at each: by rank among the levels, ties to the lower.

    The grid holds the values at the places ``ceil(N (g - 1/2) / size)`` of the sorted rows, g = 1 … size.

    >>> nearest(np.ones(6, dtype=int), 2)
    array([1, 1, 1, 4, 4, 4])
    """
    n = int(counts.sum())
    places = -(-n * (2 * np.arange(1, size + 1) - 1) // (2 * size))
    grid = np.unique(np.searchsorted(np.cumsum(counts), places))
    middles = (grid[:-1] + grid[1:]) // 2  # the last level that the lower of two neighbours stands for
    found: IntArray = grid[np.searchsorted(middles, np.arange(len(counts)))]
    return found


def _counts(column: Column) -> IntArray:
    return np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))

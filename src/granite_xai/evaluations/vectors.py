"""One vector a row, which the rows of a region shall have alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector a row: a curve on a grid, indicators of a cluster, a value to predict.

    With a column, its grid is cut with the region (GADGET): a region that is a part of this column's
    range reads only the grid points inside it, and curves are centred again on these.

    Parameters
    ----------
    values : array of shape (n, n_entries)
    column : int, optional
        Position of the column along which curves run; None: all entries count everywhere.
    grid : array of shape (n_entries,), optional
        The column's value at each entry.
    own : array of shape (n,), optional
        The column's value at each row.
    """

    values: FloatArray
    column: int | None = None
    grid: FloatArray | None = None
    own: FloatArray | None = None

    def restrict(self, rows: IntArray) -> Vectors:
        """Only these rows."""
        own = None if self.own is None else self.own[rows]
        return replace(self, values=self.values[rows], own=own)

    def inner_entries(self, inside: BoolArray, column: int) -> BoolArray | None:
        """Which entries the inner side of a cut along a column reads; None where both sides read all."""
        if self.column != column or self.grid is None or self.own is None:
            return None
        if inside.all() or not inside.any():
            return None
        # The grid is cut halfway between the neighbours on both sides, as in the original.
        last_inner = self.own[inside].max()
        first_outer = self.own[~inside].min()
        return np.asarray(self.grid <= (last_inner + first_outer) / 2)

    def part(self, rows: IntArray, entries: BoolArray | None) -> Vectors:
        """Some rows and entries; curves on a part of their grid are centred again."""
        of_rows = self.restrict(rows)
        if entries is None or self.grid is None:
            return of_rows
        curves = centred(of_rows.values[:, entries])
        return replace(of_rows, values=curves, grid=self.grid[entries])


def centred(values: FloatArray) -> FloatArray:
    """Each row minus its own mean."""
    if values.shape[1] == 0:
        return values
    return np.asarray(values - values.mean(axis=1, keepdims=True))

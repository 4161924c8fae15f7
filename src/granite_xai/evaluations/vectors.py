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
    column_values : array of shape (n,), optional
        The column's value at each row.
    """

    values: FloatArray
    column: int | None = None
    grid: FloatArray | None = None
    column_values: FloatArray | None = None

    def restrict(self, rows: IntArray) -> Vectors:
        """Only these rows."""
        restricted = replace(self, values=self.values[rows])
        if self.column_values is None:
            return restricted
        return replace(restricted, column_values=self.column_values[rows])

    def left_entries(self, is_left: BoolArray, column: int) -> BoolArray | None:
        """Which entries the left side of a split reads.

        Parameters
        ----------
        is_left : array of shape (n,)
            Whether a row is on the left.
        column : int
            Position of the column that is cut.

        Returns
        -------
        array of shape (n_entries,) or None
            None where both sides read all entries.
        """
        if self.column != column or self.grid is None or self.column_values is None:
            return None
        if is_left.all() or not is_left.any():
            return None
        # The grid is cut halfway between the neighbours on both sides, as in the original.
        last_left = self.column_values[is_left].max()
        first_right = self.column_values[~is_left].min()
        return np.asarray(self.grid <= (last_left + first_right) / 2)

    def restrict_entries(self, entries: BoolArray) -> Vectors:
        """Only these entries; curves on a part of their grid are centred again."""
        if self.grid is None:
            return self
        curves = centred(self.values[:, entries])
        return replace(self, values=curves, grid=self.grid[entries])


def centred(values: FloatArray) -> FloatArray:
    """Each line of an array (n, n_entries) minus its mean."""
    if values.shape[1] == 0:
        return values
    return np.asarray(values - values.mean(axis=1, keepdims=True))

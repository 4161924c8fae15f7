"""Vectors: a few numbers for each row, such as its ICE curve, that a region shall make alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector a row: a curve on a grid, indicators of a cluster, a value to predict.

    With a column, its grid is cut with the region (GADGET): a region that is a part of this column's range reads only
    the grid points inside it, and curves are centred again on these; ``grid`` is the column's value at each entry,
    ``own`` that of each row. None: all entries count everywhere.
    """

    values: FloatArray
    column: int | None = None
    grid: FloatArray | None = None
    own: FloatArray | None = None

    def restrict(self, rows: IntArray) -> Vectors:
        """Only these rows."""
        return replace(self, values=self.values[rows], own=None if self.own is None else self.own[rows])

    def inner_entries(self, inside: BoolArray, column: int) -> BoolArray | None:
        """Which entries the inner side of a cut along a column reads; None where both sides read all.

        The grid is cut halfway between the neighbours on both sides, as in the original.
        """
        if self.column != column or self.grid is None or self.own is None or not (inside.any() and (~inside).any()):
            return None
        low, high = self.own[inside].max(), self.own[~inside].min()
        return np.asarray(self.grid <= (low + high) / 2)

    def part(self, rows: IntArray, entries: BoolArray | None) -> Vectors:
        """Some rows and entries; curves on a part of their grid are centred again."""
        found = self.restrict(rows)
        if entries is None or self.grid is None:
            return found
        return replace(found, values=centred(found.values[:, entries]), grid=self.grid[entries])


def centred(values: FloatArray) -> FloatArray:
    """Each row minus its own mean.

    >>> centred(np.array([[1.0, 3.0]]))
    array([[-1.,  1.]])
    """
    return values - values.mean(axis=1, keepdims=True) if values.shape[1] else values

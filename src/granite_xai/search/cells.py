"""Sums over the parts that cuts make of the rows of a node, by way of the cells that they are made of.

The classes of a column that cuts send left or right together, or those of two columns crossed, divide
the rows into cells. Sums over cells give the sums over both sides of every cut, and over the four
quarters of every pair of cuts: the cost grows with the rows, not with the number of cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.engine.splits import Cut

LEFT, RIGHT = 0, 1  # sides of a cut


@dataclass(frozen=True, eq=False)
class CellLayout:
    """The cells that the cuts of one column, or of two, make of the rows of a node.

    Parameters
    ----------
    cuts : tuple of one or two Cut
    upper_side : int, optional
        Of two columns only the parts on this side of the first cut; None: on both.
    """

    cuts: tuple[Cut, ...]
    upper_side: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Classes of each column."""
        return tuple(cut.left.shape[1] for cut in self.cuts)

    @property
    def n_cells(self) -> int:
        """Classes of one column, or pairs of classes of two."""
        return prod(self.shape)

    @property
    def n_parts(self) -> int:
        """Two sides of each cut of one column, two or four quarters of each pair of cuts of two."""
        n_parts = prod(2 * len(cut.left) for cut in self.cuts)
        return n_parts if self.upper_side is None else n_parts // 2

    def cells(self) -> IntArray:
        """Cell of each row."""
        if len(self.cuts) == 1:
            return self.cuts[0].classes
        first, second = self.cuts
        return first.classes * self.shape[1] + second.classes

    def parts(self, by_cell: FloatArray, out: FloatArray) -> None:
        """Sums over parts (n_parts, n), written to ``out``, from sums over cells (n_cells, n)."""
        width = by_cell.shape[-1]
        if len(self.cuts) == 1:
            both_sides(self.cuts[0], by_cell, out)
            return
        first, second = self.cuts
        n_first = len(first.left)
        first_classes, second_classes = self.shape
        by_first = np.empty((2 * n_first, second_classes * width))
        both_sides(first, by_cell.reshape(first_classes, second_classes * width), by_first)
        if self.upper_side is not None:
            start = self.upper_side * n_first
            by_first = by_first[start : start + n_first]
        both_sides(
            second,
            by_first.reshape(-1, second_classes, width),
            out.reshape(len(by_first), -1, width),
        )

    def table(self, of_parts: FloatArray) -> FloatArray:
        """One number a part as a table.

        (2, n_cuts) for one column; for two (4, n_first, n_second): left and left, left and right,
        right and left, right and right; (2, n_first, n_second) on one side of the first cut.
        """
        if len(self.cuts) == 1:
            return of_parts.reshape(2, -1)
        n_first, n_second = (len(cut.left) for cut in self.cuts)
        quarters = of_parts.reshape(-1, n_first, 2, n_second).transpose(0, 2, 1, 3)
        return quarters.reshape(-1, n_first, n_second)


def both_sides(cut: Cut, by_class: FloatArray, out: FloatArray) -> None:
    """Sums over the left sides of the cuts of a column, then over their right sides.

    Parameters
    ----------
    cut : Cut
    by_class : array of shape (..., n_classes, n)
    out : array of shape (..., 2 * n_cuts, n)
        Where the sums are written.
    """
    n_cuts = len(cut.left)
    left = out[..., :n_cuts, :]
    np.matmul(cut.left.astype(np.float64), by_class, out=left)
    np.subtract(by_class.sum(axis=-2, keepdims=True), left, out=out[..., n_cuts:, :])


class CellMembership:
    """The rows of a node in the cells of some layouts, for sums over the parts of all of them.

    Parameters
    ----------
    layouts : sequence of CellLayout
        Over the same rows.
    """

    def __init__(self, layouts: Sequence[CellLayout]) -> None:
        self.layouts = layouts
        # (n_rows, n_layouts): the cells are numbered through all layouts.
        self._cells = np.stack([layout.cells() for layout in layouts], axis=1)
        self._starts = np.cumsum([0, *(layout.n_cells for layout in layouts)])
        self._cells += self._starts[:-1]
        self._matrix = _membership_matrix(self._cells, int(self._starts[-1]))

    def sums(
        self, products: FloatArray, bins: IntArray | None = None, n_bins: int = 1
    ) -> FloatArray:
        """Sums of rows over all parts of all layouts, within bins where there are some.

        Parameters
        ----------
        products : array of shape (n_rows, n_products)
        bins : array of shape (n_rows,), optional
        n_bins : int

        Returns
        -------
        array of shape (n_parts, n_bins * n_products)
        """
        matrix = self._matrix
        if bins is not None:
            binned = self._cells * n_bins + bins[:, None]
            matrix = _membership_matrix(binned, int(self._starts[-1]) * n_bins)
        by_cell = np.asarray(matrix @ products).reshape(int(self._starts[-1]), -1)
        sums = np.empty((sum(layout.n_parts for layout in self.layouts), by_cell.shape[1]))
        first_part = 0
        first_cell = 0
        for layout in self.layouts:
            end_part = first_part + layout.n_parts
            end_cell = first_cell + layout.n_cells
            layout.parts(by_cell[first_cell:end_cell], out=sums[first_part:end_part])
            first_part = end_part
            first_cell = end_cell
        return sums


def _membership_matrix(cells: IntArray, n_cells: int) -> sparse.csc_matrix:
    """A column of zeros and ones for each row, from the cells (n_rows, n_layouts) it lies in."""
    n_rows, n_layouts = cells.shape
    return sparse.csc_matrix(
        (np.ones(cells.size), cells.reshape(-1), np.arange(n_rows + 1) * n_layouts),
        shape=(n_cells, n_rows),
    )

"""Sums over the parts that cuts make of the rows of a node, by way of the cells that they are made of.

The classes of a column that cuts send left or right together, or those of two columns crossed, divide
the rows into cells. Sums over cells give the sums over both sides of every cut, and over the four
quarters of every pair of cuts: the cost grows with the rows, not with the number of cuts. Pairs of
columns whose cuts have the same table of classes are summed up side by side, in few large steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.splits import Cut

LEFT, RIGHT = 0, 1  # sides of a cut
INT32_END = 2**31  # numbers of 32 bits end before this one
NARROW = 48  # numbers of a class up to which NumPy's cumulative sum is faster than a loop of sums


class PartBatch(ABC):
    """Parts of the rows of a node that are summed up together."""

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """Cells that the parts are made of."""

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """Parts of the rows."""

    @abstractmethod
    def cells(self) -> IntArray:
        """The cells that each row lies in, (n_rows, n): one for each column, or pair of columns."""

    @abstractmethod
    def parts(self, by_cell: FloatArray, out: FloatArray) -> None:
        """Sums over parts (n_parts, width), written to ``out``, from sums over cells (n_cells, width).

        The sums over cells may be overwritten.
        """

    @abstractmethod
    def tables(self, of_parts: FloatArray) -> list[FloatArray]:
        """One number a part as tables: one for each column, or pair of columns."""


@dataclass(frozen=True, eq=False)
class Sides(PartBatch):
    """Both sides of the cuts of some columns; a table has the shape (2, n_cuts).

    Parameters
    ----------
    cuts : sequence of Cut
        All have the same table of classes.
    """

    cuts: Sequence[Cut]

    @property
    def _left(self) -> BoolArray:
        return self.cuts[0].left

    @property
    def n_cells(self) -> int:
        """Classes of all columns."""
        return int(self._left.shape[1] * len(self.cuts))

    @property
    def n_parts(self) -> int:
        """Two of each cut."""
        return 2 * len(self._left) * len(self.cuts)

    def cells(self) -> IntArray:
        """Class of each row in each column; those of all columns are neighbours."""
        n_columns = len(self.cuts)
        classes = np.stack([cut.classes for cut in self.cuts], axis=1)
        return np.asarray(classes * n_columns + np.arange(n_columns))

    def parts(self, by_cell: FloatArray, out: FloatArray) -> None:
        """Left sides by cuts and by columns, then right sides."""
        width = by_cell.shape[1]
        sums = _sums_of_left(self._left, by_cell.reshape(self._left.shape[1], -1))
        n_left = len(out) // 2
        out[:n_left] = sums[:-1].reshape(n_left, width)
        total = sums[-1, :width]
        np.subtract(total, out[:n_left], out=out[n_left:])

    def tables(self, of_parts: FloatArray) -> list[FloatArray]:
        """What stands on the left of each cut of a column, and on the right."""
        by_column = of_parts.reshape(2, len(self._left), len(self.cuts))
        return [by_column[..., number] for number in range(len(self.cuts))]


@dataclass(frozen=True, eq=False)
class Quarters(PartBatch):
    """The quarters of pairs of cuts, one of a first and one of a second column.

    A table has the shape (4, n_first, n_second): left and left, left and right, right and left, right
    and right; (2, n_first, n_second) on one side of the first cut.

    Parameters
    ----------
    pairs : sequence of pairs of Cut
        All first cuts have the same table of classes, and all second ones.
    upper_side : int, optional
        Only the parts on this side of the first cut; None: on both.
    """

    pairs: Sequence[tuple[Cut, Cut]]
    upper_side: int | None = None

    @property
    def _left(self) -> tuple[BoolArray, BoolArray]:
        """The classes that the first cuts send left, and the second ones."""
        first, second = self.pairs[0]
        return first.left, second.left

    @property
    def _n_quarters(self) -> int:
        return 4 if self.upper_side is None else 2

    @property
    def n_cells(self) -> int:
        """Pairs of classes, of all pairs of columns."""
        first, second = self._left
        return int(first.shape[1] * second.shape[1] * len(self.pairs))

    @property
    def n_parts(self) -> int:
        """Two or four quarters of each pair of cuts."""
        first, second = self._left
        return self._n_quarters * len(first) * len(second) * len(self.pairs)

    def cells(self) -> IntArray:
        """Pair of classes of each row; those of all pairs of columns are neighbours."""
        n_second = self._left[1].shape[1]
        numbers = [first.classes * n_second + second.classes for first, second in self.pairs]
        n_pairs = len(self.pairs)
        return np.asarray(np.stack(numbers, axis=1) * n_pairs + np.arange(n_pairs))

    def parts(self, by_cell: FloatArray, out: FloatArray) -> None:
        """Quarters by cuts of the first column, of the second one, and by pairs of columns."""
        first, second = self._left
        n_pairs = len(self.pairs)
        width = by_cell.shape[1]
        # Left of every first cut, and of none (the last entry: everything); then of every second one.
        sums = _sums_of_left(first, by_cell.reshape(first.shape[1], -1))
        sums = sums.reshape(len(sums), second.shape[1], n_pairs * width)
        sums = _sums_of_left(second, sums.swapaxes(0, 1)).swapaxes(0, 1)
        left_left = sums[:-1, :-1]
        left_any = sums[:-1, -1:]
        any_left = sums[-1:, :-1]
        anywhere = sums[-1:, -1:]
        quarters = out.reshape(self._n_quarters, *left_left.shape)
        if self.upper_side != RIGHT:
            quarters[0] = left_left
            np.subtract(left_any, left_left, out=quarters[1])
        if self.upper_side != LEFT:
            right_left, right_right = quarters[-2], quarters[-1]
            np.subtract(any_left, left_left, out=right_left)
            np.subtract(anywhere - left_any, right_left, out=right_right)

    def tables(self, of_parts: FloatArray) -> list[FloatArray]:
        """The quarters of each pair of columns."""
        first, second = self._left
        by_pair = of_parts.reshape(self._n_quarters, len(first), len(second), len(self.pairs))
        return [by_pair[..., number] for number in range(len(self.pairs))]


def _sums_of_left(left: BoolArray, by_class: FloatArray) -> FloatArray:
    """Sums over the classes that each cut sends left, and over all classes.

    Parameters
    ----------
    left : array of shape (n_cuts, n_classes)
    by_class : array of shape (n_classes, ...)
        Overwritten where each cut sends one class more to the left than the one before.

    Returns
    -------
    array of shape (n_cuts + 1, ...)
    """
    n_cuts, n_classes = left.shape
    if n_classes == n_cuts + 1 and left.tobytes() == _one_class_more_each(n_cuts):
        if by_class[0].size <= NARROW:
            return np.cumsum(by_class, axis=0, out=by_class)
        for number in range(1, n_classes):
            by_class[number] += by_class[number - 1]
        return by_class
    with_all = np.ones((n_cuts + 1, n_classes))
    with_all[:-1] = left
    flat = by_class.reshape(n_classes, -1)
    return (with_all @ flat).reshape(n_cuts + 1, *by_class.shape[1:])


@cache
def _one_class_more_each(n_cuts: int) -> bytes:
    """The table of cuts of which each sends one class more to the left than the one before."""
    return np.tri(n_cuts, n_cuts + 1, dtype=np.bool_).tobytes()


def side_batches(cuts: Sequence[Cut], most_parts: int) -> list[tuple[PartBatch, list[int]]]:
    """Columns that are summed up side by side, with their positions.

    Parameters
    ----------
    cuts : sequence of Cut
        One for each column.
    most_parts : int
        Parts of a batch, at most, unless one column has more.
    """
    keys = [_table_key(cut) for cut in cuts]
    runs = _alike(keys, [2 * len(cut.left) for cut in cuts], most_parts)
    return [(Sides([cuts[position] for position in run]), run) for run in runs]


def quarter_batches(
    pairs: Sequence[tuple[Cut, Cut]], most_parts: int
) -> list[tuple[PartBatch, list[int]]]:
    """Pairs of columns that are summed up side by side, with their positions.

    Parameters
    ----------
    pairs : sequence of pairs of Cut
    most_parts : int
        Parts of a batch, at most, unless one pair of columns has more.
    """
    keys = [(_table_key(first), _table_key(second)) for first, second in pairs]
    sizes = [4 * len(first.left) * len(second.left) for first, second in pairs]
    runs = _alike(keys, sizes, most_parts)
    return [(Quarters([pairs[position] for position in run]), run) for run in runs]


def _table_key(cut: Cut) -> tuple[int, bytes]:
    """The same for cuts with the same table of classes."""
    return len(cut.left), cut.left.tobytes()


def _alike(keys: Sequence[object], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Positions of equal keys together, as long as their sizes are no more than that."""
    groups: dict[object, list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position)
    runs = []
    for positions in groups.values():
        length = max(1, most // max(1, sizes[positions[0]]))
        runs += [positions[start : start + length] for start in range(0, len(positions), length)]
    return runs


class CellMembership:
    """The rows of a node in the cells of some batches, for sums over the parts of all of them.

    Parameters
    ----------
    batches : sequence of PartBatch
        Over the same rows.
    """

    def __init__(self, batches: Sequence[PartBatch]) -> None:
        self.batches = batches
        self._n_cells = sum(batch.n_cells for batch in batches)
        starts = np.cumsum([0, *(batch.n_cells for batch in batches[:-1])])
        of_batches = [batch.cells() + start for batch, start in zip(batches, starts, strict=True)]
        # (n_rows, n): the cells are numbered through all batches.
        self._cells = of_batches[0] if len(of_batches) == 1 else np.hstack(of_batches)
        self._matrix = _membership_matrix(self._cells, self._n_cells)

    @property
    def n_parts(self) -> int:
        """Parts of all batches."""
        return sum(batch.n_parts for batch in self.batches)

    def by_cell(
        self, products: FloatArray, bins: IntArray | None = None, n_bins: int = 1
    ) -> FloatArray:
        """Sums of rows over all cells of all batches, within bins where there are some.

        Parameters
        ----------
        products : array of shape (n_rows, n_products)
        bins : array of shape (n_rows,), optional
        n_bins : int

        Returns
        -------
        array of shape (n_cells, n_bins * n_products)
        """
        matrix = self._matrix
        if bins is not None:
            binned = self._cells * n_bins + bins[:, None]
            matrix = _membership_matrix(binned, self._n_cells * n_bins)
        return np.asarray(matrix @ products).reshape(self._n_cells, -1)

    def by_part(self, by_cell: FloatArray) -> FloatArray:
        """Sums over all parts of all batches, (n_parts, width), from sums over cells (n_cells, width).

        The sums over cells may be overwritten.
        """
        sums = np.empty((self.n_parts, by_cell.shape[1]))
        first_part = 0
        first_cell = 0
        for batch in self.batches:
            end_part = first_part + batch.n_parts
            end_cell = first_cell + batch.n_cells
            batch.parts(by_cell[first_cell:end_cell], out=sums[first_part:end_part])
            first_part = end_part
            first_cell = end_cell
        return sums


def _membership_matrix(cells: IntArray, n_cells: int) -> sparse.csc_matrix:
    """A column of zeros and ones for each row, from the cells (n_rows, n) it lies in."""
    n_rows, n_each = cells.shape
    index_type = (
        np.int32 if max(cells.size, n_cells) < INT32_END else np.int64
    )  # SciPy would convert others
    starts = np.arange(0, cells.size + 1, n_each, dtype=index_type)
    places = cells.reshape(-1).astype(index_type)
    return sparse.csc_matrix((np.ones(cells.size), places, starts), shape=(n_cells, n_rows))

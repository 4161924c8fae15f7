"""NumPy arrays as tables, of every layout and dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import IntArray
from granite_xai.tables.cells import Cells, from_array
from granite_xai.tables.columns import Column
from granite_xai.tables.containers import Container

Matrix = NDArray[Any]


class ArrayContainer(Container):
    """A two-dimensional array; its columns are named by position."""

    library = "numpy"

    def __init__(self, native: Matrix, origin: IntArray | None = None) -> None:
        self.native = native
        self.origin = origin
        self.labels = tuple(range(native.shape[1]))
        # Without its subclass: a memory map gathers into memory.
        self.matrix: Matrix = np.asarray(native)

    def cells(self, position: int) -> Cells:
        """Read one column."""
        return from_array(self.matrix[:, position])

    def take(self, rows: IntArray) -> ArrayContainer:
        """Some rows, in the order given."""
        return ArrayContainer(self.matrix[rows], self._rows_of_user(rows))

    def select(self, positions: Sequence[int]) -> Matrix:
        """A copy of some columns."""
        return self.matrix[:, list(positions)]

    def adopt(self, columns: Sequence[Column]) -> ArrayContainer:
        """The columns of another library as an array: of floats, or of objects when some are not."""
        all_floats = all(column.values.dtype == np.float64 for column in columns)
        dtype = np.float64 if all_floats else object
        arrays = [column.values.astype(dtype) for column in columns]
        return ArrayContainer(np.column_stack(arrays))

    def recombined(
        self, rows: IntArray, donor: Container, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        """Rows of this array with some columns from rows of the donor."""
        return gathered(self.matrix, rows, donor.matrix, donor_rows, columns)

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Matrix:
        """Rows with every float of some columns moved to the next number of its dtype."""
        part = self.matrix[rows]
        part[:, columns] = next_cells(part[:, columns], direction)
        return part


def gathered(
    base: Matrix, rows: IntArray, donor: Matrix, donor_rows: IntArray, columns: Sequence[int]
) -> Matrix:
    """Gather rows of one matrix and some columns from rows of another into a fresh one.

    Parameters
    ----------
    base, donor : arrays of shapes (n_base, n_columns) and (n_donor, n_columns)
    rows, donor_rows : arrays of shape (n_rows,)
        Which row of the base, and which of the donor, each new row is made of.
    columns : sequence of int
        The columns that come from the donor.

    Returns
    -------
    array of shape (n_rows, n_columns)
        In the dtype of the base, or one that holds both.
    """
    n_columns = base.shape[1]
    base_columns = sorted(set(range(n_columns)) - set(columns))
    dtype = _common_dtype(base, donor, donor_rows, columns)
    if not base.flags.c_contiguous or dtype != base.dtype:
        # Column by column: the layout of the base, and no copy of it on the way.
        result = np.empty((len(rows), n_columns), dtype=dtype, order="F")
        _copy_columns(result, base, rows, base_columns)
        _copy_columns(result, donor, donor_rows, columns)
    elif 2 * len(columns) > n_columns and donor.dtype == dtype and donor.flags.c_contiguous:
        # Most cells are the donor's: fewer are overwritten when its rows come first.
        result = donor.take(donor_rows, axis=0)
        _copy_columns(result, base, rows, base_columns)
    else:
        result = base.take(rows, axis=0)
        _copy_columns(result, donor, donor_rows, columns)
    return result


def _copy_columns(target: Matrix, source: Matrix, rows: IntArray, columns: Sequence[int]) -> None:
    """Write rows of some columns of a source over those of the target."""
    for column in columns:
        target[:, column] = source[:, column].take(rows)


def _common_dtype(
    base: Matrix, donor: Matrix, donor_rows: IntArray, columns: Sequence[int]
) -> np.dtype[Any]:
    """The base's dtype when it holds the donor's cells exactly, otherwise one that holds both."""
    if base.dtype == donor.dtype or len(columns) == 0 or base.dtype.kind == "O":
        return base.dtype
    cells = donor[np.unique(donor_rows)][:, list(columns)]
    if _holds_exactly(base.dtype, cells):
        return base.dtype
    return np.result_type(base.dtype, donor.dtype)


def _holds_exactly(dtype: np.dtype[Any], cells: Matrix) -> bool:
    """Whether cells come back the same from a dtype; NaN that stays NaN is the same."""
    try:
        with np.errstate(all="ignore"):
            converted = cells.astype(dtype)
            is_same = converted.astype(cells.dtype) == cells
    except (TypeError, ValueError, OverflowError):
        return False
    both_missing = (converted != converted) & (cells != cells)
    return bool(np.all(is_same | both_missing))


def next_cells(cells: Matrix, direction: int) -> Matrix:
    """Move floats, also among objects, to the next number of their dtype.

    Parameters
    ----------
    cells : array of any shape
        Arrays of other dtypes come back as they are.
    direction : 1 or -1
        Up or down.

    Returns
    -------
    array of the same shape and dtype
        What would become infinite stays.
    """
    if cells.dtype.kind == "O":
        moved = cells.copy()
        for place, cell in np.ndenumerate(cells):
            if isinstance(cell, (float, np.floating)):
                moved[place] = type(cell)(next_cells(np.asarray(cell), direction)[()])
        return moved
    if cells.dtype.kind != "f":
        return cells
    with np.errstate(over="ignore"):
        moved = np.nextafter(cells, cells.dtype.type(np.copysign(np.inf, direction)))
    return np.where(np.isinf(moved), cells, moved).astype(cells.dtype, copy=False)

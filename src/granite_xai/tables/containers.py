"""The library that a table came in: what every container can do, and NumPy arrays of every layout and dtype."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.tables.columns import Cells, Column, from_array

Matrix = NDArray[Any]


class Container:
    """A table in the library it came in; it is read and gathered, never written."""

    library: str
    native: Any
    labels: Any  # of the columns, a tuple, as the library has them; positions where there are none
    origin: IntArray | None = None
    matrix: Any = (
        None  # all cells, where all columns have one NumPy dtype: it is gathered in one pass
    )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def names(self) -> tuple[str, ...]:
        """Column labels as text; positions are x0, x1 and so on."""
        return tuple(
            f"x{label}" if self.library == "numpy" else str(label) for label in self.labels
        )

    @property
    def named(self) -> bool:
        """Whether all columns have text as names (scikit-learn's feature names)."""
        return all(isinstance(label, str) for label in self.labels)

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of rows, for messages: their positions in the table the user passed."""
        return list(self._origin(rows).tolist())

    def _origin(self, rows: IntArray) -> IntArray:
        return rows if self.origin is None else self.origin[rows]

    def refuse(self, *_: Any, **told: Any) -> Any:
        """Refused: there are no rows (F09)."""
        message = f"{told.get('what', 'this')} needs the fitting rows, which the file did not hold."
        hint = "Save the fit in Python with gx.save(obj, path, include_data=True)."
        raise InputError(message, code="F09", argument="include_data", hint=hint)

    # Read a column; some rows; a copy of some columns; columns of another library as a container of this one; rows with
    # some columns from rows of a donor of this library; rows with floats moved to the next number of their dtype.
    cells = take = select = adopt = recombined = nudged = refuse


@dataclass(frozen=True, eq=False)
class Outline(Container):
    """What is left of a table whose rows were not kept: new tables can be compared with it, more is an F09 error."""

    labels: tuple[Hashable, ...]
    library: str

    @property
    def native(self) -> Any:
        """An empty table of the library; of pandas where that library is not installed."""
        found = (
            self.library
            if self.library != "numpy" and find_spec(self.library) is not None
            else "pandas"
        )
        return (
            import_module(found).table({})
            if found == "pyarrow"
            else import_module(found).DataFrame()
        )


class ArrayContainer(Container):
    """A two-dimensional array; its columns are named by position."""

    library = "numpy"

    def __init__(self, native: NDArray[Any], origin: IntArray | None = None) -> None:
        self.native, self.origin, self.labels = native, origin, tuple(range(native.shape[1]))
        self.matrix: NDArray[Any] = np.asarray(
            native
        )  # without its subclass: a memory map gathers into memory

    def cells(self, position: int) -> Cells:
        """Read one column."""
        return from_array(self.matrix[:, position])

    def take(self, rows: IntArray) -> ArrayContainer:
        """Some rows, in the order given."""
        return ArrayContainer(self.matrix[rows], self._origin(rows))

    def select(self, positions: Sequence[int]) -> NDArray[Any]:
        """A copy of some columns."""
        return self.matrix[:, list(positions)]

    def adopt(self, columns: Sequence[Column]) -> ArrayContainer:
        """The columns of another library as an array: of floats, or of objects when some are not."""
        dtype = (
            np.float64 if all(column.values.dtype == np.float64 for column in columns) else object
        )
        return ArrayContainer(np.column_stack([column.values.astype(dtype) for column in columns]))

    def recombined(
        self, rows: IntArray, donor: Container, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        """Rows of this array with some columns from rows of the donor."""
        return gathered(self.matrix, rows, donor.matrix, donor_rows, columns)

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> NDArray[Any]:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""
        part = self.matrix[rows]
        part[:, columns] = next_cells(part[:, columns], direction)
        return part


def gathered(
    base: Matrix, rows: IntArray, donor: Matrix, donor_rows: IntArray, columns: Sequence[int]
) -> Matrix:
    """Gather rows of one matrix and some columns from rows of another into a fresh one."""
    dtype, others = (
        _common_dtype(base, donor, donor_rows, columns),
        sorted(set(range(base.shape[1])) - set(columns)),
    )
    if not base.flags.c_contiguous or dtype != base.dtype:
        # column by column: the layout of the base, and no copy of it on the way
        result = np.empty((len(rows), base.shape[1]), dtype=dtype, order="F")
        for j in others:
            result[:, j] = base[:, j].take(rows)
    elif 2 * len(columns) > base.shape[1] and donor.dtype == dtype and donor.flags.c_contiguous:
        # fewer cells to overwrite when the donor's rows come first
        result, donor, donor_rows, columns = donor.take(donor_rows, axis=0), base, rows, others
    else:
        result = base.take(rows, axis=0)
    for j in columns:
        result[:, j] = donor[:, j].take(donor_rows)
    return result


def _common_dtype(
    base: Matrix, donor: Matrix, donor_rows: IntArray, columns: Sequence[int]
) -> np.dtype[Any]:
    """The base's dtype when it holds the donor's cells exactly, otherwise one that holds both."""
    if base.dtype == donor.dtype or len(columns) == 0 or base.dtype.kind == "O":
        return base.dtype
    cells = donor[np.unique(donor_rows)][:, list(columns)]
    try:
        with np.errstate(all="ignore"):
            there = cells.astype(base.dtype)
            same = (there.astype(cells.dtype) == cells) | ((there != there) & (cells != cells))
    except (TypeError, ValueError, OverflowError):
        same = np.array(False)
    return base.dtype if same.all() else np.result_type(base.dtype, donor.dtype)


def next_cells(cells: Matrix, direction: int) -> Matrix:
    """Move floats, also among objects, to the next representable number; what would become infinite stays."""
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

"""Two-dimensional NumPy arrays of every layout and dtype."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import IntArray
from granite_xai.tables.cells import Cells, from_array
from granite_xai.tables.columns import Column
from granite_xai.tables.containers import Container, gathered, next_cells


@dataclass(frozen=True, eq=False)
class ArrayContainer(Container):
    """An array; its columns are named by position."""

    library: ClassVar[str] = "numpy"
    native: NDArray[Any]
    origin: IntArray | None = None

    @property
    def matrix(self) -> NDArray[Any]:
        """The array without its subclass: a memory map gathers into memory."""
        return np.asarray(self.native)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.native.shape[0])

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Positions."""
        return tuple(range(self.native.shape[1]))

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
        dtype = np.float64 if all(column.values.dtype == np.float64 for column in columns) else object
        matrix = np.empty((len(columns[0].values), len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            matrix[:, j] = column.values
        return ArrayContainer(matrix)

    def recombined(
        self, rows: IntArray, donor: ArrayContainer, donor_rows: IntArray, columns: Sequence[int]
    ) -> NDArray[Any]:
        """Rows of this array with some columns from rows of the donor."""
        return gathered(self.matrix, rows, donor.matrix, donor_rows, columns)

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> NDArray[Any]:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""
        part = self.matrix[rows]
        move = {"f": next_cells, "O": next_objects}.get(part.dtype.kind)
        if move is not None:
            part[:, columns] = move(part[:, columns], direction)
        return part


def next_objects(cells: NDArray[Any], direction: int) -> NDArray[Any]:
    """Move those objects that are floats; the others stay."""
    result = cells.copy()
    for place, cell in np.ndenumerate(cells):
        if isinstance(cell, (float, np.floating)):
            result[place] = type(cell)(next_cells(np.asarray(cell), direction)[()])
    return result

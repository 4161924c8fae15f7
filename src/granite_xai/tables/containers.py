"""What every kind of table can do, whatever library it comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import IntArray
from granite_xai.tables.cells import Cells
from granite_xai.tables.columns import Column


class Container(ABC):
    """A table in the library it came in; it is read and gathered, never written."""

    library: ClassVar[str]
    native: Any
    origin: IntArray | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Hashable, ...]:
        """The column labels as the library has them; positions where there are none."""

    @property
    def named(self) -> bool:
        """Whether all columns have text as names (scikit-learn's feature names)."""
        return all(isinstance(label, str) for label in self.labels)

    @abstractmethod
    def cells(self, position: int) -> Cells:
        """Read one column."""

    @abstractmethod
    def take(self, rows: IntArray) -> Container:
        """Some rows, in the order given."""

    @abstractmethod
    def select(self, positions: Sequence[int]) -> Any:
        """A copy of some columns, as a native table."""

    @abstractmethod
    def adopt(self, columns: Sequence[Column]) -> Container:
        """The columns of a table of another library as a container of this one."""

    @abstractmethod
    def recombined(self, rows: IntArray, donor: Any, donor_rows: IntArray, columns: Sequence[int]) -> Any:
        """Rows of this table with some columns from rows of a donor of the same library, as a native table."""

    @abstractmethod
    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of rows, for messages: their positions in the table the user passed."""
        shown: list[Any] = (rows if self.origin is None else self.origin[rows]).tolist()
        return shown

    def _origin(self, rows: IntArray) -> IntArray:
        return rows if self.origin is None else self.origin[rows]


def gathered(
    base: NDArray[Any], rows: IntArray, donor: NDArray[Any], donor_rows: IntArray, columns: Sequence[int]
) -> NDArray[Any]:
    """Gather rows of one matrix and some columns from rows of another into a fresh one.

    Examples
    --------
    >>> base, donor = np.zeros((2, 3)), np.ones((2, 3))
    >>> gathered(base, np.array([0, 1]), donor, np.array([1, 1]), [2])
    array([[0., 0., 1.],
           [0., 0., 1.]])
    """
    dtype = _common_dtype(base, donor, donor_rows, columns)
    if not base.flags.c_contiguous or dtype != base.dtype:
        return _gathered_by_column(base, rows, donor, donor_rows, columns, dtype)
    if 2 * len(columns) > base.shape[1] and donor.dtype == dtype and donor.flags.c_contiguous:
        # fewer cells to overwrite when the donor's rows come first
        rest = [j for j in range(base.shape[1]) if j not in set(columns)]
        base, rows, donor, donor_rows, columns = donor, donor_rows, base, rows, rest
    result = base.take(rows, axis=0)
    for j in columns:
        result[:, j] = donor[:, j].take(donor_rows)
    return result


def _gathered_by_column(
    base: NDArray[Any],
    rows: IntArray,
    donor: NDArray[Any],
    donor_rows: IntArray,
    columns: Sequence[int],
    dtype: np.dtype[Any],
) -> NDArray[Any]:
    """Gather in column-major order: the layout of the base, and no copy of it on the way."""
    result = np.empty((len(rows), base.shape[1]), dtype=dtype, order="F")
    replaced = set(columns)
    for j in range(base.shape[1]):
        result[:, j] = donor[:, j].take(donor_rows) if j in replaced else base[:, j].take(rows)
    return result


def _common_dtype(
    base: NDArray[Any], donor: NDArray[Any], donor_rows: IntArray, columns: Sequence[int]
) -> np.dtype[Any]:
    """The base's dtype when it holds the donor's cells exactly, otherwise one that holds both."""
    if base.dtype == donor.dtype or len(columns) == 0:
        return base.dtype
    cells = donor[np.unique(donor_rows)][:, list(columns)]
    return base.dtype if holds_exactly(base.dtype, cells) else np.result_type(base.dtype, donor.dtype)


def holds_exactly(dtype: np.dtype[Any], cells: NDArray[Any]) -> bool:
    """Whether cells survive a conversion to a dtype unchanged.

    Examples
    --------
    >>> holds_exactly(np.dtype("int64"), np.array([1.0, 2.0])), holds_exactly(np.dtype("int64"), np.array([0.5]))
    (True, False)
    """
    if dtype.kind == "O":
        return True
    try:
        with np.errstate(all="ignore"):
            there = cells.astype(dtype)
            return bool(np.all((there.astype(cells.dtype) == cells) | ((there != there) & (cells != cells))))
    except (TypeError, ValueError, OverflowError):
        return False


def next_cells(cells: NDArray[Any], direction: int) -> NDArray[Any]:
    """Move floats to the next representable number; what would become infinite stays.

    Examples
    --------
    >>> bool(next_cells(np.array([1.0]), +1)[0] > 1.0)
    True
    """
    with np.errstate(over="ignore"):
        moved = np.nextafter(cells, cells.dtype.type(np.copysign(np.inf, direction)))
    return np.where(np.isinf(moved), cells, moved).astype(cells.dtype, copy=False)

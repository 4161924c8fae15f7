"""Tables of pandas, polars and pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.typing import IntArray
from granite_xai.tables.arrays import gathered, next_cells
from granite_xai.tables.cells import Cells
from granite_xai.tables.columns import Column
from granite_xai.tables.containers import Container
from granite_xai.tables.series import native_dtype, read_series


@dataclass(frozen=True, eq=False)
class FrameContainer(Container):
    """A frame of a library, read through narwhals.

    Parameters
    ----------
    native : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    library : str
        Its library: pandas, polars or pyarrow.
    origin : array of shape (n_rows,), optional
        As in `Container`.
    has_range_index : bool
        Whether the user's pandas frame had no index but the numbers of its rows, which new rows
        are then given as well.
    """

    native: Any
    library: str
    origin: IntArray | None = None
    has_range_index: bool = False

    @cached_property
    def frame(self) -> Any:
        """The table as narwhals has it."""
        return nw.from_native(self.native, eager_only=True)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Column names, straight from the library: narwhals refuses duplicates in its own words."""
        if hasattr(self.native, "column_names"):  # pyarrow
            return tuple(self.native.column_names)
        return tuple(self.native.columns)

    def series(self, position: int) -> Any:
        """One column as narwhals has it."""
        return self.frame[:, position]

    def cells(self, position: int) -> Cells:
        """Read one column."""
        return read_series(self.series(position))

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of the index where there is one; otherwise positions in the user's table."""
        if self.library == "pandas":
            return list(self.native.index.take(rows).tolist())
        return super().row_labels(rows)

    def take(self, rows: IntArray) -> FrameContainer:
        """Some rows, in the order given."""
        native = self.frame[rows].to_native()
        return replace(self, native=native, origin=self._rows_of_user(rows))

    def select(self, positions: Sequence[int]) -> Any:
        """A copy of some columns."""
        return self.frame[:, list(positions)].to_native()

    def adopt(self, columns: Sequence[Column]) -> FrameContainer:
        """The columns of another library; dtypes follow when rows are recombined."""
        values: dict[str, Any] = {}
        for name, column in zip(self.names, columns, strict=True):
            if self.library == "pandas":
                values[name] = column.values
            else:
                values[name] = _for_narwhals(column.values)
        frame = nw.from_dict(values, backend=self.frame.implementation)
        return FrameContainer(frame.to_native(), self.library)

    def recombined(
        self, rows: IntArray, donor: FrameContainer, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        """Rows of this table with some columns from rows of the donor."""
        if self.library == "pandas":
            # By itself: through narwhals that takes eight to twenty times as long.
            return self._recombined_pandas(rows, donor, donor_rows, columns)
        donor_series = donor.frame[donor_rows, list(columns)].iter_columns()
        replacements = []
        for position, series in zip(columns, donor_series, strict=True):
            if not _same_dtype(native_dtype(series), native_dtype(self.series(position))):
                series = _in_dtype_of(self, donor, position, donor_rows)
            replacements.append(series.alias(self.names[position]))
        return self.frame[rows].with_columns(*replacements).to_native()

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every float of some columns moved to the next number of its dtype."""
        moved = {}
        for position in columns:
            moved[position] = _next_numbers(self.series(position)[rows], direction)
        if self.library != "pandas":
            return self.frame[rows].with_columns(*moved.values()).to_native()
        arrays = []
        for position, array in enumerate(self._arrays):
            if position in moved:  # a copy: the model may write into what it gets
                arrays.append(_array(moved[position]).copy())
            else:
                arrays.append(array.take(rows))
        return self._assembled(arrays, rows)

    def _recombined_pandas(
        self, rows: IntArray, donor: FrameContainer, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        are_matrices = self.matrix is not None and donor.matrix is not None
        if are_matrices and self.matrix.dtype == donor.matrix.dtype:
            matrix = gathered(self.matrix, rows, donor.matrix, donor_rows, columns)
            return self._with_axes(pd.DataFrame(matrix, copy=False), rows)
        replaced = set(columns)
        arrays = []
        for position, array in enumerate(self._arrays):
            if position not in replaced:
                arrays.append(array.take(rows))
            elif donor is self or _same_dtype(donor._arrays[position].dtype, array.dtype):
                arrays.append(donor._arrays[position].take(donor_rows))
            else:
                arrays.append(_array(_in_dtype_of(self, donor, position, donor_rows)))
        return self._assembled(arrays, rows)

    def _assembled(self, arrays: Iterable[Any], rows: IntArray) -> Any:
        """A pandas frame from its columns; by position, since not every name is text."""
        columns = {}
        for position, array in enumerate(arrays):
            if array.dtype == object:
                # Spelled out: pandas 3 would turn an array of texts into its own text dtype.
                columns[position] = pd.Series(array, dtype=object, copy=False)
            else:
                columns[position] = array
        return self._with_axes(pd.DataFrame(columns, copy=False), rows)

    def _with_axes(self, frame: Any, rows: IntArray) -> Any:
        """Give a fresh frame the index of some rows and the names of the columns."""
        index = self.native.index
        if self.has_range_index:
            frame.index = pd.RangeIndex(len(rows), name=index.name)
        else:
            frame.index = index.take(rows)
        # A view: renaming the axis of the model's frame must not rename the user's.
        frame.columns = self.native.columns.view()
        return frame

    @cached_property
    def matrix(self) -> Any:
        """All cells as one matrix where every column has the same NumPy dtype of numbers."""
        if self.library != "pandas":
            return None
        dtypes = set(self.native.dtypes)
        if len(dtypes) != 1:
            return None
        (dtype,) = dtypes
        if not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
            return None
        return np.ascontiguousarray(self.native.to_numpy())

    @cached_property
    def _arrays(self) -> list[Any]:
        return [_array(self.series(position)) for position in range(len(self.labels))]


def _for_narwhals(values: NDArray[Any]) -> Any:
    """Values as narwhals takes them: lists, in which NaN is None."""
    if values.dtype.str.endswith("[ns]"):
        return values  # Python's dates hold no nanoseconds: a list would be one of plain integers
    if values.dtype.kind == "f":
        return [None if value != value else value for value in values.tolist()]
    return values.tolist()


def _in_dtype_of(
    base: FrameContainer, donor: FrameContainer, position: int, donor_rows: IntArray
) -> Any:
    """Rows of a donor's column, in the dtype of the base's column if that holds them exactly."""
    distinct_rows, positions = np.unique(donor_rows, return_inverse=True)
    base_series = base.series(position)
    cells = donor.series(position)[distinct_rows]
    # Each library has its own errors for a cast that fails; all mean that the dtype of the base
    # cannot hold the cells, which then stay as they are.
    with suppress(Exception):
        cells = _in_time_zone_of(base_series, cells)
        converted = _cast(_untyped_if_null(cells), native_dtype(base_series))
        if _plain_cells(converted) == _plain_cells(cells):
            cells = converted
    return cells[positions]


def _in_time_zone_of(series: Any, cells: Any) -> Any:
    """Datetimes, which were read in UTC, in the time zone of another column."""
    zone = getattr(series.dtype, "time_zone", None)
    if zone is None or cells.dtype != nw.Datetime or cells.dtype.time_zone is not None:
        return cells
    return cells.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _untyped_if_null(cells: Any) -> Any:
    """Cells without any value in no dtype, so that they can be cast to every one."""
    if not cells.is_null().all():
        return cells
    return nw.new_series(cells.name, [None] * len(cells), backend=cells.implementation)


def _cast(cells: Any, dtype: Any) -> Any:
    """Cells in a native dtype.

    narwhals knows no index type of a pyarrow dictionary and no order of categories.
    """
    native = cells.to_native()
    if not cells.implementation.is_pandas():
        return nw.from_native(native.cast(dtype), series_only=True)
    if type(dtype).__name__ == "CategoricalDtype":
        # By label, never by code (D15); pandas warns of unknown labels.
        native = native.astype(object).where(native.isin(dtype.categories), None)
    with np.errstate(all="ignore"):
        return nw.from_native(native.astype(dtype), series_only=True)


def _same_dtype(dtype: Any, other: Any) -> bool:
    """Whether dtypes are equal, with the order of their categories, which pandas leaves out."""
    if dtype is other:
        return True
    if dtype != other:
        return False
    if type(dtype).__name__ == "CategoricalDtype":
        return bool(dtype.categories.identical(other.categories))
    return True


def _plain_cells(series: Any) -> list[Any]:
    """Cells as objects; NaN and null are both missing."""
    cells: list[Any] = []
    for cell, is_null in zip(series.to_list(), series.is_null().to_list(), strict=True):
        is_missing = is_null or cell != cell
        cells.append(None if is_missing else cell)
    return cells


def _next_numbers(series: Any, direction: int) -> Any:
    """A column with its floats moved to the next number of their dtype."""
    dtype = native_dtype(series)
    if isinstance(dtype, np.dtype):  # narwhals knows no long double
        may_hold_floats = dtype.kind in "fO"
    else:
        may_hold_floats = series.dtype.is_float()
    if not may_hold_floats:
        return series
    present = np.flatnonzero(~series.is_null().to_numpy())
    return series.scatter(present, next_cells(series[present].to_numpy(), direction))


def _array(series: Any) -> Any:
    """The array of a pandas column: NumPy's, or that of an extension."""
    native = series.to_native()
    if isinstance(native.dtype, np.dtype):
        return native.to_numpy()
    return native.array

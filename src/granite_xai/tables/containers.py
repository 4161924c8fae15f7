"""The user's own table in its library: read column by column, gathered, never written.

A container has the ``library``, the ``native`` table, and the ``labels`` of its columns as the library
has them; its ``origin`` are the positions of its rows in the table that the user passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.typing import IntArray
from granite_xai.tables.cells import Cells, from_array, native_dtype, read_series

Matrix = NDArray[Any]


class _Container:
    """What tables of all libraries have in common."""

    library: str
    native: Any
    labels: Any
    origin: IntArray | None = None
    matrix: Any = None  # all cells, where all columns have one NumPy dtype: gathered in one pass

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def names(self) -> tuple[str, ...]:
        """Column labels as text; positions are x0, x1 and so on."""
        if self.library == "numpy":
            return tuple(f"x{position}" for position in self.labels)
        return tuple(str(label) for label in self.labels)

    @property
    def named(self) -> bool:
        """Whether all columns have text as names (scikit-learn's feature names)."""
        return all(isinstance(label, str) for label in self.labels)

    def resolve(self, label: Any, argument: str, names: Sequence[str]) -> int:
        """Position of a column; ``names`` are those of the table, and the rest is as of `Table.resolve`."""
        is_integer = isinstance(label, Integral) and not isinstance(label, bool)
        if isinstance(label, str) or is_integer:
            if label in self.labels:
                return int(self.labels.index(label))
            if label in names:
                return names.index(label)
        if is_integer and 0 <= int(label) < len(names):
            return int(label)
        raise unknown(argument, label, names, code="P04", what="Features")

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of rows, for messages: their positions in the table the user passed."""
        return list(self._rows_of_user(rows).tolist())

    def _rows_of_user(self, rows: IntArray) -> IntArray:
        return rows if self.origin is None else self.origin[rows]


class ArrayContainer(_Container):
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
        """A copy of some columns, in the library."""
        return self.matrix[:, list(positions)]

    def adopt(self, columns: Sequence[NDArray[Any]]) -> ArrayContainer:
        """Values of columns as an array: of floats, or of objects when some are none."""
        all_floats = all(values.dtype == np.float64 for values in columns)
        dtype = np.float64 if all_floats else object
        return ArrayContainer(np.column_stack([values.astype(dtype) for values in columns]))

    def recombined(
        self, rows: IntArray, donor: Any, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        """Rows of this table with some columns from rows of a donor of the same library.

        Parameters
        ----------
        rows, donor_rows : arrays of shape (n_new,)
            Which row of this table, and which of the donor, each new row is made of.
        donor : container
        columns : sequence of int
            Positions of the columns that come from the donor.
        """
        return gathered(self.matrix, rows, donor.matrix, donor_rows, columns)

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every float of some columns moved to the next number of its own dtype.

        How much the answers of a model to such rows differ is the noise that rounding makes.

        Parameters
        ----------
        rows : array of shape (n_new,)
        direction : 1 or -1
            Up or down.
        columns : sequence of int
        """
        part = self.matrix[rows]
        part[:, columns] = next_cells(part[:, columns], direction)
        return part


@dataclass(frozen=True, eq=False)
class FrameContainer(_Container):
    """A frame of pandas, polars or pyarrow, read through narwhals; methods as of `ArrayContainer`.

    Parameters
    ----------
    native : pandas.DataFrame, polars.DataFrame or pyarrow.Table
    library : str
    origin : array of shape (n_rows,), optional
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

    def with_columns(self, positions: Iterable[int]) -> FrameContainer:
        """Some columns, in the order given."""
        return replace(self, native=self.select(list(positions)))

    def adopt(self, columns: Sequence[NDArray[Any]]) -> FrameContainer:
        """Values of columns in this library; dtypes follow when rows are recombined."""
        values: dict[str, Any] = {}
        for name, cells in zip(self.names, columns, strict=True):
            # Python's dates hold no nanoseconds: a list would be one of plain integers.
            if self.library == "pandas" or cells.dtype.str.endswith("[ns]"):
                values[name] = cells
            elif cells.dtype.kind == "f":
                values[name] = [None if cell != cell else cell for cell in cells.tolist()]
            else:
                values[name] = cells.tolist()
        frame = nw.from_dict(values, backend=self.frame.implementation)
        return FrameContainer(frame.to_native(), self.library)

    def recombined(
        self, rows: IntArray, donor: Any, donor_rows: IntArray, columns: Sequence[int]
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
        moved = [_next_numbers(self.series(position)[rows], direction) for position in columns]
        if self.library != "pandas":
            return self.frame[rows].with_columns(*moved).to_native()
        arrays = [array.take(rows) for array in self._arrays]
        for position, series in zip(columns, moved, strict=True):
            arrays[position] = _array(series).copy()  # the model may write into what it gets
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

    def _assembled(self, arrays: Sequence[Any], rows: IntArray) -> Any:
        """A pandas frame from its columns; by position, since not every name is text."""
        columns_by_position = {}
        for position, array in enumerate(arrays):
            if array.dtype == object:
                # Spelled out: pandas 3 would turn an array of texts into its own text dtype.
                array = pd.Series(array, dtype=object, copy=False)
            columns_by_position[position] = array
        return self._with_axes(pd.DataFrame(columns_by_position, copy=False), rows)

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


@dataclass(frozen=True, eq=False)
class Outline(_Container):
    """What is left of a table whose rows were not kept.

    New tables can be compared with it; anything that needs its rows is an F09 error.
    """

    labels: tuple[Any, ...]
    library: str

    @property
    def native(self) -> Any:
        """An empty table: results come in its library, or in pandas where that is not installed."""
        library = self.library
        if library == "numpy" or find_spec(library) is None:
            library = "pandas"
        if library == "pyarrow":
            return import_module("pyarrow").table({})
        return import_module(library).DataFrame()

    def refuse(self, what: str = "this") -> NoReturn:
        """Refuse what needs rows (F09)."""
        raise InputError(
            f"{what} needs the fitting rows, which the file did not hold.",
            code="F09",
            argument="X",
            hint="Load with gx.load(path, model=model, X=X), X being the table that was fitted on.",
        )

    def _refuse(self, *_: object) -> NoReturn:
        self.refuse()

    cells = take = select = adopt = recombined = nudged = _refuse


Container = ArrayContainer | FrameContainer | Outline


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
    # NaN that stays NaN is the same.
    with suppress(TypeError, ValueError, OverflowError), np.errstate(all="ignore"):
        converted = cells.astype(base.dtype)
        is_same = converted.astype(cells.dtype) == cells
        if np.all(is_same | ((converted != converted) & (cells != cells))):
            return base.dtype
    return np.result_type(base.dtype, donor.dtype)


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
        zone = getattr(base_series.dtype, "time_zone", None)
        if zone is not None and cells.dtype == nw.Datetime and cells.dtype.time_zone is None:
            cells = cells.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)  # read in UTC
        untyped = cells
        if cells.is_null().all():  # of no dtype, so that it can be cast to every one
            untyped = nw.new_series(cells.name, [None] * len(cells), backend=cells.implementation)
        converted = _cast(untyped, native_dtype(base_series))
        if _plain_cells(converted) == _plain_cells(cells):
            cells = converted
    return cells[positions]


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
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    return [None if is_null or cell != cell else cell for cell, is_null in pairs]


def _array(series: Any) -> Any:
    """The array of a pandas column: NumPy's, or that of an extension."""
    native = series.to_native()
    return native.to_numpy() if isinstance(native.dtype, np.dtype) else native.array


# Dtypes by their names, and a row in dtypes that have such names -----------------------------------


def dtypes_of(container: Any) -> list[Any]:
    """What the dtypes of a table are called: of an array one, of a frame one for each column."""
    if container.library == "numpy":
        return [container.matrix.dtype.str]
    names: list[Any] = []
    for position in range(len(container.labels)):
        series = container.series(position)
        if container.library != "pandas":
            dtype = series.dtype
            parts = {"name": type(dtype).__name__}
            for part in ("time_unit", "time_zone", "categories"):
                if hasattr(dtype, part):
                    parts[part] = getattr(dtype, part)
            names.append(parts)
        elif isinstance(series.to_native().dtype, pd.CategoricalDtype):
            dtype = series.to_native().dtype
            names.append({"categories": np.asarray(dtype.categories), "ordered": dtype.ordered})
        else:
            names.append(str(series.to_native().dtype))
    return names


def empty_row(like: Container, dtypes: Sequence[Any]) -> Container:
    """A table of one row, whose cells mean nothing, in a library and in dtypes that `dtypes_of` gave."""
    labels = list(like.labels)
    if like.library == "numpy":
        return ArrayContainer(np.zeros((1, len(labels)), dtype=np.dtype(dtypes[0])))
    if like.library == "pandas":
        columns = [_pandas_cell(dtype) for dtype in dtypes]
        frame = pd.concat(columns, axis=1)
        frame.columns = pd.Index(labels)
        return FrameContainer(frame, "pandas", has_range_index=True)
    schema: dict[str, Any] = {}
    for label, parts in zip(labels, dtypes, strict=True):
        dtype = getattr(nw, parts.pop("name"))
        schema[label] = dtype(**parts) if parts else dtype
    data = {label: [None] for label in labels}
    backend: Any = like.library
    row = nw.from_dict(data, schema, backend=backend).to_native()
    if like.library == "pyarrow":
        row = _with_signed_indices(row)
    return FrameContainer(row, like.library)


def _with_signed_indices(row: Any) -> Any:
    """A pyarrow row of nulls whose labels are numbered as pandas reads them, in every version of pyarrow."""
    import pyarrow as pa

    for position, column in enumerate(row.schema):
        if pa.types.is_dictionary(column.type):
            labels = pa.nulls(row.num_rows, pa.dictionary(pa.int32(), column.type.value_type))
            row = row.set_column(position, column.name, labels)
    return row


def _pandas_cell(dtype: Any) -> Any:
    """A column of one cell that means nothing."""
    if isinstance(dtype, dict):
        categories = pd.Index(dtype["categories"])
        return pd.Series(pd.Categorical([None], categories, ordered=dtype["ordered"]))
    # No time zone of dateutil: its name may be that of a file.
    if re.fullmatch(r"(?!.*dateutil)[\w\[\], /+-]{1,60}", dtype) is None:
        raise ValueError(f"{dtype[:60]!r} is no dtype that is known")
    return pd.Series([0]).astype(pd.api.types.pandas_dtype(dtype))

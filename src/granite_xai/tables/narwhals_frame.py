"""polars and pyarrow tables, through narwhals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.tables.cells import (
    DECIMAL_HINT,
    NOT_A_CELL,
    Cells,
    UnreadableError,
    from_array,
    from_integers,
    from_labels,
    from_objects,
    plain,
    with_none,
)
from granite_xai.tables.columns import Column
from granite_xai.tables.containers import Container, next_cells


@dataclass(frozen=True, eq=False)
class NarwhalsContainer(Container):
    """A polars or pyarrow table."""

    library: ClassVar[str] = "narwhals"
    native: Any
    origin: IntArray | None = None

    @cached_property
    def frame(self) -> Any:
        """The table in narwhals' words."""
        return nw.from_native(self.native, eager_only=True)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Column names, straight from the library: narwhals refuses duplicates in its own words."""
        names = getattr(self.native, "column_names", None)
        return tuple(self.native.columns if names is None else names)

    def cells(self, position: int) -> Cells:
        """Read one column."""
        return from_narwhals(self._series(position))

    def take(self, rows: IntArray) -> NarwhalsContainer:
        """Some rows, in the order given."""
        return NarwhalsContainer(self.frame[rows].to_native(), self._origin(rows))

    def select(self, positions: Sequence[int]) -> Any:
        """Some columns; these tables cannot be written to."""
        return self.frame.select([self.frame.columns[j] for j in positions]).to_native()

    def adopt(self, columns: Sequence[Column]) -> NarwhalsContainer:
        """The columns of another library; dtypes follow when rows are recombined."""
        data = {str(self.labels[column.position]): _plain(column) for column in columns}
        return NarwhalsContainer(nw.from_dict(data, backend=self.frame.implementation).to_native())

    def recombined(self, rows: IntArray, donor: NarwhalsContainer, donor_rows: IntArray, columns: Sequence[int]) -> Any:
        """Rows of this table with some columns from rows of the donor."""
        replaced = set(columns)
        parts = [
            fitted(donor._series(j)[donor_rows], self._series(j)) if j in replaced else self._series(j)[rows]
            for j in range(len(self.labels))
        ]
        return self._assembled(parts)

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""
        parts = [self._series(j)[rows] for j in range(len(self.labels))]
        for j in columns:
            parts[j] = _next(parts[j], direction)
        return self._assembled(parts)

    def _series(self, position: int) -> Any:
        return self.frame[self.frame.columns[position]]

    def _assembled(self, parts: list[Any]) -> Any:
        named = [part.alias(name) for part, name in zip(parts, self.frame.columns, strict=True)]
        return named[0].to_frame().with_columns(*named[1:]).to_native()


def from_narwhals(series: Any) -> Cells:
    """Read one column by its dtype."""
    dtype, missing = series.dtype, series.is_null().to_numpy()
    if dtype.is_integer():
        return _integers(series, missing)
    if dtype.is_float():
        return from_array(series.to_numpy())
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return Cells("date", np.array(series.to_numpy()))
    if dtype == nw.Boolean:
        return from_labels(series.to_list(), missing, kind="boolean")
    if dtype == nw.String:
        return from_labels(series.to_list(), missing, text=True)
    if dtype in (nw.Categorical, nw.Enum):
        return _categories(series, missing)
    if missing.all() or dtype == nw.Object:
        return from_objects(np.array([*series.to_list(), None], dtype=object)[:-1])
    raise _refusal(dtype)


def from_arrow(chunks: Any) -> Cells:
    """Read one column that pandas keeps as pyarrow chunks."""
    return from_narwhals(nw.from_native(chunks, series_only=True))


def fitted(cells: Any, like: Any) -> Any:
    """Give a donor's cells the dtype of the base's column if it holds them exactly; otherwise leave them."""
    if _native_dtype(cells) == _native_dtype(like):
        return cells
    try:
        zone = getattr(like.dtype, "time_zone", None)
        if zone is not None and cells.dtype == nw.Datetime and cells.dtype.time_zone is None:
            cells = cells.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)  # read in UTC
        there = _cast(cells, like)
        same = _same(there, cells)
    except Exception:
        # each library has its own errors for a cast that fails; all mean that the dtype cannot hold the cells
        return cells
    return there if same else cells


def _integers(series: Any, missing: BoolArray) -> Cells:
    numbers = series.fill_null(0).to_numpy()
    if numbers.dtype.kind in "iu":
        return from_integers(numbers, missing)
    return from_objects(with_none(numbers, missing))  # 128 bits come as Python numbers


def _categories(series: Any, missing: BoolArray) -> Cells:
    """Labels of a dictionary; ordered if the library says so (a polars Enum is, a Categorical is not)."""
    # before 1.32 polars calls its Categorical ordered, by the order in which the process first met the labels
    polars = series.implementation.is_polars()
    ordered = series.dtype == nw.Enum if polars else nw.is_ordered_categorical(series)
    declared = tuple(plain(label) for label in _declared(series.to_native()))
    # to_list, not to_numpy: for a pyarrow dictionary the latter puts a label in the place of a null
    labels = series.to_list()
    return from_labels(labels, missing, kind="ordinal" if ordered else "nominal", declared=declared or None)


def _declared(native: Any) -> list[Any]:
    if hasattr(native, "unify_dictionaries"):
        chunks = native.unify_dictionaries().chunks
        return list(chunks[0].dictionary.to_pylist()) if chunks else []
    categories: Any = getattr(native.dtype, "categories", None)
    # the categories of a polars Categorical are those of every frame of the process: no declaration of this column
    return list(categories.to_list()) if hasattr(categories, "to_list") else []


def _refusal(dtype: Any) -> UnreadableError:
    if dtype == nw.Decimal:
        return UnreadableError("D20", "holds Decimal numbers", DECIMAL_HINT)
    if dtype == nw.Time:
        return UnreadableError("D18", "holds times of day", "Convert the column to a duration or to seconds.")
    return UnreadableError("D12", f"has dtype {dtype}; {NOT_A_CELL}", "Convert the column.")


def _native_dtype(series: Any) -> Any:
    native = series.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type


def _cast(cells: Any, like: Any) -> Any:
    native = cells.to_native()
    if hasattr(native, "type"):  # narwhals knows no index type of a pyarrow dictionary
        return nw.from_native(native.cast(like.to_native().type), series_only=True)
    return nw.from_native(native.cast(like.to_native().dtype), series_only=True)


def _same(one: Any, other: Any) -> bool:
    """Equal cell by cell; NaN and null are both missing."""
    pairs = zip(one.to_list(), other.to_list(), strict=True)
    return all(a == b or (_gone(a) and _gone(b)) for a, b in pairs)


def _gone(cell: Any) -> bool:
    return cell is None or cell != cell


def _plain(column: Column) -> Any:
    values = column.values
    if column.kind == "numeric":
        return [None if np.isnan(value) else value for value in values.tolist()]
    nanoseconds = values.dtype.kind in "Mm" and np.datetime_data(values.dtype)[0] == "ns"
    return values if nanoseconds else values.tolist()  # in a list NumPy turns them into plain integers


def _next(series: Any, direction: int) -> Any:
    if not series.dtype.is_float():
        return series
    null = series.is_null().to_numpy()
    moved = next_cells(series.fill_null(0.0).to_numpy(), direction)
    values = [None if gone else value for value, gone in zip(moved.tolist(), null, strict=True)]
    return nw.new_series(series.name, values, series.dtype, backend=series.implementation)

"""Tables of pandas, polars and pyarrow, read and matched through narwhals; rules as expressions of any engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.files import object_array
from granite_xai.base.text import listing
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.tables.columns import (
    Cells,
    Column,
    from_array,
    from_integers,
    from_labels,
    plain,
    refused,
)
from granite_xai.tables.containers import Container, gathered, next_cells


@dataclass(frozen=True, eq=False)
class FrameContainer(Container):
    """A frame of a library; ``ranged`` remembers that its index was 0, 1, 2, … by type (pandas)."""

    native: Any
    library: str
    origin: IntArray | None = None
    ranged: bool = False

    @cached_property
    def frame(self) -> Any:
        """The table in narwhals' words."""
        return nw.from_native(self.native, eager_only=True)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Column names, straight from the library: narwhals refuses duplicates in its own words."""
        names = getattr(self.native, "column_names", None)
        return tuple(self.native.columns if names is None else names)

    def series(self, position: int) -> Any:
        """One column in narwhals' words."""
        return self.frame[:, position]

    def cells(self, position: int) -> Cells:
        """Read one column."""
        return _read(self.series(position))

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of the index where there is one; otherwise positions in the table the user passed."""
        return (
            list(self.native.index.take(rows).tolist())
            if self.library == "pandas"
            else super().row_labels(rows)
        )

    def take(self, rows: IntArray) -> FrameContainer:
        """Some rows, in the order given."""
        return replace(self, native=self.frame[rows].to_native(), origin=self._origin(rows))

    def select(self, positions: Sequence[int]) -> Any:
        """A copy of some columns."""
        return self.frame[:, list(positions)].to_native()

    def adopt(self, columns: Sequence[Column]) -> FrameContainer:
        """The columns of another library; dtypes follow when rows are recombined."""
        data: dict[str, Any] = {
            name: column.values for name, column in zip(self.names, columns, strict=True)
        }
        for name, values in data.items() if self.library != "pandas" else ():
            if not values.dtype.str.endswith(
                "[ns]"
            ):  # narwhals takes all but nanoseconds as lists; NaN is missing
                gaps = values.dtype.kind == "f"
                data[name] = [
                    None if gaps and value != value else value for value in values.tolist()
                ]
        return FrameContainer(
            nw.from_dict(data, backend=self.frame.implementation).to_native(), self.library
        )

    def recombined(
        self, rows: IntArray, donor: FrameContainer, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        """Rows of this table with some columns from rows of the donor."""
        if (
            self.library == "pandas"
        ):  # by itself: through narwhals that takes eight to twenty times as long
            return self._recombined_arrays(rows, donor, donor_rows, columns)
        parts = []
        for j, one in zip(
            columns, donor.frame[donor_rows, list(columns)].iter_columns(), strict=True
        ):
            alike = _equal(_native_dtype(one), _native_dtype(self.series(j)))
            parts.append(
                (one if alike else _matched(donor, self, j, donor_rows)).alias(self.names[j])
            )
        return self.frame[rows].with_columns(*parts).to_native()

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""
        moved = {j: _next(self.series(j)[rows], direction) for j in columns}
        if self.library != "pandas":
            return self.frame[rows].with_columns(*moved.values()).to_native()
        every = (
            _array(moved[j]).copy() if j in moved else one.take(rows)
            for j, one in enumerate(self._arrays)
        )
        return self._assembled(every, rows)  # copies: the model may write into what it gets

    def _recombined_arrays(
        self, rows: IntArray, donor: FrameContainer, donor_rows: IntArray, columns: Any
    ) -> Any:
        one, other, parts = self.matrix, donor.matrix, []
        if one is not None and other is not None and one.dtype == other.dtype:
            return self._on_fresh_axes(
                pd.DataFrame(gathered(one, rows, other, donor_rows, columns), copy=False), rows
            )
        replaced = set(columns)
        for j, array in enumerate(self._arrays):
            if j not in replaced:
                parts.append(array.take(rows))
            elif donor is self or _equal(donor._arrays[j].dtype, array.dtype):
                parts.append(donor._arrays[j].take(donor_rows))
            else:
                parts.append(_array(_matched(donor, self, j, donor_rows)))
        return self._assembled(parts, rows)

    def _assembled(self, parts: Iterable[Any], rows: IntArray) -> Any:
        """A frame of pandas from its columns; by position, since not every name can be written as text."""
        # spelled out: pandas 3 would turn an array of texts into its own text dtype
        made = {
            j: pd.Series(p, dtype=object, copy=False) if p.dtype == object else p
            for j, p in enumerate(parts)
        }
        return self._on_fresh_axes(pd.DataFrame(made, copy=False), rows)

    def _on_fresh_axes(self, made: Any, rows: IntArray) -> Any:
        index = self.native.index
        made.index = pd.RangeIndex(len(rows), name=index.name) if self.ranged else index.take(rows)
        # a view: renaming the axis of the model's frame must not rename the user's
        made.columns = self.native.columns.view()
        return made

    @cached_property
    def matrix(self) -> NDArray[Any] | None:
        """All cells as one matrix where every column has the same NumPy dtype of numbers."""
        dtypes = set(self.native.dtypes) if self.library == "pandas" else set()
        plain = len(dtypes) == 1 and all(
            isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in dtypes
        )
        return np.ascontiguousarray(self.native.to_numpy()) if plain else None

    @cached_property
    def _arrays(self) -> list[Any]:
        return [_array(self.series(j)) for j in range(len(self.labels))]


def _read(series: Any) -> Cells:
    """Read one column by its dtype (D13, D14, D17, D18, D19, D23)."""
    native = series.to_native()
    if series.implementation.is_pandas():
        if isinstance(native.dtype, np.dtype):
            return from_array(native.to_numpy())
        if type(native.dtype).__name__ == "ArrowDtype":
            return _read(nw.from_native(native.array.__arrow_array__(), series_only=True))
    dtype, missing, wide = (
        series.dtype,
        series.is_null().to_numpy(),
        (nw.Int128, nw.UInt128, nw.Object),
    )
    if dtype.is_integer() and dtype not in wide:
        return from_integers(series.fill_null(0).to_numpy(), missing)
    if dtype.is_float() or dtype in (nw.Date, nw.Datetime, nw.Duration):
        return from_array(series.to_numpy())
    if dtype in (nw.Boolean, nw.String):
        text = dtype == nw.String
        return from_labels(
            series.to_list(), missing, kind="nominal" if text else "boolean", text=text
        )
    if dtype in (nw.Categorical, nw.Enum):
        return _categories(series, missing)
    if dtype in wide or (missing.all() and not series.implementation.is_pandas()):
        return from_array(object_array(series.to_list()))
    own = _native_dtype(series)
    if (name := type(own).__name__) == "SparseDtype":
        raise refused(
            "sparse", f"{own}; {len(series) * np.dtype(own.subtype).itemsize} bytes when dense"
        )
    content = "period" if name == "PeriodDtype" else type(dtype).__name__.lower()
    raise refused(content, own if content == "period" or dtype == nw.Unknown else dtype)


def _categories(series: Any, missing: BoolArray) -> Cells:
    """Labels of a dictionary; ordered if the library says so (a polars Enum is, a Categorical is not)."""
    # before 1.32 polars calls its Categorical ordered, by the order in which the process first met the labels
    polars = series.implementation.is_polars()
    kind = (
        "ordinal"
        if (series.dtype == nw.Enum if polars else nw.is_ordered_categorical(series))
        else "nominal"
    )
    native = series.to_native()
    if hasattr(native, "unify_dictionaries"):
        chunks = native.unify_dictionaries().chunks
        labels = chunks[0].dictionary.to_pylist() if chunks else []
    else:  # the categories of a polars Categorical are those of every frame of the process: no declaration of this one
        labels = getattr(getattr(native.dtype, "categories", None), "to_list", list)()
    if any(isinstance(label, dict | list) for label in labels):
        raise refused("nested", series.dtype)
    declared = {label: plain(label) for label in labels}
    if len(set(declared.values())) < len(declared):
        raise refused("ambiguous", series.dtype)
    # to_list, not to_numpy: for a pyarrow dictionary the latter puts a label in the place of a null
    labels = [declared.get(label, label) for label in series.to_list()]
    return from_labels(labels, missing, kind=kind, declared=tuple(declared.values()) or None)


def _matched(donor: FrameContainer, base: FrameContainer, position: int, rows: IntArray) -> Any:
    """Rows of a donor's column, in the dtype of the base's column if that holds them exactly."""
    distinct, places = np.unique(rows, return_inverse=True)
    cells, like = donor.series(position)[distinct], base.series(position)
    try:
        zone = getattr(like.dtype, "time_zone", None)
        if zone is not None and cells.dtype == nw.Datetime and cells.dtype.time_zone is None:
            cells = cells.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)  # read in UTC
        gone = nw.new_series(cells.name, [None] * len(cells), backend=cells.implementation)
        there = _cast(gone if cells.is_null().all() else cells, _native_dtype(like))
        same = _plain(there) == _plain(cells)
    except Exception:
        # each library has its own errors for a cast that fails; all mean that the dtype cannot hold the cells
        return cells[places]
    return there[places] if same else cells[places]


def _cast(cells: Any, dtype: Any) -> Any:
    """Cells in a native dtype: narwhals knows no index type of a pyarrow dictionary and no order of categories."""
    native = cells.to_native()
    if not cells.implementation.is_pandas():
        return nw.from_native(native.cast(dtype), series_only=True)
    if (
        type(dtype).__name__ == "CategoricalDtype"
    ):  # by label, never by code (D15); pandas warns of unknown labels
        native = native.astype(object).where(native.isin(dtype.categories), None)
    with np.errstate(all="ignore"):
        return nw.from_native(native.astype(dtype), series_only=True)


def _equal(one: Any, other: Any) -> bool:
    """Whether dtypes are equal; for pandas those of two categories are, whatever their order."""
    categories = type(one).__name__ == "CategoricalDtype" and one is not other
    return bool(one == other) and (
        not categories or bool(one.categories.identical(other.categories))
    )


def _native_dtype(series: Any) -> Any:
    native = series.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type


def _plain(series: Any) -> list[Any]:
    """Cells as objects; NaN and null are both missing."""
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    return [None if null or cell != cell else cell for cell, null in pairs]


def _next(series: Any, direction: int) -> Any:
    dtype = _native_dtype(series)
    plain = isinstance(dtype, np.dtype)  # narwhals knows no long double
    if not (dtype.kind in "fO" if plain else series.dtype.is_float()):
        return series
    present = np.flatnonzero(~series.is_null().to_numpy())
    return series.scatter(present, next_cells(series[present].to_numpy(), direction))


def _array(series: Any) -> Any:
    native = series.to_native()
    return native.to_numpy() if isinstance(native.dtype, np.dtype) else native.array


def with_regions(frame: Any, rules: Iterable[Any], name: str) -> Any:
    """Add the number of each row's region as a column; -1 where a value is missing and no rule has a place for it."""
    table = nw.from_native(frame)
    schema = table.collect_schema()
    found: Any = nw.lit(-1)
    for number, rule in reversed(list(enumerate(rules))):
        inside = [_expression(column, condition, schema) for column, condition in rule.conditions]
        found = (
            nw.when(reduce(and_, inside)).then(nw.lit(number)).otherwise(found)
            if inside
            else nw.lit(number)
        )
    return table.with_columns(found.cast(nw.Int64).alias(name)).to_native()


def _expression(name: str, condition: Any, schema: Any) -> Any:
    """A condition on a column, as `Condition.contains` has it."""
    if name not in schema:
        text = f"the frame has no column {name!r}; it has {listing(schema)}."
        raise InputError(text, code="D37", argument="frame", columns=[name])
    column, dtype = nw.col(name), schema[name]
    missing = column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
    interval = hasattr(condition, "low")  # a set of levels has no ends
    if condition.has_values or (interval and condition.others and condition.order):
        present = _present(column, dtype, condition, interval)
        inside = ~missing if present is None else present & ~missing
        return inside | missing if condition.missing else inside
    return missing if condition.missing else missing & ~missing


def _present(column: Any, dtype: Any, condition: Any, interval: bool) -> Any:
    """Which present values belong; None: all of them."""
    if interval and condition.order is None:
        if dtype == nw.Date:
            column = column.cast(nw.Datetime("us"))
        elif dtype == nw.Datetime and dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        ends = ((condition.low, column.__gt__), (condition.high, column.__le__))
        moments = (np.datetime64, np.timedelta64)  # as Python has them, to the microsecond
        bounds = [
            (x.astype(f"{x.dtype.kind}8[us]").item() if isinstance(x, moments) else x, of)
            for x, of in ends
        ]
        parts = [compare(end) for end, compare in bounds if end is not None]
        return reduce(and_, parts) if parts else None
    if dtype in (nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    if not interval:
        listed = _is_in(column, dtype, condition.levels)
        return ~listed if condition.others else listed
    order: list[Any] = list(condition.order or ())
    low = -1 if condition.low is None else order.index(condition.low)
    high = len(order) - 1 if condition.high is None else order.index(condition.high)
    inside = _is_in(column, dtype, order[low + 1 : high + 1])
    return inside | ~_is_in(column, dtype, order) if condition.others else inside


def _is_in(column: Any, dtype: Any, labels: Iterable[Any]) -> Any:
    listed = list(labels)
    if (
        dtype.is_numeric()
    ):  # truth values that a column holds as 0 and 1; texts are none of its values
        listed = [
            int(label) if isinstance(label, bool) else label
            for label in listed
            if not isinstance(label, str)
        ]
    elif dtype == nw.String:
        listed = [str(label) for label in listed]
    return column.is_in(listed) if listed else column.is_null() & ~column.is_null()

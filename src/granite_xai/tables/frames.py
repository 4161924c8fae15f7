"""Tables of pandas, polars and pyarrow, read and matched through narwhals.

Rows of pandas frames are gathered by pandas itself: through narwhals that takes eight times as long for mixed
dtypes, and twenty times as long where all columns have one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from granite_xai.base.files.arrays import object_array
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.tables.columns import (
    Cells,
    Column,
    UnreadableError,
    from_array,
    from_integers,
    from_labels,
    from_objects,
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
    def labels(self) -> tuple[Hashable, ...]:
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
        return list(self.native.index.take(rows).tolist()) if self.library == "pandas" else super().row_labels(rows)

    def take(self, rows: IntArray) -> FrameContainer:
        """Some rows, in the order given."""
        return replace(self, native=self.frame[rows].to_native(), origin=self._origin(rows))

    def select(self, positions: Sequence[int]) -> Any:
        """A copy of some columns."""
        return self.frame[:, list(positions)].to_native()

    def adopt(self, columns: Sequence[Column]) -> FrameContainer:
        """The columns of another library; dtypes follow when rows are recombined."""
        data = {name: self._adoptable(column) for name, column in zip(self.names, columns, strict=True)}
        return FrameContainer(nw.from_dict(data, backend=self.frame.implementation).to_native(), self.library)

    def recombined(self, rows: IntArray, donor: FrameContainer, donor_rows: IntArray, columns: Sequence[int]) -> Any:
        """Rows of this table with some columns from rows of the donor."""
        if self.library == "pandas":
            return self._recombined_arrays(rows, donor, donor_rows, columns)
        given = donor.frame[donor_rows, list(columns)]
        parts = [
            one if _equal(_native_dtype(one), _native_dtype(self.series(j))) else _matched(donor, self, j, donor_rows)
            for j, one in zip(columns, given.iter_columns(), strict=True)
        ]
        named = [part.alias(self.names[j]) for j, part in zip(columns, parts, strict=True)]
        return self.frame[rows].with_columns(*named).to_native()

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""
        part, moved = self.frame[rows], set(columns)
        if self.library != "pandas":
            return part.with_columns(*(_next(part[:, j], direction) for j in columns)).to_native()
        every = ((j, part[:, j]) for j in range(len(self.labels)))
        arrays = (_array(_next(one, direction) if j in moved else one) for j, one in every)
        return self._assembled((array.copy() for array in arrays), rows)  # the model may write into what it gets

    def _recombined_arrays(
        self, rows: IntArray, donor: FrameContainer, donor_rows: IntArray, columns: Sequence[int]
    ) -> Any:
        import pandas as pd

        one, other, parts = self.matrix, donor.matrix, []
        if one is not None and other is not None and one.dtype == other.dtype:
            return self._on_fresh_axes(pd.DataFrame(gathered(one, rows, other, donor_rows, columns), copy=False), rows)
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
        import pandas as pd

        # spelled out: pandas 3 would turn an array of texts into its own text dtype
        made = {j: pd.Series(p, dtype=object, copy=False) if p.dtype == object else p for j, p in enumerate(parts)}
        return self._on_fresh_axes(pd.DataFrame(made, copy=False), rows)

    def _on_fresh_axes(self, made: Any, rows: IntArray) -> Any:
        import pandas as pd

        index = self.native.index
        made.index = pd.RangeIndex(len(rows), name=index.name) if self.ranged else index.take(rows)
        # a view: renaming the axis of the model's frame must not rename the user's
        made.columns = self.native.columns.view()
        return made

    @cached_property
    def matrix(self) -> NDArray[Any] | None:
        """All cells as one matrix where every column has the same NumPy dtype of numbers."""
        dtypes = set(self.native.dtypes) if self.library == "pandas" else set()
        dtype = next(iter(dtypes)) if len(dtypes) == 1 else None
        if not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
            return None
        return np.ascontiguousarray(self.native.to_numpy())

    @cached_property
    def _arrays(self) -> list[Any]:
        return [_array(self.series(j)) for j in range(len(self.labels))]

    def _adoptable(self, column: Column) -> Any:
        """Values as narwhals takes them for the library: as lists, but for pandas and for nanoseconds."""
        if self.library == "pandas" or column.values.dtype.str.endswith("[ns]"):
            return column.values
        if column.kind == "numeric":
            return [None if np.isnan(value) else value for value in column.values.tolist()]
        return column.values.tolist()


def _read(series: Any) -> Cells:
    """Read one column by its dtype (D13, D14, D17, D18, D19, D23)."""
    native = series.to_native()
    if series.implementation.is_pandas():
        if isinstance(native.dtype, np.dtype):
            return from_array(native.to_numpy())
        if type(native.dtype).__name__ == "ArrowDtype":
            return _read(nw.from_native(native.array.__arrow_array__(), series_only=True))
    dtype, missing = series.dtype, series.is_null().to_numpy()
    if dtype.is_integer():
        if dtype in (nw.Int128, nw.UInt128):
            return from_objects(object_array(series.to_list()))
        return from_integers(series.fill_null(0).to_numpy(), missing)
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
    if dtype == nw.Object or (missing.all() and not series.implementation.is_pandas()):
        return from_objects(object_array(series.to_list()))
    raise _unreadable(series)


def _categories(series: Any, missing: BoolArray) -> Cells:
    """Labels of a dictionary; ordered if the library says so (a polars Enum is, a Categorical is not)."""
    # before 1.32 polars calls its Categorical ordered, by the order in which the process first met the labels
    polars = series.implementation.is_polars()
    kind = "ordinal" if (series.dtype == nw.Enum if polars else nw.is_ordered_categorical(series)) else "nominal"
    labels = _declared(series.to_native())
    if any(isinstance(label, dict | list) for label in labels):
        raise UnreadableError("D12", "has categories that are no single values", "Convert the column.")
    declared = {label: plain(label) for label in labels}
    if len(set(declared.values())) < len(declared):
        raise UnreadableError("D12", "has categories that read the same as text", "Rename the categories.")
    # to_list, not to_numpy: for a pyarrow dictionary the latter puts a label in the place of a null
    labels = [declared.get(label, label) for label in series.to_list()]
    return from_labels(labels, missing, kind=kind, declared=tuple(declared.values()) or None)


def _declared(native: Any) -> list[Any]:
    if hasattr(native, "unify_dictionaries"):
        chunks = native.unify_dictionaries().chunks
        return list(chunks[0].dictionary.to_pylist()) if chunks else []
    categories: Any = native.dtype.categories
    # the categories of a polars Categorical are those of every frame of the process: no declaration of this column
    return list(categories.to_list()) if hasattr(categories, "to_list") else []


def _unreadable(series: Any) -> UnreadableError:
    dtype = _native_dtype(series)
    name = type(dtype).__name__
    if name == "SparseDtype":
        reason = f"is sparse ({dtype}; {len(series) * np.dtype(dtype.subtype).itemsize} bytes when dense)"
        return UnreadableError("D23", reason, "Convert it: .sparse.to_dense().")
    content = "period" if name == "PeriodDtype" else type(series.dtype).__name__.lower()
    return refused(content, dtype if content == "period" or series.dtype == nw.Unknown else series.dtype)


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
    if type(dtype).__name__ == "CategoricalDtype":  # by label, never by code (D15); pandas warns of unknown labels
        native = native.astype(object).where(native.isin(dtype.categories), None)
    with np.errstate(all="ignore"):
        return nw.from_native(native.astype(dtype), series_only=True)


def _equal(one: Any, other: Any) -> bool:
    """Whether dtypes are equal; for pandas those of two categories are, whatever their order."""
    categories = type(one).__name__ == "CategoricalDtype" and one is not other
    return bool(one == other) and (not categories or bool(one.categories.identical(other.categories)))


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

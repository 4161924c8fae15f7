"""pandas frames: dtypes, category sets, column labels and the type of the index survive."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.typing import IntArray
from granite_xai.tables.arrays import next_objects
from granite_xai.tables.cells import (
    NOT_A_CELL,
    Cells,
    UnreadableError,
    from_array,
    from_integers,
    from_labels,
    plain,
    utc,
)
from granite_xai.tables.columns import Column
from granite_xai.tables.containers import Container, gathered, holds_exactly, next_cells


@dataclass(frozen=True, eq=False)
class PandasContainer(Container):
    """A DataFrame; ``ranged`` remembers that the user's index was 0, 1, 2, … by type."""

    library: ClassVar[str] = "pandas"
    native: Any
    ranged: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The column labels."""
        return tuple(self.native.columns)

    def cells(self, position: int) -> Cells:
        """Read one column."""
        return from_pandas(self.native.iloc[:, position])

    def row_labels(self, rows: IntArray) -> list[Any]:
        """Labels of the index."""
        return list(self.native.index.take(rows).tolist())

    def take(self, rows: IntArray) -> PandasContainer:
        """Some rows, in the order given."""
        return PandasContainer(self.native.take(rows), self.ranged)

    def select(self, positions: Sequence[int]) -> Any:
        """A copy of some columns."""
        return self.native.iloc[:, list(positions)].copy()

    def adopt(self, columns: Sequence[Column]) -> PandasContainer:
        """The columns of another library as a frame; dtypes follow when rows are recombined."""
        frame = pd.DataFrame({column.position: column.values for column in columns})
        return PandasContainer(frame.astype({c.position: object for c in columns if c.values.dtype == object}))

    def recombined(self, rows: IntArray, donor: PandasContainer, donor_rows: IntArray, columns: Sequence[int]) -> Any:
        """Rows of this frame with some columns from rows of the donor."""
        one, other = self._matrix, donor._matrix
        if one is not None and other is not None and one.dtype == other.dtype:
            return self._frame(gathered(one, rows, other, donor_rows, columns), rows)
        replaced = set(columns)
        parts = {
            j: fitted(donor._arrays[j].take(donor_rows), array) if j in replaced else array.take(rows)
            for j, array in enumerate(self._arrays)
        }
        return self._frame(parts, rows)

    def nudged(self, rows: IntArray, direction: int, columns: Sequence[int]) -> Any:
        """Rows with every floating-point cell of some columns moved to the next number of its dtype."""
        parts = {j: array.take(rows) for j, array in enumerate(self._arrays)}
        parts |= {j: _next(parts[j], direction) for j in columns}
        return self._frame(parts, rows)

    def _frame(self, data: Any, rows: IntArray) -> Any:
        index = self.native.index
        index = pd.RangeIndex(len(rows), name=index.name) if self.ranged else index.take(rows)
        if isinstance(data, dict):
            data = {j: _undisturbed(part, index) for j, part in data.items()}
        frame = pd.DataFrame(data, index=index, copy=False)
        # a view: renaming the axis of the model's frame must not rename the user's
        frame.columns = self.native.columns.view()
        return frame

    @cached_property
    def _matrix(self) -> NDArray[Any] | None:
        """All cells as one matrix when every column has the same NumPy dtype; gathered in one pass."""
        dtypes = set(self.native.dtypes)
        dtype = next(iter(dtypes)) if len(dtypes) == 1 else None
        if not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
            return None
        return np.ascontiguousarray(self.native.to_numpy())

    @cached_property
    def _arrays(self) -> list[Any]:
        series = [self.native.iloc[:, j] for j in range(self.native.shape[1])]
        return [s.to_numpy() if isinstance(s.dtype, np.dtype) else s.array for s in series]


def _undisturbed(part: Any, index: Any) -> Any:
    """Objects with their dtype spelled out: pandas 3 would turn an array of texts into its own text dtype."""
    return pd.Series(part, index=index, dtype=object, copy=False) if part.dtype == object else part


def from_pandas(series: Any) -> Cells:
    """Read one column by its dtype (D13, D14, D17, D18, D19, D23)."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return from_array(series.to_numpy())
    for kind, reader in _READERS.items():
        if isinstance(dtype, kind):
            return reader(series)
    if getattr(dtype, "kind", "O") in "biuf" and hasattr(series.array, "_mask"):
        return _nullable(series)
    raise UnreadableError("D12", f"has dtype {dtype}; {NOT_A_CELL}", "Convert the column.")


def fitted(cells: Any, like: Any) -> Any:
    """Give a donor's cells the dtype of the base's column if it holds them exactly; otherwise leave them."""
    if isinstance(cells, pd.Categorical) and isinstance(like, pd.Categorical):
        return _recoded(cells, like.dtype)
    if cells.dtype == like.dtype:
        return cells
    if isinstance(cells.dtype, np.dtype) and isinstance(like.dtype, np.dtype):
        return cells.astype(like.dtype) if holds_exactly(like.dtype, cells) else cells
    if isinstance(like.dtype, pd.DatetimeTZDtype) and cells.dtype.kind == "M":
        return _in_zone(cells, like.dtype)
    try:
        there = pd.Series(cells).astype(like.dtype)
        same = there.astype(object).eq(pd.Series(cells).astype(object)) | (there.isna() & pd.isna(pd.Series(cells)))
    except (TypeError, ValueError):
        return cells
    return there.array if bool(same.all()) else cells


def _in_zone(cells: Any, dtype: pd.DatetimeTZDtype) -> Any:
    """Datetimes in the zone and unit of the base; those without a zone were read in UTC."""
    series = pd.Series(cells)
    series = series if isinstance(series.dtype, pd.DatetimeTZDtype) else series.dt.tz_localize("UTC")
    there = series.dt.tz_convert(dtype.tz)
    fine = there.astype(dtype)
    return fine.array if bool((fine.eq(there) | there.isna()).all()) else there.array


def _recoded(cells: pd.Categorical, dtype: pd.CategoricalDtype) -> pd.Categorical:
    """Match categories by label, never by code (D15); an unknown label keeps the donor's own dtype."""
    own = cells.dtype.categories
    if own is dtype.categories or (own.dtype == dtype.categories.dtype and own.equals(dtype.categories)):
        return cells if cells.ordered == dtype.ordered else pd.Categorical.from_codes(cells.codes, dtype=dtype)
    place = np.append(dtype.categories.get_indexer(own), -1)
    codes = place[cells.codes]
    if np.any((codes < 0) & (cells.codes >= 0)):
        return cells
    return pd.Categorical.from_codes(codes, dtype=dtype)


def _categorical(series: Any) -> Cells:
    declared = tuple(plain(label) for label in series.cat.categories)
    if len(set(declared)) < len(declared):
        raise UnreadableError("D12", "has categories that read the same as text", "Rename the categories.")
    table = np.empty(len(declared) + 1, dtype=object)  # the last place is for -1, missing
    table[:-1] = declared
    kind = "ordinal" if series.cat.ordered else "nominal"
    return Cells(kind, table[series.cat.codes.to_numpy()], declared=declared)  # type: ignore[arg-type]


def _nullable(series: Any) -> Cells:
    missing = series.isna().to_numpy()
    if series.dtype.kind == "b":
        return from_labels(series.to_numpy(dtype=object), missing, kind="boolean")
    if series.dtype.kind == "f":
        return from_array(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return from_integers(series.fillna(0).to_numpy(dtype=f"{series.dtype.kind}8"), missing)


def _text(series: Any) -> Cells:
    return from_labels(series.to_numpy(dtype=object), series.isna().to_numpy(), text=True)


def _arrow(series: Any) -> Cells:
    from granite_xai.tables.narwhals_frame import from_arrow

    return from_arrow(series.array.__arrow_array__())


def _zoned(series: Any) -> Cells:
    return Cells("date", utc(series))


def _period(series: Any) -> Cells:
    raise UnreadableError("D18", f"holds periods ({series.dtype})", "Convert the column: .dt.to_timestamp().")


def _sparse(series: Any) -> Cells:
    size = len(series) * np.dtype(series.dtype.subtype).itemsize
    raise UnreadableError(
        "D23", f"is sparse ({series.dtype}; {size} bytes when dense)", "Convert it: .sparse.to_dense()."
    )


def _next(cells: Any, direction: int) -> Any:
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind == "f":
            return next_cells(cells, direction)
        return next_objects(cells, direction) if cells.dtype.kind == "O" else cells
    if cells.dtype.kind != "f" or isinstance(cells, pd.Categorical):
        return cells
    missing = np.asarray(pd.isna(cells))
    width = cells.dtype.itemsize
    moved = next_cells(cells.to_numpy(dtype=f"f{width}", na_value=np.nan), direction)
    series = pd.Series(moved.astype(object)).where(~missing, None)
    return series.astype(cells.dtype).array


_READERS = {
    pd.CategoricalDtype: _categorical,
    pd.StringDtype: _text,
    pd.ArrowDtype: _arrow,
    pd.DatetimeTZDtype: _zoned,
    pd.PeriodDtype: _period,
    pd.SparseDtype: _sparse,
}

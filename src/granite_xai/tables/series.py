"""A column of pandas, polars or pyarrow, read by its dtype."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from granite_xai.base.files import object_array
from granite_xai.base.typing import BoolArray
from granite_xai.tables.cells import (
    Cells,
    from_array,
    from_integers,
    from_labels,
    plain,
    refused,
)

READ_AS_OBJECTS = (nw.Int128, nw.UInt128, nw.Object)


def read_series(series: Any) -> Cells:
    """Read one column by its dtype (D13, D14, D17, D18, D19, D23).

    Parameters
    ----------
    series : narwhals.Series

    Returns
    -------
    Cells

    Raises
    ------
    UnreadableError
        Its dtype, or what its cells are, is not supported.
    """
    is_pandas = series.implementation.is_pandas()
    if is_pandas:
        native = series.to_native()
        if isinstance(native.dtype, np.dtype):
            return from_array(native.to_numpy())
        if type(native.dtype).__name__ == "ArrowDtype":
            return read_series(nw.from_native(native.array.__arrow_array__(), series_only=True))
    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if dtype.is_integer() and dtype not in READ_AS_OBJECTS:
        return from_integers(series.fill_null(0).to_numpy(), missing)
    if dtype.is_float() or dtype in (nw.Date, nw.Datetime, nw.Duration):
        return from_array(series.to_numpy())
    if dtype == nw.String:
        return from_labels(series.to_list(), missing, kind="nominal", text=True)
    if dtype == nw.Boolean:
        return from_labels(series.to_list(), missing, kind="boolean")
    if dtype in (nw.Categorical, nw.Enum):
        return _read_categories(series, missing)
    if dtype in READ_AS_OBJECTS or (missing.all() and not is_pandas):
        return from_array(object_array(series.to_list()))
    raise _unsupported(series)


def _unsupported(series: Any) -> Exception:
    """The error for a dtype that is not read."""
    dtype = native_dtype(series)
    dtype_name = type(dtype).__name__
    if dtype_name == "SparseDtype":
        n_bytes = len(series) * np.dtype(dtype.subtype).itemsize
        return refused("sparse", f"{dtype}; {n_bytes} bytes when dense")
    if dtype_name == "PeriodDtype":
        return refused("period", dtype)
    shown_dtype = dtype if series.dtype == nw.Unknown else series.dtype
    return refused(type(series.dtype).__name__.lower(), shown_dtype)


def _read_categories(series: Any, missing: BoolArray) -> Cells:
    """Labels of a dictionary; ordered if the library says so."""
    categories = _declared_categories(series)
    if any(isinstance(category, dict | list) for category in categories):
        raise refused("nested", series.dtype)
    plain_labels = {category: plain(category) for category in categories}
    if len(set(plain_labels.values())) < len(plain_labels):
        raise refused("ambiguous", series.dtype)
    # to_list, not to_numpy: for a pyarrow dictionary the latter puts a label in place of a null.
    labels = [plain_labels.get(label, label) for label in series.to_list()]
    return from_labels(
        labels,
        missing,
        kind="ordinal" if _is_ordered(series) else "nominal",
        declared=tuple(plain_labels.values()) or None,
    )


def _is_ordered(series: Any) -> bool:
    """Whether categories have an order; a polars Enum has one, a Categorical has not.

    Before 1.32 polars calls its Categorical ordered, by the order in which the process first met
    the labels.
    """
    if series.implementation.is_polars():
        return bool(series.dtype == nw.Enum)
    return bool(nw.is_ordered_categorical(series))


def _declared_categories(series: Any) -> list[Any]:
    """The categories of the dtype, in its order; none of a polars Categorical.

    Those of a polars Categorical are the labels of every frame of the process: no declaration.
    """
    native = series.to_native()
    if hasattr(native, "unify_dictionaries"):  # pyarrow
        chunks = native.unify_dictionaries().chunks
        return list(chunks[0].dictionary.to_pylist()) if chunks else []
    categories: Any = getattr(native.dtype, "categories", None)
    return list(categories.to_list()) if hasattr(categories, "to_list") else []


def native_dtype(series: Any) -> Any:
    """The dtype of a column as its own library has it."""
    native = series.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type

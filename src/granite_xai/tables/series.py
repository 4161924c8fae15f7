"""A column of pandas, polars or pyarrow, read by its dtype."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from granite_xai.base.files import object_array
from granite_xai.base.typing import BoolArray
from granite_xai.tables.cells import (
    Cells,
    UnreadableError,
    content_error,
    from_array,
    from_integers,
    from_labels,
    plain_label,
)

READ_AS_OBJECTS = (nw.Int128, nw.UInt128, nw.Object)
# Dtypes with a remedy of their own.
CONTENT_OF_DTYPE: dict[Any, str] = {nw.Decimal: "decimal", nw.Time: "time"}
OTHER_CONTENT = "other"


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
    raise _dtype_error(series)


def _dtype_error(series: Any) -> UnreadableError:
    """The error for a dtype that is not read."""
    dtype = native_dtype(series)
    dtype_name = type(dtype).__name__
    if dtype_name == "SparseDtype":
        n_bytes = len(series) * np.dtype(dtype.subtype).itemsize
        return content_error("sparse", f"{dtype}; {n_bytes} bytes when dense")
    if dtype_name == "PeriodDtype":
        return content_error("period", dtype)
    if series.dtype == nw.Unknown:
        return content_error(OTHER_CONTENT, dtype)
    content = CONTENT_OF_DTYPE.get(type(series.dtype), OTHER_CONTENT)
    return content_error(content, series.dtype)


def _read_categories(series: Any, missing: BoolArray) -> Cells:
    """Labels of a dictionary; ordered if the library says so."""
    categories = _declared_categories(series)
    if any(isinstance(category, dict | list) for category in categories):
        raise content_error("nested", series.dtype)
    plain_labels = {category: plain_label(category) for category in categories}
    if len(set(plain_labels.values())) < len(plain_labels):
        raise content_error("ambiguous", series.dtype)
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
        if not chunks:
            return []
        return list(chunks[0].dictionary.to_pylist())
    categories: Any = getattr(native.dtype, "categories", None)
    if not hasattr(categories, "to_list"):
        return []
    return list(categories.to_list())


def native_dtype(series: Any) -> Any:
    """The dtype of a column as its own library has it."""
    native = series.to_native()
    if hasattr(native, "dtype"):
        return native.dtype
    return native.type  # pyarrow

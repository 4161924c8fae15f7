"""Which library a table belongs to, and what is no table (D22, D23, D25, D26)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.files.arrays import object_array
from granite_xai.tables.containers import ArrayContainer, Container
from granite_xai.tables.lazy import is_lazy

_CONVERT = "Pass a 2-D NumPy array, a list of lists, or a pandas, polars or pyarrow table."
_TO_FRAME = "Pass pandas.DataFrame({})."
_RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
    "or array.reshape(1, -1) if it contains a single sample."
)


def open_table(X: Any, argument: str) -> Container:
    """Put a table into the container of its library; anything else is an error with the conversion to use."""
    if isinstance(X, np.ndarray):
        return ArrayContainer(_matrix(X, argument))
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if _is(X, library, name):
            from granite_xai.tables.frames import FrameContainer

            return FrameContainer(X, library, ranged=_is(getattr(X, "index", None), "pandas", "RangeIndex"))
    if isinstance(X, (list, tuple)):
        return ArrayContainer(_matrix(_from_lists(X, argument), argument))
    if hasattr(type(X), "__array__") and not hasattr(X, "shape"):
        # a plain holder that offers itself as an array; arrays and frames of other libraries have a shape
        return ArrayContainer(_matrix(np.asarray(X), argument))
    raise _no_table(X, argument)


def _matrix(X: NDArray[Any], argument: str) -> NDArray[Any]:
    if isinstance(X, np.matrix):
        raise _refused(argument, "is a numpy.matrix.", "Pass numpy.asarray({}).")
    if isinstance(X, np.ma.MaskedArray):
        raise _refused(argument, "is a masked array.", "Pass {}.filled(numpy.nan).")
    if X.dtype.names is not None:
        raise _refused(argument, "is a structured array.", _TO_FRAME)
    if X.dtype.kind == "c":
        message = f"Complex data not supported: {argument} has dtype {X.dtype}."
        raise InputError(message, code="D22", argument=argument, hint="Pass real and imaginary parts as columns.")
    if X.ndim != 2:
        hint = "" if X.ndim < 2 else "Pass {0}.reshape(len({0}), -1)."
        raise _not_2d(argument, X.ndim, f"has shape {X.shape}.", hint)
    return X


def _from_lists(X: Sequence[Any], argument: str) -> NDArray[Any]:
    """Rows given one by one; numbers and text in one table stay what they are."""
    rows = [row for row in X if isinstance(row, (list, tuple, np.ndarray))]
    if any(isinstance(row, dict) for row in X):
        raise _refused(argument, "is a list of dicts.", _TO_FRAME)
    if len(rows) < len(X) or not rows:
        raise _not_2d(argument, 1, f"is a list of {len(X)} cells.")
    odd = [i for i, row in enumerate(rows) if len(row) != len(rows[0])]
    if odd:
        message = f"row 0 has {len(rows[0])} cells, row {odd[0]} has {len(rows[odd[0]])}."
        raise _refused(argument, message, "Give every row the same number of cells.", rows=odd[:5])
    objects = object_array([cell for row in rows for cell in row]).reshape(len(rows), len(rows[0]))
    try:
        plain = np.asarray(objects.tolist()) if objects.size else np.empty(objects.shape)
    except ValueError:  # cells that are lists: the reader of the column names them
        return objects
    return plain if plain.dtype.kind in "biufc" else objects


def _no_table(X: Any, argument: str) -> InputError:
    name = f"{type(X).__module__}.{type(X).__qualname__}"
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        size = int(np.prod(X.shape)) * X.dtype.itemsize
        message = f"is sparse ({name} of shape {X.shape}); dense it takes {size:,} bytes."
        return _refused(argument, message, "Pass {}.toarray() if that fits.", "D23")
    if is_lazy(X):
        how = {"polars": "collect", "dask": "compute", "pyspark": "toPandas"}.get(name.partition(".")[0], "df")
        return _refused(argument, f"is a {name}.", f"Pass {{}}.{how}().", "D26")
    for library in ("pandas", "polars"):
        if _is(X, library, "Series"):
            hint = f"{_RESHAPE} A Series becomes a table by {{}}.to_frame()."
            return _not_2d(argument, 1, f"is a {library} Series.", hint)
    if isinstance(X, dict):
        return _refused(argument, "is a dict.", _TO_FRAME)
    code = "D26" if hasattr(X, "shape") or hasattr(X, "columns") else "D25"
    hint = "Pass list({})." if hasattr(X, "__next__") else _CONVERT
    return _refused(argument, f"is a {name}, which is not a table.", hint, code)


def _not_2d(argument: str, dimensions: int, what: str, hint: str = "") -> InputError:
    message = f"Expected 2D array, got {dimensions}D array instead: {argument} {what}"
    return InputError(message, code="D25", argument=argument, hint=(hint or _RESHAPE).format(argument))


def _refused(argument: str, what: str, hint: str, code: str = "D25", rows: Sequence[int] = ()) -> InputError:
    """Say what the argument is and, where the hint has a place for its name, what to pass instead."""
    return InputError(f"{argument} {what}", code=code, argument=argument, rows=rows, hint=hint.format(argument))


def _is(X: Any, library: str, name: str) -> bool:
    """Whether X belongs to a library, without importing it: if it is not loaded, X cannot."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(X, kind)

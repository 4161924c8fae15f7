"""Which library a table belongs to, and what is no table (D22, D23, D25, D26)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.tables.containers import ArrayContainer, Container

_CONVERT = "Pass a 2-D NumPy array, a list of lists, or a pandas, polars or pyarrow table."
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
    for kind, name, hint in (
        (np.matrix, "a numpy.matrix", "Pass numpy.asarray({})."),
        (np.ma.MaskedArray, "a masked array", "Pass {}.filled(numpy.nan)."),
    ):
        if isinstance(X, kind):
            raise InputError(f"{argument} is {name}.", code="D25", argument=argument, hint=hint.format(argument))
    if X.dtype.names is not None:
        hint = f"Pass pandas.DataFrame({argument})."
        raise InputError(f"{argument} is a structured array.", code="D25", argument=argument, hint=hint)
    if X.dtype.kind == "c":
        message = f"Complex data not supported: {argument} has dtype {X.dtype}."
        raise InputError(message, code="D22", argument=argument, hint="Pass real and imaginary parts as columns.")
    if X.ndim != 2:
        message = f"Expected 2D array, got {X.ndim}D array instead: {argument} has shape {X.shape}."
        hint = _RESHAPE if X.ndim < 2 else f"Pass {argument}.reshape(len({argument}), -1)."
        raise InputError(message, code="D25", argument=argument, hint=hint)
    return X


def _from_lists(X: Sequence[Any], argument: str) -> NDArray[Any]:
    """Rows given one by one; numbers and text in one table stay what they are."""
    rows = [row for row in X if isinstance(row, (list, tuple, np.ndarray))]
    if len(rows) < len(X) or not rows:
        if any(isinstance(row, dict) for row in X):
            hint = f"Pass pandas.DataFrame({argument})."
            raise InputError(f"{argument} is a list of dicts.", code="D25", argument=argument, hint=hint)
        message = f"Expected 2D array, got 1D array instead: {argument} is a list of {len(X)} cells."
        raise InputError(message, code="D25", argument=argument, hint=_RESHAPE)
    odd = [i for i, row in enumerate(rows) if len(row) != len(rows[0])]
    if odd:
        message = f"{argument} row 0 has {len(rows[0])} cells, row {odd[0]} has {len(rows[odd[0]])}."
        hint = "Give every row the same number of cells."
        raise InputError(message, code="D25", argument=argument, rows=odd[:5], hint=hint)
    plain = np.asarray(_objects(rows).tolist()) if rows[0] is not None and len(rows[0]) else np.empty((len(rows), 0))
    return plain if plain.dtype.kind in "biufc" else _objects(rows)


def _objects(rows: Sequence[Any]) -> NDArray[Any]:
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            table[i, j] = cell
    return table


def _no_table(X: Any, argument: str) -> InputError:
    name = f"{type(X).__module__}.{type(X).__qualname__}"
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        size = int(np.prod(X.shape)) * X.dtype.itemsize
        message = f"{argument} is sparse ({name} of shape {X.shape}); dense it takes {size:,} bytes."
        return InputError(message, code="D23", argument=argument, hint=f"Pass {argument}.toarray() if that fits.")
    if _is(X, "polars", "LazyFrame"):
        return InputError(f"{argument} is a {name}.", code="D26", argument=argument, hint=f"Pass {argument}.collect().")
    for library in ("pandas", "polars"):
        if _is(X, library, "Series"):
            message = f"Expected 2D array, got 1D array instead: {argument} is a {library} Series."
            hint = f"{_RESHAPE} A Series becomes a table by {argument}.to_frame()."
            return InputError(message, code="D25", argument=argument, hint=hint)
    if isinstance(X, dict):
        hint = f"Pass pandas.DataFrame({argument})."
        return InputError(f"{argument} is a dict.", code="D25", argument=argument, hint=hint)
    code = "D26" if hasattr(X, "shape") or hasattr(X, "columns") else "D25"
    hint = f"Pass list({argument})." if hasattr(X, "__next__") else _CONVERT
    return InputError(f"{argument} is a {name}, which is not a table.", code=code, argument=argument, hint=hint)


def _is(X: Any, library: str, name: str) -> bool:
    """Whether X belongs to a library, without importing it: if it is not loaded, X cannot."""
    module = sys.modules.get(library)
    kind = getattr(module, name, None)
    return isinstance(kind, type) and isinstance(X, kind)

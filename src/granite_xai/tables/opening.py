"""Which library a table belongs to (D22, D23, D25, D26)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.files import object_array
from granite_xai.tables.arrays import ArrayContainer
from granite_xai.tables.containers import Container
from granite_xai.tables.frames import FrameContainer
from granite_xai.tables.lazy import is_lazy

FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}
# Hints have a place for the name of the argument.
CONVERT = "Pass a 2-D NumPy array, a list of lists, or a pandas, polars or pyarrow table."
TO_FRAME = "Pass pandas.DataFrame({})."
RESHAPE = (  # scikit-learn's words
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
    "array.reshape(1, -1) if it contains a single sample."
)
COLLECT_METHODS = {"polars": "collect", "dask": "compute", "pyspark": "toPandas"}
SHOWN = 5  # rows that a message names
NUMBER_KINDS = "biufc"  # kinds of arrays: truth values, integers, floats, complex numbers


def open_table(X: Any, argument: str) -> Container:
    """Put a table into the container of its library.

    Parameters
    ----------
    X : object
        What the user passed.
    argument : str
        As what they passed it, for messages.

    Returns
    -------
    Container

    Raises
    ------
    InputError
        X is no table; the message has the conversion to use.
    """
    if isinstance(X, np.ndarray):
        return ArrayContainer(_checked_matrix(X, argument))
    for library, type_name in FRAMES.items():
        if _is_a(X, library, type_name):
            has_range_index = _is_a(getattr(X, "index", None), "pandas", "RangeIndex")
            return FrameContainer(X, library, has_range_index=has_range_index)
    if isinstance(X, (list, tuple)):
        return ArrayContainer(_checked_matrix(_from_lists(X, argument), argument))
    if hasattr(type(X), "__array__") and not hasattr(X, "shape"):
        # A plain holder of an array; arrays and frames of other libraries have a shape.
        return ArrayContainer(_checked_matrix(np.asarray(X), argument))
    raise _no_table_error(X, argument)


def _checked_matrix(X: NDArray[Any], argument: str) -> NDArray[Any]:
    """An array that is a plain table of real cells."""
    if isinstance(X, np.matrix):
        raise _error(argument, "is a numpy.matrix.", "Pass numpy.asarray({}).")
    if isinstance(X, np.ma.MaskedArray):
        raise _error(argument, "is a masked array.", "Pass {}.filled(numpy.nan).")
    if X.dtype.names is not None:
        raise _error(argument, "is a structured array.", TO_FRAME)
    if X.dtype.kind == "c":
        raise InputError(
            f"Complex data not supported: {argument} has dtype {X.dtype}.",
            code="D22",
            argument=argument,
            hint="Pass real and imaginary parts as columns.",
        )
    if X.ndim != 2:
        hint = RESHAPE if X.ndim < 2 else "Pass {0}.reshape(len({0}), -1)."
        raise _not_2d_error(argument, X.ndim, f"has shape {X.shape}.", hint)
    return X


def _from_lists(X: Sequence[Any], argument: str) -> NDArray[Any]:
    """Rows given one by one; numbers and text in one table stay what they are."""
    if any(isinstance(row, dict) for row in X):
        raise _error(argument, "is a list of dicts.", TO_FRAME)
    if len(X) == 0 or not all(isinstance(row, (list, tuple, np.ndarray)) for row in X):
        raise _not_2d_error(argument, 1, f"is a list of {len(X)} cells.", RESHAPE)
    width = len(X[0])
    ragged = [number for number, row in enumerate(X) if len(row) != width]
    if ragged:
        message = f"row 0 has {width} cells, row {ragged[0]} has {len(X[ragged[0]])}."
        hint = "Give every row the same number of cells."
        raise _error(argument, message, hint, rows=ragged[:SHOWN])
    objects = object_array(list(chain.from_iterable(X))).reshape(len(X), width)
    if objects.size == 0:
        return np.empty(objects.shape)
    try:
        array = np.asarray(objects.tolist())
    except ValueError:  # cells that are lists: the reader of the column names them
        return objects
    if array.dtype.kind in NUMBER_KINDS:
        return array
    return objects


def _no_table_error(X: Any, argument: str) -> InputError:
    """The error that says what was passed instead of a table."""
    type_name = f"{type(X).__module__}.{type(X).__qualname__}"
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(X):
        n_bytes = int(np.prod(X.shape)) * X.dtype.itemsize
        message = f"is sparse ({type_name} of shape {X.shape}); dense it takes {n_bytes:,} bytes."
        return _error(argument, message, "Pass {}.toarray() if that fits.", code="D23")
    if is_lazy(X):
        library = type_name.partition(".")[0]
        method = COLLECT_METHODS.get(library, "df")
        return _error(argument, f"is a {type_name}.", f"Pass {{}}.{method}().", code="D26")
    for library in ("pandas", "polars"):
        if _is_a(X, library, "Series"):
            hint = f"{RESHAPE} A Series becomes a table by {{}}.to_frame()."
            return _not_2d_error(argument, 1, f"is a {library} Series.", hint)
    if isinstance(X, dict):
        return _error(argument, "is a dict.", TO_FRAME)
    is_of_another_library = hasattr(X, "shape") or hasattr(X, "columns")
    is_iterator = hasattr(X, "__next__")
    return _error(
        argument,
        f"is a {type_name}, which is not a table.",
        hint="Pass list({})." if is_iterator else CONVERT,
        code="D26" if is_of_another_library else "D25",
    )


def _not_2d_error(argument: str, dimensions: int, what: str, hint: str) -> InputError:
    """The error about anything that has no rows and columns, in scikit-learn's words."""
    message = f"Expected 2D array, got {dimensions}D array instead: {argument} {what}"
    return InputError(message, code="D25", argument=argument, hint=hint.format(argument))


def _error(
    argument: str, what: str, hint: str, code: str = "D25", rows: Sequence[int] = ()
) -> InputError:
    """The error that says what the argument is, and what to pass instead."""
    return InputError(
        f"{argument} {what}", code=code, argument=argument, rows=rows, hint=hint.format(argument)
    )


def _is_a(X: Any, library: str, type_name: str) -> bool:
    """Whether X is of a type, without importing its library: if it is not loaded, X cannot be."""
    library_type = getattr(sys.modules.get(library), type_name, None)
    return isinstance(library_type, type) and isinstance(X, library_type)

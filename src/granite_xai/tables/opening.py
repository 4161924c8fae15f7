"""Which library a table belongs to, what is no table (D22, D23, D25, D26), and tables that stay where the data live."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.files import object_array
from granite_xai.base.typing import IntArray
from granite_xai.tables.containers import ArrayContainer, Container
from granite_xai.tables.frames import FrameContainer

_CONVERT = "Pass a 2-D NumPy array, a list of lists, or a pandas, polars or pyarrow table."
_TO_FRAME = "Pass pandas.DataFrame({})."
_RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
)
_RESHAPE += "array.reshape(1, -1) if it contains a single sample."


def open_table(X: Any, argument: str) -> Container:
    """Put a table into the container of its library; anything else is an error with the conversion to use."""
    if isinstance(X, np.ndarray):
        return ArrayContainer(_matrix(X, argument))
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if _is(X, library, name):
            return FrameContainer(
                X, library, ranged=_is(getattr(X, "index", None), "pandas", "RangeIndex")
            )
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
        raise InputError(
            message, code="D22", argument=argument, hint="Pass real and imaginary parts as columns."
        )
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
    name, sparse = f"{type(X).__module__}.{type(X).__qualname__}", sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        size = int(np.prod(X.shape)) * X.dtype.itemsize
        message = f"is sparse ({name} of shape {X.shape}); dense it takes {size:,} bytes."
        return _refused(argument, message, "Pass {}.toarray() if that fits.", "D23")
    if is_lazy(X):
        how = {"polars": "collect", "dask": "compute", "pyspark": "toPandas"}.get(
            name.partition(".")[0], "df"
        )
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
    return InputError(
        message, code="D25", argument=argument, hint=(hint or _RESHAPE).format(argument)
    )


def _refused(
    argument: str, what: str, hint: str, code: str = "D25", rows: Sequence[int] = ()
) -> InputError:
    """Say what the argument is and, where the hint has a place for its name, what to pass instead."""
    return InputError(
        f"{argument} {what}", code=code, argument=argument, rows=rows, hint=hint.format(argument)
    )


def _is(X: Any, library: str, name: str) -> bool:
    """Whether X belongs to a library, without importing it: if it is not loaded, X cannot."""
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(X, kind)


MOST = 50_000  # rows that are collected where nobody says how many
_ROW = "__granite_row"
_MORE = 1.1  # rows that are drawn where an engine draws about so many, in shares of those wanted, and a few
_LAZY = {"polars": "LazyFrame", "duckdb": "DuckDBPyRelation", "_duckdb": "DuckDBPyRelation"}
_LAZY |= dict.fromkeys(("dask", "dask_expr", "pyspark"), "DataFrame")


def is_lazy(X: Any) -> bool:
    """Whether a table is of an engine that computes when it is asked."""
    return type(X).__name__ == _LAZY.get(type(X).__module__.partition(".")[0])


def collected(
    X: Any, y: Any, sample_weight: Any, count: int | None, seed: int, clusters: Any = None
) -> tuple[Any, Any, Any, Any]:
    """At most so many rows of a lazy table, drawn by the seed, in memory; what comes with them are columns by name."""
    if not is_lazy(X):
        return X, y, sample_weight, clusters
    draw = {"LazyFrame": _polars, "DuckDBPyRelation": _duckdb}.get(type(X).__name__, _dask_or_spark)
    found, given = (
        draw(X, MOST if count is None else count, seed),
        {"y": y, "sample_weight": sample_weight, "clusters": clusters},
    )
    for argument, name in given.items():
        if name is not None and (not isinstance(name, str) or name not in found.columns):
            text = (
                f"{argument} of a lazy table is the name of one of its columns, not {name!r:.60}."
            )
            raise InputError(text, code="P04", argument=argument)
    apart = [name for name in given.values() if name is not None]
    kept = (
        found.drop(apart)
        if type(found).__module__.startswith("polars")
        else found.drop(columns=apart)
    )
    return kept, *(None if name is None else found[name] for name in given.values())


def region_numbers(assigned: Any, name: str) -> IntArray:
    """The numbers that an engine has found, in memory."""
    numbers = nw.from_native(assigned).lazy().select(name).collect()[name].to_numpy()
    if np.any(numbers < 0):
        text = f"{int(np.sum(numbers < 0)):,} rows have missing values for which the regions have no place."
        raise InputError(
            text, code="D01", argument="X", hint='Impute or drop them, or fit with missing="allow".'
        )
    return np.asarray(numbers, dtype=np.intp)


def some_rows(total: int, count: int, seed: int) -> IntArray:
    """So many of a number of rows, by the seed, in their order."""
    return np.sort(np.random.default_rng(seed).choice(total, size=count, replace=False))


def _exactly(found: Any, count: int, seed: int) -> Any:
    """So many of rows of which an engine has drawn a few more."""
    return found if len(found) <= count else found.iloc[some_rows(len(found), count, seed)]


def _polars(X: Any, count: int, seed: int) -> Any:
    import polars as pl

    total = X.select(pl.len()).collect().item()
    if total <= count:
        return X.collect()
    rows = pl.Series(some_rows(total, count, seed), dtype=pl.UInt32)
    return X.with_row_index(_ROW).filter(pl.col(_ROW).is_in(rows.implode())).drop(_ROW).collect()


def _duckdb(X: Any, count: int, seed: int) -> Any:
    total = X.aggregate("count(*)").fetchall()[0][0]
    if total <= count:
        return X.df()
    # By the number of the row, not by DuckDB's own sample, which differs with the number of threads.
    most, some = int(_MORE * count) + 100, f"hash({_ROW} + {int(seed)} * 1000003) % {total} < "
    numbered = X.project(f"*, row_number() over () as {_ROW}").filter(some + str(most)).order(_ROW)
    return _exactly(numbered.project(f"* exclude ({_ROW})").df(), count, seed)


def _dask_or_spark(X: Any, count: int, seed: int) -> Any:
    spark = type(X).__module__.startswith("pyspark")
    total = X.count() if spark else len(X)
    if total > count:
        share = min(1.0, (_MORE * count + 100) / max(total, 1))
        X = (
            X.sample(fraction=share, seed=seed)
            if spark
            else X.sample(frac=share, random_state=seed)
        )
    return _exactly(X.toPandas() if spark else X.compute(), count, seed).reset_index(drop=True)

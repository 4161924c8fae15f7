"""Which library a table belongs to, what is no table (D22, D23, D25, D26), and tables that stay where the data live."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, listing
from granite_xai.base.files.arrays import object_array
from granite_xai.base.typing import IntArray
from granite_xai.tables.containers import ArrayContainer, Container

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


MOST = 50_000  # rows that are collected where nobody says how many
_ROW = "__granite_row"
_MORE = 1.1  # rows that are drawn where an engine draws about so many, in shares of those wanted, and a few


def is_lazy(X: Any) -> bool:
    """Whether a table is of an engine that computes when it is asked."""
    library = type(X).__module__.partition(".")[0]
    lazy = {"polars": "LazyFrame", "duckdb": "DuckDBPyRelation", "_duckdb": "DuckDBPyRelation"}
    return type(X).__name__ == lazy.get(library, "DataFrame" if library in ("dask", "dask_expr", "pyspark") else None)


def collected(X: Any, y: Any, sample_weight: Any, count: int | None, seed: int) -> tuple[Any, Any, Any]:
    """At most so many rows of a lazy table, drawn by the seed, in memory; y and weights are columns of it by name.

    What is in memory already stays as it is.
    """
    if not is_lazy(X):
        return X, y, sample_weight
    found = _ENGINES[type(X).__module__.partition(".")[0]](X, MOST if count is None else count, seed)
    apart = [name for name in (y, sample_weight) if name is not None]
    for argument, name in (("y", y), ("sample_weight", sample_weight)):
        if name is not None and (not isinstance(name, str) or name not in found.columns):
            text = f"{argument} of a lazy table is the name of one of its columns, not {name!r:.60}."
            raise InputError(text, code="P04", argument=argument)
    values = [None if name is None else found[name] for name in (y, sample_weight)]
    kept = found.drop(apart) if type(found).__module__.startswith("polars") else found.drop(columns=apart)
    return kept, *values


def region_numbers(assigned: Any, name: str) -> IntArray:
    """The numbers that an engine has found, in memory."""
    import narwhals as nw

    numbers = nw.from_native(assigned).lazy().select(name).collect()[name].to_numpy()
    if np.any(numbers < 0):
        text = f"{int(np.sum(numbers < 0)):,} rows have missing values for which the regions have no place."
        raise InputError(text, code="D01", argument="X", hint='Impute or drop them, or fit with missing="allow".')
    return np.asarray(numbers, dtype=np.intp)


def _some(total: int, count: int, seed: int) -> IntArray:
    return np.sort(np.random.default_rng(seed).choice(total, size=count, replace=False))


def _exactly(found: Any, count: int, seed: int) -> Any:
    """So many of rows of which an engine has drawn a few more."""
    return found if len(found) <= count else found.iloc[_some(len(found), count, seed)]


def _polars(X: Any, count: int, seed: int) -> Any:
    import polars as pl

    total = X.select(pl.len()).collect().item()
    if total <= count:
        return X.collect()
    rows = pl.Series(_some(total, count, seed), dtype=pl.UInt32)
    return X.with_row_index(_ROW).filter(pl.col(_ROW).is_in(rows.implode())).drop(_ROW).collect()


def _duckdb(X: Any, count: int, seed: int) -> Any:
    total = X.aggregate("count(*)").fetchall()[0][0]
    if total <= count:
        return X.df()
    # By the number of the row, not by DuckDB's own sample, which differs with the number of threads.
    most, some = int(_MORE * count) + 100, f"hash({_ROW} + {int(seed)} * 1000003) % {total} < "
    numbered = X.project(f"*, row_number() over () as {_ROW}").filter(some + str(most)).order(_ROW)
    return _exactly(numbered.project(f"* exclude ({_ROW})").df(), count, seed)


def _dask(X: Any, count: int, seed: int) -> Any:
    total = len(X)
    share = min(1.0, (_MORE * count + 100) / max(total, 1))
    found = (X if total <= count else X.sample(frac=share, random_state=seed)).compute()
    return _exactly(found, count, seed).reset_index(drop=True)


def _pyspark(X: Any, count: int, seed: int) -> Any:
    total = X.count()
    share = min(1.0, (_MORE * count + 100) / max(total, 1))
    found = (X if total <= count else X.sample(fraction=share, seed=seed)).toPandas()
    return _exactly(found, count, seed).reset_index(drop=True)


_ENGINES: dict[str, Callable[[Any, int, int], Any]] = {"polars": _polars, "pyspark": _pyspark}
_ENGINES |= {"duckdb": _duckdb, "_duckdb": _duckdb, "dask": _dask, "dask_expr": _dask}


def with_regions(frame: Any, rules: Iterable[Any], name: str) -> Any:
    """Add the number of each row's region as a column; -1 where a value is missing and no rule has a place for it."""
    import narwhals as nw

    table = nw.from_native(frame)
    schema = table.collect_schema()
    found: Any = nw.lit(-1)
    for number, rule in reversed(list(enumerate(rules))):
        inside = [_expression(column, condition, schema) for column, condition in rule.conditions]
        found = nw.when(reduce(and_, inside)).then(nw.lit(number)).otherwise(found) if inside else nw.lit(number)
    return table.with_columns(found.cast(nw.Int64).alias(name)).to_native()


def _expression(name: str, condition: Any, schema: Any) -> Any:
    """A condition on a column, as `Condition.contains` has it."""
    import narwhals as nw

    if name not in schema:
        text = f"the frame has no column {name!r}; it has {listing(schema)}."
        raise InputError(text, code="D37", argument="frame", columns=[name])
    column, dtype = nw.col(name), schema[name]
    missing = column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
    interval = hasattr(condition, "low")  # a set of levels has no ends
    present = _present(column, dtype, condition, interval)
    inside = ~missing if present is None else present & ~missing
    if not condition.has_values and not (interval and condition.others and condition.order):
        return missing if condition.missing else missing & ~missing
    return inside | missing if condition.missing else inside


def _present(column: Any, dtype: Any, condition: Any, interval: bool) -> Any:
    """Which present values belong; None: all of them."""
    import narwhals as nw

    if interval and condition.order is None:
        if dtype == nw.Date:
            column = column.cast(nw.Datetime("us"))
        elif dtype == nw.Datetime and dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        ends = ((condition.low, column.__gt__), (condition.high, column.__le__))
        parts = [compare(_value(end)) for end, compare in ends if end is not None]
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
    import narwhals as nw

    listed = list(labels)
    if dtype.is_numeric():  # truth values that a column holds as 0 and 1; texts are none of its values
        listed = [int(label) if isinstance(label, bool) else label for label in listed if not isinstance(label, str)]
    elif dtype == nw.String:
        listed = [str(label) for label in listed]
    return column.is_in(listed) if listed else column.is_null() & ~column.is_null()


def _value(bound: Any) -> Any:
    """A bound as Python has it; dates to the microsecond."""
    if isinstance(bound, np.datetime64 | np.timedelta64):
        return bound.astype(f"{bound.dtype.kind}8[us]").item()
    return bound

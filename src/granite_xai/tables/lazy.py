"""Tables that are still where the data live: polars LazyFrame, DuckDB relation, Dask and PySpark DataFrame.

The sample is drawn by the engine that holds the rows; nothing else is collected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray

MOST = 50_000
"""Rows that are collected where nobody says how many."""
_ROW = "__granite_row"
_MORE = 1.1
"""Rows that are drawn where an engine draws about so many, in shares of those wanted, and a few."""


def is_lazy(X: Any) -> bool:
    """Whether a table is of an engine that computes when it is asked.

    >>> is_lazy([[1.0]])
    False
    """
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


def _exactly(found: Any, count: int, seed: int, take: Callable[[Any, Any], Any]) -> Any:
    """So many of rows of which an engine has drawn a few more."""
    if len(found) <= count:
        return found
    return take(found, np.sort(np.random.default_rng(seed).choice(len(found), size=count, replace=False)))


def _polars(X: Any, count: int, seed: int) -> Any:
    import polars as pl

    total = X.select(pl.len()).collect().item()
    if total <= count:
        return X.collect()
    rows = pl.Series(np.sort(np.random.default_rng(seed).choice(total, size=count, replace=False)), dtype=pl.UInt32)
    return X.with_row_index(_ROW).filter(pl.col(_ROW).is_in(rows.implode())).drop(_ROW).collect()


def _duckdb(X: Any, count: int, seed: int) -> Any:
    total = X.aggregate("count(*)").fetchall()[0][0]
    if total <= count:
        return X.df()
    # By the number of the row, not by DuckDB's own sample, which differs with the number of threads.
    most, some = int(_MORE * count) + 100, f"hash({_ROW} + {int(seed)} * 1000003) % {total} < "
    numbered = X.project(f"*, row_number() over () as {_ROW}").filter(some + str(most)).order(_ROW)
    return _exactly(numbered.project(f"* exclude ({_ROW})").df(), count, seed, lambda frame, rows: frame.iloc[rows])


def _dask(X: Any, count: int, seed: int) -> Any:
    total = len(X)
    if total <= count:
        return X.compute().reset_index(drop=True)
    share = min(1.0, (_MORE * count + 100) / total)
    found = X.sample(frac=share, random_state=seed).compute().reset_index(drop=True)
    return _exactly(found, count, seed, lambda frame, rows: frame.iloc[rows].reset_index(drop=True))


def _pyspark(X: Any, count: int, seed: int) -> Any:
    total = X.count()
    share = min(1.0, (_MORE * count + 100) / max(total, 1))
    found = (X if total <= count else X.sample(fraction=share, seed=seed)).toPandas()
    return _exactly(found, count, seed, lambda frame, rows: frame.iloc[rows].reset_index(drop=True))


_ENGINES: dict[str, Callable[[Any, int, int], Any]] = {
    "polars": _polars,
    "duckdb": _duckdb,
    "_duckdb": _duckdb,
    "dask": _dask,
    "dask_expr": _dask,
    "pyspark": _pyspark,
}

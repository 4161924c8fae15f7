"""Tables that stay where the data live.

Rows are drawn by the engine that holds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray

MOST_ROWS = 50_000  # that are collected where nobody says how many
ROW_NUMBER = "__granite_row"
# Engines that draw about so many rows are asked for a tenth and a hundred more than are wanted.
MARGIN = 1.1
MARGIN_ROWS = 100
SEED_STEP = 1_000_003  # prime: row numbers of different seeds do not meet in tables up to this size
DRAWN_BY_NUMBER = (
    "Rows of a lazy table are drawn by their number (D48). Where they come in no order of their own, as "
    "after a join or a group-by, the same seed may draw other rows each time, and two fits may differ: "
    "sort the table by a unique key, or collect and sort it before the fit."
)
LAZY_TYPES = {
    "polars": "LazyFrame",
    "duckdb": "DuckDBPyRelation",
    "_duckdb": "DuckDBPyRelation",
    "dask": "DataFrame",
    "dask_expr": "DataFrame",
    "pyspark": "DataFrame",
}


def is_lazy(X: Any) -> bool:
    """Whether a table is of an engine that computes when it is asked."""
    library = type(X).__module__.partition(".")[0]
    return type(X).__name__ == LAZY_TYPES.get(library)


def collect_rows(
    X: Any, y: Any, sample_weight: Any, count: int | None, seed: int, clusters: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Draw rows of a lazy table into memory.

    Parameters
    ----------
    X : table
        Tables in memory are returned as they are, with what came with them.
    y, sample_weight, clusters : str, optional
        Of a lazy table: names of its columns.
    count : int, optional
        Rows that are drawn, at most; None: 50,000.
    seed : int
        Draws them.

    Returns
    -------
    X, y, sample_weight, clusters
        Of a lazy table: rows without those columns, and the columns.

    Raises
    ------
    InputError
        P04: a lazy table has no such column.
    """
    if not is_lazy(X):
        return X, y, sample_weight, clusters
    most_rows = MOST_ROWS if count is None else count
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        rows = _drawn_by_polars(X, most_rows, seed)
    elif library in ("duckdb", "_duckdb"):
        rows = _drawn_by_duckdb(X, most_rows, seed)
    else:
        rows = _drawn_by_spark_or_dask(X, most_rows, seed)
    names = {"y": y, "sample_weight": sample_weight, "clusters": clusters}
    columns: dict[str, Any] = dict.fromkeys(names)
    for argument, name in names.items():
        if name is None:
            continue
        if not isinstance(name, str) or name not in rows.columns:
            raise InputError(
                f"{argument} of a lazy table is the name of one of its columns, not {name!r:.60}.",
                code="P04",
                argument=argument,
            )
        columns[argument] = rows[name]
    no_features = [name for name in names.values() if name is not None]
    features = rows.drop(no_features) if library == "polars" else rows.drop(columns=no_features)
    return features, columns["y"], columns["sample_weight"], columns["clusters"]


def draw_positions(total: int, count: int, seed: int) -> IntArray:
    """Draw ``count`` of ``total`` positions by a seed, in ascending order."""
    return np.sort(np.random.default_rng(seed).choice(total, size=count, replace=False))


def _drawn_by_polars(X: Any, count: int, seed: int) -> Any:
    import polars as pl

    total = X.select(pl.len()).collect().item()
    if total <= count:
        return X.collect()
    rows = pl.Series(ROW_NUMBER, draw_positions(total, count, seed), dtype=pl.UInt32)
    numbered = X.with_row_index(ROW_NUMBER)
    drawn = numbered.join(rows.to_frame().lazy(), on=ROW_NUMBER, how="semi")
    return drawn.sort(ROW_NUMBER).drop(ROW_NUMBER).collect()  # a join keeps no order


def _drawn_by_duckdb(X: Any, count: int, seed: int) -> Any:
    total = X.aggregate("count(*)").fetchall()[0][0]
    if total <= count:
        return X.df()
    # By the number of the row, not by DuckDB's own sample, which differs with the threads.
    n_wanted = int(MARGIN * count) + MARGIN_ROWS
    is_drawn = f"hash({ROW_NUMBER} + {int(seed)} * {SEED_STEP}) % {total} < {n_wanted}"
    numbered = X.project(f"*, row_number() over () as {ROW_NUMBER}")
    drawn = numbered.filter(is_drawn).order(ROW_NUMBER).project(f"* exclude ({ROW_NUMBER})")
    return _at_most(drawn.df(), count, seed)


def _drawn_by_spark_or_dask(X: Any, count: int, seed: int) -> Any:
    is_spark = hasattr(X, "toPandas")
    total = X.count() if is_spark else len(X)
    if total > count:
        share_wanted = min(1.0, (MARGIN * count + MARGIN_ROWS) / total)
        if is_spark:
            X = X.sample(fraction=share_wanted, seed=seed)
        else:
            X = X.sample(frac=share_wanted, random_state=seed)
    rows = X.toPandas() if is_spark else X.compute()
    return _at_most(rows, count, seed).reset_index(drop=True)


def _at_most(rows: Any, count: int, seed: int) -> Any:
    """Drop what an engine has drawn beyond the rows that are wanted."""
    if len(rows) <= count:
        return rows
    return rows.iloc[draw_positions(len(rows), count, seed)]

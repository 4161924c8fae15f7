"""The same rows in engines that compute when asked, and in memory; with rules about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

duckdb = pytest.importorskip("duckdb")
dask = pytest.importorskip("dask.dataframe")
RNG = np.random.default_rng(0)
N = 800
X = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.integers(-3, 4, N),
        "c": RNG.choice([*"pqr"], N),
        "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
        "flag": RNG.random(N) < 0.5,
    }
)
GAPS = X.assign(a=X["a"].where(RNG.random(N) < 0.8), c=X["c"].where(RNG.random(N) < 0.8))
LAZY = {
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": duckdb.from_df,
    "dask": lambda frame: dask.from_pandas(frame, npartitions=3),
}
EAGER = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
RULES = {
    "numbers": ["a ≤ 0.25", "a > 0.25 and b ≤ 0", "a > 0.25 and b > 0"],
    "missing": ["a ≤ 0.25 or missing", "a > 0.25 and c is missing", "a > 0.25 and c is present"],
    "levels": ["c in {p, q}", "c not in {p, q} or missing"],
    "others": ["c is p", "c is not p or missing"],
    "dates": ["t ≤ 2021-01-01", "t > 2021-01-01"],
    "truth": ["flag is True and b ≤ 1", "flag is True and b > 1", "flag is False"],
}


def model(X):
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    return (frame["a"] * np.where(frame["b"] > 0, 1.0, -1.0) + frame["flag"]).to_numpy()


def numbers(assigned):
    """The new column in memory."""
    if isinstance(assigned, pl.LazyFrame):
        assigned = assigned.collect()
    assigned = assigned.df() if hasattr(assigned, "df") else assigned
    assigned = assigned.compute() if hasattr(assigned, "compute") else assigned
    return np.asarray(assigned["region"]).tolist()

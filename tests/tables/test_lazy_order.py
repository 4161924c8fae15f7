"""Lazy tables whose rows have no order of their own are told (D48)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import granite_xai as gx
from granite_xai.tables.lazy import is_lazy
from granite_xai.tables.lazy_order import order_notice
from tables.lazy_tables import N, X, dask, duckdb, model

KEYS = pl.from_pandas(X.assign(key=np.arange(N) % 400)).lazy()
ONCE = KEYS.select("key").unique(maintain_order=True)
UNORDERED = {
    "group by": KEYS.group_by("key").agg(pl.all().first()),
    "join": KEYS.join(ONCE, on="key"),
    "left join": KEYS.join(ONCE, on="key", how="left"),
    "unique": KEYS.unique(subset="key"),
    "filter after unique": KEYS.unique(subset="key").filter(pl.col("a") > 0).select("a", "b"),
    "sort before join": KEYS.sort("a").join(ONCE, on="key"),
    "one of two joins": KEYS.join(ONCE, on="key").join(ONCE, on="key", maintain_order="left"),
}
ORDERED = {
    "scan": KEYS,
    "filter": KEYS.filter(pl.col("a") > 0).with_columns(twice=2 * pl.col("a")),
    "group by": KEYS.group_by("key", maintain_order=True).agg(pl.all().first()),
    "join": KEYS.join(ONCE, on="key", maintain_order="left"),
    "unique": KEYS.unique(subset="key", maintain_order=True),
    "sorted": KEYS.join(ONCE, on="key").unique().sort("key", "a"),
    "sorted, then selected": KEYS.unique().sort("a").filter(pl.col("a") > 0).select("a", "b"),
    "below each other": pl.concat([KEYS, KEYS]),
}


@pytest.mark.parametrize("name", UNORDERED)
def test_D48_polars_plans_that_lose_the_order_are_told(name):
    assert order_notice(UNORDERED[name]).startswith("D48: the rows of X come in no order")


@pytest.mark.parametrize("name", ORDERED)
def test_D48_polars_plans_that_keep_the_order_are_not(name):
    assert order_notice(ORDERED[name]) is None


def test_D48_duckdb_relations_need_an_order_after_joins_and_groups():
    rows = duckdb.from_df(X.assign(key=np.arange(N)))
    grouped = rows.aggregate("b, sum(a) as a", "b")
    joined = rows.join(rows.set_alias("other"), "key")
    for relation in (
        grouped,
        rows.distinct(),
        joined,
        rows.order("a").distinct(),
        rows.union(rows),
    ):
        assert order_notice(relation).startswith("D48")
    window = grouped.project("*, row_number() over (order by a) as n")
    assert order_notice(window).startswith("D48")
    for relation in (rows, rows.filter("a > 0").project("a, b"), rows.distinct().order("key")):
        assert order_notice(relation) is None
    assert order_notice(grouped.order("b").limit(3)) is None
    grouped.create_view("granite_view", replace=True)
    assert order_notice(duckdb.view("granite_view")).startswith("D48")


def test_D48_dask_frames_need_a_sorted_index():
    frame = dask.from_pandas(X, npartitions=3)
    assert order_notice(frame) is None
    assert order_notice(frame.groupby("b").a.sum().to_frame()).startswith("D48")
    assert order_notice(frame.merge(frame, on="b")).startswith("D48")


def test_D48_spark_frames_need_a_sort_of_all_rows():
    """What `explain` prints; Spark itself is not installed here."""

    class DataFrame:
        def __init__(self, *steps):
            self.steps = steps

        def explain(self):
            print("== Physical Plan ==", *self.steps, "", sep="\n")

    DataFrame.__module__ = "pyspark.sql.dataframe"
    scan = "      +- Scan ExistingRDD[a#0]"
    adaptive = "AdaptiveSparkPlan isFinalPlan=false"
    whole = DataFrame(
        adaptive, "+- Project [a#0]", "   +- Sort [a#0 ASC NULLS FIRST], true, 0", scan
    )
    assert is_lazy(whole)
    assert order_notice(whole) is None
    assert order_notice(DataFrame("*(1) Sort [a#0 ASC NULLS FIRST], true, 0", scan)) is None
    inside = DataFrame(adaptive, "+- Sort [a#0 ASC NULLS FIRST], false, 0", scan)
    for frame in (inside, DataFrame("*(1) HashAggregate(keys=[a#0])", scan), DataFrame(scan)):
        assert order_notice(frame).startswith("D48")


def test_D48_a_fit_on_rows_without_an_order_warns_and_remembers():
    frame = KEYS.drop("key").unique()
    granite = gx.Granite(model, max_samples=200, min_samples_leaf=10)
    with pytest.warns(gx.DataWarning, match="D48: .*Sort it by a unique key"):
        granite.fit(frame)
    assert any(text.startswith("D48") for text in granite.diagnostics_["warnings"])
    granite.evaluate(frame)  # all rows: their order is nobody's business
    granite.fit(frame.sort("a"))

"""Where the data live: regions are assigned, and samples drawn, by the engine that holds the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import granite_xai as gx
from granite_xai.tables.lazy import collected, is_lazy
from granite_xai.tables.row_order import order_notice

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


@pytest.mark.parametrize("engine", [*LAZY, *EAGER])
@pytest.mark.parametrize("name", RULES)
def test_an_engine_finds_the_regions_that_apply_finds(engine, name):
    table = GAPS if name in ("missing", "levels", "others") else X
    partition = gx.Partition.from_rules(RULES[name])
    frame = (LAZY | EAGER)[engine](table)
    if engine in EAGER and engine in LAZY:  # a name of both: the eager one
        frame = EAGER[engine](table)
    assigned = partition.assign(frame)
    assert type(assigned) is type(frame)
    assert numbers(assigned) == partition.apply(table).tolist()


def test_ordered_labels_are_compared_by_their_order():
    sizes = pd.Categorical(
        RNG.choice(["low", "mid", "high"], N), categories=["low", "mid", "high"], ordered=True
    )
    table = X.assign(size=sizes)
    g = gx.Granite(lambda X: X["a"] * (X["size"] > "low"), max_samples=200, max_depth=1).fit(table)
    assert "size" in str(g.partition_)
    for frame in (
        pl.from_pandas(table.astype({"size": str})).lazy(),
        duckdb.from_df(table.astype({"size": str})),
    ):
        assert numbers(g.partition_.assign(frame)) == g.apply(table).tolist()


def test_values_without_a_place_get_no_region():
    partition = gx.Partition.from_rules(["a ≤ 0", "a > 0"])
    for convert in (*LAZY.values(), *EAGER.values()):
        found = np.array(numbers(partition.assign(convert(GAPS))))
        assert np.array_equal(found < 0, GAPS["a"].isna())


@pytest.mark.parametrize("engine", LAZY)
def test_a_lazy_table_is_fitted_applied_and_evaluated(engine):
    frame = LAZY[engine](X)
    assert is_lazy(frame)
    g = gx.Granite(model, max_samples=200, min_samples_leaf=10).fit(frame)
    assert g.diagnostics_["plan"]["rows"] == 200
    again = gx.Granite(model, max_samples=200, min_samples_leaf=10).fit(frame)
    assert [str(region.rule) for region in again.partition_] == [
        str(region.rule) for region in g.partition_
    ]
    assert again.disagreement_ == g.disagreement_
    assert g.apply(frame).tolist() == g.partition_.apply(X).tolist()
    assert 0 <= g.evaluate(frame, max_samples=100).remaining < 1
    assert sum(g.evaluate(frame, max_samples=100).counts) == 100


@pytest.mark.parametrize("engine", LAZY)
def test_the_target_of_a_lazy_table_is_one_of_its_columns(engine):
    frame = LAZY[engine](X.assign(y=model(X), w=1.0 + (X["b"] > 0)))
    g = gx.Granite(model, "pfi-risk", max_samples=100, min_samples_leaf=10).fit(frame, "y", "w")
    assert g.feature_names_in_.tolist() == [*X]
    with pytest.raises(gx.InputError, match="P04: y of a lazy table is the name"):
        g.evaluate(frame, y=np.zeros(N))


def test_a_sample_is_drawn_by_the_seed_and_holds_rows_of_the_table():
    for convert in LAZY.values():
        first, second, other = (
            collected(convert(X), None, None, 50, seed)[0] for seed in (0, 0, 1)
        )
        first, second, other = (
            f.to_pandas() if hasattr(f, "to_pandas") else f for f in (first, second, other)
        )
        assert len(first) == len(other) == 50
        assert first["a"].tolist() == second["a"].tolist() != other["a"].tolist()
        assert set(first["a"]) <= set(X["a"])
    assert len(collected(LAZY["dask"](X), None, None, None, 0)[0]) == N


def test_D26_what_takes_rows_in_memory_says_how_to_collect_them():
    for convert, how in zip(LAZY.values(), ("collect", "df", "compute"), strict=True):
        with pytest.raises(gx.InputError, match=rf"D26.*\.{how}\(\)"):
            gx.Explainer().explain(model, convert(X))


def test_D01_missing_values_without_a_place_are_an_error_of_apply():
    g = gx.Granite(model, max_samples=200, min_samples_leaf=10, split_features=["a"]).fit(X)
    if len(g.partition_) > 1:
        with pytest.raises(gx.InputError, match="D01"):
            g.apply(LAZY["polars"](GAPS))


def test_D37_a_column_that_the_frame_lacks_is_named():
    with pytest.raises(gx.InputError, match="D37: the frame has no column 'z'"):
        gx.Partition.from_rules(["z ≤ 1", "z > 1"]).assign(X)


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
    with pytest.warns(gx.DataWarning, match="D48"):
        granite.evaluate(frame, max_samples=100)
    granite.evaluate(frame)  # all rows: their order is nobody's business
    granite.fit(frame.sort("a"))

"""Where the data live: regions are assigned, and samples drawn, by the engine that holds the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import granite_xai as gx
from granite_xai.tables.opening import collected, is_lazy

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

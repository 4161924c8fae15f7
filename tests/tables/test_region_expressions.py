"""Regions are assigned by the engine that holds the rows, as `apply` finds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import granite_xai as gx
from granite_xai.regions.conditions import Interval
from granite_xai.regions.rule import Rule
from granite_xai.tables.region_expressions import with_regions
from tables.lazy_tables import EAGER, GAPS, LAZY, RNG, RULES, N, X, duckdb, model, numbers


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


@pytest.mark.parametrize("convert", [*LAZY.values(), *EAGER.values()])
def test_labels_without_an_order_are_not_compared_by_their_letters(convert):
    partition = gx.Partition.from_rules(["c ≤ q", "c > q"])
    for assign in (partition.apply, lambda table: partition.assign(convert(table))):
        with pytest.raises(gx.InputError, match="order of the labels is not known") as caught:
            assign(X)
        assert caught.value.code == "P03"


def test_ends_of_a_rule_without_its_order_are_labels_of_an_ordered_column():
    partition = gx.Partition.from_rules(["size ≤ mid", "size > mid"])
    sizes = pd.Categorical(["low", "high", "mid"], categories=["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"size": sizes})
    enum = pl.DataFrame({"size": pl.Series(list(sizes), dtype=pl.Enum(["low", "mid", "high"]))})
    for frame in (table, enum, enum.lazy(), duckdb.from_df(table)):
        assert numbers(partition.assign(frame)) == partition.apply(table).tolist() == [0, 1, 0]
    with pytest.raises(gx.InputError, match="'huge' is not one of the ordered labels"):
        gx.Partition.from_rules(["size ≤ huge", "size > huge"]).assign(table)


def test_values_without_a_place_get_no_region():
    partition = gx.Partition.from_rules(["a ≤ 0", "a > 0"])
    for convert in (*LAZY.values(), *EAGER.values()):
        found = np.array(numbers(partition.assign(convert(GAPS))))
        assert np.array_equal(found < 0, GAPS["a"].isna())


def test_D01_missing_values_without_a_place_are_an_error_of_apply():
    g = gx.Granite(model, max_samples=200, min_samples_leaf=10, split_features=["a"]).fit(X)
    if len(g.partition_) > 1:
        with pytest.raises(gx.InputError, match="D01"):
            g.apply(LAZY["polars"](GAPS))


def test_D37_a_column_that_the_frame_lacks_is_named():
    with pytest.raises(gx.InputError, match="D37: the frame has no column 'z'"):
        gx.Partition.from_rules(["z ≤ 1", "z > 1"]).assign(X)


def test_every_present_label_belongs_where_an_interval_has_no_ends():
    everything = Interval(order=("low", "high"))
    rules = [Rule().and_("size", everything), Rule().and_("size", Interval.only_missing())]
    frame = pl.DataFrame({"size": ["low", "new", None]})
    cells = np.array(frame["size"].to_list(), dtype=object)
    assert everything.contains(cells).tolist() == [True, True, False]
    assert with_regions(frame, rules, "region")["region"].to_list() == [0, 0, 1]

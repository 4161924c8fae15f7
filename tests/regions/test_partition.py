"""Partitions: disjoint, covering, readable (I14-I17)."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given

from granite_xai.base.errors import FormatError, InputError
from granite_xai.regions.partition import Leaf, Partition
from granite_xai.regions.rule import Rule
from granite_xai.tables import read_table
from regions.random_partitions import NAMES, bike, frame_of, partitions, rows
from regions.random_rules import (
    ORDER,
)
from regions.rules_elsewhere import few, in_duckdb, in_sqlite


@given(partitions, rows)
def test_I14_every_row_belongs_to_exactly_one_region(partition, cells):
    """Missing values, labels never seen and new dates included: the rules say what the tree does."""
    table = read_table(frame_of(cells), missing="allow")
    inside = np.array([region.rule.contains(table) for region in partition])
    assert (inside.sum(axis=0) == 1).all()
    assert np.array_equal(partition.apply(table), inside.argmax(axis=0))
    assert partition.apply(table).dtype == np.intp


@given(partitions, rows)
def test_I16_regions_survive_their_text(partition, cells):
    orders = {"size": ORDER}
    again = Partition.from_rules([Rule.parse(str(rule), orders) for rule in partition.rules])
    frame = frame_of([(a, None if b == "huge" else b, c, d, e) for a, b, c, d, e in cells])
    assert np.array_equal(again.apply(frame), partition.apply(frame))


@given(partitions)
def test_regions_are_the_leaves_from_left_to_right(partition):
    assert [region.index for region in partition] == list(range(len(partition)))
    assert partition[0] == next(iter(partition))
    assert partition[-1].index == len(partition) - 1
    lines = str(partition).splitlines()
    for region in partition:
        (line,) = [line for line in lines if re.match(rf"[├└│─ ]*{region.index}  ", line)]
        assert re.search(rf" {region.n_samples:,}  ", line)


def test_the_printed_region():
    """Numbers end, and words begin, under each other."""
    head, line = str(bike()[0]).split("\n")
    assert head == "region  name  rows  share  rule                       not split because"
    assert line == "     0          98    10%  workingday ≤ 0 and hr ≤ 6  little left to split"


def test_named_regions():
    partition = bike().rename({0: "night", 2: " working days "})
    assert partition.titles == ("night", "workingday ≤ 0, hr > 6", "working days")
    assert [region.name for region in partition] == ["night", "", "working days"]
    assert "0  night (hr ≤ 6)" in str(partition)
    assert partition.frame()["name"].tolist() == list(partition.titles)
    assert "THEN 'night'" in partition.to_sql()
    assert partition == bike()
    again = Partition.from_dict(partition.to_dict())
    assert again.region_names == {0: "night", 2: "working days"}
    assert partition.rename({0: ""}).region_names == {2: "working days"}
    assert "region_names" not in bike().to_dict()


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        ({3: "x"}, "P02", "there is no region 3: regions are numbered 0 to 2"),
        ({-1: "x"}, "P02", "there is no region -1"),
        ({True: "x"}, "P02", "there is no region True"),
        ({"0": "x"}, "P02", "there is no region '0'"),
        ({0: 7}, "P02", "the name of region 0 is 7, not a text"),
        ({0: "x", 1: "x"}, "P03", "two regions would be called 'x'"),
        (["x"], "P02", "names is a list"),
    ],
)
def test_wrong_names(names, code, words):
    partition = bike()
    with pytest.raises(InputError, match=words) as caught:
        partition.rename(names)
    assert caught.value.code == code
    assert partition.region_names == {}


def test_a_name_of_a_file_that_fits_no_region():
    written = bike().rename({0: "night"}).to_dict()
    for wrong in ({"9": "x"}, {"x": "y"}, {"0": 1}, {"0": "a", "1": "a"}, []):
        with pytest.raises(FormatError):
            Partition.from_dict({**written, "region_names": wrong})


def test_one_region_is_still_a_partition():
    partition = Partition(Leaf(7, 1.0, 0.0, "nothing to explain"))
    assert len(partition) == 1
    assert [str(rule) for rule in partition.rules] == ["all rows"]
    assert partition.apply(np.zeros((3, 2))).tolist() == [0, 0, 0]


def test_an_array_after_a_frame_is_read_by_position():
    assert bike().apply(np.array([[3.0, 0.0], [9.0, 0.0], [9.0, 1.0]])).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="no column 'workingday'"):
        bike().apply(np.zeros((1, 3)))


def test_rules_that_overlap_or_leave_rows_out_are_named_with_the_rows():
    frame = pd.DataFrame({"x": [0.0, 2.0, 4.0]}, index=["a", "b", "c"])
    with pytest.raises(InputError, match="no rule .* 'b'"):
        Partition.from_rules(["x ≤ 1", "x > 3"]).apply(frame)
    with pytest.raises(InputError, match="more than one rule .* 'b'"):
        Partition.from_rules(["x ≤ 3", "x > 1"]).apply(frame)
    assert Partition.from_rules(["x <= 1", Rule.parse("x > 1")]).apply(frame).tolist() == [0, 1, 1]
    with pytest.raises(InputError):
        Partition.from_rules([])
    with pytest.raises(InputError):
        Partition.from_rules("x ≤ 1")


@few
@given(partitions, rows)
def test_a_partition_in_sql_numbers_the_regions(partition, cells):
    frame = frame_of(cells)
    expected = partition.apply(frame).tolist()
    for statement, run in (
        (partition.to_sql(dialect="duckdb"), in_duckdb),
        (partition.to_sql("r", "sqlite"), in_sqlite),
    ):
        assert run(frame, statement) == expected


@few
@given(partitions, rows)
def test_a_partition_in_other_languages_numbers_the_regions(partition, cells):
    frame = frame_of(cells)
    expected = partition.apply(frame).tolist()
    assert regions_in_pandas(partition, frame) == expected
    assert regions_in_polars(partition, frame) == expected
    assert regions_in_python(partition, frame) == expected


def regions_in_pandas(partition, frame):
    """None for a row that no expression holds for; the test fails where two do."""
    regions = pd.Series([None] * len(frame), dtype=object)
    for label, expression in partition.to_pandas().items():
        rows = frame.query(expression, engine="python").index
        assert regions[rows].isna().all()
        regions[rows] = label
    return [None if pd.isna(label) else label for label in regions]


def regions_in_polars(partition, frame):
    there = pl.from_pandas(frame, nan_to_null=False)
    return there.lazy().with_columns(partition.to_polars("r")).collect()["r"].to_list()


def regions_in_python(partition, frame):
    made = {}
    exec(partition.to_python("region_of"), made)
    return [made["region_of"](row) for row in frame.astype(object).to_dict("records")]


@pytest.mark.parametrize("dtype", ["float64", "Int64", "Float64"])
def test_a_row_that_no_region_holds_has_none_in_other_languages(dtype):
    partition = Partition.from_rules(["number ≤ 1", "number > 1"], names=NAMES[:1])
    frame = pd.DataFrame({"number": pd.Series([0.0, None, 3.0], dtype=dtype)})
    assert regions_in_pandas(partition, frame) == [0, None, 1]
    assert regions_in_polars(partition, frame) == [0, None, 1]
    assert regions_in_python(partition, frame) == [0, None, 1]


def test_names_of_regions_are_told_to_other_languages():
    partition = Partition.from_rules(["x ≤ 1", "x > 1"]).rename({0: 'it\'s "night"'})
    frame = pd.DataFrame({"x": [2.0, 1.0]})
    assert regions_in_polars(partition, frame) == ["x > 1", 'it\'s "night"']
    assert regions_in_python(partition, frame) == ["x > 1", 'it\'s "night"']
    assert regions_in_pandas(partition, frame) == ["x > 1", 'it\'s "night"']
    with pytest.raises(InputError, match="P02"):
        partition.to_python("no name")


def test_a_row_that_no_region_holds_is_null():
    partition = Partition.from_rules(["number ≤ 1", "number > 1"], names=NAMES[:1])
    assert in_duckdb(
        pd.DataFrame({"number": [0.0, 3.0, np.nan]}), partition.to_sql(dialect="duckdb")
    ) == [0, 1, None]
    assert partition.to_sql('my "r"').endswith('AS "my ""r"""')

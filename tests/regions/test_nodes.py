"""The nodes of a tree, and how rows find their leaf."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from granite_xai.base.errors import InputError
from granite_xai.regions.condition_pairs import cut, grouping
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.nodes import find_leaves, leaves, stop_reason_words
from granite_xai.regions.partition import Leaf, Partition, Region, Split
from granite_xai.regions.rule import Rule
from granite_xai.tables import read_table
from regions.random_partitions import bike
from regions.random_rules import (
    ORDER,
)


def test_D01_a_missing_value_where_the_fit_had_none_is_an_error():
    partition = Partition(
        Split("x1", *cut(0.0), (Leaf(1, 0.5, 0.0), Leaf(1, 0.5, 0.0)), 2, 1.0, 1.0)
    )
    X = np.array([[0.0, 1.0], [0.0, np.nan], [np.nan, -1.0]])
    with pytest.raises(InputError, match=r"'x1' \(index 1\) has 1 missing value") as caught:
        partition.apply(X)
    assert caught.value.code == "D01"
    assert caught.value.rows == (1,)
    assert partition.apply(X[[0, 2]]).tolist() == [1, 0]


@pytest.mark.parametrize(
    "pair",
    [
        (Interval(None, 1), Interval(2)),
        (Interval(None, 2), Interval(1)),
        (Interval(1), Interval(None, 1)),
        (Interval(None, 1, missing=True), Interval(1, missing=True)),
        (Levels({"a"}), Levels({"b"})),
        (Levels({"a"}), Interval()),
        (Interval(None, "small", ORDER), Interval("small", None, ORDER[::-1])),
        (Interval(), Interval()),
    ],
)
def test_a_split_whose_sides_do_not_divide_the_values_is_refused(pair):
    with pytest.raises(InputError, match="divide"):
        Split("x", *pair, (Leaf(1, 0.5, 0.0), Leaf(1, 0.5, 0.0)), 2, 1.0, 1.0)


def test_S04_hostile_names_and_reasons_cannot_act_on_the_terminal():
    leaf = Leaf(1, 0.5, 0.5, "\x1b[2J\nregion 7")
    text = str(
        Partition(
            Split(
                "\x1b[31m\u202e\n",
                *grouping({"\x07"}, {"b"}, larger="right"),
                (leaf, leaf),
                2,
                1.0,
                1.0,
            )
        )
    )
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == 4


def test_leaves_are_listed_from_left_to_right_with_their_rules():
    rules = [str(rule) for rule, _ in leaves(bike().root)]
    assert rules == [
        "workingday ≤ 0 and hr ≤ 6",
        "workingday ≤ 0 and hr > 6",
        "workingday > 0 or missing",
    ]


def test_rows_reach_the_leaf_whose_rule_they_satisfy():
    table = read_table(
        np.array([[3.0, 0.0], [9.0, 0.0], [9.0, 1.0], [np.nan, np.nan]]), missing="allow"
    )
    assert find_leaves(bike().root, table, ("hr", "workingday")).tolist() == [0, 1, 2, 2]


def test_D15_labels_outside_the_order_are_named():
    left = Interval(None, "small", ORDER)
    right = Interval("small", None, ORDER)
    halves = (Leaf(1, 0.5, 0.0), Leaf(1, 0.5, 0.0))
    table = read_table(pd.DataFrame({"size": ["tiny", "huge"]}), missing="allow")
    with pytest.raises(InputError, match="1 labels outside the order") as caught:
        find_leaves(Split("size", left, right, halves, 2, 1.0, 1.0), table)
    assert caught.value.code == "D15"


def test_reasons_to_stop_are_said_in_words():
    assert stop_reason_words("split undone") == "a further split did not hold up"
    assert stop_reason_words("my own reason") == "my own reason"


def test_regions_of_equal_rules_and_figures_are_equal():
    with_order = Region(
        0, Rule().and_("size", Interval(high="small", order=ORDER)), 1, 0.5, 0.1, ""
    )
    without_order = Region(0, Rule.parse("size ≤ small"), 1, 0.5, 0.1, "")
    assert with_order.rule == without_order.rule
    assert with_order == without_order
    assert hash(with_order) == hash(without_order)
    unknown = [Region(0, Rule(), 0, float("nan"), nan, "given") for nan in (math.nan, np.nan * 2)]
    assert unknown[0] == unknown[1]
    assert with_order != Region(0, with_order.rule, 1, 0.5, math.nan, "")

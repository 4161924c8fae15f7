"""Pairs of conditions that split a column in two."""

from __future__ import annotations

from itertools import product, starmap

import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.regions.condition_pairs import complementary, cut, grouping, missing_or_present
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.rule import Rule
from regions.random_rules import (
    ORDER,
    intervals,
    label_probe,
    numeric_probe,
    small,
    small_levels,
    special,
    truth_probe,
)


@pytest.mark.parametrize("missing", [None, "left", "right"])
@pytest.mark.parametrize("larger", ["left", "right"])
def test_pairs_divide_the_values(missing, larger):
    pairs = [
        (cut(1.0, missing=missing), numeric_probe),
        (
            cut("small", order=ORDER, missing=missing, larger=larger),
            np.array([*ORDER, "huge", None], dtype=object),
        ),
        (grouping({"a"}, {"b", "c"}, larger=larger, missing=missing), label_probe),
        (
            grouping({False}, {True}, larger=larger, missing=missing),
            np.array([False, True, None], dtype=object),
        ),
    ]
    for (left, right), probe in pairs:
        counts = left.contains(probe).astype(int) + right.contains(probe)
        assert complementary(left, right)
        assert (
            (counts[:-1] == 1).all()
            if probe is not numeric_probe
            else (counts[~np.isnan(probe)] == 1).all()
        )
        assert counts[-1] == (missing is not None)
        assert left.intersect(right).is_empty


def test_D15_labels_outside_the_order_go_with_the_larger_child():
    left, right = cut("small", order=ORDER, larger="left")
    values = np.array(["huge", "tiny", "large"], dtype=object)
    assert left.contains(values).tolist() == [True, True, False]
    assert right.contains(values).tolist() == [False, False, True]


def test_D15_absent_and_new_levels_go_with_the_larger_child():
    left, right = grouping({"a"}, {"b"}, larger="left")
    assert left.contains(label_probe).tolist() == [True, False, True, True, True, False]
    assert str(Rule((("w", left),))) == "w is not b"
    assert str(Rule((("w", right),))) == "w is b"


def test_missing_or_present_serves_any_kind():
    left, right = missing_or_present()
    assert left.contains(label_probe).tolist() == [False] * 5 + [True]
    assert right.contains(numeric_probe).tolist() == [True] * 13 + [False]


@given(st.one_of(small_levels, special), st.one_of(small_levels, special))
def test_complementary_pairs_of_levels_leave_no_value_out(left, right):
    if complementary(left, right):
        counts = left.contains(label_probe).astype(int) + right.contains(label_probe)
        assert (counts[:-1] == 1).all()
        assert counts[-1] <= 1


def test_complementary_pairs_of_truth_values_are_those_that_leave_none_out_and_none_twice():
    """Both values on one side each; what is no truth value on one side too, if any side speaks of others."""
    known = list(
        starmap(Levels, product([{False}, {True}, {False, True}], [False, True], [False, True]))
    )
    for left, right in product(known, repeat=2):
        counts = [
            int(a) + int(b)
            for a, b in zip(*(c.contains(truth_probe) for c in (left, right)), strict=True)
        ]
        new = counts[2] == 1 or not (left.others or right.others)
        assert complementary(left, right) == (counts[:2] == [1, 1] and new and counts[3] <= 1), (
            left,
            right,
        )


@given(st.one_of(intervals(small), special), st.one_of(intervals(small), special))
def test_complementary_pairs_of_intervals_leave_no_value_out(left, right):
    if complementary(left, right):
        counts = left.contains(numeric_probe).astype(int) + right.contains(numeric_probe)
        assert (counts[:-1] == 1).all()
        assert counts[-1] <= 1


def test_a_split_says_where_missing_values_and_new_levels_go():
    assert [side.text("temp") for side in cut(14.8, missing="left")] == [
        "temp ≤ 14.8 or missing",
        "temp > 14.8",
    ]
    assert [side.text("w") for side in grouping({"a"}, {"b", "c"}, larger="right")] == [
        "w is a",
        "w is not a",
    ]


def test_infinite_values_have_a_region():
    left, right = cut(0.0)
    values = np.array([-np.inf, np.inf])
    assert left.contains(values).tolist() == [True, False]
    assert right.contains(values).tolist() == [False, True]


def test_new_labels_go_to_one_side_only():
    below = Interval(None, "small", ORDER, others=True)
    above = Interval("small", None, ORDER)
    assert complementary(below, above)
    assert not complementary(below, Interval("small", None, ORDER, others=True))

"""Conditions on one column: their algebra, text and equality."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError, InputError
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.rule import Rule
from regions.random_rules import (
    ORDER,
    conditions,
    dates,
    finite,
    intervals,
    label_probe,
    level_sets,
    numeric_probe,
    order_probe,
    small,
    small_levels,
    special,
)


def same(one, two, probe):
    expected = one.contains(probe) & two.contains(probe)
    assert np.array_equal(one.intersect(two).contains(probe), expected)
    if one.intersect(two).is_empty:
        assert not expected.any()


@given(st.one_of(intervals(small), special), st.one_of(intervals(small), special))
def test_intersection_of_intervals_is_that_of_sets(one, two):
    same(one, two, numeric_probe)


@given(st.one_of(small_levels, special), st.one_of(small_levels, special))
def test_intersection_of_levels_is_that_of_sets(one, two):
    same(one, two, label_probe)


@given(intervals(st.sampled_from(ORDER), ORDER), intervals(st.sampled_from(ORDER), ORDER) | special)
def test_intersection_of_ordered_labels_is_that_of_sets(one, two):
    same(one, two, order_probe)


@given(intervals(dates), intervals(dates))
def test_intersection_of_dates_is_that_of_sets(one, two):
    ends = [v for c in (one, two) for v in (c.low, c.high) if isinstance(v, np.datetime64)]
    moved = [e.astype("datetime64[us]") + k for e in ends for k in (-1, 0, 1)]
    same(one, two, np.array([*moved, np.datetime64("NaT", "us")], dtype="datetime64[us]"))


def test_ends_in_units_that_numpy_cannot_compare():
    """106,752 days are more nanoseconds than 64 bits count: NumPy 2.4 says less than none, 2.5 raises."""
    short, long = np.timedelta64(5, "ns"), np.timedelta64(106752, "D")
    assert Interval(short, long).has_values
    assert not Interval(long, short).has_values
    assert Interval(None, short).intersect(Interval(None, long)) == Interval(None, short)
    assert Interval(short).intersect(Interval(long)) == Interval(long)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Interval(None, 0), "c ≤ 0"),
        (Interval(0.5, None), "c > 0.5"),
        (Interval(6.5, 20), "6.5 < c ≤ 20"),
        (Interval(None, 14.8, missing=True), "c ≤ 14.8 or missing"),
        (Interval.only_missing(), "c is missing"),
        (Interval(), "c is present"),
        (Interval(None, 1.3e9), "c ≤ 1300000000"),
        (Interval(None, 1e-300), "c ≤ 1e-300"),
        (Interval(None, np.datetime64("2012-03-01")), "c ≤ 2012-03-01"),
        (Interval(np.datetime64("2012-03-01T06"), None), "c > 2012-03-01 06:00"),
        (Interval(None, np.timedelta64(7200, "s")), "c ≤ 2 hours"),
        (Interval("small", "large", ORDER), "small < c ≤ large"),
        (Interval(None, 2, (1, 2, 3)), "c ≤ 2"),
        (Levels({"mist", "clear"}), "c in {clear, mist}"),
        (Levels({"mist", "clear"}, others=True), "c not in {clear, mist}"),
        (Levels({False}), "c is False"),
        (Levels({"light rain"}, others=True, missing=True), 'c is not "light rain" or missing'),
        (Levels({10, 9}), "c in {9, 10}"),
        (Levels({"1", 1}), 'c in {1, "1"}'),
    ],
)
def test_conditions_read_as_a_person_would_write_them(condition, text):
    assert condition.text("c") == text
    assert Rule.parse(text) == Rule((("c", condition),))


def test_conditions_that_read_alike_are_equal():
    """The order of all labels and where labels outside it go are knowledge about the column, not about the interval."""
    plain, known = Interval(None, "small"), Interval(None, "small", ORDER, others=True)
    assert plain == known
    assert hash(plain) == hash(known)
    assert plain.text("size") == known.text("size")
    assert plain != Interval(None, "small", missing=True)


def test_text_without_known_order_is_an_error():
    with pytest.raises(InputError, match="order"):
        Rule.parse("s ≤ medium").contains(pd.DataFrame({"s": ["medium", "small"]}))
    with pytest.raises(InputError, match="number"):
        Rule.parse("s ≤ 3").contains(pd.DataFrame({"s": ["3", "4"]}))
    with pytest.raises(InputError):
        Rule.parse("s ≤ 3").contains(pd.DataFrame({"s": pd.to_datetime(["2012-01-01"])}))
    with pytest.raises(InputError):
        Rule.parse("s ≤ 2012-01-01").contains(pd.DataFrame({"s": [1.0]}))


def test_conditions_of_different_kinds_cannot_be_joined():
    for one, two in [
        (Interval(1), Levels({"a"})),
        (Interval(1), Interval(None, np.datetime64("2012"))),
        (Interval("a"), Interval("b")),
    ]:
        with pytest.raises(InputError):
            one.intersect(two)


INTERVAL = {
    "type": "interval",
    "low": None,
    "high": 1.0,
    "order": None,
    "others": False,
    "missing": False,
}


@pytest.mark.parametrize(
    "change",
    [
        {"high": float("nan")}, {"high": float("inf")}, {"high": [1]}, {"high": {}}, {"high": ["x"]}, {"missing": 1},
        {"high": ["2012-99-01"]}, {"high": 10**400}, {"order": ["a"]}, {"order": [None]}, {"others": None},
        {"type": "levels", "levels": [[1]]}, {"type": "levels", "levels": [float("nan")]}, {"type": "levels"},
        {"low": "a"}, {"high": ["NaT"]}, {"high": ["99999999999999999999-01-01"]}, {"type": 3},
    ],
)  # fmt: skip
def test_F05_a_hostile_condition_is_refused(change):
    data = {"conditions": [{"column": "x", "condition": {**INTERVAL, **change}}]}
    with pytest.raises(FormatError, match=r"conditions\[0\]"):
        Rule.from_dict(data)


@given(conditions, finite, level_sets)
def test_is_empty_means_that_nothing_belongs(condition, number, others):
    if condition.is_empty:
        assert not condition.contains(np.array([number, np.nan])).any()
    assert others.is_empty == (not others.levels and not others.others and not others.missing)


def test_conditions_are_written_as_a_person_would():
    assert Interval(6.5, 20).text("hr") == "6.5 < hr ≤ 20"
    assert Interval(high=1, missing=True).contains(np.array([0.0, 2.0, np.nan])).tolist() == [
        True,
        False,
        True,
    ]
    assert Levels({"mist", "clear"}).text("weathersit") == "weathersit in {clear, mist}"
    assert (
        Levels({"mist"}, others=True, missing=True).text("weathersit")
        == "weathersit is not mist or missing"
    )


def test_labels_never_seen_can_be_a_region_of_their_own():
    """Two cuts of an ordered column that leave no known label leave the unknown ones where the tree sends them."""
    above = Interval("tiny", None, ORDER, others=True)
    below = Interval(None, "tiny", ORDER, missing=True, others=True)
    both = above.intersect(below)
    values = np.array(["tiny", "large", "huge", None], dtype=object)
    assert both.contains(values).tolist() == [False, False, True, False]
    assert not both.is_empty
    assert both.intersect(Interval()).contains(values).tolist() == [False, False, True, False]
    assert both.intersect(Interval(None, "tiny", ORDER)).is_empty


def test_a_duration_and_ordered_labels_cannot_be_joined():
    """NumPy counts durations among the integers: they are no label of a column with numbers either."""
    for order in (ORDER, (1, 2, 3)):
        with pytest.raises(InputError, match="not one of the ordered labels"):
            Interval(high=np.timedelta64(3, "h")).intersect(Interval(None, order[1], order))

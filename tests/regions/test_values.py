"""Values in a rule: stored, written and compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.instants import (
    instant,
)
from granite_xai.regions.rule import Rule
from granite_xai.regions.values import (
    as_label,
    higher_end,
    lower_end,
    name_text,
    places_among,
    unquoted,
    value_text,
)
from regions.random_rules import (
    ORDER,
    dates,
    durations,
)


@given(dates, dates)
def test_dates_compare_as_numpy_compares_them(value, end):
    values = np.array([value.astype("datetime64[us]")])
    assert Interval(None, end).contains(values)[0] == (values[0] <= end)
    assert Interval(end, None).contains(values)[0] == (values[0] > end)


@given(durations, durations)
def test_durations_compare_as_counts(value, end):

    def count(d):
        return int(d / np.timedelta64(1, "ns")) if np.datetime_data(d.dtype)[0] == "ns" else None

    values = np.array([value])
    if (
        abs(value / np.timedelta64(1, "D")) < 100_000
        and abs(end / np.timedelta64(1, "D")) < 100_000
    ):  # NumPy's range
        expected = (
            value <= end
            if count(value) is None or count(end) is None
            else count(value) <= count(end)
        )
        assert Interval(None, end).contains(values)[0] == expected


def test_ends_among_ordered_numbers_keep_their_digits():
    """2**53 + 1 is no float; as a label it is a whole number."""
    order = (2**53 + 1, 2**53, 1)
    rule = Rule((("size", Interval(None, 2**53 + 1, order)),))
    assert Rule.parse("size ≤ 9007199254740993", orders={"size": order}) == rule


def test_a_date_beyond_the_unit_of_the_column_compares_without_overflow():
    values = np.array(["2012-01-01", "NaT"], dtype="datetime64[ns]")
    assert Interval(None, np.datetime64("9999-01-01")).contains(values).tolist() == [True, False]
    assert Interval(np.datetime64("9999-01-01"), None).contains(values).tolist() == [False, False]
    assert Interval(np.datetime64("0001-01-01"), None, missing=True).contains(values).tolist() == [
        True,
        True,
    ]
    assert Interval(None, np.datetime64("0001-01-01")).contains(values).tolist() == [False, False]


@given(dates, st.sampled_from(["Y", "M", "D", "h"]), dates)
def test_a_time_within_a_coarser_tick_compares_exactly(value, unit, end):
    """A column of days against a bound at noon: the day itself began before."""
    tick = end.astype(f"datetime64[{unit}]")
    values = np.array([value.astype(f"datetime64[{unit}]"), tick, tick + 1])
    expected = values.astype("datetime64[us]") <= end.astype("datetime64[us]")
    assert np.array_equal(Interval(None, end).contains(values), expected)
    assert np.array_equal(Interval(end, None).contains(values), ~expected)


def test_numbers_truth_values_and_labels_of_equal_value_match():
    for column in ([0, 1], [0.0, 1.0], [False, True], pd.Categorical([0, 1])):
        frame = pd.DataFrame({"s": column})
        assert Rule.parse("s is 1").contains(frame).tolist() == [False, True]
        assert Rule.parse("s is True").contains(frame).tolist() == [False, True]
    assert Rule.parse("s ≤ 0").contains(pd.DataFrame({"s": [False, True]})).tolist() == [
        True,
        False,
    ]


def test_numbers_among_labels_are_values_and_only_nan_and_none_are_missing():
    cells = np.array([1.5, np.nan, None, "a", 0.0, np.float64(2)], dtype=object)
    assert Levels({1.5, "a"}).contains(cells).tolist() == [True, False, False, True, False, False]
    assert Levels({1.5}, others=True).contains(cells).tolist() == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]
    assert Interval.only_missing().contains(cells).tolist() == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("end", [np.nan, np.inf, np.datetime64("NaT"), np.timedelta64(1, "M"), [1]])
def test_an_end_must_be_a_finite_number_or_a_date(end):
    with pytest.raises(InputError):
        Interval(None, end)


def test_values_are_written_as_they_are_read():
    assert [value_text(value) for value in (6.0, "light rain", np.timedelta64(2, "h"))] == [
        "6",
        '"light rain"',
        "2 hours",
    ]
    assert [name_text(name) for name in ("hr", "hours per week")] == ["hr", "`hours per week`"]
    assert str(instant(np.datetime64, 0, "m")) == "1970-01-01T00:00"
    assert str(instant(np.timedelta64, 7200 * 10**18)) == "2 hours"


def test_a_duration_is_a_label_by_its_text():
    assert as_label(np.timedelta64(3, "h")) == "3 hours"
    assert as_label(np.int8(3)) == 3


def test_the_tighter_of_two_ends_is_taken_and_an_open_one_is_none():
    assert lower_end(3.0, 5.0, None) == lower_end(5.0, 3.0, None) == 3.0
    assert higher_end(3.0, 5.0, None) == higher_end(5.0, 3.0, None) == 5.0
    assert lower_end("large", "small", ORDER) == "small"
    assert higher_end("large", "small", ORDER) == "large"
    assert lower_end(None, 3.0, None) == higher_end(3.0, None, None) == 3.0
    assert lower_end(None, None, None) is None
    assert lower_end("a", "a", None) == "a"
    with pytest.raises(InputError, match="order of a and b is not known"):
        higher_end("a", "b", None)


def test_places_among_labels_match_equal_numbers_and_no_missing_value():
    values = np.array(["b", 1.0, True, None, np.nan, "z"], dtype=object)
    assert places_among(values, ["a", "b", 1]).tolist() == [1, 2, 2, -1, -1, -1]


def test_escapes_are_undone():
    assert unquoted('"a\\nb\\x1b\\u202e\\""') == 'a\nb\x1b\u202e"'
    with pytest.raises(InputError, match="not an escape"):
        unquoted('"\\uZZZZ"')

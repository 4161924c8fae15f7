"""Dates and durations as exact counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.regions.instants import (
    attoseconds,
    in_unit_of_text,
    instant,
    instant_text,
    last_tick,
)
from regions.random_rules import (
    dates,
    durations,
)


@given(dates)
def test_a_date_survives_its_count(value):
    again = instant(np.datetime64, attoseconds(value))
    assert again == value
    assert attoseconds(again) == attoseconds(value)


@given(durations)
def test_a_duration_survives_its_text(value):
    count, word = instant_text(in_unit_of_text(value)).split()
    unit = {"days": 86_400 * 10**18, "hours": 3_600 * 10**18, "minutes": 60 * 10**18}
    unit |= {"seconds": 10**18, "milliseconds": 10**15, "microseconds": 10**12}
    unit |= {"nanoseconds": 10**9}
    assert int(count) * unit[word] == attoseconds(value)


def test_units_are_as_coarse_as_the_text_of_a_date():
    """Whole days of a date without time, minutes of one with, and finer where needed."""
    texts = {
        "2012": "2012-01-01",
        "2012-03-01": "2012-03-01",
        "2012-03-01T06": "2012-03-01 06:00",
        "2012-03-01T06:00:30": "2012-03-01 06:00:30",
    }
    for iso, text in texts.items():
        assert instant_text(in_unit_of_text(np.datetime64(iso))) == text


def test_what_has_no_length_is_refused():
    for value in (np.datetime64("NaT"), np.timedelta64(1, "M"), np.timedelta64(3)):
        with pytest.raises(InputError, match="known length"):
            attoseconds(value)


@given(dates, st.sampled_from(["D", "h", "s", "us"]), st.integers(-2, 2))
def test_every_tick_compares_with_the_last_tick_as_with_the_date(value, unit, step):
    dtype = np.dtype(f"datetime64[{unit}]")
    tick = last_tick(value, dtype) + step
    assert (tick <= last_tick(value, dtype)) == (np.datetime64(tick, unit) <= value)


def test_the_last_tick_stays_within_64_bits():
    far = np.datetime64("9999-01-01")
    assert last_tick(far, np.dtype("datetime64[ns]")) == np.iinfo(np.int64).max
    assert last_tick(-np.timedelta64(10**6, "D"), np.dtype("m8[ns]")) == np.iinfo(np.int64).min

"""The shortest number that separates two values (C12, N08), against a search over all decimals."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.search.thresholds import date_threshold, threshold

finite = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.one_of(
    st.tuples(finite, finite),
    st.tuples(st.floats(-100, 100), st.floats(-100, 100)),
    st.tuples(st.integers(-2000, 2000).map(float), st.integers(-2000, 2000).map(float)),
    st.builds(lambda x, k: (x, _ulps_up(x, k)), finite, st.integers(1, 6)),
    st.builds(
        lambda x, k: (x, _ulps_up(x, k)), st.floats(1.3e9, 1.7e9), st.integers(1, 10_000_000)
    ),
)


def _ulps_up(x: float, count: int) -> float:
    return x + count * math.ulp(x) if abs(x) > 1e-300 else x + count * 5e-324


def rounded(t: Fraction) -> float:
    """The float nearest to a fraction, by Python's exact division (not by text, as the package does)."""
    try:
        return t.numerator / t.denominator
    except OverflowError:
        return math.inf if t > 0 else -math.inf


def fewest_digits(v: float, w: float) -> float:
    """The definition: every exponent, every number of digits, all decimals near the midpoint or the ends."""
    if v <= 0 < w:
        return 0.0
    middle = (Fraction(v) + Fraction(w)) / 2
    top = math.frexp(max(abs(v), abs(w)))[1] * 0.30103
    bottom = math.log10(abs(middle.numerator)) - math.log10(middle.denominator)
    for digits in range(1, 18):
        found = set()
        for power in range(math.floor(bottom) - 19, math.ceil(top) + 2):
            unit = Fraction(10) ** power
            limit = 10**digits - 1
            for x in (middle, Fraction(v), Fraction(w)):
                m = round(x / unit)
                found |= {k * unit for k in range(m - 2, m + 3) if 0 < abs(k) <= limit}
        fits = [t for t in found if v <= rounded(t) < w]
        if fits:
            return rounded(min(fits, key=lambda t: (abs(t - middle), t)))
    raise AssertionError("17 digits tell all floats apart")


@given(pairs)
def test_threshold_is_the_decimal_of_the_definition(pair):
    v, w = min(pair), max(pair)
    assume(v < w < math.inf)
    t = threshold(v, w)
    if math.nextafter(v, math.inf) == w:
        assert t == v  # one float only: nothing to choose
    else:
        assert t == fewest_digits(v, w)


@given(pairs)
def test_threshold_separates_and_is_no_negative_zero(pair):
    v, w = min(pair), max(pair)
    assume(v < w < math.inf)
    t = threshold(v, w)
    assert v <= t < w
    assert float(repr(t)) == t
    assert math.copysign(1.0, t) == 1.0 or t < 0


@pytest.mark.parametrize(
    ("v", "w", "t"),
    [
        (6.0, 7.0, 6.0),
        (5.0, 10.0, 7.0),  # 7 and 8 are equally near to 7.5: the smaller
        (9.0, 20.0, 10.0),  # 10 has one significant digit
        (123.0, 124.0, 123.0),
        (0.1, 0.2, 0.1),  # the float 0.1 lies above the decimal, and is what 0.1 is stored as
        (-0.3, 0.2, 0.0),
        (-0.0, 5e-324, 0.0),
        (-1.0, 0.0, -0.5),
        (1e-300, 3e-300, 2e-300),
        (5e-324, 1e-323, 5e-324),
        (1300000000.25, 1300003600.75, 1300002000.0),
        (1e308, 1.7e308, 1e308),
        (1.6e308, 1.7976931348623157e308, 1.7e308),
        (0.12345, 0.12351, 0.1235),
    ],
)
def test_N08_threshold_of_known_neighbours(v, w, t):
    assert threshold(v, w) == t


@pytest.mark.parametrize(
    ("v", "w"), [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf), (-math.inf, 0.0)]
)
def test_threshold_refuses_what_has_nothing_between(v, w):
    with pytest.raises(InputError):
        threshold(v, w)


@pytest.mark.parametrize(
    ("v", "w", "t"),
    [
        ("2011-11-30", "2012-03-04", "2012-01-01"),
        ("2012-02-11", "2012-03-04", "2012-03-01"),
        ("2012-02-11", "2012-02-14", "2012-02-12"),  # 12 and 13 are equally near: the earlier
        ("2012-02-11", "2012-02-12", "2012-02-11"),
        ("2012-02-29T23:10", "2012-03-01T01:00", "2012-03-01T00:00"),
        ("2012-02-29T13:10", "2012-02-29T14:20", "2012-02-29T14:00"),
        ("2012-02-29T13:10:07.250", "2012-02-29T13:10:07.750", "2012-02-29T13:10:07.500"),
        (
            "1969-12-31T23:59:59.999999998",
            "1969-12-31T23:59:59.999999999",
            "1969-12-31T23:59:59.999999998",
        ),
        ("0001-06-01", "9999-01-01", "5000-01-01"),
    ],
)
def test_date_threshold_has_the_coarsest_calendar_unit(v, w, t):
    found = date_threshold(np.datetime64(v), np.datetime64(w))
    assert found == np.datetime64(t)
    assert np.datetime64(v) <= found < np.datetime64(w)


def test_a_date_of_hourly_data_keeps_its_time():
    """ "≤ 2012-03-01" would seem to hold for all of that day."""
    hourly = date_threshold(np.datetime64("2012-02-29T22"), np.datetime64("2012-03-01T03"))
    assert str(hourly) == "2012-03-01T00:00"
    nanoseconds = [np.datetime64(day, "ns") for day in ("2012-02-27", "2012-03-04")]
    assert str(date_threshold(*nanoseconds)) == "2012-03-01"


UNITS = [("Y", None), ("M", None), ("D", 86400), ("h", 3600), ("m", 60), ("s", 1)]


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)), st.integers(1, 10**9))
def test_date_threshold_against_a_walk_through_the_calendar(start, seconds):
    """Between whole seconds: the first unit with a start in [v, w), then the start nearest to the midpoint."""
    v = start.replace(microsecond=0)
    w = v + timedelta(seconds=seconds % 10 ** (1 + seconds % 9) + 1)
    found = (
        date_threshold(np.datetime64(v, "us"), np.datetime64(w, "us"))
        .astype("datetime64[us]")
        .item()
    )
    middle = v + (w - v) / 2
    starts = [t for t in _starts_near(middle, v, w) if v <= t < w]
    assert found == starts[0]


def _starts_near(middle: datetime, v: datetime, w: datetime) -> list[datetime]:
    ranked: list[datetime] = []
    for unit, size in UNITS:
        if size is None:
            days = [
                (y, m)
                for y in range(v.year, w.year + 1)
                for m in ([1] if unit == "Y" else range(1, 13))
            ]
            group = [datetime(y, m, 1) for y, m in days]
        else:
            epoch = datetime(1900, 1, 1)
            below = epoch + timedelta(seconds=size) * ((middle - epoch) // timedelta(seconds=size))
            group = [below, below + timedelta(seconds=size)]
        ranked += sorted((t for t in group if v <= t < w), key=lambda t: (abs(t - middle), t))
    return ranked


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**15))
def test_duration_threshold_has_the_coarsest_unit(low, width):
    v, w = np.timedelta64(low, "us"), np.timedelta64(low + width, "us")
    t = date_threshold(v, w).astype("timedelta64[us]").astype(int)
    assert low <= t < low + width
    sizes = [86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1]
    size = next(s for s in sizes if (low + width - 1) // s * s >= low)
    assert t % size == 0
    others = {(2 * low + width) // 2 // size * size + k * size for k in (-1, 0, 1, 2)}
    assert all(
        abs(2 * t - 2 * low - width) <= abs(2 * o - 2 * low - width)
        for o in others
        if low <= o < low + width
    )


@pytest.mark.parametrize(("v", "w"), [("NaT", "2012"), ("2012", "2012"), ("2013", "2012")])
def test_date_threshold_refuses_what_has_nothing_between(v, w):
    with pytest.raises(InputError):
        date_threshold(np.datetime64(v, "D"), np.datetime64(w, "D"))


def test_thresholds_are_the_numbers_and_dates_that_people_would_choose():
    assert [threshold(0.1234, 0.5678), threshold(6.0, 7.0), threshold(-1.25, 3.0)] == [
        0.3,
        6.0,
        0.0,
    ]
    assert (
        str(date_threshold(np.datetime64("2012-02-11"), np.datetime64("2012-03-04")))
        == "2012-03-01"
    )

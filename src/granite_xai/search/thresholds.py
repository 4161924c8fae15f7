"""The shortest number, date or duration that separates two neighbouring values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.regions.words import SIZES, Instant, attoseconds, date_of, duration_of


def threshold(value: float, next_value: float) -> float:
    """Find the number with the fewest digits that separates two neighbouring values.

    Of all decimals ``t`` with ``value <= t < next_value`` (as stored numbers), the one with the fewest
    significant digits; among those the nearest to the midpoint, then the smaller.

    Parameters
    ----------
    value, next_value : float
        A value of a column and the next larger one, both finite.

    Returns
    -------
    float
        The number that a rule ``x <= t`` stores and prints; never ``-0.0``.

    Examples
    --------
    >>> threshold(0.1234, 0.5678)
    0.3
    >>> threshold(6.0, 7.0)
    6.0
    >>> threshold(-1.25, 3.0)
    0.0
    """
    low, high = float(value), float(next_value)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(
            f"a threshold needs two finite values in increasing order, got {value!r} and {next_value!r}.",
            code="P02",
            argument="next_value",
        )
    if low <= 0.0 < high:
        return 0.0
    # Neighbouring floats: the lower one is the only number there is, however many decimals denote it.
    if math.nextafter(low, math.inf) == high:
        return low
    return _shortest(low, high)


def _shortest(low: float, high: float) -> float:
    """Look for a decimal of 1, 2, … digits next to the midpoint; 17 digits tell all floats apart."""
    middle = (Fraction(low) + Fraction(high)) / 2
    for digits in range(1, 18):
        found = [t for t in _around(middle, digits) if low <= _as_float(*t) < high]
        if found:
            return _as_float(*min(found, key=lambda t: (abs(_exact(*t) - middle), _exact(*t))))
    return low


def _around(middle: Fraction, digits: int) -> list[tuple[int, int]]:
    """List the nearest decimals below and above as (integer, power of ten).

    What separates the values is an interval around the midpoint, so if it holds any decimal of that many
    digits it holds one of these two.
    """
    power = _magnitude(abs(middle)) - digits + 1
    scaled = middle / Fraction(10) ** power
    return [(math.floor(scaled), power), (math.ceil(scaled), power)]


def _magnitude(value: Fraction) -> int:
    """Return the exact ``floor(log10(value))``."""
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if Fraction(10) ** guess <= value else guess - 1


def _exact(integer: int, power: int) -> Fraction:
    return integer * Fraction(10) ** power


def _as_float(integer: int, power: int) -> float:
    # Through text: correctly rounded, and too large a number is inf instead of an exception.
    return float(f"{integer}e{power}")


def date_threshold(value: Instant, next_value: Instant) -> Instant:
    """Find the date or duration of the coarsest calendar unit that separates two neighbouring values.

    A start of a year if one lies in ``[value, next_value)``, otherwise of a month, a day, an hour, …; among those
    the nearest to the midpoint, then the earlier. Durations start with whole days.

    Examples
    --------
    >>> import numpy as np
    >>> str(date_threshold(np.datetime64("2012-02-11"), np.datetime64("2012-03-04")))
    '2012-03-01'
    >>> str(date_threshold(np.timedelta64(50, "m"), np.timedelta64(200, "m")))
    '2 hours'
    """
    low, high = attoseconds(value), attoseconds(next_value)
    if not low < high:
        raise InputError(
            f"a threshold needs two values in increasing order, got {value} and {next_value}.",
            code="P02",
            argument="next_value",
        )
    found = _coarsest(low, high, calendar=isinstance(value, np.datetime64))
    if isinstance(value, np.timedelta64):
        return duration_of(found)
    # Days stay days only where both values are: "≤ 2012-03-01" of hourly data would seem to include that day.
    days_only = low % SIZES["D"] == 0 and high % SIZES["D"] == 0
    return date_of(found, "D" if days_only else "m")


def _coarsest(low: int, high: int, *, calendar: bool) -> int:
    middle = (low + high) // 2
    units = (["Y", "M"] if calendar else []) + list(SIZES)
    for unit in units:
        found = [t for t in _starts(middle, unit) if low <= t < high]
        if found:
            return min(found, key=lambda t: (abs(2 * t - low - high), t))
    return low


def _starts(middle: int, unit: str) -> tuple[int, int]:
    """Return the last start of a unit at or before the midpoint and the next one after it."""
    if unit in SIZES:
        start = middle // SIZES[unit] * SIZES[unit]
        return start, start + SIZES[unit]
    first = date_of(middle // SIZES["D"] * SIZES["D"], "D").astype(f"datetime64[{unit}]")
    return attoseconds(first), attoseconds(first + 1)

"""Both sides of a cut as conditions that every possible row reaches exactly one of (C12, C14, N08)."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.regions import (
    NANOSECONDS,
    Condition,
    Instant,
    Side,
    cut as condition_pair,
    grouping,
    instant,
    missing_or_present,
    nanoseconds,
)
from granite_xai.search.cuts import Cut
from granite_xai.tables import Column

MOST_DIGITS = 17  # significant digits that tell all floats apart


def conditions(
    column: Column, cut: Cut, places: IntArray, missing: bool
) -> tuple[Condition, Condition]:
    """The conditions of both sides of a cut.

    Levels the node never saw go with the larger child (more rows; on a tie the left one). Missing
    values go where the cut sends them; at a node that saw none, in a fit that allowed them, with the
    larger child (C14).

    Parameters
    ----------
    column : Column
        Of all fitting rows.
    cut : Cut
    places : array of int
        Rows of the node.
    missing : bool
        Whether the fit allowed missing values.
    """
    codes = column.codes[places]
    goes_left = cut.goes_left(codes)
    larger_side: Side = "left" if 2 * np.count_nonzero(goes_left) >= len(codes) else "right"
    is_missing = codes < 0
    missing_side: Side | None = None
    if is_missing.any():
        missing_side = "left" if goes_left[is_missing].any() else "right"
        present_left = goes_left[~is_missing]
        if present_left.all() or not present_left.any():  # the missing values are alone
            is_missing_condition, is_present = missing_or_present()
            if missing_side == "right":
                return is_present, is_missing_condition
            return is_missing_condition, is_present
    elif missing:
        missing_side = larger_side
    left_levels = np.unique(codes[goes_left & ~is_missing])
    right_levels = np.unique(codes[~goes_left & ~is_missing])
    if column.kind in ("nominal", "boolean"):
        return grouping(
            column.levels[left_levels].tolist(),
            column.levels[right_levels].tolist(),
            larger=larger_side,
            missing=missing_side,
        )
    below = column.levels[left_levels[-1]]
    above = column.levels[right_levels[0]]
    separating = below  # of labels the lower one
    if column.kind == "numeric":
        separating = threshold(below, above)
    elif column.kind == "date":
        separating = date_threshold(below, above)
    return condition_pair(separating, order=column.order, missing=missing_side, larger=larger_side)


def threshold(value: float, next_value: float) -> float:
    """Find the number with the fewest digits that separates two neighbouring values.

    Of all decimals ``t`` with ``value <= t < next_value`` (as stored numbers), the one with the fewest
    significant digits; among those the nearest to the midpoint, then the smaller. Never ``-0.0``.

    Parameters
    ----------
    value, next_value : float
        Finite, in increasing order.

    Raises
    ------
    InputError
        P02: not two finite values in increasing order.
    """
    low = float(value)
    high = float(next_value)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        words = f"a threshold needs two finite values in increasing order, got {value!r} and {next_value!r}."
        raise InputError(words, code="P02", argument="next_value")
    if low <= 0.0 < high:
        return 0.0
    # Neighbouring floats: the lower one is the only number there is, however many decimals denote it.
    if math.nextafter(low, math.inf) == high:
        return low
    middle = (Fraction(low) + Fraction(high)) / 2
    for digits in range(1, MOST_DIGITS + 1):
        # A decimal as a float is correctly rounded, and inf where it is too large.
        separating = [t for t in _decimals_around(middle, digits) if low <= float(t) < high]
        if separating:
            return float(min(separating, key=lambda t: (abs(Fraction(t) - middle), t)))
    return low


def _decimals_around(middle: Fraction, digits: int) -> list[Decimal]:
    """The nearest decimals of so many digits below and above the midpoint.

    What separates the values is an interval around the midpoint, so if it holds any decimal of that
    many digits it holds one of these two.
    """
    size = abs(middle)
    magnitude = len(str(size.numerator)) - len(str(size.denominator))
    if Fraction(10) ** magnitude > size:
        magnitude -= 1  # now exactly ``floor(log10(|middle|))``
    power = magnitude - digits + 1
    scaled = middle / Fraction(10) ** power
    return [Decimal(f"{number}e{power}") for number in (math.floor(scaled), math.ceil(scaled))]


def date_threshold(value: Instant, next_value: Instant) -> Instant:
    """Find the date or duration of the coarsest calendar unit that separates two neighbouring values.

    A start of a year if one lies in ``[value, next_value)``, otherwise of a month, a day, an hour, …;
    among those the nearest to the midpoint, then the earlier. Durations start with whole days.

    Parameters
    ----------
    value, next_value : datetime64 or timedelta64
        In increasing order.

    Raises
    ------
    InputError
        P02: not two values in increasing order.
    """
    low = nanoseconds(value)
    high = nanoseconds(next_value)
    if not low < high:
        words = f"a threshold needs two values in increasing order, got {value} and {next_value}."
        raise InputError(words, code="P02", argument="next_value")
    is_duration = isinstance(value, np.timedelta64)
    nearest = low
    for unit in list(NANOSECONDS) if is_duration else ["Y", "M", *NANOSECONDS]:
        starts = _starts_around((low + high) // 2, unit)
        separating = [start for start in starts if low <= start < high]
        if separating:
            nearest = min(separating, key=lambda start: (abs(2 * start - low - high), start))
            break
    # Days stay days only where both dates are: "≤ 2012-03-01" of hourly data would seem to include that day.
    in_days = is_duration or low % NANOSECONDS["D"] == high % NANOSECONDS["D"] == 0
    return instant(type(value), nearest, "D" if in_days else "m")


def _starts_around(middle: int, unit: str) -> tuple[int, int]:
    """The last start of a unit at or before the midpoint and the next one after it."""
    if unit in NANOSECONDS:
        start = middle // NANOSECONDS[unit] * NANOSECONDS[unit]
        return start, start + NANOSECONDS[unit]
    day = instant(np.datetime64, middle // NANOSECONDS["D"] * NANOSECONDS["D"])
    first = day.astype(f"datetime64[{unit}]")
    following = first + np.ones(1, dtype=f"m8[{unit}]")[0]
    return nanoseconds(first), nanoseconds(following)

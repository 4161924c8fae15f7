"""From a chosen candidate to the two conditions that a rule is made of, with the shortest threshold between them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.regions.conditions import Condition, Side, cut, grouping, missing_or_present
from granite_xai.regions.words import SIZES, Instant, attoseconds, instant
from granite_xai.search.candidates import Candidate
from granite_xai.tables import Column


def conditions(column: Column, candidate: Candidate, rows: IntArray, missing: bool) -> tuple[Condition, Condition]:
    """Both sides of a split, worded so that every possible row reaches exactly one of them.

    Levels the node never saw go with the larger child (more rows; on a tie the left one). Missing values go where the
    candidate sends them; at a node that saw none, in a fit that allowed them and had some in this column, with the
    larger child (C14). The column is that of all fitting rows; `missing` says whether the fit allowed missing values.
    """
    counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
    n_left = int(counts[candidate.left].sum())
    larger: Side = "left" if n_left >= len(rows) - n_left else "right"
    present = np.flatnonzero(counts[1:])
    goes_left = candidate.left[1:][present]
    side: Side | None = larger if missing and bool((column.codes < 0).any()) else None
    if counts[0]:
        side = "left" if candidate.left[0] else "right"
        if not goes_left.any():
            return missing_or_present()
    if column.kind in ("nominal", "boolean"):
        labels = column.levels[present]
        return grouping(labels[goes_left].tolist(), labels[~goes_left].tolist(), larger=larger, missing=side)
    below, above = column.levels[present[goes_left][-1]], column.levels[present[~goes_left][0]]
    shortest: dict[str, Callable[[Any, Any], Any]] = {"numeric": threshold, "date": date_threshold}
    at = shortest[column.kind](below, above) if column.kind in shortest else below  # of labels the lower one
    return cut(at, order=column.order, missing=side, larger=larger)


def threshold(value: float, next_value: float) -> float:
    """Find the number with the fewest digits that separates two neighbouring values.

    Of all decimals ``t`` with ``value <= t < next_value`` (as stored numbers), the one with the fewest
    significant digits; among those the nearest to the midpoint, then the smaller. Never ``-0.0``.
    """
    low, high = float(value), float(next_value)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        words = f"a threshold needs two finite values in increasing order, got {value!r} and {next_value!r}."
        raise InputError(words, code="P02", argument="next_value")
    if low <= 0.0 < high:
        return 0.0
    # Neighbouring floats: the lower one is the only number there is, however many decimals denote it.
    if math.nextafter(low, math.inf) == high:
        return low
    middle = (Fraction(low) + Fraction(high)) / 2
    # 17 digits tell all floats apart. A decimal as a float is correctly rounded, and inf where it is too large.
    found = ([t for t in _around(middle, digits) if low <= float(t) < high] for digits in range(1, 18))
    return float(min(next(filter(None, found), [Decimal(low)]), key=lambda t: (abs(Fraction(t) - middle), t)))


def _around(middle: Fraction, digits: int) -> list[Decimal]:
    """List the nearest decimals below and above the midpoint.

    What separates the values is an interval around the midpoint, so if it holds any decimal of that many
    digits it holds one of these two.
    """
    size = abs(middle)
    guess = len(str(size.numerator)) - len(str(size.denominator))
    magnitude = guess if Fraction(10) ** guess <= size else guess - 1  # the exact floor(log10(size))
    power = magnitude - digits + 1
    scaled = middle / Fraction(10) ** power
    return [Decimal(f"{n}e{power}") for n in (math.floor(scaled), math.ceil(scaled))]


def date_threshold(value: Instant, next_value: Instant) -> Instant:
    """Find the date or duration of the coarsest calendar unit that separates two neighbouring values.

    A start of a year if one lies in ``[value, next_value)``, otherwise of a month, a day, an hour, …; among those
    the nearest to the midpoint, then the earlier. Durations start with whole days.
    """
    low, high = attoseconds(value), attoseconds(next_value)
    if not low < high:
        words = f"a threshold needs two values in increasing order, got {value} and {next_value}."
        raise InputError(words, code="P02", argument="next_value")
    duration = isinstance(value, np.timedelta64)
    units = list(SIZES) if duration else ["Y", "M", *SIZES]
    found = ([t for t in _starts((low + high) // 2, unit) if low <= t < high] for unit in units)
    nearest = min(next(filter(None, found), [low]), key=lambda t: (abs(2 * t - low - high), t))
    # Days stay days only where both dates are: "≤ 2012-03-01" of hourly data would seem to include that day.
    days = duration or low % SIZES["D"] == high % SIZES["D"] == 0
    return instant(type(value), nearest, "D" if days else "m")


def _starts(middle: int, unit: str) -> tuple[int, int]:
    """Return the last start of a unit at or before the midpoint and the next one after it."""
    if unit in SIZES:
        start = middle // SIZES[unit] * SIZES[unit]
        return start, start + SIZES[unit]
    first = instant(np.datetime64, middle // SIZES["D"] * SIZES["D"]).astype(f"datetime64[{unit}]")
    return attoseconds(first), attoseconds(first + np.ones(1, dtype=f"m8[{unit}]")[0])

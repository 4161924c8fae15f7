"""Counts, durations and figures in words.

Figures here have more digits than those of `formats`, which writes for sentences: they stand in
tables and on axes, beside others.
"""

from __future__ import annotations

import math
from typing import Any

from granite_xai.base.formats import EXPONENT_FROM, ROUNDING, UNKNOWN

ALL_ROWS = "all rows"
MISSING = "missing"

FEW_ROWS = 20
"""Rows below which a region is flagged (S15): its figures say little, and they are about few."""

HALF_OF_LAST_DIGIT = 0.0005
"""Shares closer than this to 0 or 1 would be rounded to 0.0% or 100.0%."""


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share as a percentage.

    A share that is more than rounding is never shown as zero, and one that is not whole never as
    100.0%.

    Parameters
    ----------
    share : float or None
        The share; None and NaN are not known.
    digits : {0, 1}
        Digits after the point.
    """
    if share is None or math.isnan(share):
        return UNKNOWN
    if abs(share) <= ROUNDING:
        return f"{0:.{digits}f}%"  # no minus sign for rounding
    if digits == 0:
        return "< 1%" if abs(share) < 0.01 else f"{100 * share:,.0f}%"
    if abs(share) < HALF_OF_LAST_DIGIT:
        return "< 0.1%"
    if 1 - HALF_OF_LAST_DIGIT <= share < 1 - ROUNDING:
        return "> 99.9%"
    return f"{100 * share:,.1f}%"


def number(value: Any) -> str:
    """Write a number with four significant digits, and no exponent where it reads well without."""
    if value is None:
        return UNKNOWN
    if isinstance(value, float) and not math.isfinite(value):
        return UNKNOWN
    if isinstance(value, int) or 1000 <= abs(value) < EXPONENT_FROM:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def value(amount: float) -> str:
    """Write a value of a column: no separators, which would turn the year 2011 into 2,011."""
    return f"{amount:.6g}"


def count(amount: int, noun: str) -> str:
    """Write a count with its noun."""
    plural = "" if amount == 1 else "s"
    return f"{amount:,} {noun}{plural}"


def rows_of(amount: int) -> str:
    """Write the number of rows of a region; few ones are flagged."""
    text = count(amount, "row")
    if amount < FEW_ROWS:
        return f"{text} (few)"
    return text


def duration(seconds: float) -> str:
    """Write seconds as a person reads them."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

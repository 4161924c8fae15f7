"""Numbers as a person reads them: shares, amounts, counts, durations."""

from __future__ import annotations

import math
from typing import Any

ALL_ROWS = "all rows"
MISSING = "missing"
UNKNOWN = "–"

FEW_ROWS = 20
"""Rows below which a region is flagged (S15): its figures say little, and they are about few."""

ROUNDING = 1e-12
"""A share below this is rounding, not a share: it is written as zero."""


def percent(share: float | None, digits: int = 1, rounding: float = ROUNDING) -> str:
    """Write a share as a percentage.

    A share that is more than rounding is never shown as zero, and one that is not whole never as
    100.0%.

    Parameters
    ----------
    share : float or None
        The share; None and NaN are not known.
    digits : int, default=1
        Digits after the point.
    rounding : float
        Size up to which a share counts as zero.
    """
    if share is None or math.isnan(share):
        return UNKNOWN
    smallest_shown = 0.0005 if digits else 0.01
    if rounding < abs(share) < smallest_shown:
        return "< 0.1%" if digits else "< 1%"
    if digits and 0.9995 <= share < 1 - ROUNDING:
        return "> 99.9%"
    if abs(share) <= rounding:  # no minus sign for rounding
        share = 0.0
    return f"{100 * share:,.{digits}f}%"


def number(value: Any) -> str:
    """Write a number with four significant digits, and no exponent where it reads well without."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, int) or 1000 <= abs(value) < 1e15:
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
    return f"{text} (few)" if amount < FEW_ROWS else text


def duration(seconds: float) -> str:
    """Write seconds as a person reads them."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

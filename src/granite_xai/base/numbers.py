"""The writers of numbers: shares, amounts, values of the explained output, counts, durations.

In sentences two significant digits, whole numbers from 10 on, a true minus sign, no blank before a percent sign.
Numbers of tables and axes have more digits; exact ones are for frames and files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

UNKNOWN = "–"
MINUS = "−"
ROUNDING = 1e-12  # share that differs from 0 or 1 by rounding alone
WHOLE_FROM = 9.95  # from here on two significant digits are a whole number
SMALLEST_DECIMAL = 1e-6  # smaller amounts are written with an exponent …
EXPONENT_FROM = 1e15  # … and so are these
FEW_ROWS = (
    20  # below which a region is flagged (S15): its figures say little, and they are about few
)
SMALLEST_POINTS = 0.05  # percentage points that are not shown as 0.0


def share(value: float | None) -> str:
    """Write a share as a whole percentage.

    Parameters
    ----------
    value : float or None
        1.0 is everything; None and NaN are unknown.

    Returns
    -------
    str
        Never 0% or 100% for what is only close to them.

    Examples
    --------
    >>> share(0.924), share(0.004), share(0.9996), share(-0.1), share(0.0), share(None)
    ('92%', '< 1%', '> 99%', '−10%', '0%', '–')
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    if ROUNDING < abs(value) < 0.01:
        return "< 1%" if value > 0 else f"> {MINUS}1%"
    if 0.99 < value < 1 - ROUNDING:
        return "> 99%"
    return with_minus(f"{100 * value:.0f}%")


def share_interval(low: float, high: float) -> str:
    """Write an interval of shares, with one decimal where whole numbers would not tell its ends apart.

    Examples
    --------
    >>> share_interval(0.912, 0.934), share_interval(0.9181, 0.9224), share_interval(0.0, 0.021)
    ('91–93%', '91.8–92.2%', '0–2%')
    """
    ends_differ = f"{100 * low:.0f}" != f"{100 * high:.0f}"
    return _interval_text(low, high, digits=0 if ends_differ else 1)


def _interval_text(low: float, high: float, digits: int) -> str:
    low_text = with_minus(f"{100 * low + 0.0:.{digits}f}")
    high_text = with_minus(f"{100 * high + 0.0:.{digits}f}")
    if low < 0:  # a dash beside a minus sign would be read as one
        return f"{low_text} to {high_text}%"
    return f"{low_text}–{high_text}%"


class ShareWithInterval(NamedTuple):
    """A share and its interval as text, with the same number of decimals."""

    share: str
    interval: str


def share_with_interval(value: float, low: float, high: float) -> ShareWithInterval:
    """Write a share of a whole beside its interval, with one decimal where whole numbers hide a side of it.

    The interval ends at 0 and 1; it is empty where both of its ends read the same.

    Examples
    --------
    >>> tuple(share_with_interval(0.92, 0.905, 0.934))
    ('92%', '90–93%')
    >>> tuple(share_with_interval(0.927, 0.923, 0.931))
    ('92.7%', '92.3–93.1%')
    >>> tuple(share_with_interval(0.99999, 0.99998, 1.00001))
    ('> 99%', '')
    """
    low = min(max(low, 0.0), 1.0)
    high = min(max(high, 0.0), 1.0)
    whole_percentage = share(value)
    if f"{100 * low:.1f}" == f"{100 * high:.1f}":
        return ShareWithInterval(share=whole_percentage, interval="")
    ends = {f"{100 * low:.0f}%", f"{100 * high:.0f}%"}
    if whole_percentage not in ends:
        return ShareWithInterval(share=whole_percentage, interval=share_interval(low, high))
    return ShareWithInterval(
        share=with_minus(f"{100 * value:.1f}%"),
        interval=_interval_text(low, high, 1),
    )


def amount(value: float | None) -> str:
    """Write an amount: two significant digits, or as many as stand before the decimal point.

    Examples
    --------
    >>> amount(4.83), amount(121.4), amount(1027000.0), amount(-0.0342), amount(0.0), amount(9.99)
    ('4.8', '121', '1,027,000', '−0.034', '0', '10')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    if size >= EXPONENT_FROM or 0 < size < SMALLEST_DECIMAL:
        return with_minus(f"{value:.1e}")
    if size >= WHOLE_FROM or size == 0:
        return with_minus(f"{value + 0.0:,.0f}")
    digits = 1 - math.floor(math.log10(size))
    if round(size, digits) >= 10.0 ** (2 - digits):  # 0.0999 is 0.10
        digits -= 1
    return with_minus(f"{value:.{digits}f}")


def signed(value: float) -> str:
    """Write an amount with its sign.

    Examples
    --------
    >>> signed(51.3), signed(-0.006), signed(0.0)
    ('+51', '−0.0060', '0')
    """
    if value > 0:
        return "+" + amount(value)
    return amount(value)


def with_minus(text: str) -> str:
    """Text of a number with a true minus sign."""
    if text.startswith("-"):
        return MINUS + text[1:]
    return text


@dataclass(frozen=True)
class OutputUnit:
    """How the explained output is written: its values, and differences of them.

    Parameters
    ----------
    probability : bool
        Values are percentages, differences are percentage points.
    unit : str
        Of an output that is no probability, if the user gave one.
    scale : str
        On which rows are compared, where that is not the output's own: "log-odds".

    Examples
    --------
    >>> rentals, chance = OutputUnit(unit="rentals"), OutputUnit(probability=True)
    >>> rentals.level(188.4), rentals.effect(121.0), rentals.spread(121.0)
    ('188 rentals', '121 rentals', '±121 rentals')
    >>> chance.level(0.333), chance.effect(0.8674), chance.signed_effect(-0.006686)
    ('33%', '87 points', '−0.7 points')
    """

    probability: bool = False
    unit: str = ""
    scale: str = ""

    @property
    def on_scale(self) -> OutputUnit:
        """How numbers on that scale are written."""
        return OutputUnit(unit=self.scale) if self.scale else self

    @property
    def noun(self) -> str:
        """What a difference is counted in: points, the user's unit, or nothing."""
        return "points" if self.probability else self.unit

    def level(self, value: float, bare: bool = False) -> str:
        """A value of the output; ``bare``: without its unit, which is said nearby."""
        if self.probability:
            return share(value)
        if bare:
            return amount(value)
        return self._with_noun(amount(value))

    def effect(self, value: float, bare: bool = False) -> str:
        """A difference of two values; ``bare``: without its unit, which is said nearby."""
        text = _points(value) if self.probability else amount(value)
        if bare:
            return text
        return self._with_noun(text)

    def signed_effect(self, value: float, bare: bool = False) -> str:
        """A difference with its sign."""
        text = self.effect(value, bare)
        if value > 0 and not text.startswith("<"):
            return "+" + text
        return text

    def spread(self, value: float, bare: bool = False) -> str:
        """How far values typically lie from their centre."""
        if math.isnan(value):
            return UNKNOWN
        return "±" + self.on_scale.effect(value, bare)

    def _with_noun(self, text: str) -> str:
        if text == UNKNOWN:
            return text
        return f"{text} {self.noun}".rstrip()


def _points(value: float) -> str:
    """A difference of probabilities in percentage points: one decimal below 10."""
    if not math.isfinite(value):
        return UNKNOWN
    points = 100 * value
    if ROUNDING < abs(points) < SMALLEST_POINTS:
        return "< 0.1"
    if abs(points) >= WHOLE_FROM or points == 0:
        return with_minus(f"{points + 0.0:,.0f}")
    return with_minus(f"{points:.1f}")


def table_number(value: float) -> str:
    """Write a number of a table: four significant digits, and no exponent where it reads well without.

    Examples
    --------
    >>> table_number(12345.678), table_number(0.00123456), table_number(1e-9), table_number(math.nan)
    ('12,346', '0.001235', '1e-09', '–')
    """
    if not math.isfinite(value):
        return UNKNOWN
    if 1000 <= abs(value) < EXPONENT_FROM:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def column_number(value: float) -> str:
    """Write a value of a column: no separators, which would turn the year 2011 into 2,011.

    Examples
    --------
    >>> column_number(2011.0), column_number(0.125)
    ('2011', '0.125')
    """
    return f"{value:.6g}"


def count(amount: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> count(1, "region"), count(1234, "row")
    ('1 region', '1,234 rows')
    """
    plural = "" if amount == 1 else "s"
    return f"{amount:,} {noun}{plural}"


def rows_of(amount: int) -> str:
    """Write the number of rows of a region; few ones are flagged.

    Examples
    --------
    >>> rows_of(1234), rows_of(7)
    ('1,234 rows', '7 rows (few)')
    """
    text = count(amount, "row")
    if amount < FEW_ROWS:
        return f"{text} (few)"
    return text


def duration(seconds: float) -> str:
    """Write seconds as a person reads them.

    Examples
    --------
    >>> duration(0.123), duration(75.4), duration(600.0), duration(9000.0)
    ('0.12 s', '75 s', '10 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

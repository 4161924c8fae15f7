"""Dates and durations as exact whole numbers of attoseconds.

NumPy keeps dates as 64-bit counts of a unit, and overflows silently when two units are brought
together. Python integers of attoseconds, NumPy's finest unit, hold every date and duration exactly.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from granite_xai.base.errors import InputError

Instant = TypeVar("Instant", np.datetime64, np.timedelta64)

SIZES = {
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
"""Attoseconds of each unit of NumPy, the coarsest first."""

UNITS = {
    "days": "D",
    "hours": "h",
    "minutes": "m",
    "seconds": "s",
    "milliseconds": "ms",
    "microseconds": "us",
    "nanoseconds": "ns",
    "picoseconds": "ps",
    "femtoseconds": "fs",
    "attoseconds": "as",
}
"""Units by the word that rules have for them."""

_UNIT_WORDS = {unit: word for word, unit in UNITS.items()}


def attoseconds(value: np.datetime64 | np.timedelta64) -> int:
    """Count the attoseconds since 1970, or of a duration, exactly.

    Parameters
    ----------
    value : np.datetime64 or np.timedelta64
        Of any unit.

    Raises
    ------
    InputError
        Of a missing value, and of months and years, whose length is not known.
    """
    kind = type(value).__name__
    unit, _ = np.datetime_data(value.dtype)
    has_no_length = unit == "generic" or (kind == "timedelta64" and unit in "YM")
    if np.isnat(value) or has_no_length:
        raise InputError(
            f"{value!r} is not a date or duration of known length.", code="P02", argument="value"
        )
    if unit not in SIZES:  # weeks, months and years are whole days
        unit = "D"
    return int(value.astype(f"{kind}[{unit}]").astype(np.int64)) * SIZES[unit]


def instant(kind: type[Instant], count: int, coarsest: str = "D") -> Instant:
    """Make the date or duration of that many attoseconds.

    Parameters
    ----------
    kind : np.datetime64 or np.timedelta64
    count : int
        Attoseconds, since 1970 for a date.
    coarsest : str
        Unit of NumPy; the result has this one, or the coarsest finer one that holds the count.
    """
    units = list(SIZES)
    allowed = units[units.index(coarsest) :]
    unit = next(unit for unit in allowed if count % SIZES[unit] == 0)  # "as" holds every count
    ticks = np.array(count // SIZES[unit], dtype=np.int64)
    value: Any = ticks.astype(f"{kind.__name__}[{unit}]")[()]
    return cast(Instant, value)


def in_unit_of_text(value: Instant) -> Instant:
    """The same date or duration in the unit that its text has: whole days, minutes, or finer."""
    unit, _ = np.datetime_data(value.dtype)
    is_date_with_time = isinstance(value, np.datetime64) and unit not in "YMWD"
    coarsest = "D"
    if is_date_with_time:
        coarsest = "m"  # midnight stays a time: 2012-03-01 00:00
    return instant(type(value), attoseconds(value), coarsest)


def instant_text(value: np.datetime64 | np.timedelta64) -> str:
    """Write a date or duration so that a rule reads it back as the same value."""
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value)).replace("T", " ")
    unit, _ = np.datetime_data(value.dtype)
    return f"{int(value.astype(np.int64))} {_UNIT_WORDS[unit]}"


def last_tick(value: np.datetime64 | np.timedelta64, dtype: Any) -> int:
    """The last tick of a dtype at or before a value.

    A tick t of the column is above the value just where it is above this one: t > value is
    t > last_tick(value), and t <= value is t <= last_tick(value), in whole numbers.

    Parameters
    ----------
    value : np.datetime64 or np.timedelta64
        Of any unit.
    dtype : NumPy dtype
        Of dates or durations, in days or finer.

    Returns
    -------
    int
        Within 64 bits, also where the value is not.
    """
    unit, count = np.datetime_data(dtype)
    limits = np.iinfo(np.int64)
    tick = attoseconds(value) // (SIZES[unit] * count)
    return min(max(tick, int(limits.min)), int(limits.max))

"""Dates and durations as exact counts, so that no unit rounds or overflows another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from granite_xai.base.errors import InputError

Instant = TypeVar("Instant", np.datetime64, np.timedelta64)

# Python integers of attoseconds hold every NumPy date exactly: no unit can overflow another.
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


def attoseconds(value: np.datetime64 | np.timedelta64) -> int:
    """Count the attoseconds since 1970, or of a duration, exactly.

    Examples
    --------
    >>> import numpy as np
    >>> attoseconds(np.timedelta64(3, "ns"))
    3000000000
    """
    unit = np.datetime_data(value.dtype)[0]
    kind = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
    if np.isnat(value) or unit == "generic" or (kind == "timedelta64" and unit in "YM"):
        raise InputError(f"{value!r} is not a date or duration of known length.", code="P02", argument="value")
    unit = unit if unit in SIZES else "D"
    return int(value.astype(f"{kind}[{unit}]").astype(np.int64)) * SIZES[unit]


def settled(value: Instant) -> Instant:
    """Return the same date or duration in the unit its text has: whole days, minutes, or finer.

    Examples
    --------
    >>> import numpy as np
    >>> str(settled(np.timedelta64(7200, "s"))), str(settled(np.datetime64("2012")))
    ('2 hours', '2012-01-01')
    """
    count = attoseconds(value)
    if isinstance(value, np.timedelta64):
        return duration_of(count)
    return date_of(count, "D" if np.datetime_data(value.dtype)[0] in "YMWD" else "m")


def date_of(count: int, coarsest: str) -> np.datetime64:
    """Return the date that many attoseconds after 1970, in a unit no coarser than the one named.

    Examples
    --------
    >>> str(date_of(0, "m"))
    '1970-01-01T00:00'
    """
    units = list(SIZES)
    made: np.datetime64 = _made("datetime64", count, units[units.index(coarsest) :])
    return made


def duration_of(count: int) -> np.timedelta64:
    """Return a duration of that many attoseconds in the coarsest unit that holds it.

    Examples
    --------
    >>> str(duration_of(120 * 10**18))
    '2 minutes'
    """
    made: np.timedelta64 = _made("timedelta64", count, list(SIZES))
    return made


def _made(kind: str, count: int, units: Sequence[str]) -> Any:
    unit = next(u for u in units if count % SIZES[u] == 0)
    return np.array(count // SIZES[unit], dtype=np.int64).astype(f"{kind}[{unit}]")[()]


def floor_ticks(value: np.datetime64 | np.timedelta64, dtype: Any) -> int:
    """Return the last tick of an array's unit at or before a date, kept within 64 bits.

    ``x <= value`` and ``x > value`` hold for a tick ``x`` exactly when they hold against this integer.

    Examples
    --------
    >>> import numpy as np
    >>> floor_ticks(np.datetime64("1970-01-02T12:00"), np.dtype("datetime64[D]"))
    1
    """
    unit, count = np.datetime_data(dtype)
    ticks = attoseconds(value) // (SIZES[unit] * count)
    limits = np.iinfo(np.int64)
    return min(max(ticks, int(limits.min)), int(limits.max))

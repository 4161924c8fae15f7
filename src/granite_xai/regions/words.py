"""Values in a rule: labels, numbers, dates and durations; how they are stored, written and read back.

Dates and durations are compared as exact counts, so that no unit rounds or overflows another.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from typing import Any, TypeVar, cast

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.wording import quoted

Label = str | int | float | bool
Bound = Label | np.datetime64 | np.timedelta64
Instant = TypeVar("Instant", np.datetime64, np.timedelta64)

KEYWORDS = frozenset({"and", "or", "in", "is", "not", "missing", "present", "impossible", "True", "False"})
# Python integers of attoseconds hold every NumPy date exactly.
SIZES = {"D": 86_400 * 10**18, "h": 3_600 * 10**18, "m": 60 * 10**18}
SIZES |= {unit: 10 ** (18 - 3 * i) for i, unit in enumerate(["s", "ms", "us", "ns", "ps", "fs", "as"])}
_FINE = [f"{prefix}seconds" for prefix in ("", "milli", "micro", "nano", "pico", "femto", "atto")]
UNITS = dict(zip(["days", "hours", "minutes", *_FINE], SIZES, strict=True))
_LONG = {"n": "\n", "r": "\r", "t": "\t"}


def as_label(value: object) -> Label:
    """Return a level as the label that rules store: text, number or truth value; anything else by its text.

    >>> as_label(np.int64(3)), as_label("mist"), as_label(np.True_)
    (3, 'mist', True)
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    return as_number(value) if isinstance(value, (float, np.floating)) else str(value)


def as_number(value: object) -> float:
    """Return a finite float, ``-0.0`` as ``0.0``; anything else is an error."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{value!r} is not a finite number.", code="P02", argument="value")
    return number + 0.0


def as_bound(value: object) -> Bound:
    """Return the end of an interval in its stored form.

    >>> as_bound(3), str(as_bound(np.datetime64("2012-03")))
    (3.0, '2012-03-01')
    """
    if isinstance(value, timedelta | np.timedelta64):
        return settled(np.timedelta64(value))
    if isinstance(value, datetime | date | np.datetime64):
        return settled(np.datetime64(value))
    return str(value) if isinstance(value, str) else as_number(value)


def label_order(label: Label) -> tuple[bool, float, str]:
    """Sort numbers by size, then text by letters."""
    return (True, 0.0, label) if isinstance(label, str) else (False, label, "")


def unquoted(text: str) -> str:
    """Undo `quoted`."""
    return re.sub(r"\\(x..|u.{4}|U.{8}|.)", _unescaped, text[1:-1], flags=re.DOTALL)


def _unescaped(match: re.Match[str]) -> str:
    body = match.group(1)
    try:
        return chr(int(body[1:], 16)) if len(body) > 1 else _LONG.get(body, body)
    except (ValueError, OverflowError):
        raise InputError(f"{match.group(0)!r} is not an escape.", code="P02", argument="text") from None


def is_plain(text: str) -> bool:
    """Tell whether text can stand in a rule without quotes."""
    return re.fullmatch(r"[^\W\d]\w*", text) is not None and text.isprintable() and text not in KEYWORDS


def name_text(name: str) -> str:
    """Write a column's name, in backticks unless it is a plain word.

    >>> name_text("hr"), name_text("hours per week")
    ('hr', '`hours per week`')
    """
    return name if is_plain(name) else quoted(name, "`")


def value_text(value: Bound) -> str:
    """Write a label, number, date or duration so that reading it gives the same value.

    >>> value_text(6.0), value_text("light rain"), value_text(np.timedelta64(2, "h"))
    ('6', '"light rain"', '2 hours')
    """
    if isinstance(value, str):
        return value if is_plain(value) else quoted(value, '"')
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value)).replace("T", " ")
    if isinstance(value, np.timedelta64):
        unit = np.datetime_data(value.dtype)[0]
        return f"{int(value.astype(np.int64))} " + next(word for word, u in UNITS.items() if u == unit)
    # Shortest text that reads back as the same float.
    return repr(value).removesuffix(".0")


def attoseconds(value: np.datetime64 | np.timedelta64) -> int:
    """Count the attoseconds since 1970, or of a duration, exactly."""
    unit, kind = np.datetime_data(value.dtype)[0], type(value).__name__
    if np.isnat(value) or unit == "generic" or (kind == "timedelta64" and unit in "YM"):
        raise InputError(f"{value!r} is not a date or duration of known length.", code="P02", argument="value")
    unit = unit if unit in SIZES else "D"
    return int(value.astype(f"{kind}[{unit}]").astype(np.int64)) * SIZES[unit]


def settled(value: Instant) -> Instant:
    """Return the same date or duration in the unit its text has: whole days, minutes, or finer.

    >>> str(settled(np.timedelta64(7200, "s"))), str(settled(np.datetime64("2012")))
    ('2 hours', '2012-01-01')
    """
    days = isinstance(value, np.timedelta64) or np.datetime_data(value.dtype)[0] in "YMWD"
    return instant(type(value), attoseconds(value), "D" if days else "m")


def instant(kind: type[Instant], count: int, coarsest: str = "D") -> Instant:
    """Return a date or duration of that many attoseconds, in the coarsest unit that holds it but none above one.

    >>> str(instant(np.datetime64, 0, "m")), str(instant(np.timedelta64, 7200 * 10**18))
    ('1970-01-01T00:00', '2 hours')
    """
    units = list(SIZES)
    unit = next(u for u in units[units.index(coarsest) :] if count % SIZES[u] == 0)
    made: Any = np.array(count // SIZES[unit], dtype=np.int64).astype(f"{kind.__name__}[{unit}]")[()]
    return cast(Instant, made)

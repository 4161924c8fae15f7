"""Values in a rule: labels, numbers, dates and durations (as exact counts); how they are stored, read and compared."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.text import quoted
from granite_xai.base.typing import BoolArray

Label = str | int | float | bool
Bound = Label | np.datetime64 | np.timedelta64
End = Bound | None  # of an interval; None: open
Instant = TypeVar("Instant", np.datetime64, np.timedelta64)

KEYWORDS = frozenset(
    {"and", "or", "in", "is", "not", "missing", "present", "impossible", "True", "False"}
)
# Python integers of attoseconds hold every NumPy date exactly.
SIZES = {"D": 86_400 * 10**18, "h": 3_600 * 10**18, "m": 60 * 10**18}
SIZES |= {
    unit: 10 ** (18 - 3 * i) for i, unit in enumerate(["s", "ms", "us", "ns", "ps", "fs", "as"])
}
_FINE = [f"{prefix}seconds" for prefix in ("", "milli", "micro", "nano", "pico", "femto", "atto")]
UNITS = dict(zip(["days", "hours", "minutes", *_FINE], SIZES, strict=True))
_LONG = {"n": "\n", "r": "\r", "t": "\t"}


def as_label(value: object) -> Label:
    """Return a level as the label that rules store: text, number or truth value; anything else by its text."""
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
        raise InputError(
            f"{match.group(0)!r} is not an escape.", code="P02", argument="text"
        ) from None


def is_plain(text: str) -> bool:
    """Tell whether text can stand in a rule without quotes."""
    return (
        re.fullmatch(r"[^\W\d]\w*", text) is not None
        and text.isprintable()
        and text not in KEYWORDS
    )


def name_text(name: str) -> str:
    """Write a column's name, in backticks unless it is a plain word."""
    return name if is_plain(name) else quoted(name, "`")


def value_text(value: Bound) -> str:
    """Write a label, number, date or duration so that reading it gives the same value."""
    if isinstance(value, str):
        return value if is_plain(value) else quoted(value, '"')
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value)).replace("T", " ")
    if isinstance(value, np.timedelta64):
        unit = np.datetime_data(value.dtype)[0]
        return f"{int(value.astype(np.int64))} " + next(
            word for word, u in UNITS.items() if u == unit
        )
    return repr(value).removesuffix(".0")  # the shortest text that reads back as the same float


def attoseconds(value: np.datetime64 | np.timedelta64) -> int:
    """Count the attoseconds since 1970, or of a duration, exactly."""
    unit, kind = np.datetime_data(value.dtype)[0], type(value).__name__
    if np.isnat(value) or unit == "generic" or (kind == "timedelta64" and unit in "YM"):
        raise InputError(
            f"{value!r} is not a date or duration of known length.", code="P02", argument="value"
        )
    unit = unit if unit in SIZES else "D"
    return int(value.astype(f"{kind}[{unit}]").astype(np.int64)) * SIZES[unit]


def settled(value: Instant) -> Instant:
    """Return the same date or duration in the unit its text has: whole days, minutes, or finer."""
    days = isinstance(value, np.timedelta64) or np.datetime_data(value.dtype)[0] in "YMWD"
    return instant(type(value), attoseconds(value), "D" if days else "m")


def instant(kind: type[Instant], count: int, coarsest: str = "D") -> Instant:
    """Return a date or duration of that many attoseconds, in the coarsest unit that holds it but none above one."""
    units = list(SIZES)
    unit = next(u for u in units[units.index(coarsest) :] if count % SIZES[u] == 0)
    made: Any = np.array(count // SIZES[unit], dtype=np.int64).astype(f"{kind.__name__}[{unit}]")[
        ()
    ]
    return cast(Instant, made)


def is_missing(values: NDArray[Any]) -> BoolArray:
    """Tell which values are missing: NaN, NaT or None."""
    if values.dtype.kind in "fmM":
        return np.asarray(values != values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array(
        [v is None or (isinstance(v, float) and v != v) for v in values], dtype=np.bool_
    )


def end(value: End, order: tuple[Label, ...] | None) -> End:
    """Return the stored form of an end: a number, date or duration, or one of the ordered labels."""
    if value is None:
        return None
    if order is not None:
        return order[place_of(as_label(value), order, "P02")]
    if isinstance(value, timedelta | np.timedelta64):
        return settled(np.timedelta64(value))
    if isinstance(value, datetime | date | np.datetime64):
        return settled(np.datetime64(value))
    return str(value) if isinstance(value, str) else as_number(value)


def place_of(value: Any, order: Sequence[Label], code: str = "P03") -> int:
    """Return the place of an end among the ordered labels."""
    if value not in order:
        raise InputError(
            f"{value_text(value)} is not one of the ordered labels.", code=code, argument="order"
        )
    return order.index(value)


def at_or_above(low: Bound, high: Bound, order: Sequence[Label] | None) -> bool:
    """Tell whether ``low >= high``; text of unknown order is only compared for equality."""
    if order is not None:
        return place_of(low, order) >= place_of(high, order)
    if _kind(low) != _kind(high):
        words = f"{value_text(low)} and {value_text(high)}"
        raise InputError(f"{words} cannot bound one interval.", code="P03", argument="low")
    count: Any = attoseconds if _kind(low) in "mM" else float  # NumPy overflows between units
    return low == high if isinstance(low, str) else bool(count(low) >= count(high))


def _kind(value: Bound) -> str:
    return np.asarray(value).dtype.kind if isinstance(value, np.generic | str) else "f"


def tighter(one: End, two: End, order: Sequence[Label] | None, *, upper: bool) -> End:
    """Return the tighter of two upper, or two lower, ends."""
    if one is None or two is None or repr(one) == repr(two):
        return two if one is None else one
    if order is None and isinstance(one, str) and isinstance(two, str):
        raise InputError(
            f"the order of {value_text(one)} and {value_text(two)} is not known.", code="P03"
        )
    return two if at_or_above(one, two, order) == upper else one


def between(
    values: NDArray[Any], low: End, high: End, order: Sequence[Label] | None, others: bool
) -> BoolArray:
    """Tell which values satisfy ``low < x <= high`` (None is open); labels outside the order do if `others` is set."""
    if order is not None:
        places = ranks(values, order)
        return np.where(
            places < 0, others, _within(places, low, high, lambda end: place_of(end, order))
        )
    ends = [v for v in (low, high) if v is not None]
    if isinstance(ends[0], np.datetime64 | np.timedelta64):
        if any(values.dtype.kind != _kind(v) for v in ends):
            words = f"{value_text(ends[0])} cannot be compared with {values.dtype}."
            raise InputError(words, code="P03", argument="X")
        if np.datetime_data(values.dtype)[0] in "YMW":
            values = values.astype(f"{values.dtype.kind}8[D]")
        return _within(
            values.astype(np.int64), low, high, lambda end: _floor_ticks(end, values.dtype)
        )
    if isinstance(ends[0], str):
        words = f"the order of the labels is not known for an interval that ends at {value_text(ends[0])}."
        hint = "Give the column an ordered categorical type."
        raise InputError(words, code="P03", argument="order", hint=hint)
    # Truth values and numbers kept as objects count as numbers.
    objects = values if values.dtype.kind == "O" else ()
    numeric = (int, float, np.number, np.bool_, type(None))
    if values.dtype.kind not in "fiubO" or not all(isinstance(v, numeric) for v in objects):
        raise InputError(
            "the rule compares with numbers, but the column has others.", code="P03", argument="X"
        )
    return _within(values.astype(np.float64), low, high, float)


def _within(values: NDArray[Any], low: Any, high: Any, number: Callable[[Any], float]) -> BoolArray:
    above = np.ones(len(values), dtype=np.bool_) if low is None else values > number(low)
    return above if high is None else above & (values <= number(high))


def _floor_ticks(value: Any, dtype: Any) -> int:
    """Return the last tick of a unit at or before a date, within 64 bits: every tick compares with it as with that."""
    (unit, count), limits = np.datetime_data(dtype), np.iinfo(np.int64)
    return min(max(attoseconds(value) // (SIZES[unit] * count), int(limits.min)), int(limits.max))


def ranks(values: NDArray[Any], labels: Iterable[Label]) -> NDArray[np.int64]:
    """Return the place of every value among some labels; -1 for one outside them and for a missing one."""
    # Equal numbers are one label (1, 1.0, True): a level may be an integer here and a float in another table.
    place, missing = {as_label(v): i for i, v in enumerate(labels)}, is_missing(values)
    found = [
        -1 if gone else place.get(as_label(v), -1) for v, gone in zip(values, missing, strict=True)
    ]
    return np.array(found, dtype=np.int64)

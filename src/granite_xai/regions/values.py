"""Values in a rule: how they are stored, written and compared.

A label is a level of a nominal, boolean or ordered column. An end of an interval is a label, a number,
a date or a duration, or None where the interval is open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.text import quoted
from granite_xai.base.typing import BoolArray

Label = str | int | float | bool
Bound = Label | np.datetime64 | np.timedelta64
End = Bound | None
Instant = TypeVar("Instant", np.datetime64, np.timedelta64)

KEYWORDS = frozenset(
    {"and", "or", "in", "is", "not", "missing", "present", "impossible", "True", "False"}
)
"""Words of the language of rules: names and labels like these are quoted."""

NOT_LISTED = -1  # place of a value that is none of some labels

NANOSECONDS = {
    "D": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
"""Nanoseconds of each unit of NumPy, the coarsest first."""

UNIT_WORDS = {
    "D": "days",
    "h": "hours",
    "m": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}


def nanoseconds(value: np.datetime64 | np.timedelta64) -> int:
    """Count the nanoseconds since 1970, or of a duration, as a Python integer.

    NumPy keeps 64-bit counts of a unit, and overflows silently where two units are brought together.

    Raises
    ------
    InputError
        Of a missing value, of months and years, whose length is not known, and of finer units.
    """
    kind = type(value).__name__
    unit, _ = np.datetime_data(value.dtype)
    if kind == "datetime64" and unit in "YMW":
        unit = "D"
    if kind == "timedelta64" and unit == "W":
        unit = "D"
    if np.isnat(value) or unit not in NANOSECONDS:
        raise InputError(
            f"{value!r} is not a date or duration of known length, in nanoseconds or coarser units.",
            code="P02",
            argument="value",
        )
    return int(value.astype(f"{kind}[{unit}]").astype(np.int64)) * NANOSECONDS[unit]


def instant(kind: type[Instant], count: int, coarsest: str = "D") -> Instant:
    """Make the date or duration of so many nanoseconds.

    Parameters
    ----------
    kind : np.datetime64 or np.timedelta64
    count : int
        Since 1970 for a date.
    coarsest : str
        Unit of NumPy; the result has this one, or the coarsest finer one that holds the count.
    """
    units = list(NANOSECONDS)
    allowed = units[units.index(coarsest) :]
    unit = next(unit for unit in allowed if count % NANOSECONDS[unit] == 0)
    ticks = np.array(count // NANOSECONDS[unit], dtype=np.int64)
    value: Any = ticks.astype(f"{kind.__name__}[{unit}]")[()]
    return cast(Instant, value)


def in_unit_of_text(value: Instant) -> Instant:
    """The same date or duration in the unit that its text has: whole days, minutes, or finer."""
    unit, _ = np.datetime_data(value.dtype)
    is_date_with_time = isinstance(value, np.datetime64) and unit not in "YMWD"
    coarsest = "m" if is_date_with_time else "D"  # midnight stays a time: 2012-03-01 00:00
    return instant(type(value), nanoseconds(value), coarsest)


def as_label(value: object) -> Label:
    """A level as rules store it: text, number or truth value; anything else by its text."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.timedelta64):  # NumPy counts durations among the integers
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return as_number(value)
    return str(value)


def as_number(value: object) -> float:
    """A finite float, ``-0.0`` as ``0.0``; anything else is an error."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{value!r} is not a finite number.", code="P02", argument="value")
    return number + 0.0


def as_end(value: Any, order: tuple[Label, ...] | None) -> End:
    """An end of an interval as rules store it; of an ordered column one of its labels."""
    if value is None:
        return None
    if order is not None:
        return order[place_in_order(value, order, "P02")]
    if isinstance(value, timedelta | np.timedelta64):
        return in_unit_of_text(np.timedelta64(value))
    if isinstance(value, datetime | date | np.datetime64):
        return in_unit_of_text(np.datetime64(value))
    if isinstance(value, str):
        return str(value)
    return as_number(value)


def place_in_order(value: Bound, order: Sequence[Label], code: str = "P03") -> int:
    """The place of a label among those of an ordered column; an error with this code if it is none."""
    label = as_label(value)
    if label not in order:
        raise InputError(
            f"{value_text(label)} is not one of the ordered labels.", code=code, argument="order"
        )
    return order.index(label)


def label_sort_key(label: Label) -> tuple[bool, float, str]:
    """A key that sorts numbers by size, then text by letters."""
    if isinstance(label, str):
        return (True, 0.0, label)
    return (False, label, "")


def name_text(name: str) -> str:
    """Write a column's name, in backticks unless it is a plain word."""
    return name if _is_plain(name) else quoted(name, "`")


def value_text(value: Bound) -> str:
    """Write a label, number, date or duration so that reading it gives the same value.

    Examples
    --------
    >>> value_text(6.0), value_text("light rain"), value_text(np.timedelta64(2, "h"))
    ('6', '"light rain"', '2 hours')
    """
    if isinstance(value, str):
        return value if _is_plain(value) else quoted(value, '"')
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value)).replace("T", " ")
    if isinstance(value, np.timedelta64):
        unit, _ = np.datetime_data(value.dtype)
        return f"{int(value.astype(np.int64))} {UNIT_WORDS[unit]}"
    return repr(value).removesuffix(".0")  # the shortest text that reads back as the same float


_PLAIN_WORD = re.compile(r"[^\W\d]\w*")


def _is_plain(text: str) -> bool:
    """Whether text can stand in a rule without quotes."""
    is_word = _PLAIN_WORD.fullmatch(text) is not None
    return is_word and text.isprintable() and text not in KEYWORDS


def is_missing(values: NDArray[Any]) -> BoolArray:
    """Which values are missing: NaN, NaT or None."""
    if values.dtype.kind in "fmM":
        return np.asarray(values != values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    missing = [value is None or (isinstance(value, float) and value != value) for value in values]
    return np.array(missing, dtype=np.bool_)


def places_among(values: NDArray[Any], labels: Iterable[Label]) -> NDArray[np.int64]:
    """The place of every value among some labels; NOT_LISTED for a missing value or any other.

    Equal numbers are one label (1, 1.0, True): a level may be an integer here and a float in another
    table.
    """
    place_of_label = {as_label(label): place for place, label in enumerate(labels)}
    places = np.full(len(values), NOT_LISTED, dtype=np.int64)
    for row in np.flatnonzero(~is_missing(values)):
        places[row] = place_of_label.get(as_label(values[row]), NOT_LISTED)
    return places


def comparable(
    values: NDArray[Any], low: End, high: End, order: Sequence[Label] | None
) -> tuple[NDArray[Any], float | None, float | None]:
    """Values of a column, and the ends of an interval on it, as numbers that compare as these do.

    Parameters
    ----------
    values : array of shape (n,)
    low, high : number, date, duration or label
        None stays None; one of them at least is not.
    order : sequence of labels, optional
        Of a column of ordered labels; a label outside is NOT_LISTED.

    Raises
    ------
    InputError
        P03: the ends are of another kind than the values, or not among the ordered labels.
    """
    end = high if low is None else low
    number_of: Callable[[Any], float] = float
    if order is not None:
        numbers = places_among(values, order)
        number_of = partial(place_in_order, order=order)
    elif isinstance(end, str):
        raise InputError(
            f"the order of the labels is not known for an interval that ends at {value_text(end)}.",
            code="P03",
            argument="order",
            hint="Give the column an ordered categorical type.",
        )
    elif isinstance(end, np.datetime64 | np.timedelta64):
        kind = values.dtype.kind
        if kind_of(end) != kind:
            raise InputError(
                f"{value_text(end)} cannot be compared with {values.dtype}.",
                code="P03",
                argument="X",
            )
        if np.datetime_data(values.dtype)[0] in "YMW":
            values = values.astype(f"{kind}8[D]")
        numbers = values.astype(np.int64)
        number_of = partial(_last_tick, dtype=values.dtype)
    else:
        types = (int, float, np.number, np.bool_, type(None))
        is_numeric = values.dtype.kind in "fiub"
        if values.dtype.kind == "O":  # truth values and numbers kept as objects
            is_numeric = all(isinstance(value, types) for value in values)
        if not is_numeric:
            raise InputError(
                "the rule compares with numbers, but the column has others.",
                code="P03",
                argument="X",
            )
        numbers = values.astype(np.float64)
    lowest = None if low is None else number_of(low)
    highest = None if high is None else number_of(high)
    return numbers, lowest, highest


def _last_tick(value: np.datetime64 | np.timedelta64, dtype: Any) -> int:
    """The last tick of a dtype of dates or durations at or before a value, within 64 bits.

    A tick t of the column is above the value just where it is above this one.
    """
    unit, count = np.datetime_data(dtype)
    limits = np.iinfo(np.int64)
    tick = nanoseconds(value) // (NANOSECONDS[unit] * count)
    return min(max(tick, int(limits.min)), int(limits.max))


def is_at_least(value: Bound, limit: Bound, order: Sequence[Label] | None) -> bool:
    """Whether a value is at or above a limit; text whose order is not known may only be equal."""
    if order is not None:
        return place_in_order(value, order) >= place_in_order(limit, order)
    if kind_of(value) != kind_of(limit):
        texts = f"{value_text(value)} and {value_text(limit)}"
        raise InputError(f"{texts} cannot bound one interval.", code="P03", argument="low")
    if isinstance(value, str):
        return value == limit
    if isinstance(value, np.datetime64 | np.timedelta64):
        return nanoseconds(value) >= nanoseconds(cast(Any, limit))  # NumPy overflows between units
    return value >= cast(float, limit)


def kind_of(value: Bound) -> str:
    """The kind of a value by NumPy's letters; every number is a float."""
    return np.asarray(value).dtype.kind if isinstance(value, np.generic | str) else "f"


def tighter_end(first: End, second: End, order: Sequence[Label] | None, are_low: bool) -> End:
    """The higher of two lower ends, or the lower of two upper ones, where None is open."""
    if first is None or second is None:
        return second if first is None else first
    are_texts = isinstance(first, str) and isinstance(second, str)
    if order is None and are_texts and first != second:
        raise InputError(
            f"the order of {value_text(first)} and {value_text(second)} is not known.", code="P03"
        )
    return first if is_at_least(first, second, order) == are_low else second

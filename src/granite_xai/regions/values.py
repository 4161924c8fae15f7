"""Values in a rule: how they are stored, written and compared.

A label is a level of a nominal, boolean or ordered column. A bound is an end of an interval: a label, a
number, a date or a duration. An end is a bound, or None where the interval is open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError
from granite_xai.base.text import quoted
from granite_xai.base.typing import BoolArray
from granite_xai.regions.instants import attoseconds, in_unit_of_text, instant_text, last_tick

Label = str | int | float | bool
Bound = Label | np.datetime64 | np.timedelta64
End = Bound | None

KEYWORDS = frozenset(
    {"and", "or", "in", "is", "not", "missing", "present", "impossible", "True", "False"}
)
"""Words of the language of rules: names and labels like these are quoted."""

NOT_LISTED = -1
"""Place of a value that is none of some labels."""

_PLAIN_WORD = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r"\\(x..|u.{4}|U.{8}|.)", re.DOTALL)
_LETTER_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


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


def as_end(value: End, order: tuple[Label, ...] | None) -> End:
    """An end of an interval as rules store it.

    Parameters
    ----------
    value : object
        A number, date, duration or label; None is open.
    order : tuple of labels, optional
        Labels of an ordered column; the end is then one of them.
    """
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


def label_sort_key(label: Label) -> tuple[bool, float, str]:
    """A key that sorts numbers by size, then text by letters."""
    if isinstance(label, str):
        return (True, 0.0, label)
    return (False, label, "")


def unquoted(text: str) -> str:
    """Undo `quoted`: take the marks off, and escapes back."""
    return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(match: re.Match[str]) -> str:
    body = match.group(1)
    if len(body) == 1:
        return _LETTER_ESCAPES.get(body, body)
    try:
        return chr(int(body[1:], 16))
    except (ValueError, OverflowError):
        raise InputError(
            f"{match.group(0)!r} is not an escape.", code="P02", argument="text"
        ) from None


def is_plain(text: str) -> bool:
    """Whether text can stand in a rule without quotes."""
    is_word = _PLAIN_WORD.fullmatch(text) is not None
    return is_word and text.isprintable() and text not in KEYWORDS


def name_text(name: str) -> str:
    """Write a column's name, in backticks unless it is a plain word."""
    if is_plain(name):
        return name
    return quoted(name, "`")


def value_text(value: Bound) -> str:
    """Write a label, number, date or duration so that reading it gives the same value."""
    if isinstance(value, str) and is_plain(value):
        return value
    if isinstance(value, str):
        return quoted(value, '"')
    if isinstance(value, np.datetime64 | np.timedelta64):
        return instant_text(value)
    return repr(value).removesuffix(".0")  # the shortest text that reads back as the same float


def is_missing(values: NDArray[Any]) -> BoolArray:
    """Which values are missing: NaN, NaT or None."""
    if values.dtype.kind in "fmM":
        return np.asarray(values != values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([_is_missing_object(value) for value in values], dtype=np.bool_)


def _is_missing_object(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def place_in_order(value: Bound, order: Sequence[Label], code: str = "P03") -> int:
    """The place of a label among those of an ordered column; an error with this code if it is none."""
    label = as_label(value)
    if label not in order:
        raise InputError(
            f"{value_text(label)} is not one of the ordered labels.", code=code, argument="order"
        )
    return order.index(label)


def places_among(values: NDArray[Any], labels: Iterable[Label]) -> NDArray[np.int64]:
    """The place of every value among some labels.

    Equal numbers are one label (1, 1.0, True): a level may be an integer here and a float in another
    table.

    Returns
    -------
    array of shape (n,)
        NOT_LISTED for a value that is none of the labels, and for a missing one.
    """
    place_of_label = {as_label(label): place for place, label in enumerate(labels)}
    places = np.full(len(values), NOT_LISTED, dtype=np.int64)
    for row in np.flatnonzero(~is_missing(values)):
        places[row] = place_of_label.get(as_label(values[row]), NOT_LISTED)
    return places


def is_at_least(value: Bound, limit: Bound, order: Sequence[Label] | None) -> bool:
    """Whether a value is at or above a limit.

    Parameters
    ----------
    value, limit : number, date, duration or label
        Of the same kind.
    order : sequence of labels, optional
        Of an ordered column. Text whose order is not known is only compared for equality.
    """
    if order is not None:
        return place_in_order(value, order) >= place_in_order(limit, order)
    if _kind(value) != _kind(limit):
        texts = f"{value_text(value)} and {value_text(limit)}"
        raise InputError(f"{texts} cannot bound one interval.", code="P03", argument="low")
    if isinstance(value, str):
        return value == limit
    as_comparable: Callable[[Any], float] = float
    if isinstance(value, np.datetime64 | np.timedelta64):
        as_comparable = attoseconds  # NumPy overflows between units
    return as_comparable(value) >= as_comparable(limit)


def _kind(value: Bound) -> str:
    """The kind of a value by NumPy's letters; every number is a float."""
    if isinstance(value, np.generic | str):
        return np.asarray(value).dtype.kind
    return "f"


def lower_end(first: End, second: End, order: Sequence[Label] | None) -> End:
    """The lower of two upper ends, where None is open."""
    if first is None:
        return second
    if second is None:
        return first
    _require_known_order(first, second, order)
    if is_at_least(first, second, order):
        return second
    return first


def higher_end(first: End, second: End, order: Sequence[Label] | None) -> End:
    """The higher of two lower ends, where None is open."""
    if first is None:
        return second
    if second is None:
        return first
    _require_known_order(first, second, order)
    if is_at_least(first, second, order):
        return first
    return second


def _require_known_order(first: Bound, second: Bound, order: Sequence[Label] | None) -> None:
    """Refuse two different texts if nothing says which is the lower one."""
    if order is None and isinstance(first, str) and isinstance(second, str) and first != second:
        raise InputError(
            f"the order of {value_text(first)} and {value_text(second)} is not known.", code="P03"
        )


def between(
    values: NDArray[Any], low: End, high: End, order: Sequence[Label] | None, others: bool
) -> BoolArray:
    """Which values satisfy ``low < x <= high``; what a missing value gives has no meaning.

    Parameters
    ----------
    values : array of shape (n,)
    low, high : number, date, duration or label
        None is open, but not both.
    order : sequence of labels, optional
        Of an ordered column.
    others : bool
        Whether labels outside the order belong.
    """
    bound = low
    if bound is None:
        bound = high
    if order is not None:
        return _labels_between(values, low, high, order, others)
    if isinstance(bound, np.datetime64 | np.timedelta64):
        return _instants_between(values, low, high)
    if isinstance(bound, str):
        raise InputError(
            "the order of the labels is not known for an interval that ends at "
            f"{value_text(bound)}.",
            code="P03",
            argument="order",
            hint="Give the column an ordered categorical type.",
        )
    return _within(_as_numbers(values), low, high, float)


def _labels_between(
    values: NDArray[Any], low: End, high: End, order: Sequence[Label], others: bool
) -> BoolArray:
    places = places_among(values, order)
    inside = _within(places, low, high, lambda end: place_in_order(end, order))
    return np.where(places == NOT_LISTED, others, inside)


def _instants_between(values: NDArray[Any], low: End, high: End) -> BoolArray:
    for end in (low, high):
        if end is not None and _kind(end) != values.dtype.kind:
            raise InputError(
                f"{value_text(end)} cannot be compared with {values.dtype}.",
                code="P03",
                argument="X",
            )
    unit, _ = np.datetime_data(values.dtype)
    if unit in "YMW":
        values = values.astype(f"{values.dtype.kind}8[D]")
    ticks = values.astype(np.int64)
    return _within(ticks, low, high, lambda end: last_tick(end, values.dtype))


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Values of a column as floats; truth values and numbers kept as objects count as numbers."""
    numeric = (int, float, np.number, np.bool_, type(None))
    is_numeric = values.dtype.kind in "fiub"
    if values.dtype.kind == "O":
        is_numeric = all(isinstance(value, numeric) for value in values)
    if not is_numeric:
        raise InputError(
            "the rule compares with numbers, but the column has others.", code="P03", argument="X"
        )
    return values.astype(np.float64)


def _within(
    values: NDArray[Any], low: End, high: End, as_comparable: Callable[[Any], float]
) -> BoolArray:
    """Which values satisfy ``low < x <= high`` once the ends are numbers like the values."""
    inside = np.ones(len(values), dtype=np.bool_)
    if low is not None:
        inside &= values > as_comparable(low)
    if high is not None:
        inside &= values <= as_comparable(high)
    return inside

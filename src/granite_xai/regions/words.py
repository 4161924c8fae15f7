"""How names, labels and numbers are written in a rule, and how that text is read back."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.wording import quoted
from granite_xai.regions.dates import settled

Label = str | int | float | bool
Bound = Label | np.datetime64 | np.timedelta64

KEYWORDS = frozenset({"and", "or", "in", "is", "not", "missing", "present", "impossible", "True", "False"})
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
_LONG = {"n": "\n", "r": "\r", "t": "\t"}


def as_label(value: object) -> Label:
    """Return a level as the label that rules store: text, number or truth value; anything else by its text.

    Examples
    --------
    >>> import numpy as np
    >>> as_label(np.int64(3)), as_label("mist"), as_label(np.True_)
    (3, 'mist', True)
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return as_number(value)
    return str(value)


def as_number(value: object) -> float:
    """Return a finite float, ``-0.0`` as ``0.0``; anything else is an error.

    Examples
    --------
    >>> as_number(-0.0)
    0.0
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{value!r} is not a finite number.", code="P02", argument="value")
    return number + 0.0


def as_bound(value: object) -> Bound:
    """Return the end of an interval in its stored form.

    Examples
    --------
    >>> import numpy as np
    >>> as_bound(3), str(as_bound(np.datetime64("2012-03")))
    (3.0, '2012-03-01')
    """
    if isinstance(value, timedelta):
        value = np.timedelta64(value)
    elif isinstance(value, (datetime, date)):
        value = np.datetime64(value)
    if isinstance(value, np.datetime64):
        return settled(value)
    if isinstance(value, np.timedelta64):
        return settled(value)
    return str(value) if isinstance(value, str) else as_number(value)


def label_order(label: Label) -> tuple[bool, float, str]:
    """Sort numbers by size, then text by letters.

    Examples
    --------
    >>> sorted(["b", 10, 9, "a"], key=label_order)
    [9, 10, 'a', 'b']
    """
    return (True, 0.0, label) if isinstance(label, str) else (False, label, "")


def unquoted(text: str) -> str:
    """Undo `quoted`.

    Examples
    --------
    >>> unquoted(quoted("b<=c", "`"))
    'b<=c'
    """
    return re.sub(r"\\(x..|u.{4}|U.{8}|.)", _unescaped, text[1:-1], flags=re.DOTALL)


def _unescaped(match: re.Match[str]) -> str:
    body = match.group(1)
    try:
        return chr(int(body[1:], 16)) if len(body) > 1 else _LONG.get(body, body)
    except (ValueError, OverflowError):
        raise InputError(f"{match.group(0)!r} is not an escape.", code="P02", argument="text") from None


def is_plain(text: str) -> bool:
    """Tell whether text can stand in a rule without quotes.

    Examples
    --------
    >>> is_plain("hr"), is_plain("b<=c"), is_plain("missing")
    (True, False, False)
    """
    return re.fullmatch(r"[^\W\d]\w*", text) is not None and text.isprintable() and text not in KEYWORDS


def name_text(name: str) -> str:
    """Write a column's name, in backticks unless it is a plain word.

    Examples
    --------
    >>> name_text("hr"), name_text("hours per week")
    ('hr', '`hours per week`')
    """
    return name if is_plain(name) else quoted(name, "`")


def value_text(value: Bound) -> str:
    """Write a label, number, date or duration so that reading it gives the same value.

    Examples
    --------
    >>> import numpy as np
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

"""What other programs cannot hold: texts, names, dates and durations that a rule may have."""

from __future__ import annotations

import keyword
import re
import unicodedata

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.regions.instants import SIZES, attoseconds
from granite_xai.regions.values import value_text

YEAR_1 = -62_135_596_800 * 10**9
"""Nanoseconds from 1970 to the year 1, the first that SQL and Python know."""

YEAR_10000 = 253_402_300_800 * 10**9
"""Nanoseconds from 1970 to the first year that has five digits."""

LONGEST = 2**63
"""Nanoseconds that no duration reaches."""

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_NAME_IN_PANDAS = re.compile(r"[\w ?!$€%&*+,./:;<=>^|~()\[\]{}-]+")


def unwritable(name: str, reason: str) -> InputError:
    """The error of a condition that a language cannot say.

    Parameters
    ----------
    name : str
        The column of the condition.
    reason : str
        Why, as the end of a sentence.
    """
    return InputError(
        f"the condition on {name!r} cannot be written: {reason}.",
        code="P03",
        columns=[name],
        hint="Rename the column, convert it, or use another language.",
    )


def storable(name: str, text: str) -> str:
    """A text that databases hold; another one is an error that names the column."""
    if _NOT_STORABLE.search(text):
        raise unwritable(name, f"no database holds the text {text!r}")
    return text


def pandas_name(name: str) -> str:
    """A column as an expression of pandas names it."""
    is_readable = _NAME_IN_PANDAS.fullmatch(name) is not None
    if not is_readable or unicodedata.normalize("NFKC", name) != name:
        raise unwritable(name, "pandas reads no such name in an expression")
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return f"`{name}`"


def nanoseconds(name: str, end: np.datetime64 | np.timedelta64) -> int:
    """Count the nanoseconds up to an end, rounded down.

    No column there has finer ticks, so every comparison stays as it is.

    Raises
    ------
    InputError
        Of dates outside the years 1 to 9999, and of durations beyond 64 bits.
    """
    count = attoseconds(end) // SIZES["ns"]
    if isinstance(end, np.datetime64) and not YEAR_1 <= count < YEAR_10000:
        raise unwritable(name, f"{value_text(end)} is not in the years 1 to 9999")
    if isinstance(end, np.timedelta64) and abs(count) >= LONGEST:
        raise unwritable(name, f"{value_text(end)} is too long")
    return count

"""Checks of options: a wrong one ends in an error with the argument, the value and what is valid.

scikit-learn's ``validate_params`` does the like, but it is private and knows neither our codes nor
the closest name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from types import UnionType
from typing import Any, TypeVar, cast

from granite_xai.base.errors import InputError
from granite_xai.base.text import listing, shortened

T = TypeVar("T")

SHORTEST_BEGINNING = 3
"""Fewer letters begin too many names to suggest one of them."""

SIMILARITY = 0.6
"""Share of letters that a misspelt name has in common with the one that was meant."""

LONGEST_VALUE = 80
"""Characters of a wrong value that are shown: an array should not fill the screen."""


def choose(
    argument: str,
    value: Any,
    table: Mapping[str, T],
    *,
    accept: type | UnionType | tuple[type, ...] | None = None,
) -> T:
    """Look up a name, or let an object through that can stand in place of a named one.

    Parameters
    ----------
    argument : str
        Name of the argument, for the message.
    value : object
        What the user passed: a name in the table, or an object.
    table : mapping of str to T
        What can be chosen by name.
    accept : type, union or tuple of types, optional
        Types of objects that are let through; without it, the types of the table's entries.

    Returns
    -------
    T
        The entry of that name, or the object itself.

    Raises
    ------
    InputError
        P01, with the valid names and the closest one.
    """
    if isinstance(value, str):
        if value in table:
            return table[value]
    elif accept is not None:
        if isinstance(value, accept):
            return cast(T, value)
    elif _is_like_an_entry(value, table):
        return cast(T, value)
    raise unknown(argument, value, table)


def _is_like_an_entry(value: Any, table: Mapping[str, Any]) -> bool:
    types = {type(entry) for entry in table.values()} - {str}
    if isinstance(value, bool):  # an int to isinstance, but no whole number to a reader
        return bool in types
    return isinstance(value, tuple(types))


def unknown(
    argument: str, value: Any, names: Iterable[Any], *, code: str = "P01", what: str = "Valid"
) -> InputError:
    """Phrase the error about a name that is not in a list, with the closest one.

    Parameters
    ----------
    argument : str
        Name of the argument.
    value : object
        What the user passed.
    names : iterable
        The valid names.
    code : str, default="P01"
        Code of the error.
    what : str, default="Valid"
        Word before the list of names.

    Returns
    -------
    InputError
        To be raised by the caller.
    """
    names = list(names)
    suggestion = closest(value, names)
    return InputError(
        f"{argument}={_short_repr(value)} is not known. {what}: {listing(names)}.",
        code=code,
        argument=argument,
        hint=None if suggestion is None else f"Did you mean {suggestion!r}?",
    )


def closest(value: Any, names: Iterable[Any]) -> str | None:
    """Find the name that was probably meant: one that begins so, or has most of the letters.

    Upper and lower case do not count. None: no name is close.
    """
    if not isinstance(value, str):
        return None
    folded_value = value.casefold()
    by_folded_name = {str(name).casefold(): str(name) for name in names}
    if len(folded_value) >= SHORTEST_BEGINNING:
        for folded_name, name in by_folded_name.items():
            if folded_name.startswith(folded_value):
                return name
    similar = get_close_matches(folded_value, by_folded_name, n=1, cutoff=SIMILARITY)
    if not similar:
        return None
    return by_folded_name[similar[0]]


def whole_number(
    argument: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> int:
    """Check a whole number and its range; True and 2.0 are not whole numbers.

    Raises
    ------
    InputError
        P02, with the range.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    too_small = is_whole and at_least is not None and value < at_least
    too_large = is_whole and at_most is not None and value > at_most
    if not is_whole or too_small or too_large:
        raise _out_of_range(argument, value, "a whole number", {"≥": at_least, "≤": at_most})
    return int(value)


def real_number(
    argument: str,
    value: Any,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
) -> float:
    """Check a finite real number and its range; True is not a number.

    Raises
    ------
    InputError
        P02, with the range.
    """
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_real else math.nan
    too_small = (at_least is not None and number < at_least) or (
        above is not None and number <= above
    )
    too_large = at_most is not None and number > at_most
    if not math.isfinite(number) or too_small or too_large:
        raise _out_of_range(
            argument, value, "a finite number", {"≥": at_least, ">": above, "≤": at_most}
        )
    return number


def _out_of_range(
    argument: str, value: Any, what: str, limits: Mapping[str, float | None]
) -> InputError:
    bounds = " and ".join(f"{sign} {limit}" for sign, limit in limits.items() if limit is not None)
    expected = f"{what} {bounds}" if bounds else what
    message = f"{argument}={_short_repr(value)} must be {expected}."
    return InputError(message, code="P02", argument=argument)


def _short_repr(value: Any) -> str:
    on_one_line = " ".join(repr(value).split())
    return shortened(on_one_line, LONGEST_VALUE)

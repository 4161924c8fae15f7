"""One way to read an option: a name from a table or an object, a whole number, a real number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeVar

from granite_xai.base.errors import InputError, listing

T = TypeVar("T")


def choose(
    argument: str,
    value: Any,
    table: Mapping[str, T],
    *,
    accept: Callable[[Any], bool] | None = None,
) -> T:
    """Look a name up in a table, or let an object of the right sort through.

    Parameters
    ----------
    argument : str
        The option, for the error.
    value : str or object
        A name of ``table``, or an object.
    table : mapping
        The valid names and what they stand for.
    accept : callable, optional
        Tells which objects are let through. Default: those of the type of an entry.

    Returns
    -------
    object
        The entry of the table, or ``value`` itself.

    Examples
    --------
    >>> choose("loss", "squared", {"squared": 2, "absolute": 1})
    2
    >>> choose("loss", "sqared", {"squared": 2, "absolute": 1})
    Traceback (most recent call last):
    ...
    granite_xai.InputError: P01: loss='sqared' is not known. Valid: 'squared', ... Did you mean 'squared'?
    """
    if isinstance(value, str):
        if value in table:
            return table[value]
    elif accept(value) if accept is not None else _of_a_type_in(value, table.values()):
        result: T = value
        return result
    raise unknown(argument, value, table)


def unknown(argument: str, value: Any, names: Iterable[Any], *, code: str = "P01", what: str = "Valid") -> InputError:
    """Phrase the error about a name that is not in a list, with the closest one.

    Examples
    --------
    >>> str(unknown("features", "tmp", ["temp", "hr"], code="P04", what="Columns"))
    "P04: features='tmp' is not known. Columns: 'temp', 'hr'. Did you mean 'temp'?"
    """
    names = list(names)
    near = closest(value, names)
    hint = f"Did you mean {near!r}?" if near is not None else None
    message = f"{argument}={_short(value)} is not known. {what}: {listing(names)}."
    return InputError(message, code=code, argument=argument, hint=hint)


def closest(value: Any, names: Iterable[Any]) -> str | None:
    """Find the name that was probably meant; case does not count.

    Examples
    --------
    >>> closest("ICE-PDF", ["ice-pdp", "sobol"])
    'ice-pdp'
    """
    if not isinstance(value, str):
        return None
    folded = {str(name).casefold(): str(name) for name in names}
    found = get_close_matches(value.casefold(), folded, n=1, cutoff=0.5)
    return folded[found[0]] if found else None


def whole_number(argument: str, value: Any, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Check a whole number and its range; True and 2.0 are not whole numbers.

    Examples
    --------
    >>> whole_number("max_depth", 3, at_least=0)
    3
    >>> whole_number("max_depth", -1, at_least=0)
    Traceback (most recent call last):
    ...
    granite_xai.InputError: P02: max_depth=-1 must be a whole number ≥ 0.
    """
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if number is None or not _within(number, at_least, at_most):
        raise _out_of_range(argument, value, "a whole number", at_least, at_most)
    return number


def real_number(
    argument: str,
    value: Any,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Check a finite real number and its range; True is not a number.

    Examples
    --------
    >>> real_number("alpha", 0.05, at_least=0, at_most=1)
    0.05
    >>> real_number("alpha", float("nan"), at_least=0, at_most=1)
    Traceback (most recent call last):
    ...
    granite_xai.InputError: P02: alpha=nan must be a finite number ≥ 0 and ≤ 1.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or not _within(number, at_least, at_most, above, below):
        raise _out_of_range(argument, value, "a finite number", at_least, at_most, above, below)
    return number


def _within(
    number: float,
    at_least: float | None,
    at_most: float | None,
    above: float | None = None,
    below: float | None = None,
) -> bool:
    return (
        (at_least is None or number >= at_least)
        and (at_most is None or number <= at_most)
        and (above is None or number > above)
        and (below is None or number < below)
    )


def _of_a_type_in(value: Any, entries: Iterable[Any]) -> bool:
    types = tuple({type(entry) for entry in entries} - {str})
    # bool is an int to isinstance, but True is no whole number to a reader
    return isinstance(value, types) and not (isinstance(value, bool) and bool not in types)


def _out_of_range(
    argument: str,
    value: Any,
    what: str,
    at_least: float | None,
    at_most: float | None,
    above: float | None = None,
    below: float | None = None,
) -> InputError:
    bounds = {"≥": at_least, ">": above, "≤": at_most, "<": below}
    limits = " and ".join(f"{sign} {bound}" for sign, bound in bounds.items() if bound is not None)
    message = f"{argument}={_short(value)} must be {what}{' ' + limits if limits else ''}."
    return InputError(message, code="P02", argument=argument)


def _short(value: Any) -> str:
    """``repr``, cut: an array given for an option should not fill the screen."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:79]}…"

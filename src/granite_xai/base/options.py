"""One way to read an option: a name from a table or an object, a whole number, a real number."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeVar, cast

from granite_xai.base.errors import InputError, listing
from granite_xai.base.wording import shortened

T = TypeVar("T")
End = float | None
_HOLDS: dict[str, Callable[[float, float], bool]] = {"≥": operator.ge, ">": operator.gt, "≤": operator.le}


def choose(argument: str, value: Any, table: Mapping[str, T], *, accept: Any = None) -> T:
    """Look a name up in a table, or let an object through: one of the type of an entry, or of those to ``accept``."""
    if isinstance(value, str):
        if value in table:
            return table[value]
    else:
        types = {type(entry) for entry in table.values()} - {str}
        # bool is an int to isinstance, but True is no whole number to a reader
        alike = isinstance(value, tuple(types)) and not (isinstance(value, bool) and bool not in types)
        if alike if accept is None else isinstance(value, accept):
            return cast(T, value)
    raise unknown(argument, value, table)


def unknown(argument: str, value: Any, names: Iterable[Any], *, code: str = "P01", what: str = "Valid") -> InputError:
    """Phrase the error about a name that is not in a list, with the closest one."""
    names = list(names)
    near = closest(value, names)
    hint = f"Did you mean {near!r}?" if near is not None else None
    message = f"{argument}={_short(value)} is not known. {what}: {listing(names)}."
    return InputError(message, code=code, argument=argument, hint=hint)


def closest(value: Any, names: Iterable[Any]) -> str | None:
    """Find the name that was probably meant; case does not count."""
    if not isinstance(value, str):
        return None
    folded = {str(name).casefold(): str(name) for name in names}
    found = get_close_matches(value.casefold(), folded, n=1, cutoff=0.5)
    return folded[found[0]] if found else None


def whole_number(argument: str, value: Any, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Check a whole number and its range; True and 2.0 are not whole numbers."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    _require(argument, value, number, "a whole number", {"≥": at_least, "≤": at_most})
    return cast(int, number)


def real_number(argument: str, value: Any, *, at_least: End = None, at_most: End = None, above: End = None) -> float:
    """Check a finite real number and its range; True is not a number."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    finite = number if math.isfinite(number) else None
    _require(argument, value, finite, "a finite number", {"≥": at_least, ">": above, "≤": at_most})
    return number


def _require(argument: str, value: Any, number: float | None, what: str, bounds: Mapping[str, float | None]) -> None:
    given = {sign: bound for sign, bound in bounds.items() if bound is not None}
    if number is None or not all(_HOLDS[sign](number, bound) for sign, bound in given.items()):
        limits = " and ".join(f"{sign} {bound}" for sign, bound in given.items())
        message = f"{argument}={_short(value)} must be {what}{' ' + limits if limits else ''}."
        raise InputError(message, code="P02", argument=argument)


def _short(value: Any) -> str:
    """``repr``, cut: an array given for an option should not fill the screen."""
    return shortened(" ".join(repr(value).split()), 80)

"""Errors and warnings with a code, the record of what happened in a fit, and checks of options that raise them."""

from __future__ import annotations

import copyreg
import math
import operator
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeVar, cast

from granite_xai.base.wording import shortened

_SHOWN = 5


class GraniteError(Exception):
    """Something that this package refuses to do, with the reason and the remedy.

    Parameters
    ----------
    message : str
        What is wrong, without the code.
    code : str
        The number of the case, for example ``"D01"``.
    argument : str, optional
        The argument at fault.
    columns, rows : iterable
        Names of the columns, and labels of the first rows, at fault.
    hint : str, optional
        What to do; it is added to the text unless the message says it already.

    Examples
    --------
    >>> error = GraniteError("X has 0 rows.", code="D28", argument="X", hint="Pass some rows.")
    >>> str(error)
    'D28: X has 0 rows. Pass some rows.'
    >>> error.code, error.argument, error.columns, error.rows, error.hint
    ('D28', 'X', (), (), 'Pass some rows.')
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        argument: str | None = None,
        columns: Iterable[str] = (),
        rows: Iterable[Any] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.argument, self.hint = message, code, argument, hint
        self.columns, self.rows = tuple(columns), tuple(rows)

    def __str__(self) -> str:
        more = f" {self.hint}" if self.hint and self.hint not in self.message else ""
        return f"{self.code}: {self.message}{more}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without ``__init__``, because keyword arguments are not part of ``args``."""
        return copyreg.__newobj__, (type(self), self.message), vars(self)  # type: ignore[attr-defined]


class InputError(GraniteError, ValueError):
    """The data or an option is wrong."""


class CellError(InputError, TypeError):
    """A cell of a table is neither a number nor text (scikit-learn expects a TypeError here)."""


class ModelError(GraniteError, RuntimeError):
    """The model cannot be called, or answers with something that cannot be explained."""


class ResourceError(GraniteError, RuntimeError):
    """The work would exceed a limit on memory, model evaluations or devices."""


class FormatError(GraniteError, ValueError):
    """A saved file is not what it claims to be."""


class GraniteWarning(UserWarning):
    """A result that holds, with something the reader should know."""


class DataWarning(GraniteWarning):
    """Something about the table."""


class ModelWarning(GraniteWarning):
    """Something about the model."""


class BinWarning(GraniteWarning):
    """Something about the bins of conditional masking."""


def column_text(name: str, position: int) -> str:
    """Name a column by its name and its index."""
    return f"column {name!r} (index {position})"


def rows_text(labels: Sequence[Any], total: int | None = None) -> str:
    """Name the first five rows, and say by ``…`` that there are more."""
    total = len(labels) if total is None else total
    listed = ", ".join(repr(label) for label in labels[:_SHOWN])
    return f"row{'' if total == 1 else 's'} {listed}{', …' if total > _SHOWN else ''}"


def count_text(count: int, what: str, labels: Sequence[Any]) -> str:
    """Say how many there are and where."""
    return f"{count} {what} ({rows_text(labels, count)})"


def listing(names: Iterable[Any], limit: int = 20) -> str:
    """List names in quotes, at most ``limit`` of them."""
    names = list(names)
    text = ", ".join(repr(name) for name in names[:limit])
    return text if len(names) <= limit else f"{text}, … ({len(names)} in all)"


for _public in [
    kind for base in (GraniteError, GraniteWarning) for kind in (base, *base.__subclasses__())
]:
    _public.__module__ = "granite_xai"  # where users find them, and where pickles look


_PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the caller's own line, not at a line of this package."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - the argument `skip_file_prefixes` needs Python 3.12
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Diagnostics:
    """A recorder that travels through a run; `as_dict` is what users read in ``diagnostics_``."""

    def __init__(self) -> None:
        self._warnings: dict[str, None] = {}
        self._notes: dict[str, Any] = {}
        self._seconds: dict[str, float] = {}

    def warn(self, message: str, category: type[Warning]) -> None:
        """Warn the caller and remember the text; the same text is issued once a run."""
        if message in self._warnings:
            return
        # Remembered first: where warnings are errors the next line does not return.
        self._warnings[message] = None
        warn(message, category)

    def remember(self, message: str) -> None:
        """Remember a warning that was issued elsewhere."""
        self._warnings[message] = None

    def count(self, key: str) -> None:
        """Add one to a finding that is a number."""
        self._notes[key] = self._notes.get(key, 0) + 1

    def note(self, key: str, value: Any) -> None:
        """Keep a finding under its name; a later one replaces it."""
        self._notes[key] = value

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the seconds of the enclosed work to a stage, also when the work fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begin

    @property
    def warnings(self) -> tuple[str, ...]:
        """Texts of the warnings so far, in order."""
        return tuple(self._warnings)

    def as_dict(self) -> dict[str, Any]:
        """Everything noticed so far, as a new dict of plain values."""
        return {**self._notes, "seconds": dict(self._seconds), "warnings": list(self._warnings)}


T = TypeVar("T")
_BEGINNING = 3  # letters that can be the beginning of a name
_ALIKE = 0.6  # share of letters that a misspelt name has in common with the one that was meant
End = float | None
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "≥": operator.ge,
    ">": operator.gt,
    "≤": operator.le,
}


def choose(argument: str, value: Any, table: Mapping[str, T], *, accept: Any = None) -> T:
    """Look a name up in a table, or let an object through: one of the type of an entry, or of those to ``accept``."""
    if isinstance(value, str):
        if value in table:
            return table[value]
    else:
        types = {type(entry) for entry in table.values()} - {str}
        # bool is an int to isinstance, but True is no whole number to a reader
        alike = isinstance(value, tuple(types)) and not (
            isinstance(value, bool) and bool not in types
        )
        if alike if accept is None else isinstance(value, accept):
            return cast(T, value)
    raise unknown(argument, value, table)


def unknown(
    argument: str, value: Any, names: Iterable[Any], *, code: str = "P01", what: str = "Valid"
) -> InputError:
    """Phrase the error about a name that is not in a list, with the closest one."""
    names = list(names)
    near = closest(value, names)
    hint = f"Did you mean {near!r}?" if near is not None else None
    message = f"{argument}={_short(value)} is not known. {what}: {listing(names)}."
    return InputError(message, code=code, argument=argument, hint=hint)


def closest(value: Any, names: Iterable[Any]) -> str | None:
    """Find the name that was probably meant: the beginning of one, or most of its letters; case does not count."""
    if not isinstance(value, str):
        return None
    folded = {str(name).casefold(): str(name) for name in names}
    given = value.casefold()
    longer = [name for name in folded if len(given) >= _BEGINNING and name.startswith(given)]
    near = longer or get_close_matches(given, folded, n=1, cutoff=_ALIKE)
    return folded[near[0]] if near else None


def whole_number(
    argument: str, value: Any, *, at_least: int | None = None, at_most: int | None = None
) -> int:
    """Check a whole number and its range; True and 2.0 are not whole numbers."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    _require(argument, value, number, "a whole number", {"≥": at_least, "≤": at_most})
    return cast(int, number)


def real_number(
    argument: str, value: Any, *, at_least: End = None, at_most: End = None, above: End = None
) -> float:
    """Check a finite real number and its range; True is not a number."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    finite = number if math.isfinite(number) else None
    _require(argument, value, finite, "a finite number", {"≥": at_least, ">": above, "≤": at_most})
    return number


def _require(
    argument: str, value: Any, number: float | None, what: str, bounds: Mapping[str, float | None]
) -> None:
    given = {sign: bound for sign, bound in bounds.items() if bound is not None}
    if number is None or not all(_HOLDS[sign](number, bound) for sign, bound in given.items()):
        limits = " and ".join(f"{sign} {bound}" for sign, bound in given.items())
        message = f"{argument}={_short(value)} must be {what}{' ' + limits if limits else ''}."
        raise InputError(message, code="P02", argument=argument)


def _short(value: Any) -> str:
    """``repr``, cut: an array given for an option should not fill the screen."""
    return shortened(" ".join(repr(value).split()), 80)

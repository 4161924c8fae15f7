"""Every error and warning of the package, and their words: what is wrong, where, what to do; also as attributes."""

from __future__ import annotations

import copyreg
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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


for _public in [kind for base in (GraniteError, GraniteWarning) for kind in (base, *base.__subclasses__())]:
    _public.__module__ = "granite_xai"  # where users find them, and where pickles look


_PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the caller's own line, not at a line of this package."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - the argument `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
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

"""Errors and warnings of the package, each with the code of its case, and the record of what a run notices."""

from __future__ import annotations

import copyreg
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_PACKAGE = __name__.partition(".")[0]


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
        self.message = message
        self.code = code
        self.argument = argument
        self.columns = tuple(columns)
        self.rows = tuple(rows)
        self.hint = hint

    def __str__(self) -> str:
        if self.hint is None or self.hint in self.message:
            return f"{self.code}: {self.message}"
        return f"{self.code}: {self.message} {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without ``__init__``, because keyword arguments are not part of ``args``."""
        create = copyreg.__newobj__  # type: ignore[attr-defined]
        return create, (type(self), self.message), vars(self)


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


# Users find these classes in the package itself, and so do the pickles that hold one.
_PUBLIC = (
    GraniteError,
    InputError,
    ModelError,
    ResourceError,
    FormatError,
    GraniteWarning,
    DataWarning,
    ModelWarning,
    BinWarning,
)
for _public in _PUBLIC:
    _public.__module__ = "granite_xai"


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the caller's line, not at a line of this package.

    Parameters
    ----------
    message : str
        Text of the warning, with its code.
    category : type of Warning
        One of the classes of `granite_xai.base.errors`.
    """
    # The argument `skip_file_prefixes` of `warnings.warn` does this, from Python 3.12 on.
    frame = sys._getframe()
    level = 1
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE
    ):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


class Diagnostics:
    """A recorder that travels through a run; `as_dict` is what users read in ``diagnostics_``."""

    def __init__(self) -> None:
        self._warnings: dict[str, None] = {}  # an ordered set of texts
        self._findings: dict[str, Any] = {}
        self._seconds: dict[str, float] = {}

    def warn(self, message: str, category: type[Warning]) -> None:
        """Warn the caller and remember the text; the same text is issued once a run."""
        if message in self._warnings:
            return
        # Remembered first: where warnings are errors the next line does not return.
        self.remember(message)
        warn(message, category)

    def remember(self, message: str) -> None:
        """Remember a warning that was issued elsewhere."""
        self._warnings[message] = None

    def note(self, key: str, value: Any) -> None:
        """Keep a finding under its name; a later one replaces it."""
        self._findings[key] = value

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
        return {
            **self._findings,
            "seconds": dict(self._seconds),
            "warnings": list(self._warnings),
        }

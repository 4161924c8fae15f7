"""Errors and warnings of the package, each with the code of its case."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable
from typing import Any


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

"""Errors about files that a command reads, whatever the libraries behind them raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import granite_xai as gx

Refuse = Callable[[str, str | None], gx.GraniteError]
"""Phrases an error from a message and a hint."""


def bad_table(message: str, hint: str | None = None) -> gx.InputError:
    """A table that cannot be read (S12)."""
    return gx.InputError(message, code="S12", argument="data", hint=hint)


def bad_model(message: str, hint: str | None = None) -> gx.ModelError:
    """A model that cannot be loaded (S11)."""
    return gx.ModelError(message, code="S11", argument="model", hint=hint)


@contextmanager
def any_error(
    words: str,
    refuse: Refuse = bad_model,
    *,
    hint: str | None = None,
    unless: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Refuse a file with these words, whatever error the enclosed work ends in.

    Libraries, pickles and modules of the user may raise anything.

    Parameters
    ----------
    words : str
        What is wrong, before the error in brackets.
    refuse : callable
        `bad_table` or `bad_model`.
    hint : str, optional
        What to do.
    unless : tuple of types
        Errors that say it already.
    """
    try:
        yield
    except unless:
        raise
    except Exception as error:
        raise refuse(f"{words} ({type(error).__name__}: {error}).", hint) from error


@contextmanager
def needs(package: str, path: str, refuse: Refuse = bad_model) -> Iterator[None]:
    """Name the package that a file needs, where the enclosed work cannot import it."""
    try:
        yield
    except ImportError as error:
        hint = f"pip install {package} installs it."
        raise refuse(f"{path} needs the package {package}.", hint) from error

"""What the command line prints: results on stdout, remarks and errors on stderr."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import granite_xai as gx
from granite_xai.cli.flags import with_flags


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def say_json(facts: Any) -> None:
    """Print a result as JSON."""
    say(json.dumps(facts, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    """What JSON does not know: numbers of NumPy, and anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)


def remark(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(escaped(text) + "\n")


def escaped(text: str) -> str:
    """Text in which nothing acts on a terminal (S04); line ends stay."""
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character == "\n" or character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


@contextmanager
def remarks_instead_of_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Turn our warnings into one line each on stderr, without a line of code nobody here wrote."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [str(w.message) for w in caught if issubclass(w.category, gx.GraniteWarning)]
    for text in dict.fromkeys(ours):  # each once, in order
        remark(f"granite: warning: {with_flags(text, options)}")


def tell(error: gx.GraniteError, options: argparse.Namespace) -> None:
    """Say what is wrong: a sentence on stderr, or facts on stdout; remedies are flags."""
    message = with_flags(str(error), options)
    if not options.json:
        remark(f"granite: {message}")
        return
    facts = {
        "message": message,
        "code": error.code,
        "argument": error.argument,
        "columns": error.columns,
        "rows": error.rows,
        "hint": None if error.hint is None else with_flags(error.hint, options),
    }
    say_json({"error": facts})

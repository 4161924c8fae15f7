"""What the command says and where: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import granite_xai as gx

USAGE, DATA, MODEL, RESOURCES, INTERRUPT, CLOSED_PIPE = 2, 3, 4, 5, 130, 141


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def say_json(facts: Any) -> None:
    """Print a result as JSON."""
    say(json.dumps(facts, default=lambda v: v.item() if hasattr(v, "item") else str(v), allow_nan=False))


def remark(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(escaped(text) + "\n")


def escaped(text: str) -> str:
    r"""Text in which nothing acts on a terminal (S04); line ends stay.

    >>> print(escaped("a" + chr(27) + "[31mb"))
    a\x1b[31mb
    """
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextmanager
def remarks_instead_of_warnings() -> Iterator[None]:
    """Turn our warnings into one line each on stderr, without the line of code that nobody here wrote."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, gx.GraniteWarning)):
        remark(f"granite: warning: {text}")


def tell(error: gx.GraniteError, *, as_json: bool) -> None:
    """Say what is wrong: a sentence on stderr, or facts on stdout."""
    if not as_json:
        remark(f"granite: {error}")
        return
    parts = ("code", "argument", "columns", "rows", "hint")
    say_json({"error": {"message": str(error)} | {part: getattr(error, part) for part in parts}})


def exit_code(error: gx.GraniteError) -> int:
    """The exit code of an error: 2 usage, 3 data, 4 model, 5 resources."""
    if (error.code or "").startswith("P"):
        return USAGE
    return MODEL if isinstance(error, gx.ModelError) else RESOURCES if isinstance(error, gx.ResourceError) else DATA


def survive_narrow_encodings() -> None:
    """Print rules such as ``x ≤ 1`` also where the terminal's encoding has no such sign."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")

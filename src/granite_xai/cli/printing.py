"""What the command line prints.

Results go to stdout, remarks and errors to stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import granite_xai as gx
from granite_xai.base.text import aligned, plain
from granite_xai.cli.flags import with_flags


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def say_json(facts: Any) -> None:
    """Print a result as JSON."""
    say(json.dumps(facts, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    """What JSON does not know: numbers of NumPy, and anything else as text."""
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def remark(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(escaped(text) + "\n")


def escaped(text: str) -> str:
    """Text in which nothing acts on a terminal (S04); line ends stay."""
    return "\n".join(plain(line) for line in text.split("\n"))


@contextmanager
def remarks_instead_of_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Turn our warnings into one line each on stderr, without a line of code nobody here wrote."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, gx.GraniteWarning)
    ]
    for text in dict.fromkeys(texts):  # without repeats, in their order
        remark(f"granite: warning: {with_flags(text, options)}")


def print_error(error: gx.GraniteError, options: argparse.Namespace) -> None:
    """Say what is wrong, with remedies as flags.

    Parameters
    ----------
    error : GraniteError
    options : Namespace
        Of the command. With ``json``, facts go to stdout; otherwise a sentence goes to stderr.
    """
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


def say_frame(table: Any, as_json: bool) -> None:
    """Print a pandas frame, as text or as JSON."""
    if as_json:
        say(table.to_json(orient="records", force_ascii=False))
    else:
        say(escaped(table.to_string(index=False, na_rep="–")))


def say_table(headings: Sequence[str], lines: Iterable[Iterable[object]], as_json: bool) -> None:
    """Print lines of cells below their headings, as text or as JSON."""
    if as_json:
        say_json([dict(zip(headings, line, strict=True)) for line in lines])
        return
    cells = [[str(cell) for cell in line] for line in lines]
    say(aligned([list(headings), *cells], left=range(len(headings))))

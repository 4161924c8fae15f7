"""What the command line prints: results on stdout, remarks and errors on stderr."""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import granite_xai as gx
from granite_xai.base.text import plain

MEBIBYTE = 2**20

_RESOURCES = re.compile(r"(?:gx\.)?Resources\((\w+=[^()]*)\)")
_OPTION = re.compile(
    r"\b(max_samples|max_grid|max_evaluations|memory_limit|batch_size|missing"
    r"|response|output|features|split_features|n_jobs|influence|kinds|device|groups)"
    r"=([\"']\w*[\"']|\[.*?\]|\{.*?\}|[\w…]+(?:\.\d+)?|\.\.\.|)"
)
_FLAG_NAMES = {"memory_limit": "memory", "n_jobs": "jobs"}
_TARGET = "Pass the target as the second argument."
_TARGET_FLAG = "Name the column of the target: --target."


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def say_json(facts: Any) -> None:
    """Print a result as JSON."""
    say(json.dumps(facts, default=_plain_value, allow_nan=False))


def _plain_value(value: Any) -> Any:
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


def with_flags(text: str, options: argparse.Namespace) -> str:
    """Write a message of the library with flags: "pass max_samples=500" as "pass --max-samples 500".

    Options that the command does not have are marked "(in Python)".

    Parameters
    ----------
    text : str
        The message.
    options : Namespace
        Of the command.
    """

    def flag(match: re.Match[str]) -> str:
        option = match[1]
        name = _FLAG_NAMES.get(option, option)
        if not hasattr(options, name):
            return f"{match[0]} (in Python)"
        value = match[2].strip("\"'…").removesuffix("...")
        if option == "memory_limit" and value.isdigit():
            value = str(-(-int(value) // MEBIBYTE))  # rounded up
        return f"--{name.replace('_', '-')} {value}".rstrip()

    return _OPTION.sub(flag, _RESOURCES.sub(r"\1", text.replace(_TARGET, _TARGET_FLAG)))

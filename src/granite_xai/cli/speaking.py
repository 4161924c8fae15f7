"""What the command says and where: results on stdout, everything else on stderr."""

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
    """Text in which nothing acts on a terminal (S04); line ends stay."""
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_LIMITS = re.compile(r"(?:gx\.)?Resources\((\w+=[^()]*)\)")
_OPTION = re.compile(
    r"\b(max_samples|max_grid|max_seconds|max_evaluations|memory_limit|batch_size|missing|response|output|features|"
    r"split_features|n_jobs|influence|kinds|device|groups)=([\"']\w*[\"']|\[.*?\]|\{.*?\}|[\w…]+(?:\.\d+)?|\.\.\.|)"
)
_FLAGS = {"memory_limit": "memory", "n_jobs": "jobs"}


def with_flags(text: str, options: argparse.Namespace) -> str:
    """A message with the options of the library as flags of a command, or marked where it has none."""

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("\"'…").removesuffix("...")
        own = _FLAGS.get(name, name)
        if not hasattr(options, own):
            return f"{found[0]} (in Python)"
        if name == "memory_limit" and value.isdigit():
            value = str(-(-int(value) // 2**20))
        return f"--{own.replace('_', '-')} {value}".rstrip()

    return _OPTION.sub(flag, _LIMITS.sub(r"\1", text))


@contextmanager
def remarks_instead_of_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Turn our warnings into one line each on stderr, without the line of code that nobody here wrote."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, gx.GraniteWarning)):
        remark(f"granite: warning: {with_flags(text, options)}")


def tell(error: gx.GraniteError, options: argparse.Namespace) -> None:
    """Say what is wrong: a sentence on stderr, or facts on stdout; remedies are flags of the command."""
    text = with_flags(str(error), options)
    if not options.json:
        remark(f"granite: {text}")
        return
    parts = ("code", "argument", "columns", "rows", "hint")
    facts = {part: getattr(error, part) for part in parts}
    hint = None if error.hint is None else with_flags(error.hint, options)
    say_json({"error": {"message": text} | facts | {"hint": hint}})


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

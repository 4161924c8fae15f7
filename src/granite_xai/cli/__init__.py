"""The command ``granite``, its options and what it says: results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, resources
from typing import Any

import granite_xai as gx

__all__ = ["main", "parser"]

USAGE, DATA, MODEL, RESOURCES, INTERRUPT, CLOSED_PIPE = 2, 3, 4, 5, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted. `arguments` follow ``granite`` on the command line.

    >>> main(["questions"])  # doctest: +ELLIPSIS
    question...
    0
    """
    options = parser().parse_args(arguments)
    for stream in (
        sys.stdout,
        sys.stderr,
    ):  # rules such as "x ≤ 1" also where the terminal has no such sign
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    try:
        getattr(import_module("granite_xai.cli.commands"), options.command)(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPT
    except BrokenPipeError:
        # The reader has gone (`granite demo | head`): nobody is left to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except gx.GraniteError as error:
        tell(error, options)
        kinds = ((gx.ModelError, MODEL), (gx.ResourceError, RESOURCES), (gx.GraniteError, DATA))
        own = next(code for kind, code in kinds if isinstance(error, kind))
        return USAGE if (error.code or "").startswith("P") else own
    except MemoryError:
        tell(
            gx.ResourceError("there is not enough memory.", code="D33", hint="Use fewer rows."),
            options,
        )
        return RESOURCES
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line, as ``options.json`` has it; ``command`` names a function of `commands`."""
    known = json.loads(
        resources.files(__name__).joinpath("options.json").read_text(encoding="utf-8")
    )
    top = argparse.ArgumentParser(**known["program"])
    top.add_argument("--version", action="version", version=f"granite-xai {gx.__version__}")
    inside: dict[str, Any] = {"": top.add_subparsers(required=True, metavar="command")}
    for name, (text, *entries) in known["commands"].items():
        within, _, own = name.rpartition(" ")
        description = text[0].upper() + text[1:] + "."
        command = inside[within].add_parser(own, help=text, description=description)
        command.set_defaults(command="_".join(reversed(name.split())))
        _add(command, ["--json", *entries], known)
        if name == "frameworks":
            inside[name] = command.add_subparsers(metavar="compare")
    return top


def _add(group: Any, entries: Sequence[Any], known: dict[str, Any]) -> None:
    """Add options by name or with facts of their own, lists of them by name, and groups; one without title: one of."""
    for entry in entries:
        if isinstance(entry, dict):
            for title, inner in entry.items():
                part = (
                    group.add_argument_group(title)
                    if title
                    else group.add_mutually_exclusive_group(required=True)
                )
                _add(part, inner, known)
        elif isinstance(entry, str) and entry in known["lists"]:
            _add(group, known["lists"][entry], known)
        else:
            name, own = (entry, {}) if isinstance(entry, str) else entry
            facts = {**known["options"].get(name, {}), **own}
            group.add_argument(
                name, **facts | ({"type": _type(facts["type"])} if "type" in facts else {})
            )


def _type(text: str) -> Callable[[str], float | str]:
    """A number, or one of some words: ``int or auto``."""
    kind, *words = text.split(" or ")
    number: type[int | float] = {"int": int, "float": float}[kind]

    def read(text: str) -> float | str:
        return text if text in words else number(text)

    read.__name__ = f"number, {' or '.join(words)}"  # what argparse calls it
    return read if words else number


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def say_json(facts: Any) -> None:
    """Print a result as JSON."""
    say(
        json.dumps(
            facts, default=lambda v: v.item() if hasattr(v, "item") else str(v), allow_nan=False
        )
    )


def remark(text: str) -> None:
    """Say something that is no result."""
    sys.stderr.write(escaped(text) + "\n")


def escaped(text: str) -> str:
    """Text in which nothing acts on a terminal (S04); line ends stay."""
    return "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


_LIMITS = re.compile(r"(?:gx\.)?Resources\((\w+=[^()]*)\)")
_OPTION = re.compile(
    r"\b(max_samples|max_grid|max_seconds|max_evaluations|memory_limit|batch_size|missing|response|output|features|"
    r"split_features|n_jobs|influence|kinds|device|groups)=([\"']\w*[\"']|\[.*?\]|\{.*?\}|[\w…]+(?:\.\d+)?|\.\.\.|)"
)
_FLAGS = {"memory_limit": "memory", "n_jobs": "jobs"}
_WORDS = {"Pass the target as the second argument.": "Name the column of the target: --target."}


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

    for words, own_words in _WORDS.items():
        text = text.replace(words, own_words)
    return _OPTION.sub(flag, _LIMITS.sub(r"\1", text))


@contextmanager
def remarks_instead_of_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Turn our warnings into one line each on stderr, without the line of code that nobody here wrote."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(
        str(w.message) for w in caught if issubclass(w.category, gx.GraniteWarning)
    ):
        remark(f"granite: warning: {with_flags(text, options)}")


def tell(error: gx.GraniteError, options: argparse.Namespace) -> None:
    """Say what is wrong: a sentence on stderr, or facts on stdout; remedies are flags of the command."""
    text = with_flags(str(error), options)
    if not options.json:
        remark(f"granite: {text}")
        return
    facts = {part: getattr(error, part) for part in ("code", "argument", "columns", "rows")}
    hint = None if error.hint is None else with_flags(error.hint, options)
    say_json({"error": {"message": text} | facts | {"hint": hint}})

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
from importlib import import_module
from typing import Any

import granite_xai as gx

__all__ = ["main", "parser"]

USAGE, DATA, MODEL, RESOURCES, INTERRUPT, CLOSED_PIPE = 2, 3, 4, 5, 130, 141
_TABLE = "CSV (.csv, .tsv, .txt), Parquet or Feather file; - reads CSV from standard input"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted. `arguments` follow ``granite`` on the command line.

    >>> main(["questions"])  # doctest: +ELLIPSIS
    question...
    0
    """
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # rules such as "x ≤ 1" also where the terminal has no such sign
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
        tell(gx.ResourceError("there is not enough memory.", code="D33", hint="Use fewer rows."), options)
        return RESOURCES
    return 0


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; ``command`` of what it reads names a function of `commands`."""
    top = argparse.ArgumentParser(
        prog="granite",
        description="Regions of the data where explanations of a model agree.",
        epilog="Exit codes: 0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted.",
    )
    top.add_argument("--version", action="version", version=f"granite-xai {gx.__version__}")
    commands = top.add_subparsers(required=True, metavar="command")
    demo = _command(commands, "demo", "fit a model on known data, find its regions and print them")
    demo.add_argument("--data", choices=("diabetes", "bike"), default="diabetes", help="diabetes needs no network")
    _outputs(demo, "the report", " (default: report.html, unless there is one)")
    explain = _command(commands, "explain", "find the regions of a model and tell the story")
    _inputs(explain, train=True)
    _settings(explain)
    add = explain.add_argument
    add("--test", metavar="FILE", help="a table of other rows, for figures that the fit did not see")
    add("--title", help="headline of the report")
    _outputs(explain, "the report")
    add("--markdown", metavar="FILE", help="also write the report as Markdown, for a model card")
    add("--figures", metavar="DIR", help="also write its figures (PNG, SVG) and tables (CSV) to a new or empty folder")
    add("--save", metavar="FILE", help="also save the fitted regions as JSON, for apply and evaluate")
    add("--plan", action="store_true", help="say what it would cost (rows, bytes, seconds) and stop")
    evaluate = _command(commands, "evaluate", "measure saved regions on other rows")
    row = _command(commands, "row", "explain rows of a table one by one, each in its region")
    both = _command(commands, "compare", "put saved regions under two models, or under one model on two tables")
    for command in (evaluate, row, both):
        command.add_argument("saved", help="file that explain --save wrote")
        _inputs(command)
    which = row.add_argument_group("which rows, one of").add_mutually_exclusive_group(required=True).add_argument
    which("--row", type=int, nargs="+", metavar="N", help="positions in the table, from 0")
    which("--key", metavar="COLUMN=VALUE", help="rows with this value; the column need be no feature")
    other = both.add_argument_group("compared with, one of").add_mutually_exclusive_group(required=True).add_argument
    other("--other-model", metavar="FILE", help="another model, on the same table")
    other("--other-predictor", metavar="MODULE:NAME", help="the same, in a module")
    other("--other-data", metavar="FILE", help="another table, by the same model")
    both.add_argument("--max-samples", type=int, default=1000, help="rows of each table, at most; default: 1000")
    _outputs(both, "the comparison")
    _limits(evaluate.add_argument_group("what it may cost").add_argument, samples="all")
    apply = _command(commands, "apply", "print the region of each row of a table, as CSV")
    apply.add_argument("saved", help="file that explain --save or gx.save wrote")
    apply.add_argument("data", help=_TABLE)
    show = _command(commands, "show", "print what a saved file holds")
    show.add_argument("saved", help="file that explain --save or gx.save wrote")
    _outputs(show, "its report")
    _command(commands, "questions", "list the questions that have a name")
    _command(commands, "explanations", "list the explanations that have a name")
    text = "list published frameworks, or compare them on a model and a table"
    inner = _command(commands, "frameworks", text).add_subparsers(metavar="compare")
    compare = _command(inner, "compare", "fit every framework and measure its regions on other rows")
    compare.set_defaults(command="compare_frameworks")
    _inputs(compare, train=True)
    _settings(compare)
    compare.add_argument("--test", metavar="FILE", help="a table of other rows; default: every fourth row of the data")
    compare.add_argument("--frameworks", metavar="NAME", nargs="+", help="default: all")
    return top


def _command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    description = text[0].upper() + text[1:] + "."
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=description)
    command.add_argument("--json", action="store_true", help="print the result, or the error, as JSON")
    command.set_defaults(command=name)
    return command


def _inputs(command: argparse.ArgumentParser, *, train: bool = False) -> None:
    """The table and the model, and how they are read; ``train``: the model may be fitted on the spot."""
    command.add_argument("data", help=_TABLE)
    group = command.add_argument_group("the model, one of")
    one = group.add_mutually_exclusive_group(required=True).add_argument
    formats = ".onnx, xgboost .json or .ubj, lightgbm .txt, catboost .cbm, .skops; pickle, joblib with --allow-pickle"
    one("--model", metavar="FILE", help=formats)
    text = "a function of the table, or a model, in a module; imports the module"
    one("--predictor", metavar="MODULE:NAME", help=text)
    if train:
        one("--train-on", metavar="TARGET", help="fit gradient boosting to this column of the table")
    warning = "Loading one runs whatever code it holds: only for files you trust"
    group.add_argument("--allow-pickle", action="store_true", help=f"load .pkl, .pickle and .joblib files. {warning}")
    types = "types that a .skops file may hold besides the known ones"
    group.add_argument("--trust", metavar="TYPE", nargs="+", default=[], help=types)
    add = command.add_argument_group("how the table is read").add_argument
    add("--target", metavar="COLUMN", help="the target; it is no feature, and needed for questions on risk")
    add("--drop", metavar="COLUMN", nargs="+", default=[], help="columns that the model does not get")
    add("--categories", metavar="COLUMN", nargs="+", default=[], help="columns to read as categories")
    add("--weights", metavar="COLUMN", help="how much each row counts; it is no feature")


def _outputs(command: argparse.ArgumentParser, report: str, default: str = "") -> None:
    add = command.add_argument
    add("--report", metavar="FILE", help=f"also write {report} as one HTML file{default}")
    add("--force", action="store_true", help="replace existing files also when they are of another kind")


def _settings(command: argparse.ArgumentParser) -> None:
    add = command.add_argument_group("what is asked, and what it may cost").add_argument
    add("--question", default="ice-pdp", help="see `granite questions`; default: ice-pdp")
    add("--features", metavar="COLUMN", nargs="+", help="columns whose effects are compared; default: all")
    add("--split-features", metavar="COLUMN", nargs="+", help="columns that rules may use; default: all")
    add("--output", help="class, or number of the output, that is explained")
    add("--response", default="auto", help="auto, predict, probability or raw")
    add("--missing", default="auto", help="auto, allow or error")
    add("--max-depth", type=int, default=3, help="conditions on the way to a region; default: 3")
    add("--min-samples-leaf", type=int, default=20, help="rows of a region, at least; default: 20")
    text = "what a split must save, or auto (the smallest tree that keeps 90 %%); default: 0.05"
    add("--alpha", type=_number_or("auto", number=float), default=0.05, metavar="SHARE", help=text)
    _limits(add, samples="auto")
    add("--jobs", type=int, help="threads of the search")
    add("--seed", type=int, default=0, help="seed of everything that is drawn; default: 0")


def _limits(add: Callable[..., Any], samples: str) -> None:
    text = f"rows drawn, or auto (what is precise enough and fits the time) or all; default: {samples}"
    add("--max-samples", type=_number_or("auto", "all"), default=samples, metavar="ROWS", help=text)
    text = "values that stand for a column with more, or auto (only if the time is short) or exact; default: auto"
    add("--max-grid", type=_number_or("auto", "exact"), default="auto", metavar="VALUES", help=text)
    add("--max-seconds", type=float, default=60.0, metavar="SECONDS", help="time it may take, about; default: 60")
    add("--max-evaluations", type=int, metavar="ROWS", help="rows that may be sent to the model; default: any number")
    add("--batch-size", type=int, metavar="ROWS", help="rows of one call of the model")
    add("--memory", type=int, default=512, metavar="MIB", help="memory it may take; default: 512 MiB")


def _number_or(*words: str, number: type[int | float] = int) -> Callable[[str], float | str]:
    def read(text: str) -> float | str:
        return text if text in words else number(text)

    read.__name__ = f"number, {' or '.join(words)}"  # what argparse calls it
    return read


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
    facts = {part: getattr(error, part) for part in ("code", "argument", "columns", "rows")}
    hint = None if error.hint is None else with_flags(error.hint, options)
    say_json({"error": {"message": text} | facts | {"hint": hint}})

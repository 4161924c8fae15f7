"""The command ``granite``: results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import granite_xai as gx

__all__ = ["main", "parser"]

OK = 0
USAGE = 2
DATA = 3
MODEL = 4
RESOURCES = 5
INTERRUPTED = 130
CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (S14).

    0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``granite`` on the command line; None: that of the process.

    Examples
    --------
    >>> main(["apply", "no_such_file.json", "table.csv"])
    3
    """
    options = parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        # Rules such as "x ≤ 1" are printed also where the terminal has no such sign.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        # Commands load pandas, so only where there is work.
        from granite_xai.cli import commands

        try:
            getattr(commands, options.command)(options)
            sys.stdout.flush()
        except gx.GraniteError as error:
            commands.print_error(error, options)
            return _exit_code(error)
        except MemoryError:
            refusal = gx.ResourceError(
                "there is not enough memory.", code="D33", hint="Use fewer rows."
            )
            commands.print_error(refusal, options)
            return RESOURCES
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`granite demo | head`): nobody is left to tell, and Python must not
        # try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    return OK


def _exit_code(error: gx.GraniteError) -> int:
    if error.code.startswith("P"):  # options are numbered P01, P02, …
        return USAGE
    if isinstance(error, gx.ModelError):
        return MODEL
    if isinstance(error, gx.ResourceError):
        return RESOURCES
    return DATA


# Options: flags, and what argparse wants to know of each ---------------------------------------------

MEBIBYTE = 2**20


def _number_or(kind: Callable[[str], Any], **words: Any) -> Callable[[str], Any]:
    """The type of an option that is a number or one of some words, each with its value."""

    def read(text: str) -> Any:
        return words[text] if text in words else kind(text)

    read.__name__ = f"number, {' or '.join(words)}"  # what argparse calls it in errors
    return read


def _rows(text: str) -> int | None:
    return int(text) or None


def _mebibytes(text: str) -> int:
    return int(text) * MEBIBYTE


def _name_or_number(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


Options = dict[str, dict[str, Any]]

TABLE: Options = {
    "data": {
        "help": "CSV (.csv, .tsv, .txt), Parquet or Feather file; - reads CSV from standard input"
    }
}
SAVED: Options = {"saved": {"help": "file that explain --save or gx.save wrote"}}
DATASET: Options = {
    "--data": {
        "dest": "dataset",
        "choices": ["diabetes", "bike"],
        "default": "diabetes",
        "help": "diabetes needs no network",
    }
}
ONE_MODEL: Options = {
    "--model": {
        "metavar": "FILE",
        "help": "xgboost .json or .ubj, lightgbm .txt, catboost .cbm, .skops; "
        "pickle, joblib with --allow-pickle",
    },
    "--predictor": {
        "metavar": "MODULE:NAME",
        "help": "a function of the table, or a model, in a module; imports the module",
    },
    "--train-on": {
        "metavar": "TARGET",
        "help": "fit gradient boosting to this column of the table",
    },
}
TRUST: Options = {
    "--allow-pickle": {
        "action": "store_true",
        "help": "load .pkl, .pickle and .joblib files. Loading one runs whatever code it holds: "
        "only for files you trust",
    },
    "--trust": {
        "metavar": "TYPE",
        "nargs": "+",
        "default": [],
        "help": "types that a .skops file may hold besides the known ones",
    },
}
COLUMNS: Options = {
    "--target": {
        "metavar": "COLUMN",
        "help": "the target; it is no feature, and needed for questions on risk",
    },
    "--drop": {
        "metavar": "COLUMN",
        "nargs": "+",
        "default": [],
        "help": "columns that the model does not get",
    },
    "--categories": {
        "metavar": "COLUMN",
        "nargs": "+",
        "default": [],
        "help": "columns to read as categories",
    },
    "--weights": {"metavar": "COLUMN", "help": "how much each row counts; it is no feature"},
}
# Those with the name, or the `dest`, of an option of `Granite`.
SETTINGS: Options = {
    "--question": {"default": "ice-pdp", "help": "a name of gx.questions(); default: ice-pdp"},
    "--features": {
        "metavar": "COLUMN",
        "nargs": "+",
        "help": "features whose effects are compared; default: all",
    },
    "--split-features": {
        "metavar": "COLUMN",
        "nargs": "+",
        "help": "features that rules may use; default: all",
    },
    "--output": {
        "type": _name_or_number,
        "help": "class, or number of the output, that is explained; "
        "all: every one, in the same regions",
    },
    "--response": {"default": "auto", "help": "auto, predict, probability or raw"},
    "--scale": {
        "default": "response",
        "help": "on which effects are compared: response, log-odds, log or log-log",
    },
    "--missing": {"default": "auto", "help": "auto, allow or error"},
    "--max-depth": {
        "type": int,
        "default": 3,
        "help": "conditions on the way to a region; default: 3",
    },
    "--min-samples-leaf": {
        "type": int,
        "default": 20,
        "help": "rows of a region, at least; default: 20",
    },
    "--alpha": {
        "type": _number_or(float, auto="auto"),
        "default": 0.05,
        "metavar": "SHARE",
        "help": "what a split must save, or auto (the smallest tree that keeps 90%%); default: 0.05",
    },
    "--max-samples": {
        "type": _number_or(_rows, auto="auto", all=None),
        "default": "auto",
        "metavar": "ROWS",
        "help": "rows that search, or auto (as many as a million model rows pay for) or all; "
        "default: auto",
    },
    "--jobs": {"dest": "n_jobs", "type": int, "help": "threads of the search; default: 1"},
    "--seed": {
        "dest": "random_state",
        "type": int,
        "default": 0,
        "help": "seed of everything that is drawn; default: 0",
    },
}
# The same for `Resources`.
LIMITS: Options = {
    "--max-grid": {
        "type": _number_or(int, auto="auto", exact=None),
        "default": "auto",
        "metavar": "VALUES",
        "help": "values of a feature at which the model is asked, chosen by what it does for a few "
        "rows, or auto (16) or exact (all); default: auto",
    },
    "--max-evaluations": {
        "type": int,
        "metavar": "ROWS",
        "help": "rows that may be sent to the model; "
        "default: a million, unless other options ask for more",
    },
    "--batch-size": {"type": int, "metavar": "ROWS", "help": "rows of one call of the model"},
    "--memory": {
        "dest": "memory_limit",
        "type": _mebibytes,
        "default": 2048 * MEBIBYTE,
        "metavar": "MIB",
        "help": "memory it may take; default: 2 GiB",
    },
}
EXPLAINED: Options = {
    "--test": {
        "metavar": "FILE",
        "help": "a table of other rows, for figures that the fit did not see",
    },
    "--title": {"help": "headline of the report"},
}
SAVING: Options = {
    "--markdown": {
        "metavar": "FILE",
        "help": "also write the report as Markdown, for a model card",
    },
    "--save": {
        "metavar": "FILE",
        "help": "also save the fitted regions as JSON, for apply and show",
    },
    "--plan": {
        "action": "store_true",
        "help": "say which rows and values it would use and what that costs, and stop",
    },
}


def _report(text: str) -> Options:
    """The options of commands that write a report; the text says which."""
    force = "replace existing files also when they are of another kind"
    return {
        "--report": {"metavar": "FILE", "help": text},
        "--force": {"action": "store_true", "help": force},
    }


def _add(command: Any, *parts: Options) -> None:
    for part in parts:
        for flag, settings in part.items():
            command.add_argument(flag, **settings)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line.

    Returns
    -------
    ArgumentParser
        The options that it reads have ``command``, the name of a function of `cli.commands`.
    """
    program = argparse.ArgumentParser(
        prog="granite",
        description="Regions of the data where explanations of a model agree.",
        epilog="Exit codes: 0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted.",
    )
    program.add_argument("--version", action="version", version=f"granite-xai {gx.__version__}")
    commands = program.add_subparsers(required=True, dest="command", metavar="command")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        description = text[0].upper() + text[1:] + "."
        added: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=description
        )
        as_json = "print the result, or the error, as JSON"
        added.add_argument("--json", action="store_true", help=as_json)
        return added

    demo = command("demo", "fit a model on known data, find its regions and print them")
    written = "also write the report as one HTML file (default: report.html, unless there is one)"
    _add(demo, DATASET, _report(written))
    explain = command("explain", "find the regions of a model and tell the story")
    _add(explain, TABLE)
    model = explain.add_argument_group("the model, one of")
    _add(model.add_mutually_exclusive_group(required=True), ONE_MODEL)
    _add(model, TRUST)
    _add(explain.add_argument_group("how the table is read"), COLUMNS)
    _add(explain.add_argument_group("what is asked, and what it may cost"), SETTINGS, LIMITS)
    _add(explain, EXPLAINED, _report("also write the report as one HTML file"), SAVING)
    _add(command("apply", "print the region of each row of a table, as CSV"), SAVED, TABLE)
    show = command("show", "print what a saved file holds")
    _add(show, SAVED, _report("also write its report as one HTML file"))
    return program

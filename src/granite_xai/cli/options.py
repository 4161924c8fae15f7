"""The options of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import granite_xai as gx


def _number_or(kind: type[int] | type[float], *words: str) -> Callable[[str], float | str]:
    """The type of an option that is a number or one of these words."""

    def read(text: str) -> float | str:
        return text if text in words else kind(text)

    read.__name__ = f"number, {' or '.join(words)}"  # what argparse calls it in errors
    return read


OPTIONS: dict[str, dict[str, Any]] = {
    "data": {
        "help": "CSV (.csv, .tsv, .txt), Parquet or Feather file; - reads CSV from standard input",
    },
    "saved": {"help": "file that explain --save wrote"},
    "--json": {"action": "store_true", "help": "print the result, or the error, as JSON"},
    "--model": {
        "metavar": "FILE",
        "help": ".onnx, xgboost .json or .ubj, lightgbm .txt, catboost .cbm, .skops; "
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
    "--question": {
        "default": "ice-pdp",
        "help": "see `granite questions`; default: ice-pdp",
    },
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
        "help": "class, or number of the output, that is explained; "
        "all: every one, in the same regions",
    },
    "--response": {"default": "auto", "help": "auto, predict, probability or raw"},
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
        "type": _number_or(float, "auto"),
        "default": 0.05,
        "metavar": "SHARE",
        "help": "what a split must save, or auto (the smallest tree that keeps 90%%); "
        "default: 0.05",
    },
    "--max-samples": {
        "type": _number_or(int, "auto", "all"),
        "default": "auto",
        "metavar": "ROWS",
        "help": "rows that search, or auto (as many as a million model rows pay for) or all; "
        "default: %(default)s",
    },
    "--max-grid": {
        "type": _number_or(int, "auto", "exact"),
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
        "type": int,
        "default": 512,
        "metavar": "MIB",
        "help": "memory it may take; default: 512 MiB",
    },
    "--jobs": {"type": int, "help": "threads of the search; default: 1"},
    "--seed": {
        "type": int,
        "default": 0,
        "help": "seed of everything that is drawn; default: 0",
    },
    "--report": {"metavar": "FILE", "help": "also write the report as one HTML file"},
    "--force": {
        "action": "store_true",
        "help": "replace existing files also when they are of another kind",
    },
    "--test": {
        "metavar": "FILE",
        "help": "a table of other rows, for figures that the fit did not see",
    },
}
"""Options that several commands have, as ``add_argument`` takes them."""

LIMITS = ("--max-grid", "--max-evaluations", "--batch-size", "--memory")
SETTINGS = (
    "--question",
    "--features",
    "--split-features",
    "--output",
    "--response",
    "--missing",
    "--max-depth",
    "--min-samples-leaf",
    "--alpha",
    "--max-samples",
    *LIMITS,
    "--jobs",
    "--seed",
)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line.

    Returns
    -------
    ArgumentParser
        The options that it reads have ``command``, a key of `cli.commands.COMMANDS`.
    """
    program = argparse.ArgumentParser(
        prog="granite",
        description="Regions of the data where explanations of a model agree.",
        epilog="Exit codes: 0 ok, 2 usage, 3 data, 4 model, 5 resources, 130 interrupted.",
    )
    program.add_argument("--version", action="version", version=f"granite-xai {gx.__version__}")
    commands = program.add_subparsers(required=True, metavar="command")
    _add_demo(commands)
    _add_explain(commands)
    _add_evaluate(commands)
    _add_row(commands)
    _add_compare(commands)
    _add_apply(commands)
    _add_show(commands)
    _command(commands, "questions", "list the questions that have a name")
    _command(commands, "explanations", "list the explanations that have a name")
    _add_frameworks(commands)
    return program


def _add_demo(commands: Any) -> None:
    demo = _command(commands, "demo", "fit a model on known data, find its regions and print them")
    demo.add_argument(
        "--data",
        choices=["diabetes", "bike"],
        default="diabetes",
        help="diabetes needs no network",
    )
    _add(
        demo,
        "--report",
        help="also write the report as one HTML file (default: report.html, unless there is one)",
    )
    _add(demo, "--force")


def _add_explain(commands: Any) -> None:
    explain = _command(commands, "explain", "find the regions of a model and tell the story")
    _add_data_and_model(explain, can_train=True)
    _add_settings(explain)
    _add(explain, "--test")
    explain.add_argument("--title", help="headline of the report")
    _add(explain, "--report")
    _add(explain, "--force")
    explain.add_argument(
        "--markdown",
        metavar="FILE",
        help="also write the report as Markdown, for a model card",
    )
    explain.add_argument(
        "--figures",
        metavar="DIR",
        help="also write its figures (PNG, SVG) and tables (CSV) to a new or empty folder",
    )
    explain.add_argument(
        "--save",
        metavar="FILE",
        help="also save the fitted regions as JSON, for apply and evaluate",
    )
    explain.add_argument(
        "--plan",
        action="store_true",
        help="say which rows and values it would use and what that costs, and stop",
    )


def _add_evaluate(commands: Any) -> None:
    evaluate = _command(commands, "evaluate", "measure saved regions on other rows")
    _add(evaluate, "saved")
    _add_data_and_model(evaluate)
    limits = evaluate.add_argument_group("what it may cost")
    _add(limits, "--max-samples", default="all")
    _add_all(limits, LIMITS)


def _add_row(commands: Any) -> None:
    row = _command(commands, "row", "explain rows of a table one by one, each in its region")
    _add(row, "saved")
    _add_data_and_model(row)
    rows = _one_of(row, "which rows, one of")
    rows.add_argument(
        "--row", type=int, nargs="+", metavar="N", help="positions in the table, from 0"
    )
    rows.add_argument(
        "--key",
        metavar="COLUMN=VALUE",
        help="rows with this value; the column need be no feature",
    )


def _add_compare(commands: Any) -> None:
    compare = _command(
        commands, "compare", "put saved regions under two models, or under one model on two tables"
    )
    _add(compare, "saved")
    _add_data_and_model(compare)
    others = _one_of(compare, "compared with, one of")
    others.add_argument("--other-model", metavar="FILE", help="another model, on the same table")
    others.add_argument("--other-predictor", metavar="MODULE:NAME", help="the same, in a module")
    others.add_argument("--other-data", metavar="FILE", help="another table, by the same model")
    compare.add_argument(
        "--max-samples", type=int, default=1000, help="rows of each table, at most; default: 1000"
    )
    _add(compare, "--report", help="also write the comparison as one HTML file")
    _add(compare, "--force")


def _add_apply(commands: Any) -> None:
    apply = _command(commands, "apply", "print the region of each row of a table, as CSV")
    _add(apply, "saved", help="file that explain --save or gx.save wrote")
    _add(apply, "data")


def _add_show(commands: Any) -> None:
    show = _command(commands, "show", "print what a saved file holds")
    _add(show, "saved", help="file that explain --save or gx.save wrote")
    _add(show, "--report", help="also write its report as one HTML file")
    _add(show, "--force")


def _add_frameworks(commands: Any) -> None:
    frameworks = _command(
        commands, "frameworks", "list published frameworks, or compare them on a model and a table"
    )
    inner = frameworks.add_subparsers(metavar="compare")
    compare = _command(
        inner,
        "compare",
        "fit every framework and measure its regions on other rows",
        key="frameworks compare",
    )
    _add_data_and_model(compare, can_train=True)
    _add_settings(compare)
    _add(compare, "--test", help="a table of other rows; default: every fourth row of the data")
    compare.add_argument("--frameworks", metavar="NAME", nargs="+", help="default: all")


def _command(
    commands: Any, name: str, text: str, key: str | None = None
) -> argparse.ArgumentParser:
    """Add a command, with its key in `cli.commands.COMMANDS` if that is not its name."""
    description = text[0].upper() + text[1:] + "."
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=description)
    command.set_defaults(command=key or name)
    _add(command, "--json")
    return command


def _add_data_and_model(command: Any, can_train: bool = False) -> None:
    _add(command, "data")
    group = command.add_argument_group("the model, one of")
    model = group.add_mutually_exclusive_group(required=True)
    _add_all(model, ["--model", "--predictor"])
    if can_train:
        _add(model, "--train-on")
    _add_all(group, ["--allow-pickle", "--trust"])
    reading = command.add_argument_group("how the table is read")
    _add_all(reading, ["--target", "--drop", "--categories", "--weights"])


def _add_settings(command: Any) -> None:
    group = command.add_argument_group("what is asked, and what it may cost")
    _add_all(group, SETTINGS)


def _one_of(command: Any, title: str) -> Any:
    return command.add_argument_group(title).add_mutually_exclusive_group(required=True)


def _add_all(group: Any, names: Sequence[str]) -> None:
    for name in names:
        _add(group, name)


def _add(group: Any, name: str, **changes: Any) -> None:
    """Add an option of the table, with what is different for this command."""
    group.add_argument(name, **{**OPTIONS[name], **changes})

"""The options of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import granite_xai as gx


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
    _add_demo(commands)
    _add_explain(commands)
    _add_apply(commands)
    _add_show(commands)
    return program


def _command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    description = text[0].upper() + text[1:] + "."
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=description)
    command.add_argument(
        "--json", action="store_true", help="print the result, or the error, as JSON"
    )
    return command


def _add_demo(commands: Any) -> None:
    demo = _command(commands, "demo", "fit a model on known data, find its regions and print them")
    demo.add_argument(
        "--data",
        dest="dataset",
        choices=["diabetes", "bike"],
        default="diabetes",
        help="diabetes needs no network",
    )
    _add_report(
        demo, "also write the report as one HTML file (default: report.html, unless there is one)"
    )


def _add_explain(commands: Any) -> None:
    explain = _command(commands, "explain", "find the regions of a model and tell the story")
    _add_table(explain)
    _add_model(explain.add_argument_group("the model, one of"))
    _add_columns(explain.add_argument_group("how the table is read"))
    _add_settings(explain.add_argument_group("what is asked, and what it may cost"))
    explain.add_argument(
        "--test",
        metavar="FILE",
        help="a table of other rows, for figures that the fit did not see",
    )
    explain.add_argument("--title", help="headline of the report")
    _add_report(explain, "also write the report as one HTML file")
    explain.add_argument(
        "--markdown",
        metavar="FILE",
        help="also write the report as Markdown, for a model card",
    )
    explain.add_argument(
        "--save", metavar="FILE", help="also save the fitted regions as JSON, for apply and show"
    )
    explain.add_argument(
        "--plan",
        action="store_true",
        help="say which rows and values it would use and what that costs, and stop",
    )


def _add_apply(commands: Any) -> None:
    apply = _command(commands, "apply", "print the region of each row of a table, as CSV")
    _add_saved(apply)
    _add_table(apply)


def _add_show(commands: Any) -> None:
    show = _command(commands, "show", "print what a saved file holds")
    _add_saved(show)
    _add_report(show, "also write its report as one HTML file")


def _add_table(command: Any) -> None:
    command.add_argument(
        "data",
        help="CSV (.csv, .tsv, .txt), Parquet or Feather file; - reads CSV from standard input",
    )


def _add_saved(command: Any) -> None:
    command.add_argument("saved", help="file that explain --save or gx.save wrote")


def _add_report(command: Any, text: str) -> None:
    command.add_argument("--report", metavar="FILE", help=text)
    command.add_argument(
        "--force",
        action="store_true",
        help="replace existing files also when they are of another kind",
    )


def _add_model(group: Any) -> None:
    model = group.add_mutually_exclusive_group(required=True)
    model.add_argument(
        "--model",
        metavar="FILE",
        help="xgboost .json or .ubj, lightgbm .txt, catboost .cbm, .skops; "
        "pickle, joblib with --allow-pickle",
    )
    model.add_argument(
        "--predictor",
        metavar="MODULE:NAME",
        help="a function of the table, or a model, in a module; imports the module",
    )
    model.add_argument(
        "--train-on", metavar="TARGET", help="fit gradient boosting to this column of the table"
    )
    group.add_argument(
        "--allow-pickle",
        action="store_true",
        help="load .pkl, .pickle and .joblib files. Loading one runs whatever code it holds: "
        "only for files you trust",
    )
    group.add_argument(
        "--trust",
        metavar="TYPE",
        nargs="+",
        default=[],
        help="types that a .skops file may hold besides the known ones",
    )


def _add_columns(group: Any) -> None:
    group.add_argument(
        "--target",
        metavar="COLUMN",
        help="the target; it is no feature, and needed for questions on risk",
    )
    for flag, text in (
        ("--drop", "columns that the model does not get"),
        ("--categories", "columns to read as categories"),
    ):
        group.add_argument(flag, metavar="COLUMN", nargs="+", default=[], help=text)
    group.add_argument(
        "--weights", metavar="COLUMN", help="how much each row counts; it is no feature"
    )


def _add_settings(group: Any) -> None:
    group.add_argument(
        "--question", default="ice-pdp", help="a name of gx.questions(); default: ice-pdp"
    )
    for flag, text in (
        ("--features", "features whose effects are compared; default: all"),
        ("--split-features", "features that rules may use; default: all"),
    ):
        group.add_argument(flag, metavar="COLUMN", nargs="+", help=text)
    group.add_argument(
        "--output",
        help="class, or number of the output, that is explained; "
        "all: every one, in the same regions",
    )
    group.add_argument("--response", default="auto", help="auto, predict, probability or raw")
    group.add_argument("--missing", default="auto", help="auto, allow or error")
    group.add_argument(
        "--max-depth", type=int, default=3, help="conditions on the way to a region; default: 3"
    )
    group.add_argument(
        "--min-samples-leaf", type=int, default=20, help="rows of a region, at least; default: 20"
    )
    group.add_argument(
        "--alpha",
        type=_number_or(float, "auto"),
        default=0.05,
        metavar="SHARE",
        help="what a split must save, or auto (the smallest tree that keeps 90%%); default: 0.05",
    )
    group.add_argument(
        "--max-samples",
        type=_number_or(int, "auto", "all"),
        default="auto",
        metavar="ROWS",
        help="rows that search, or auto (as many as a million model rows pay for) or all; "
        "default: auto",
    )
    group.add_argument(
        "--max-grid",
        type=_number_or(int, "auto", "exact"),
        default="auto",
        metavar="VALUES",
        help="values of a feature at which the model is asked, chosen by what it does for a few "
        "rows, or auto (16) or exact (all); default: auto",
    )
    group.add_argument(
        "--max-evaluations",
        type=int,
        metavar="ROWS",
        help="rows that may be sent to the model; "
        "default: a million, unless other options ask for more",
    )
    group.add_argument(
        "--batch-size", type=int, metavar="ROWS", help="rows of one call of the model"
    )
    group.add_argument(
        "--memory",
        type=int,
        default=512,
        metavar="MIB",
        help="memory it may take; default: 2 GiB",
    )
    group.add_argument("--jobs", type=int, help="threads of the search; default: 1")
    group.add_argument(
        "--seed", type=int, default=0, help="seed of everything that is drawn; default: 0"
    )


def _number_or(kind: type[int] | type[float], *words: str) -> Callable[[str], float | str]:
    """The type of an option that is a number or one of these words."""

    def read(text: str) -> float | str:
        return text if text in words else kind(text)

    read.__name__ = f"number, {' or '.join(words)}"  # what argparse calls it in errors
    return read

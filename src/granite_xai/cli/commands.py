"""The commands; each is a function of the options that were read."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import granite_xai as gx
from granite_xai.base.files import require_writable
from granite_xai.base.limits import bytes_text
from granite_xai.base.numbers import duration
from granite_xai.cli.inputs import (
    STANDARD_INPUT,
    escaped,
    hint_at_categories,
    open_case,
    read_parts,
    remark,
)
from granite_xai.estimator import result_text

__all__ = ["apply", "demo", "explain", "print_error", "show"]

DEMO = """\
HistGradientBoostingRegressor on the {data} data, {n_features} features.

{result}"""
"""What ``granite demo`` prints."""

DEMO_NEXT = "granite explain --help: the same for your own model and table"
REPORT_NEXT = "--report report.html writes the report"

INPUTS = {
    "data": "the table that is read",
    "test": "the other table",
    "model": "the model that is read",
    "predictor": "the module of the model",
    "saved": "the saved file",
}
"""What a command reads, in words."""

OUTPUTS: dict[str, tuple[str, tuple[bytes, ...]]] = {
    "report": ("an HTML page", (b"<!doctype html", b"<html")),
    "save": ("a saved fit", (b'{"schema": "granite',)),
    "markdown": ("a report in Markdown", (b"# ",)),
}
"""What an option writes: in words, and how such files begin."""


def demo(options: argparse.Namespace) -> None:
    """Fit a model on known data, find its regions, print them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    _check_outputs(options)
    path = options.report
    if path is None and not options.json and not Path("report.html").exists():
        path = "report.html" if os.access(".", os.W_OK) else None
    loaders = {"diabetes": gx.datasets.load_diabetes, "bike": gx.datasets.load_bike_sharing}
    X, y = loaders[options.dataset]()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    if path:
        title = f"Where ICE and PDP agree on the {options.dataset} data"
        report = gx.explain(model, X, y, question="ice-pdp", title=title)
        report.html(path)
        granite = report.granite
    else:
        granite = gx.Granite(model, "ice-pdp").fit(X, y)
    if options.json:
        facts = {
            "data": options.dataset,
            "n_rows": len(granite.diagnostics_["rows"]["search"]),
            "n_columns": granite.n_features_in_,
            "question": "ice-pdp",
            "disagreement": float(granite.disagreement_),
            "remaining": float(granite.remaining_),
            "fidelity": float(granite.fidelity_),
            "global_fidelity": float(granite.global_fidelity_),
            "estimate": granite.estimate_.facts(),
            "partition": granite.partition_.to_dict(),
        }
        say_json(facts)
    else:
        text = result_text(granite, DEMO_NEXT)
        say(DEMO.format(data=options.dataset, n_features=X.shape[1], result=text))
    if path:
        remark(f"The whole story, with figures: {path}")


def explain(options: argparse.Namespace) -> None:
    """Tell the story of a model and a table."""
    _check_outputs(options)
    case = open_case(options)
    settings = _chosen(gx.Granite, options)
    settings["resources"] = gx.Resources(**_chosen(gx.Resources, options))
    with remarks_instead_of_warnings(options), hint_at_categories(case.X):
        if options.plan:
            granite = gx.Granite(case.model, **settings)
            _say_plan(granite.plan(case.X, case.y, case.weights), options)
            return
        report = gx.explain(
            case.model,
            case.X,
            case.y,
            sample_weight=case.weights,
            test=case.test,
            title=options.title,
            **settings,
        )
    if options.save:
        gx.save(report.granite, options.save)
    if options.markdown:
        report.markdown(options.markdown)
    _write_report(report, options)
    for path in (options.markdown, options.save):
        if path:
            remark(f"Written: {path}")


def _chosen(kind: type[Any], options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `Granite` or `Resources` for which the command has options."""
    names = [name for name in inspect.signature(kind).parameters if name != "model"]
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def _say_plan(plan: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        say_json(plan)
        return
    say(
        f"{plan['rows']:,} rows search and {plan['held_out']:,} are held out, "
        f"of {plan['available']:,} rows with {plan['columns']:,} features.\n"
        f"{plan['model_rows']:,} rows are sent to the model, "
        f"{plan['pilot_rows']:,} of them by the pilot: "
        f"about {duration(plan['seconds'])} of its time. "
        f"Predictions take {bytes_text(plan['bytes'])}."
    )
    values = ", ".join(f"{name} {count:,}" for name, count in plan["values"].items())
    if values:
        say(escaped(f"Values of each feature: {values}."))


def _write_report(report: gx.Report, options: argparse.Namespace) -> None:
    """Print the result, and write the page where the options name one."""
    if options.report:
        report.html(options.report)
    if options.json:
        say(report.json().rstrip("\n"))
    else:
        next_step = f"see {options.report}" if options.report else REPORT_NEXT
        say(result_text(report.granite, next_step))
    if options.report:
        remark(f"Written: {options.report}")


def apply(options: argparse.Namespace) -> None:
    """Print the region of each row."""
    saved = _load(options.saved)
    names = list(getattr(saved, "feature_names_in_", []))
    head = ["row,region"]
    regions: list[int] = []
    first_row = 0
    with remarks_instead_of_warnings(options):
        for X in read_parts(options.data):
            if names and set(names) <= set(X):  # other columns are no features of the fit
                X = X[names]
            part = saved.apply(X).tolist()
            if options.json:
                regions += part
            else:
                lines = [f"{row},{region}" for row, region in enumerate(part, start=first_row)]
                say("\n".join([*head, *lines]))
            head = []
            first_row += len(part)
        if options.json:
            say_json({"regions": regions})


def show(options: argparse.Namespace) -> None:
    """Print what a saved file holds."""
    _check_outputs(options)
    saved = _load(options.saved)
    if isinstance(saved, gx.Granite):
        _write_report(gx.Report(saved), options)
    elif options.report:
        raise gx.InputError(
            f"{options.saved} holds no fit to report on.", code="P03", argument="report"
        )
    elif options.json:
        say_json(saved.to_dict())
    else:
        say(str(saved))


def _load(path: str) -> Any:
    """The fit or the partition that a saved file holds; F04 where it cannot be read."""
    try:
        return gx.load(path)
    except OSError as error:
        raise gx.FormatError(
            f"{path} cannot be read ({error.strerror or error}).", code="F04", argument="saved"
        ) from error


# Files to be written ------------------------------------------------------------------------------


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse to write over what is read, two things to one file, or over a file of another kind.

    Checked before any work. P03, or F02 if a file cannot be written.
    """
    inputs = {}
    for name, words in INPUTS.items():
        path = getattr(options, name, None)
        if path and name == "predictor":
            path = path.partition(":")[0].replace(".", "/") + ".py"
        if path and path != STANDARD_INPUT:
            inputs[_identity(path)] = words
    outputs: dict[Any, str] = {}
    for option, (kind, beginnings) in OUTPUTS.items():
        path = getattr(options, option, None)
        if not path:
            continue
        file = _identity(path)
        what = f"--{option} {path}"
        hint = "Choose another file."
        is_kept = Path(path).is_file() and not options.force
        if file in outputs:
            refusal, hint = f"{outputs[file]} and {what} are one file", "Choose two files."
        elif file in inputs:
            refusal = f"{what} is {inputs[file]}"
        elif is_kept and not _begins_with(path, beginnings):
            refusal = f"{what} exists and is not {kind}"
            hint = "Choose another file, or pass --force to replace it."
        else:
            require_writable(path)
            outputs[file] = what
            continue
        raise gx.InputError(f"{refusal}.", code="P03", argument=option, hint=hint)


def _identity(path: str) -> Any:
    """What all paths to one file share, by whatever links; it need not exist."""
    try:
        status = Path(path).stat()
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def _begins_with(path: str, beginnings: tuple[bytes, ...]) -> bool:
    """Whether a file is empty or begins as one of ours; one that cannot be read is not ours."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(64).lstrip().lower()
    except OSError:
        return False
    return not head or head.startswith(beginnings)


# What is printed: results on stdout, remarks and errors on stderr -----------------------------------

_RESOURCES = re.compile(r"(?:gx\.)?Resources\((\w+=[^()]*)\)")
_OPTION = re.compile(
    r"\b(max_samples|max_grid|max_evaluations|memory_limit|batch_size|missing"
    r"|response|scale|output|features|split_features|n_jobs|influence|kinds|device|groups)"
    r"=([\"']\w*[\"']|\[.*?\]|\{.*?\}|[\w…]+(?:\.\d+)?|\.\.\.|)"
)
_FLAG_NAMES = {"memory_limit": "memory", "n_jobs": "jobs"}  # where they are not the names in Python
_TARGET = "Pass the target as the second argument."
_TARGET_FLAG = "Name the column of the target: --target."


def say(text: str) -> None:
    """Print a result."""
    sys.stdout.write(text + "\n")


def say_json(facts: Any) -> None:
    """Print a result as JSON."""

    def plain_value(value: Any) -> Any:  # what JSON does not know: numbers of NumPy, anything else
        return value.item() if hasattr(value, "item") else str(value)

    say(json.dumps(facts, default=plain_value, allow_nan=False))


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
        if not hasattr(options, option):
            return f"{match[0]} (in Python)"
        name = _FLAG_NAMES.get(option, option)
        value = match[2].strip("\"'…").removesuffix("...")
        if option == "memory_limit" and value.isdigit():
            value = str(-(-int(value) // 2**20))  # rounded up
        return f"--{name.replace('_', '-')} {value}".rstrip()

    return _OPTION.sub(flag, _RESOURCES.sub(r"\1", text.replace(_TARGET, _TARGET_FLAG)))

"""The commands; each is a function of the options that were read."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import granite_xai as gx
from granite_xai.base.files import require_writable
from granite_xai.base.limits import bytes_text
from granite_xai.base.numbers import duration
from granite_xai.cli.inputs import STANDARD_INPUT, hint_at_categories, open_case, read_parts
from granite_xai.cli.printing import (
    MEBIBYTE,
    escaped,
    remark,
    remarks_instead_of_warnings,
    say,
    say_json,
)
from granite_xai.estimator import result_text

__all__ = ["apply", "demo", "explain", "show"]

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
        say_json(_demo_facts(granite, options.dataset))
    else:
        text = result_text(granite, DEMO_NEXT)
        say(DEMO.format(data=options.dataset, n_features=X.shape[1], result=text))
    if path:
        remark(f"The whole story, with figures: {path}")


def _demo_facts(granite: gx.Granite, data: str) -> dict[str, Any]:
    """What ``granite demo --json`` prints."""
    return {
        "data": data,
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


def explain(options: argparse.Namespace) -> None:
    """Tell the story of a model and a table."""
    _check_outputs(options)
    case = open_case(options)
    settings = granite_options(options)
    with remarks_instead_of_warnings(options), hint_at_categories(case.X):
        if options.plan:
            granite = gx.Granite(case.model, options.question, **settings)
            _say_plan(granite.plan(case.X, case.y, case.weights), options)
            return
        report = gx.explain(
            case.model,
            case.X,
            case.y,
            question=options.question,
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


def granite_options(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `Granite` that the options of ``granite explain`` mean."""
    output = options.output  # the name of a class, or the number of an output
    if output is not None and output.lstrip("-").isdigit():
        output = int(output)
    resources = gx.Resources(
        max_grid=None if options.max_grid == "exact" else options.max_grid,
        max_evaluations=options.max_evaluations,
        batch_size=options.batch_size,
        memory_limit=options.memory * MEBIBYTE,
    )
    return {
        "features": options.features,
        "split_features": options.split_features,
        "response": options.response,
        "missing": options.missing,
        "max_depth": options.max_depth,
        "min_samples_leaf": options.min_samples_leaf,
        "alpha": options.alpha,
        "output": output,
        "n_jobs": options.jobs,
        "random_state": options.seed,
        "max_samples": None if options.max_samples in ("all", 0) else options.max_samples,
        "resources": resources,
    }


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

    def regions_of(X: Any) -> list[int]:
        if names and set(names) <= set(X):  # other columns are no features of the fit
            X = X[names]
        regions: list[int] = saved.apply(X).tolist()
        return regions

    with remarks_instead_of_warnings(options):
        parts = (regions_of(X) for X in read_parts(options.data))
        if options.json:
            say_json({"regions": list(chain.from_iterable(parts))})
        else:
            _say_regions(parts)


def _say_regions(parts: Iterable[list[int]]) -> None:
    """Print CSV part by part; the head stands above the first."""
    head = ["row,region"]
    first_row = 0
    for part in parts:
        lines = [f"{row},{region}" for row, region in enumerate(part, start=first_row)]
        say("\n".join([*head, *lines]))
        head = []
        first_row += len(part)


def show(options: argparse.Namespace) -> None:
    """Print what a saved file holds."""
    _check_outputs(options)
    saved = _load(options.saved)
    if isinstance(saved, gx.Granite):
        _write_report(gx.Report(saved), options)
    elif options.report:
        message = f"{options.saved} holds no fit to report on."
        raise gx.InputError(message, code="P03", argument="report")
    elif options.json:
        say_json(saved.to_dict())
    else:
        say(str(saved))


def _load(path: str) -> Any:
    """The fit or the partition that a saved file holds; F04 where it cannot be read."""
    try:
        return gx.load(path)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise gx.FormatError(message, code="F04", argument="saved") from error


# ------------------------------------------------------------------------------------------------- files to be written


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse to write over what is read, two things to one file, or over a file of another kind.

    Checked before any work. P03, or F02 if a file cannot be written.
    """
    read = {
        name: path
        for name in INPUTS
        if (path := getattr(options, name, None)) and path != STANDARD_INPUT
    }
    if "predictor" in read:
        read["predictor"] = read["predictor"].partition(":")[0].replace(".", "/") + ".py"
    written = {option: path for option in OUTPUTS if (path := getattr(options, option, None))}
    for first, second in combinations(written, 2):
        if _are_one_file(written[first], written[second]):
            message = f"--{first} {written[first]} and --{second} {written[second]} are one file."
            raise _unsafe(message, second, "Choose two files.")
    for option, path in written.items():
        for name, input_path in read.items():
            if _are_one_file(path, input_path):
                message = f"--{option} {path} is {INPUTS[name]}."
                raise _unsafe(message, option, "Choose another file.")
        kind, beginnings = OUTPUTS[option]
        is_kept = Path(path).is_file() and not options.force
        if is_kept and not _begins_with(path, beginnings):
            message = f"--{option} {path} exists and is not {kind}."
            hint = "Choose another file, or pass --force to replace it."
            raise _unsafe(message, option, hint)
    for path in written.values():
        require_writable(path)


def _unsafe(message: str, option: str, hint: str) -> gx.InputError:
    return gx.InputError(message, code="P03", argument=option, hint=hint)


def _are_one_file(first: str, second: str) -> bool:
    """Whether two paths lead to one file, by whatever links; neither need exist."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    if not Path(first).exists() or not Path(second).exists():
        return False
    return Path(first).samefile(second)


def _begins_with(path: str, beginnings: tuple[bytes, ...]) -> bool:
    """Whether a file is empty or begins as one of ours; one that cannot be read is not ours."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(64).lstrip().lower()
    except OSError:
        return False
    return not head or head.startswith(beginnings)

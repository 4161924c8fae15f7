"""The commands: demo, explain, frameworks compare; evaluate, apply, show; questions, explanations, frameworks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any

import pandas as pd

import granite_xai as gx
from granite_xai.base.text import aligned
from granite_xai.base.wording import duration
from granite_xai.cli import escaped, remark, remarks_instead_of_warnings, say, say_json
from granite_xai.cli.files import (
    Case,
    check_outputs,
    features_and_target,
    hint_at_categories,
    load_model,
    opened,
    read_parts,
    read_table,
)
from granite_xai.compute.memory import bytes_text
from granite_xai.disagreement.catalog import meaning
from granite_xai.fitting.causes import cause

_STORY = files("granite_xai.cli").joinpath("story.txt").read_text(encoding="utf-8").rstrip()


def explain(options: argparse.Namespace) -> None:
    """Tell the story of a model and a table."""
    check_outputs(
        options,
        data=options.data,
        test=options.test,
        model=options.model,
        predictor=options.predictor,
    )
    case, settings = opened(options), _settings(options)
    with remarks_instead_of_warnings(options), hint_at_categories(case.X):
        if options.plan:
            _plan(gx.Granite(case.model, options.question, **settings), case, options)
            return
        told: dict[str, Any] = {
            "sample_weight": case.weights,
            "test": case.test,
            "title": options.title,
        }
        report = gx.explain(
            case.model, case.X, case.y, question=options.question, **told, **settings
        )
    if options.save:
        gx.save(report.granite, options.save)
    _say_report(report, options, options.save)


def _say_report(report: gx.Report, options: argparse.Namespace, also: str | None = None) -> None:
    ways: dict[str, Any] = {"report": report.html, "markdown": report.markdown}
    ways["figures"] = partial(report.figures, formats=("png", "svg"))
    paths = {way: path for way in ways if (path := getattr(options, way, None))}
    for way, path in paths.items():
        ways[way](path)
    say(report.json().rstrip("\n") if options.json else str(report))
    for path in filter(None, (*paths.values(), also)):
        remark(f"Written: {path}")


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    names = (
        "features",
        "split_features",
        "response",
        "missing",
        "max_depth",
        "min_samples_leaf",
        "alpha",
    )
    output = options.output
    output = int(output) if output is not None and output.lstrip("-").isdigit() else output
    others = {"output": output, "n_jobs": options.jobs, "random_state": options.seed}
    return {name: getattr(options, name) for name in names} | others | _limits(options)


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    """Rows to draw, where 0 was the word for all, and the rest of what it may cost."""
    names = ("max_seconds", "max_evaluations", "batch_size")
    limits = {name: getattr(options, name) for name in names} | {
        "memory_limit": options.memory * 2**20
    }
    grid = None if options.max_grid == "exact" else options.max_grid
    samples = None if options.max_samples in ("all", 0) else options.max_samples
    return {"max_samples": samples, "resources": gx.Resources(max_grid=grid, **limits)}


def _plan(granite: gx.Granite, case: Case, options: argparse.Namespace) -> None:
    found = granite.plan(case.X, case.y, case.weights)
    if options.json:
        say_json(found)
        return
    values = ", ".join(f"{name} {count:,}" for name, count in found["values"].items())
    say(
        f"{found['rows']:,} rows search and {found['held_out']:,} are held out, of {found['available']:,} rows "
        f"with {found['columns']:,} columns.\n"
        f"{found['model_rows']:,} rows are sent to the model, {found['pilot_rows']:,} of them by the pilot: about "
        f"{duration(found['seconds'])} of its time. Predictions take {bytes_text(found['bytes'])}."
    )
    if values:
        say(escaped(f"Values of each column: {values}."))


def compare(options: argparse.Namespace) -> None:
    """The saved regions under two models, or under one model on two tables."""
    check_outputs(
        options,
        data=options.data,
        test=options.other_data,
        model=options.model,
        saved=options.saved,
    )
    granite, X, y, _ = _fit_and_rows(options)
    models: dict[str, Any] = {"first": granite}
    tables: Any = _fitting_columns(granite, X)
    if options.other_data:
        there = features_and_target(read_table(options.other_data), options)
        tables = {
            options.data: (tables, y),
            options.other_data: (_fitting_columns(granite, there[0]), there[1]),
        }
    else:
        named = {"model": options.other_model, "predictor": options.other_predictor}
        models["second"] = load_model(argparse.Namespace(**{**vars(options), **named}))
    with remarks_instead_of_warnings(options):
        found = gx.compare(
            models,
            tables,
            None if options.other_data else y,
            max_samples=options.max_samples or None,
        )
    if options.report:
        found.html(options.report)
        remark(f"Written: {options.report}")
    _say_frame(found.frame(), True) if options.json else say(str(found))


def compare_frameworks(options: argparse.Namespace) -> None:
    """Fit every framework and measure its regions on other rows."""
    case = opened(options)
    X, y, test = case.X, case.y, case.test
    if test is None:
        held_out = [i % 4 == 3 for i in range(len(X))]
        kept = [not held for held in held_out]
        (X, y), test = ((X[rows], None if y is None else y[rows]) for rows in (kept, held_out))
    settings = {
        k: v
        for k, v in _settings(options).items()
        if k not in ("features", "split_features", "random_state")
    }
    with remarks_instead_of_warnings(options), hint_at_categories(X):
        asked = {
            "questions": (options.question,),
            "frameworks": options.frameworks,
            "random_state": options.seed,
        }
        found = gx.frameworks.compare(case.model, X, y, test=test, **asked, **settings)
    if options.json:
        say(found.to_json(orient="records", force_ascii=False))
    else:
        say(found.drop(columns="rules").to_string(index=False, float_format="{:.3f}".format))


def demo(options: argparse.Namespace) -> None:
    """Fit a model on known data, find its regions, print them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    there = (
        Path("report.html").exists() or options.json or not os.access(".", os.W_OK)
    )  # nothing unasked
    path = options.report or (None if there else "report.html")
    check_outputs(options)
    X, y = (
        gx.datasets.load_diabetes()
        if options.data == "diabetes"
        else gx.datasets.load_bike_sharing()
    )
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    if path:
        title = f"Where ICE and PDP agree on the {options.data} data"
        report = gx.explain(model, X, y, question="ice-pdp", title=title)
        report.html(path)
        granite = report.granite
    else:
        granite = gx.Granite(model, "ice-pdp").fit(X, y)
    rows = len(granite.diagnostics_["rows"]["search"])
    facts: dict[str, Any] = {
        "data": options.data,
        "n_rows": rows,
        "n_columns": X.shape[1],
        "question": "ice-pdp",
    }
    for name in ("disagreement", "remaining", "fidelity", "global_fidelity"):
        facts[name] = float(getattr(granite, f"{name}_"))
    if options.json:
        say_json(
            facts
            | {"estimate": granite.estimate_.facts(), "partition": granite.partition_.to_dict()}
        )
    else:
        say(_STORY.format(partition=granite.partition_, **facts))
    if path:
        remark(f"The whole story, with figures: {path}")


def _loaded(path: str, model: Any = None) -> Any:
    try:
        return gx.load(path, model=model)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise gx.FormatError(message, code="F04", argument="saved") from error


def _fit_and_rows(options: argparse.Namespace) -> tuple[gx.Granite, Any, Any, Any]:
    """A saved fit with its model, and other rows with their target and weights."""
    sampled = options if hasattr(options, "max_samples") else None
    X, y, weights = features_and_target(read_table(options.data, sampled), options)
    model = load_model(options)
    with hint_at_categories(X):
        granite = _loaded(options.saved, model)
    if not isinstance(granite, gx.Granite):
        message = f"{options.saved} holds a {type(granite).__name__}, which is no fit."
        raise gx.FormatError(
            message, code="F04", argument="saved", hint="Save with granite explain --save."
        )
    return granite, X, y, weights


def row(options: argparse.Namespace) -> None:
    """Rows one by one: one of them in full, several as a table."""
    granite, X, *_ = _fit_and_rows(options)
    column, _, wanted = (options.key or "").partition("=")
    if options.key and column not in X:
        raise gx.InputError(
            f"the table has no column {column!r}.", code="P04", argument="key", columns=[column]
        )
    chosen = (
        [i for i, cell in enumerate(X[column].astype(str)) if cell == wanted]
        if options.key
        else options.row
    )
    if not chosen or not all(0 <= i < len(X) for i in chosen):
        asked = f"--key {options.key}" if options.key else f"--row {' '.join(map(str, chosen))}"
        raise gx.InputError(f"{asked}: no such row among {len(X):,}.", code="P04", argument="row")
    with remarks_instead_of_warnings(options), hint_at_categories(X):
        found = [granite.explain_row(_fitting_columns(granite, X).iloc[[i]]) for i in chosen]
    if len(found) == 1 and not options.json:
        say(str(found[0]))
    else:
        _say_frame(pd.concat([each.frame() for each in found]), options.json)


def evaluate(options: argparse.Namespace) -> None:
    """Disagreement on other rows, with and without the saved regions."""
    granite, X, y, weights = _fit_and_rows(options)
    with remarks_instead_of_warnings(options), hint_at_categories(X):
        found = granite.evaluate(_fitting_columns(granite, X), y, weights, **_limits(options))
    if options.json:
        lines = found.frame().to_dict(orient="records")
        facts = {
            name: getattr(found, name)
            for name in ("remaining", "disagreement", "global_disagreement")
        }
        facts = {name: value if value == value else None for name, value in facts.items()}
        facts["estimate"] = None if found.estimate is None else found.estimate.facts()
        say_json(
            {
                **facts,
                "regions": [{k: v if v == v else None for k, v in line.items()} for line in lines],
            }
        )
        return
    say(
        (f"{found.estimate}\n" if found.estimate is not None else "")
        + f"Disagreement on {sum(found.counts):,} rows: {found.global_disagreement:.4g} without regions, "
        f"{found.disagreement:.4g} with them; {found.remaining:.1%} is left.\n\n"
        + escaped(found.frame().to_string(index=False, float_format="{:.4g}".format, na_rep="–"))
    )


def _fitting_columns(granite: gx.Granite, X: Any) -> Any:
    """The columns of the fit, where the table has them all; others are no features."""
    names = list(getattr(granite, "feature_names_in_", []))
    return X[names] if names and set(names) <= set(X) else X


def apply(options: argparse.Namespace) -> None:
    """The region of each row."""
    saved, row = _loaded(options.saved), count()
    if not isinstance(saved, gx.Granite | gx.Partition):
        raise gx.FormatError(f"{options.saved} holds no regions.", code="F04", argument="saved")
    known: Any = partial(_fitting_columns, saved) if isinstance(saved, gx.Granite) else lambda X: X
    with remarks_instead_of_warnings(options):
        parts = (saved.apply(known(X)).tolist() for X in read_parts(options.data))
        if options.json:
            say_json({"regions": [*chain.from_iterable(parts)]})
            return
        for number, part in enumerate(parts):  # the head stands above the first
            say(
                "\n".join([*["row,region"][number:], *(f"{next(row)},{region}" for region in part)])
            )


def show(options: argparse.Namespace) -> None:
    """What a saved file holds."""
    check_outputs(options, saved=options.saved)
    saved = _loaded(options.saved)
    if isinstance(saved, gx.Granite):
        _say_report(gx.Report(saved), options)
    elif options.report:
        raise gx.InputError(
            f"{options.saved} holds no fit to report on.", code="P03", argument="report"
        )
    elif isinstance(saved, gx.Partition):
        say_json(saved.to_dict()) if options.json else say(str(saved))
    else:
        _say_frame(saved.frame(), options.json)


def questions(options: argparse.Namespace) -> None:
    """The questions with a name."""
    lines = [
        (key, q.first.name, q.second.name, q.behavior.key, cause(q))
        for key, q in gx.questions().items()
    ]
    _say_table(("question", "first", "second", "about", "differ where"), lines, options.json)


def explanations(options: argparse.Namespace) -> None:
    """The explanations with a name."""
    known = gx.explanations().items()
    lines = [
        (key, one.masking.key, one.behavior.key, one.interaction.key, meaning(key))
        for key, one in known
    ]
    _say_table(
        ("explanation", "masking", "behavior", "interaction", "meaning"), lines, options.json
    )


def frameworks(options: argparse.Namespace) -> None:
    """The published frameworks, and what each addresses."""
    table = gx.frameworks.overview()
    _say_table(list(table), table.itertuples(index=False), options.json)
    if not options.json:
        say(
            "\n✓ addressed, ✗ not, * all choices, – not defined. m, c, b: marginal, conditional, baseline masking."
        )


def _say_frame(table: Any, as_json: bool) -> None:
    records = table.to_json(orient="records", force_ascii=False)
    say(records if as_json else escaped(table.to_string(index=False, na_rep="–")))


def _say_table(names: Sequence[str], lines: Iterable[Iterable[object]], as_json: bool) -> None:
    if as_json:
        say_json([dict(zip(names, line, strict=True)) for line in lines])
    else:
        say(
            aligned(
                [list(names), *(list(map(str, line)) for line in lines)], left=range(len(names))
            )
        )

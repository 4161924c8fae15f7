"""``granite explain`` and ``granite frameworks compare``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import granite_xai as gx
from granite_xai.base.files import require_writable
from granite_xai.cli.modelfiles import load
from granite_xai.cli.speaking import remark, remarks_instead_of_warnings, say, say_json
from granite_xai.cli.tables import features_and_target, read
from granite_xai.cli.training import train, with_categories

_BEYOND = "Beyond the limits: use fewer rows (--max-samples) or a grid (--max-grid 64)."


@dataclass(frozen=True)
class Case:
    """A model, its rows, and others."""

    model: Any
    X: Any
    y: Any
    test: tuple[Any, Any] | None


def explain(options: argparse.Namespace) -> None:
    """Tell the story of a model and a table."""
    for path in (options.report, options.save):
        if path:
            require_writable(path)  # F02: before the work
    case = opened(options)
    settings = _settings(options)
    with remarks_instead_of_warnings():
        if options.plan:
            _plan(gx.Granite(case.model, options.question, **settings), case, options)
            return
        report = gx.explain(
            case.model, case.X, case.y, question=options.question, test=case.test, title=options.title, **settings
        )
    if options.report:
        report.html(options.report)
    if options.save:
        gx.save(report.granite, options.save)
    say(report.json().rstrip("\n") if options.json else str(report))
    for path in filter(None, (options.report, options.save)):
        remark(f"Written: {path}")


def opened(options: argparse.Namespace) -> Case:
    """Read the table, then load or fit the model."""
    X, y = features_and_target(read(options.data), options)
    other = None
    if options.test:
        other_X, other_y = features_and_target(read(options.test), options)
        other = (other_X, other_y)
    if not options.train_on:
        return Case(load(options), X, y, other)
    trained = train(X, y, options.seed)
    remark(trained.words)
    if other is not None:
        shared = {name: dtype for name, dtype in trained.X.dtypes.items() if str(dtype) == "category"}
        other = (with_categories(other[0]).astype(shared), other[1])
    return Case(trained.model, trained.X, trained.y, other or trained.test)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "features": options.features,
        "split_features": options.split_features,
        "output": _number_or_text(options.output),
        "response": options.response,
        "missing": options.missing,
        "max_depth": options.max_depth,
        "min_samples_leaf": options.min_samples_leaf,
        "alpha": options.alpha,
        "max_samples": options.max_samples or None,
        "resources": gx.Resources(memory_limit=options.memory * 2**20, max_grid=getattr(options, "max_grid", None)),
        "n_jobs": options.jobs,
        "random_state": options.seed,
    }


def _number_or_text(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


def _plan(granite: gx.Granite, case: Case, options: argparse.Namespace) -> None:
    from granite_xai.cost import plan

    found = plan(granite, case.X, case.y)
    if options.json:
        say_json(found)
        return
    seconds = found["model_seconds"] + found["search_seconds"]
    say(
        f"{found['rows']:,} rows and {found['columns']:,} columns: {found['evaluations']:,} evaluations "
        f"({found['evaluated_by']}), {found['model_rows']:,} rows sent to the model, "
        f"{found['bytes'] / 2**20:,.1f} MiB{_spilled(found)}, about {seconds:.1g} s.\n"
        + ("Within the limits." if found["within_limits"] else _BEYOND)
    )


def _spilled(found: dict[str, Any]) -> str:
    spilled = found["spilled_bytes"]
    return f" ({spilled / 2**20:,.1f} MiB of them in temporary files)" if spilled else ""


def compare(options: argparse.Namespace) -> None:
    """Fit every framework and measure its regions on other rows."""
    case = opened(options)
    X, y, test = case.X, case.y, case.test
    if test is None:
        chosen = [i % 4 == 3 for i in range(len(X))]
        kept = [not c for c in chosen]
        test = (X[chosen], None if y is None else y[chosen])
        X, y = X[kept], None if y is None else y[kept]
    settings = {k: v for k, v in _settings(options).items() if k not in ("features", "split_features", "random_state")}
    with remarks_instead_of_warnings():
        found = gx.frameworks.compare(
            case.model,
            X,
            y,
            test=test,
            questions=(options.question,),
            frameworks=options.frameworks,
            random_state=options.seed,
            **settings,
        )
    if options.json:
        say(found.to_json(orient="records", force_ascii=False))
    else:
        say(found.drop(columns="rules").to_string(index=False, float_format="{:.3f}".format))

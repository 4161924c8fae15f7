"""The commands: each a function of the options that were read."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import granite_xai as gx
from granite_xai.base.text import aligned
from granite_xai.base.wording import duration
from granite_xai.cli.models import load_model
from granite_xai.cli.output import escaped, remark, remarks_instead_of_warnings, say, say_json
from granite_xai.cli.outputs import check_outputs
from granite_xai.cli.tables import (
    Columns,
    features_and_target,
    hint_at_categories,
    read_parts,
    read_table,
)
from granite_xai.cli.training import train, with_categories
from granite_xai.compute.memory import bytes_text
from granite_xai.estimator import result_text
from granite_xai.explanation.catalog import meaning
from granite_xai.fitting.causes import cause

DEMO = """\
HistGradientBoostingRegressor on the {data} data, {n_features} features.

{result}"""
"""What ``granite demo`` prints."""

REPORT_NEXT = "--report report.html writes the report"
DEMO_NEXT = "granite explain --help: the same for your own model and table"


class Case(NamedTuple):
    """A model, its rows, and others."""

    model: Any
    X: Any
    y: Any
    test: tuple[Any, Any] | None
    weights: Any


# Finding regions


def demo(options: argparse.Namespace) -> None:
    """Fit a model on known data, find its regions, print them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    check_outputs(options)
    path = options.report or _default_report(options)
    load = {"diabetes": gx.datasets.load_diabetes, "bike": gx.datasets.load_bike_sharing}
    X, y = load[options.data]()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    if path:
        title = f"Where ICE and PDP agree on the {options.data} data"
        report = gx.explain(model, X, y, question="ice-pdp", title=title)
        report.html(path)
        granite = report.granite
    else:
        granite = gx.Granite(model, "ice-pdp").fit(X, y)
    facts = {
        "data": options.data,
        "n_rows": len(granite.diagnostics_["rows"]["search"]),
        "n_columns": X.shape[1],
        "question": "ice-pdp",
        "disagreement": float(granite.disagreement_),
        "remaining": float(granite.remaining_),
        "fidelity": float(granite.fidelity_),
        "global_fidelity": float(granite.global_fidelity_),
    }
    if options.json:
        facts["estimate"] = granite.estimate_.facts()
        facts["partition"] = granite.partition_.to_dict()
        say_json(facts)
    else:
        text = result_text(granite, DEMO_NEXT)
        say(DEMO.format(data=options.data, n_features=X.shape[1], result=text))
    if path:
        remark(f"The whole story, with figures: {path}")


def _default_report(options: argparse.Namespace) -> str | None:
    """The file that the demo writes unasked: nothing is replaced, and nothing goes with JSON."""
    if options.json or Path("report.html").exists() or not os.access(".", os.W_OK):
        return None
    return "report.html"


def explain(options: argparse.Namespace) -> None:
    """Tell the story of a model and a table."""
    check_outputs(
        options,
        data=options.data,
        test=options.test,
        model=options.model,
        predictor=options.predictor,
    )
    case = _open_case(options)
    settings = _settings(options)
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
    _say_report(report, options)
    if options.save:
        remark(f"Written: {options.save}")


def _open_case(options: argparse.Namespace) -> Case:
    """Read the table, then load or fit the model."""
    columns = features_and_target(read_table(options.data, options), options)
    test = None
    if options.test:
        others = features_and_target(read_table(options.test), options)
        test = (others.X, others.y)
    if options.train_on:
        return _train_case(columns, test, options.seed)
    return Case(
        model=load_model(options), X=columns.X, y=columns.y, test=test, weights=columns.weights
    )


def _train_case(columns: Columns, test: tuple[Any, Any] | None, seed: int) -> Case:
    trained = train(columns.X, columns.y, seed)
    if test is not None:
        dtypes = trained.X.dtypes
        categories = {name: dtype for name, dtype in dtypes.items() if str(dtype) == "category"}
        test = (with_categories(test[0]).astype(categories), test[1])
    weights = columns.weights
    return Case(
        model=trained.model,
        X=trained.X,
        y=trained.y,
        test=trained.test if test is None else test,
        weights=None if weights is None else weights.loc[trained.X.index],
    )


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `Granite`."""
    return {
        "features": options.features,
        "split_features": options.split_features,
        "response": options.response,
        "missing": options.missing,
        "max_depth": options.max_depth,
        "min_samples_leaf": options.min_samples_leaf,
        "alpha": options.alpha,
        "output": _output(options.output),
        "n_jobs": options.jobs,
        "random_state": options.seed,
        **_limits(options),
    }


def _output(text: str | None) -> str | int | None:
    """The name of a class, or the number of an output."""
    is_number = text is not None and text.lstrip("-").isdigit()
    return int(text) if text is not None and is_number else text


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    """Rows to draw (0 means all of them, too), and the rest of what it may cost."""
    resources = gx.Resources(
        max_grid=None if options.max_grid == "exact" else options.max_grid,
        max_seconds=options.max_seconds,
        max_evaluations=options.max_evaluations,
        batch_size=options.batch_size,
        memory_limit=options.memory * 2**20,
    )
    max_samples = None if options.max_samples in ("all", 0) else options.max_samples
    return {"max_samples": max_samples, "resources": resources}


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


def _say_report(report: gx.Report, options: argparse.Namespace) -> None:
    """Write what the options ask for, print the story, and say what was written."""
    page = options.report
    markdown = getattr(options, "markdown", None)
    figures = getattr(options, "figures", None)
    if page:
        report.html(page)
    if markdown:
        report.markdown(markdown)
    if figures:
        report.figures(figures, formats=("png", "svg"))
    if options.json:
        say(report.json().rstrip("\n"))
    else:
        say(result_text(report.granite, f"see {page}" if page else REPORT_NEXT))
    for path in (page, markdown, figures):
        if path:
            remark(f"Written: {path}")


# With saved regions


class FitAndRows(NamedTuple):
    """A saved fit with its model, and other rows with their target and weights."""

    granite: gx.Granite
    X: Any  # with columns that are no features of the fit
    y: Any
    weights: Any

    @property
    def features(self) -> Any:
        """The rows as the fit takes them."""
        return _features_of_fit(self.granite, self.X)


def _load(path: str, model: Any = None) -> Any:
    try:
        return gx.load(path, model=model)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise gx.FormatError(message, code="F04", argument="saved") from error


def _fit_and_rows(options: argparse.Namespace) -> FitAndRows:
    draws_rows = hasattr(options, "max_samples")
    table = read_table(options.data, options if draws_rows else None)
    columns = features_and_target(table, options)
    model = load_model(options)
    with hint_at_categories(columns.X):
        granite = _load(options.saved, model)
    if not isinstance(granite, gx.Granite):
        raise gx.FormatError(
            f"{options.saved} holds a {type(granite).__name__}, which is no fit.",
            code="F04",
            argument="saved",
            hint="Save with granite explain --save.",
        )
    return FitAndRows(granite=granite, X=columns.X, y=columns.y, weights=columns.weights)


def _features_of_fit(granite: gx.Granite, X: Any) -> Any:
    """The columns of the fit, where the table has them all; others are no features."""
    names = list(getattr(granite, "feature_names_in_", []))
    return X[names] if names and set(names) <= set(X) else X


def evaluate(options: argparse.Namespace) -> None:
    """Disagreement on other rows, with and without the saved regions."""
    fit = _fit_and_rows(options)
    with remarks_instead_of_warnings(options), hint_at_categories(fit.X):
        evaluation = fit.granite.evaluate(fit.features, fit.y, fit.weights, **_limits(options))
    if options.json:
        say_json(_evaluation_facts(evaluation))
        return
    say(str(evaluation))


def _evaluation_facts(evaluation: Any) -> dict[str, Any]:
    estimate = evaluation.estimate
    lines = evaluation.frame().to_dict(orient="records")
    return {
        "remaining": _null_if_nan(evaluation.remaining),
        "disagreement": _null_if_nan(evaluation.disagreement),
        "global_disagreement": _null_if_nan(evaluation.global_disagreement),
        "estimate": None if estimate is None else estimate.facts(),
        "regions": [{name: _null_if_nan(value) for name, value in line.items()} for line in lines],
    }


def _null_if_nan(value: Any) -> Any:
    return None if value != value else value


def row(options: argparse.Namespace) -> None:
    """Rows one by one: one of them in full, several as a table."""
    fit = _fit_and_rows(options)
    positions = _positions_of_rows(fit.X, options)
    with remarks_instead_of_warnings(options), hint_at_categories(fit.X):
        features = fit.features
        explained = [fit.granite.explain_row(features.iloc[[position]]) for position in positions]
    if len(explained) == 1 and not options.json:
        say(str(explained[0]))
    else:
        _say_frame(pd.concat([one.frame() for one in explained]), options.json)


def _positions_of_rows(X: Any, options: argparse.Namespace) -> list[int]:
    """The rows that ``--row`` or ``--key`` names."""
    if options.key:
        column, _, value = options.key.partition("=")
        if column not in X:
            message = f"the table has no column {column!r}."
            raise gx.InputError(message, code="P04", argument="key", columns=[column])
        cells = X[column].astype(str)
        positions = [position for position, cell in enumerate(cells) if cell == value]
        named = f"--key {options.key}"
    else:
        positions = options.row
        named = f"--row {' '.join(map(str, positions))}"
    if not positions or not all(0 <= position < len(X) for position in positions):
        message = f"{named}: no such row among {len(X):,}."
        raise gx.InputError(message, code="P04", argument="row")
    return positions


def compare(options: argparse.Namespace) -> None:
    """The saved regions under two models, or under one model on two tables."""
    check_outputs(
        options,
        data=options.data,
        test=options.other_data,
        model=options.model,
        saved=options.saved,
    )
    fit = _fit_and_rows(options)
    models: dict[str, Any] = {"first": fit.granite}
    if options.other_data:
        other = features_and_target(read_table(options.other_data), options)
        X: Any = {
            options.data: (fit.features, fit.y),
            options.other_data: (_features_of_fit(fit.granite, other.X), other.y),
        }
        y = None
    else:
        models["second"] = _load_other_model(options)
        X = fit.features
        y = fit.y
    with remarks_instead_of_warnings(options):
        comparison = gx.compare(models, X, y, max_samples=options.max_samples or None)
    if options.report:
        comparison.html(options.report)
        remark(f"Written: {options.report}")
    if options.json:
        _say_frame(comparison.frame(), as_json=True)
    else:
        say(str(comparison))


def _load_other_model(options: argparse.Namespace) -> Any:
    other = argparse.Namespace(**vars(options))
    other.model = options.other_model
    other.predictor = options.other_predictor
    return load_model(other)


def apply(options: argparse.Namespace) -> None:
    """The region of each row."""
    saved = _load(options.saved)
    if not isinstance(saved, gx.Granite | gx.Partition):
        raise gx.FormatError(f"{options.saved} holds no regions.", code="F04", argument="saved")

    def regions_of(X: Any) -> list[int]:
        features = _features_of_fit(saved, X) if isinstance(saved, gx.Granite) else X
        regions: list[int] = saved.apply(features).tolist()
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
    """What a saved file holds."""
    check_outputs(options, saved=options.saved)
    saved = _load(options.saved)
    if isinstance(saved, gx.Granite):
        _say_report(gx.Report(saved), options)
    elif options.report:
        message = f"{options.saved} holds no fit to report on."
        raise gx.InputError(message, code="P03", argument="report")
    elif not isinstance(saved, gx.Partition):
        _say_frame(saved.frame(), options.json)
    elif options.json:
        say_json(saved.to_dict())
    else:
        say(str(saved))


# Lists


def questions(options: argparse.Namespace) -> None:
    """The questions with a name."""
    lines = [
        (name, question.first.name, question.second.name, question.behavior.key, cause(question))
        for name, question in gx.questions().items()
    ]
    _say_table(("question", "first", "second", "about", "differ where"), lines, options.json)


def explanations(options: argparse.Namespace) -> None:
    """The explanations with a name."""
    lines = [
        (name, one.masking.key, one.behavior.key, one.interaction.key, meaning(name))
        for name, one in gx.explanations().items()
    ]
    headings = ("explanation", "masking", "behavior", "interaction", "meaning")
    _say_table(headings, lines, options.json)


def frameworks(options: argparse.Namespace) -> None:
    """The published frameworks, and what each addresses."""
    table = gx.frameworks.overview()
    _say_table(list(table), table.itertuples(index=False), options.json)
    if not options.json:
        say(
            "\n✓ addressed, ✗ not, * all choices, – not defined. "
            "m, c, b: marginal, conditional, baseline masking."
        )


def compare_frameworks(options: argparse.Namespace) -> None:
    """Fit every framework and measure its regions on other rows."""
    case = _open_case(options)
    if case.test is None:
        case = _hold_out_every_fourth_row(case)
    settings = _settings(options)
    for name in ("features", "split_features", "random_state"):
        del settings[name]
    with remarks_instead_of_warnings(options), hint_at_categories(case.X):
        table = gx.frameworks.compare(
            case.model,
            case.X,
            case.y,
            test=case.test,
            questions=(options.question,),
            frameworks=options.frameworks,
            random_state=options.seed,
            **settings,
        )
    if options.json:
        say(table.to_json(orient="records", force_ascii=False))
    else:
        table = table.drop(columns="rules")
        say(table.to_string(index=False, float_format="{:.3f}".format))


def _hold_out_every_fourth_row(case: Case) -> Case:
    held_out = [position % 4 == 3 for position in range(len(case.X))]
    kept = [not is_held_out for is_held_out in held_out]
    y = case.y
    return case._replace(
        X=case.X[kept],
        y=None if y is None else y[kept],
        test=(case.X[held_out], None if y is None else y[held_out]),
    )


def _say_frame(table: Any, as_json: bool) -> None:
    if as_json:
        say(table.to_json(orient="records", force_ascii=False))
    else:
        say(escaped(table.to_string(index=False, na_rep="–")))


def _say_table(headings: Sequence[str], lines: Iterable[Iterable[object]], as_json: bool) -> None:
    if as_json:
        say_json([dict(zip(headings, line, strict=True)) for line in lines])
        return
    cells = [[str(cell) for cell in line] for line in lines]
    say(aligned([list(headings), *cells], left=range(len(headings))))

"""Commands that search for regions."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import granite_xai as gx
from granite_xai.base.wording import duration
from granite_xai.cli.cases import hold_out_every_fourth_row, open_case
from granite_xai.cli.printing import escaped, remark, remarks_instead_of_warnings, say, say_json
from granite_xai.cli.reports import write_report
from granite_xai.cli.settings import settings_of
from granite_xai.cli.tables import hint_at_categories
from granite_xai.cli.written_files import check_outputs
from granite_xai.compute.memory import bytes_text
from granite_xai.estimator import result_text

DEMO = """\
HistGradientBoostingRegressor on the {data} data, {n_features} features.

{result}"""
"""What ``granite demo`` prints."""

DEMO_NEXT = "granite explain --help: the same for your own model and table"
"""What the demo suggests as the next step."""


def demo(options: argparse.Namespace) -> None:
    """Fit a model on known data, find its regions, print them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    check_outputs(options)
    path = options.report or _default_report(options)
    loaders = {"diabetes": gx.datasets.load_diabetes, "bike": gx.datasets.load_bike_sharing}
    X, y = loaders[options.data]()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    if path:
        title = f"Where ICE and PDP agree on the {options.data} data"
        report = gx.explain(model, X, y, question="ice-pdp", title=title)
        report.html(path)
        granite = report.granite
    else:
        granite = gx.Granite(model, "ice-pdp").fit(X, y)
    if options.json:
        say_json(_demo_facts(granite, options.data))
    else:
        text = result_text(granite, DEMO_NEXT)
        say(DEMO.format(data=options.data, n_features=X.shape[1], result=text))
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
    case = open_case(options)
    settings = settings_of(options)
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
    write_report(report, options)
    if options.save:
        remark(f"Written: {options.save}")


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


def compare_frameworks(options: argparse.Namespace) -> None:
    """Fit every framework and measure its regions on other rows."""
    case = open_case(options)
    if case.test is None:
        case = hold_out_every_fourth_row(case)
    settings = settings_of(options)
    for name in ("features", "split_features"):  # of the options; frameworks have their own
        del settings[name]
    del settings["random_state"]  # passed below, beside the frameworks
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

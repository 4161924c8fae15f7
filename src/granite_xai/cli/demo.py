"""``granite demo``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import granite_xai as gx
from granite_xai.base.files import require_writable
from granite_xai.cli.speaking import remark, say, say_json


def demo(options: argparse.Namespace) -> None:
    """Fit a model on known data, find its regions, print them."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    if options.report:
        require_writable(options.report)
    load: dict[str, Callable[[], tuple[Any, Any]]] = {
        "diabetes": gx.datasets.load_diabetes,
        "bike": gx.datasets.load_bike_sharing,
    }
    X, y = load[options.data]()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    rows = min(len(X), 1000)  # enough for a first look, in seconds
    most = None if rows == len(X) else rows
    if options.report:
        title = f"Where ICE and PDP agree on the {options.data} data"
        report = gx.explain(model, X, y, question="ice-pdp", title=title, max_samples=most)
        report.html(options.report)
        granite = report.granite
    else:
        granite = gx.Granite(model, "ice-pdp", max_samples=most).fit(X, y)
    facts = {"data": options.data, "n_rows": rows, "n_columns": X.shape[1], "question": "ice-pdp"} | _figures(granite)
    if options.json:
        say_json(facts | {"partition": granite.partition_.to_dict()})
    else:
        say(_story(granite, facts))
    if options.report:
        remark(f"The whole story, with figures: {options.report}")


def _figures(granite: gx.Granite) -> dict[str, float]:
    names = ("disagreement", "remaining", "fidelity", "global_fidelity")
    return {name: float(getattr(granite, f"{name}_")) for name in names}


def _story(granite: gx.Granite, facts: dict[str, Any]) -> str:
    return f"""\
HistGradientBoostingRegressor on the {facts["data"]} data, {facts["n_rows"]} rows and {facts["n_columns"]} columns.
Where do a row's own curves (ICE) and the average curves (PDP) tell the same story?

{granite.partition_}

disagreement_     {facts["disagreement"]:<10.4g} mean squared gap between ICE and PDP over all rows
remaining_        {facts["remaining"]:<10.1%} of it is left inside the regions
global_fidelity_  {facts["global_fidelity"]:<10.1%} of the model's variance is explained by one curve per column
fidelity_         {facts["fidelity"]:<10.1%} by one curve per column and region"""

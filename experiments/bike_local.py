"""Bike sharing, local effects: regions in which ICE and PDP agree (Figure 3a, and all columns as in the appendix).

The paper tunes a gradient boosting model, takes the first 1,000 test rows and finds three regions (working days or not;
on working days early morning or later), in which the curves of hr and temp come together. We fit the same model on the
same rows, find the regions at α = 0.1, the deeper tree at the default α = 0.05, and check them on other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import granite_xai as gx
from experiments.models import Prepared, bike
from experiments.published import AS_PUBLISHED
from experiments.results import Result, regions, table

STRONG = ["hr", "temp"]
OTHERS = {
    "columns_1": ["yr", "mnth", "workingday", "weekday"],
    "columns_2": ["holiday", "weathersit", "hum", "windspeed"],
}


def run(quick: bool) -> Result:
    """Fit at two values of α, look at every column, and test the regions on other rows."""
    prepared = bike(quick=quick)
    X = prepared.X_test.head(300 if quick else 1000)
    g = gx.Granite(prepared.model, "ice-pdp", alpha=0.1, **AS_PUBLISHED).fit(X)
    deeper = gx.Granite(prepared.model, "ice-pdp", alpha=0.05, **AS_PUBLISHED).fit(X)
    data: dict[str, Any] = {
        "rmse": float(
            np.sqrt(np.mean((prepared.model.predict(prepared.X_test) - prepared.y_test) ** 2))
        ),
        "target_sd": float(np.std(prepared.y_test)),
        "alpha_0.1": _summary(g),
        "alpha_0.05": _summary(deeper),
        "columns": _by_column(g, X),
        "held_out": _held_out(g, prepared, len(X)),
        "other_rows": [] if quick else _other_rows(prepared),
        "other_models": [] if quick else _other_models(prepared),
    }
    figures = {
        "hour_temperature": gx.EffectDisplay.from_estimator(g, X, features=STRONG).plot().figure_
    }
    figures["deeper_tree"] = gx.PartitionDisplay.from_estimator(deeper).plot().figure_
    for key, columns in ({} if quick else OTHERS).items():
        figures[key] = (
            gx.EffectDisplay.from_estimator(g, X, features=columns, max_curves=15).plot().figure_
        )
    return Result(
        title="Bike sharing: where ICE and PDP agree",
        text=_text(g, deeper, data, [] if quick else OTHERS),
        data=data,
        figures=figures,
        differences=(
            f"""Figure 3a: the text gives α = 0.05 as the default, which gives {len(deeper.partition_)} regions; the
            authors' notebook has α = 0.1 and depth 3, and prints what is left in its three regions as
            .1735/.0044/.2285 = .4064. Ours: {_shares(g)}, to the last digit.""",
        ),
    )


def _shares(g: gx.Granite) -> str:
    """What is left in each region and together, as the authors print it."""
    parts = "/".join(f"{region.disagreement:.4f}" for region in g.partition_)
    return f"{parts} = {g.remaining_:.4f}".replace("0.", ".")


def _summary(g: gx.Granite) -> dict[str, Any]:
    return {
        "regions": regions(g),
        "remaining": g.remaining_,
        "variance_explained_on_all_rows": g.global_fidelity_,
        "variance_explained_in_regions": g.fidelity_,
    }


def _by_column(g: gx.Granite, X: Any) -> list[dict[str, Any]]:
    """Mean squared gap of ICE and PDP, column by column, as a share of the whole: on all rows and in the regions."""
    pairs = {name: gx.explanations()[name].explain(g.model, X).values for name in ("ice", "pdp")}
    before = np.mean((pairs["ice"] - pairs["pdp"]) ** 2, axis=0) / g.disagreement_
    inside = g.explain(X)
    after = np.mean((inside.of("ice") - inside.of("pdp")) ** 2, axis=0) / g.disagreement_
    lines = [
        {"column": column, "on all rows": f"{before[i]:.1%}", "in the regions": f"{after[i]:.1%}"}
        for i, (column,) in enumerate(inside.sets)
    ]
    return [lines[i] for i in np.argsort(-before)]


def _held_out(g: gx.Granite, prepared: Prepared, used: int) -> dict[str, Any]:
    found = g.evaluate(prepared.X_test.iloc[used : 2 * used])
    return {
        "rows": used,
        "remaining": found.remaining,
        "by_region": found.frame()["remaining"].tolist(),
    }


def _other_rows(prepared: Prepared) -> list[dict[str, Any]]:
    """The same question on other test rows, and on all of them at once."""
    spans = {"1001 to 2000": (1000, 2000), "2001 to 3000": (2000, 3000), "all 3476": (0, None)}
    return [
        {"test rows": name} | _rules(prepared.model, prepared.X_test.iloc[slice(*span)])
        for name, span in spans.items()
    ]


def _other_models(prepared: Prepared) -> list[dict[str, Any]]:
    """The same parameters fitted on other divisions into training and test rows."""
    X, y = (
        pd.concat(parts)
        for parts in ((prepared.X_train, prepared.X_test), (prepared.y_train, prepared.y_test))
    )
    found = []
    for seed in range(5):
        X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=seed)
        found.append(
            {"division": seed}
            | _rules(clone(prepared.model).fit(X_train, y_train), X_test.head(1000))
        )
    return found


def _rules(model: Any, X: Any) -> dict[str, str]:
    g = gx.Granite(model, "ice-pdp", alpha=0.1, **AS_PUBLISHED).fit(X)
    return {
        "regions": "; ".join(str(region.rule) for region in g.partition_),
        "left": f"{g.remaining_:.0%}",
    }


def _text(g: gx.Granite, deeper: gx.Granite, data: dict[str, Any], others: Iterable[str]) -> str:
    pictures = "\n\n".join(f"![{', '.join(OTHERS[key])}]({key})" for key in others)
    model = [
        {
            "": "root mean squared error on test rows",
            "paper": "43.08",
            "ours": f"{data['rmse']:.2f}",
        },
        {
            "": "standard deviation of the target there",
            "paper": "181.45",
            "ours": f"{data['target_sd']:.2f}",
        },
        {"": "regions at α = 0.1", "paper": "3", "ours": len(g.partition_)},
        {"": "split by", "paper": "workingday, then hour", "ours": ", ".join(_columns(g))},
        {
            "": "columns with most disagreement",
            "paper": "hr, workingday, temp, yr",
            "ours": _top(data["columns"]),
        },
        {"": "disagreement left", "paper": "not given", "ours": f"{g.remaining_:.1%}"},
    ]
    other, models = (
        table(data[key]) if data[key] else "" for key in ("other_rows", "other_models")
    )
    early = next((r for r in g.partition_ if "workingday > 0" in str(r.rule)), g.partition_[0])
    return f"""
{table(model)}

{table(regions(g))}

![ICE and PDP of hr and temp on all rows and in the three regions](hour_temperature)

On all rows the mean curve of the hour has three humps, which no single day has. On days off there is one broad
afternoon, on working days two rush hours. Before seven on a working day nothing matters: that region holds
{early.disagreement:.1%} of all disagreement. What is left is mostly hr and temp, which vary together smoothly.
Disagreement by column, as a share of the whole:

{table(data["columns"])}

With the default α = 0.05 the tree goes on ({len(deeper.partition_)} regions, {deeper.remaining_:.1%} left):

![The deeper tree](deeper_tree)

One curve per column explains {g.global_fidelity_:.1%} of the model's variance on all rows, {g.fidelity_:.1%} in the
three regions and {deeper.fidelity_:.1%} in those of the deeper tree. On the next {data["held_out"]["rows"]} test rows,
which the search has not seen, the three regions leave {data["held_out"]["remaining"]:.1%}. The same question on other
rows, and on models with the same parameters that were fitted on other divisions of the data:

{other}

{models}

The other columns, on all rows and by region:

{pictures}

**What a practitioner learns.** Ask first whether a mean curve describes anybody. Here one yes-or-no rule removes about
half of the contradiction, and a second one finds a part of the day in which there is nothing to explain at all. The
first rule comes back on all other rows and models. The second is one of several that are nearly as good (hour, year or
temperature): before you build on a region, refit on other rows and see whether it returns."""


def _columns(g: gx.Granite) -> list[str]:
    """Columns that the rules mention, in their order."""
    words = " ".join(str(region.rule) for region in g.partition_).split()
    return list(dict.fromkeys(word for word in words if word.isidentifier() and word != "and"))


def _top(lines: list[dict[str, Any]]) -> str:
    return ", ".join(line["column"] for line in lines[:4])

"""Bike sharing, interactions above order two (Figure 3b).

The paper leaves pairs of columns alone and removes what three or more do together: GRANITE splits on workingday, and
the surface of hr and temp can be read in each half. We ask the same of all 45 pairs, on the same model and rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import granite_xai as gx
from experiments.models import bike
from experiments.published import AS_PUBLISHED, EXACT
from experiments.results import Result, regions, table

FEW = ["hr", "temp", "workingday", "yr"]


def run(quick: bool) -> Result:
    """One split for all pairs as in the authors' notebook, the surface of hr and temp, and what a deeper tree adds."""
    model, _, X_test, _, _ = bike(quick=quick)
    X = X_test.head(150 if quick else 1000)
    options: dict[str, Any] = {"influence": "interaction"}
    names = [(a, b) for i, a in enumerate(FEW) for b in FEW[i + 1 :]] if quick else None
    options["features"] = names
    g = gx.Granite(model, "ice-pdp", max_depth=1, alpha=0.1, **options, **AS_PUBLISHED).fit(X)
    deeper = gx.Granite(model, "ice-pdp", max_depth=2, **options, **AS_PUBLISHED).fit(X)
    single = gx.Granite(model, "ice-pdp", max_depth=1, **AS_PUBLISHED).fit(X)
    surface = gx.InteractionDisplay.from_estimator(g, X, pair=("hr", "temp"))
    data = {
        "regions": regions(g),
        "remaining": g.remaining_,
        "deeper": {
            "regions": regions(deeper),
            "remaining": deeper.remaining_,
            "variance": deeper.fidelity_,
        },
        "disagreement": {"columns": single.disagreement_, "pairs": g.disagreement_},
        "variance_explained": {
            "one curve a column, all rows": single.global_fidelity_,
            "one curve a column, two regions": single.fidelity_,
            "curves and surfaces, all rows": g.global_fidelity_,
            "curves and surfaces, two regions": g.fidelity_,
        },
        "pairs": _by_pair(g, X, names),
        "surface_means": _parts_of_the_day(surface),
    }
    return Result(
        title="Bike sharing: interactions above order two",
        text=_text(g, deeper, data),
        data=data,
        figures={"surface": surface.plot().figure_},
        differences=(
            f"""Figure 3b shows one split, on workingday: the authors' notebook has α = 0.1 and depth 1, and so have we
            here. At depth 2 with the default α = 0.05 the search over all 45 pairs goes on to
            {len(deeper.partition_)} regions, splitting both halves by yr ({deeper.remaining_:.0%} left instead of
            {g.remaining_:.0%}).""",
        ),
    )


def _by_pair(g: gx.Granite, X: Any, names: Any) -> list[dict[str, Any]]:
    """The pairs with most disagreement on all rows, as shares of the whole, before and after the split."""
    influence = gx.Interactions(sets=names)
    full, pure = (
        gx.Explainer("marginal", "local", side, influence).explain(g.model, X, resources=EXACT)
        for side in ("full", "pure")
    )
    before = np.mean((full.values - pure.values) ** 2, axis=0) / g.disagreement_
    inside = g.explain(X)
    after = np.mean((inside.of("ice") - inside.of("pdp")) ** 2, axis=0) / g.disagreement_
    return [
        {
            "pair": " and ".join(full.sets[i]),
            "on all rows": f"{before[i]:.1%}",
            "after the split": f"{after[i]:.1%}",
        }
        for i in np.argsort(-before)[:6]
    ]


def _parts_of_the_day(surface: gx.InteractionDisplay) -> list[dict[str, Any]]:
    """Mean interaction of hr and temp on warm days, by part of the day."""
    cells = surface.frame().query("y > 22")
    parts = {
        "night (0 to 5)": (0, 5),
        "midday (11 to 15)": (11, 15),
        "evening commute (17, 18)": (17, 18),
    }
    return [
        {"where": rule}
        | {
            name: float(rows[rows["x"].between(*hours)]["value"].mean())
            for name, hours in parts.items()
        }
        for rule, rows in cells.groupby("rule", sort=False)
    ]


def _text(g: gx.Granite, deeper: gx.Granite, data: dict[str, Any]) -> str:
    variance = [
        {"surrogate": name, "variance explained": f"{v:.1%}"}
        for name, v in data["variance_explained"].items()
    ]
    share = data["disagreement"]["pairs"] / data["disagreement"]["columns"]
    return f"""
| | paper | ours |
| --- | --- | --- |
| split | workingday | {g.partition_[0].rule}, {g.partition_[1].rule} |
| regions | 2 | {len(g.partition_)} |
| disagreement left | not given | {g.remaining_:.1%} |

Pairs are no longer counted, so there is less to explain in the first place: the disagreement of full and pure pairs is
{share:.0%} of that of single columns. It sits where the paper says, in pairs with hr, temp and workingday:

{table(data["pairs"])}

![What hr and temp do only together, on all rows, on days off and on working days](surface)

How the effect of a warm day (above 22 °C) differs from its mean effect, in rentals an hour:

{table(data["surface_means"], digits=2)}

As in the paper: warmth counts less at night, more around midday on days off, and more in the evening commute on
working days. On all rows the two patterns are mixed. What the surfaces are worth:

{table(variance)}

**What a practitioner learns.** Curves and one surface per pair already describe this model well; one rule, working day
or not, makes the surfaces honest, because the third column no longer hides in them. Before you cut a smooth interaction
into many regions, ask for order two: `influence="interaction"`."""

"""How much of the model curves describe, and what pairs of features add."""

from __future__ import annotations

import granite_xai as gx
from granite_xai.base.numbers import share
from report.cases import interacting


def test_the_bars_are_the_shares_that_curves_describe(report):
    estimate = report.granite.estimate_
    steps = report.story["describes"]["steps"]
    assert [step["share"] for step in steps] == [estimate.global_fidelity, estimate.fidelity]
    assert f"<b>{share(estimate.fidelity)}</b>" in report.html()


def test_what_describes_the_model_depends_on_what_is_explained(report, X):
    words = [step["step"] for step in report.story["describes"]["steps"]]
    n_regions = len(report.story["regions"])
    assert words == [
        "one curve per feature",
        f"one curve per feature in each of {n_regions} regions",
    ]
    groups = gx.explain(
        interacting, X[:50], influence="joint", groups={"g": ["a", "c"]}, max_depth=0
    )
    assert groups.story["describes"]["steps"][0]["step"] == "one effect per group"

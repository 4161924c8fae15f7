"""How much of the model curves describe, and what pairs of features add."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.formats import share
from report.cases import interacting


def test_the_bars_are_the_shares_that_curves_describe(report):
    estimate = report.granite.estimate_
    steps = report.story["describes"]["steps"]
    assert [step["share"] for step in steps] == [estimate.global_fidelity, estimate.fidelity]
    assert f"<b>{share(estimate.fidelity)}</b>" in report.html()


def test_pairs_that_explain_the_rest_are_found(report, X):
    """The model is additive in each region but for c with d."""
    found = report.story["describes"]
    assert ["c", "d"] in found["pairs"]
    assert report.granite.fidelity_ < found["pairs_share"] <= 1.0
    exact = gx.Granite(
        lambda X: np.asarray(X)[:, 2] * np.asarray(X)[:, 3], influence="interaction"
    ).fit(X)
    assert exact.fidelity_ == pytest.approx(1.0)


def test_pairs_are_left_out_when_they_cost_more_than_the_fit():
    """Columns of twelve values: a pair of them has a hundred."""
    X = np.random.default_rng(1).integers(0, 12, (200, 5)).astype(float)
    model = lambda X: X[:, 0] * X[:, 1] * X[:, 2] + X[:, 1] * X[:, 2]  # noqa: E731
    found = gx.explain(model, X, max_depth=0).story["describes"]
    assert len(found["steps"]) == 1
    assert "more evaluations; the fit took" in found["note"]


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

"""Earlier methods side by side, and the paper's table of what each addresses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from experiments.comparison import (
    addressed,
    compare,
    most_heterogeneous_feature,
    overview,
    stability,
)
from experiments.frameworks import printed

import granite_xai as gx


def switch(X):
    values = X.to_numpy()
    return values[:, 0] * np.sign(values[:, 1]) + values[:, 2]


@pytest.fixture(scope="module")
def rows():
    X = pd.DataFrame(
        np.random.default_rng(0).uniform(-1, 1, (260, 3)).round(2), columns=["a", "b", "c"]
    )
    return X.iloc[:160], X.iloc[160:]


def test_every_framework_has_a_line_with_the_figures_of_the_estimator(rows):
    X, Z = rows
    lines = compare(switch, X, test=(Z, None), questions=("ice-pdp", "coe"), resamples=1)
    lines = lines.set_index("framework")
    assert list(lines.index) == [
        "granite", "vine", "cohex", "repid", "gadget", "fd_trees", "transformation_trees",
    ]  # fmt: skip
    assert (lines["seconds"] > 0).all()
    assert lines["stability"].between(-1, 1).all()
    trees = lines.loc[["granite", "repid", "gadget", "fd_trees"]]
    assert trees["rules"].str.contains("b").all()
    assert (trees[["remaining ice-pdp", "remaining coe"]] < 0.1).all(axis=None)
    assert (trees["fidelity"] > 0.95).all()
    g = gx.Granite(switch, "ice-pdp").fit(X)
    assert lines.loc["granite", "remaining ice-pdp"] == pytest.approx(g.evaluate(Z).plug_in)
    assert lines.loc["granite", "regions"] == len(g.partition_)


def test_own_configurations_and_risk_can_be_compared(rows):
    X, Z = rows
    given = gx.partitioners.GivenRules(["b ≤ 0", "b > 0"])
    own = {"mine": gx.Granite(switch, "pfi-risk", partitioner=given)}
    test = (Z, switch(Z))
    (line,) = compare(
        switch, X, switch(X), test=test, questions=["pfi-risk"], frameworks=own
    ).to_dict("records")
    assert line["rules"] == "b ≤ 0 | b > 0"
    assert line["stability"] == 1.0
    assert 0 <= line["remaining pfi-risk"] < 1
    assert np.isnan(stability(own["mine"], X, switch(X), Z, resamples=0, random_state=0))


def test_the_feature_of_frameworks_for_one_feature_has_the_largest_gap(rows):
    X, _ = rows
    assert most_heterogeneous_feature(switch, X) == "a"
    twice = lambda X: X.to_numpy()[:, 1] * X.to_numpy()[:, 2]  # noqa: E731
    assert most_heterogeneous_feature(twice, X) in ("b", "c")


def test_the_overview_is_the_papers_table():
    assert overview().astype(str).to_numpy().tolist() == printed()


def test_a_question_that_differs_in_masking_and_interaction_is_about_neither_alone():
    mixed = gx.Disagreement(
        gx.Explainer("conditional", "local", "full"), gx.Explainer("marginal", "local", "pure")
    )
    assert [*addressed([mixed]).values()] == ["–", "–", "–", "✓", "✗", "✗", "–", "–"]
    partial = gx.questions()["cshap-shap"]
    assert [*addressed([partial]).values()] == ["–", "–", "✓", "✓", "✗", "✗", "–", "partial"]

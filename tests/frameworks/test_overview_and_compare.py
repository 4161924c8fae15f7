"""The paper's table, and all frameworks side by side."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx

PAPER = """
VINE          ✓ ✗ – ✓ ✗ ✗ m –
CohEx         ✗ ✓ – ✓ ✗ ✗ m –
REPID         ✓ ✗ – ✓ ✗ ✗ m –
GADGET        ✓ ✓ – ✓ ✗ ✗ m,c –
FD-Trees      ✓ ✓ – ✓ ✗ ✗ m –
Transf._Trees – – ✓ ✓ ✓ ✗ – full,pure
GRANITE       ✓ ✓ ✓ ✓ ✓ ✓ * *
"""


def test_the_overview_is_the_papers_table():
    """Disagreement: full→pure, partial→pure, conditional→marginal; behavior: local, risk, sensitivity; M; I."""
    wanted = [
        [cell.replace("_", " ") for cell in line.split()] for line in PAPER.strip().splitlines()
    ]
    found = gx.frameworks.overview()
    assert [
        [str(cell).replace(", ", ",") for cell in row] for row in found.itertuples(index=False)
    ] == wanted


def test_the_overview_follows_the_configurations(monkeypatch):
    """It would change if a framework asked something else."""
    only = {"GRANITE": [gx.Granite(None, "cshap-shap")]}
    monkeypatch.setattr(
        sys.modules[gx.frameworks.overview.__module__], "configurations", lambda: only
    )
    assert gx.frameworks.overview().iloc[0].tolist() == [
        "GRANITE",
        "–",
        "–",
        "✓",
        "✓",
        "✗",
        "✗",
        "–",
        "partial",
    ]


def switch(X):
    values = X.to_numpy()
    return values[:, 0] * np.sign(values[:, 1]) + values[:, 2]


@pytest.fixture(scope="module")
def rows():
    X = pd.DataFrame(
        np.random.default_rng(0).uniform(-1, 1, (260, 3)).round(2), columns=["a", "b", "c"]
    )
    return X.iloc[:160], X.iloc[160:]


@pytest.fixture(scope="module")
def compared(rows):
    X, Z = rows
    return gx.frameworks.compare(
        switch, X, test=(Z, None), questions=("ice-pdp", "coe"), resamples=2
    )


def test_every_framework_has_a_line(compared):
    assert compared["framework"].tolist() == [
        "granite", "vine", "cohex", "repid", "gadget", "fd_trees", "transformation_trees",
    ]  # fmt: skip
    assert compared.columns.tolist() == [
        "framework", "feature", "regions", "rules", "remaining ice-pdp", "remaining coe",
        "fidelity", "stability", "seconds",
    ]  # fmt: skip
    assert (compared["seconds"] > 0).all()
    assert compared["stability"].between(-1, 1).all()


def test_the_tree_based_frameworks_find_the_switch(compared):
    trees = compared.set_index("framework").loc[["granite", "repid", "gadget", "fd_trees"]]
    assert (trees["regions"] >= 2).all()
    assert trees["rules"].str.contains("b").all()
    assert (trees["remaining ice-pdp"] < 0.1).all()
    assert (trees["fidelity"] > 0.95).all()


def test_the_figures_are_those_of_the_estimator(rows, compared):
    X, Z = rows
    g = gx.Granite(switch, "ice-pdp").fit(X)
    line = compared.set_index("framework").loc["granite"]
    assert line["remaining ice-pdp"] == pytest.approx(g.evaluate(Z).remaining)
    assert line["regions"] == len(g.partition_)
    gap = np.square(switch(Z) - g.predict(Z)).mean() / switch(Z).var()
    assert line["fidelity"] == pytest.approx(1 - gap)


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
def test_rulers_read_all_fitting_rows_whatever_the_defaults():
    """Bins of a conditional question are those of the fit without chance, also where defaults would draw rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 2))
    X[:, 1] += X[:, 0]
    plain = gx.Granite(lambda X: X[:, 0] * X[:, 1], "mplot-pdp", max_depth=1, confidence_level=None)
    found = gx.frameworks.compare(
        plain.model,
        X,
        test=X[:300],
        questions=["mplot-pdp"],
        frameworks={"plain": plain},
        resamples=0,
    )
    assert found["remaining mplot-pdp"][0] == pytest.approx(
        plain.evaluate(X[:300]).remaining, rel=1e-12
    )


def test_own_configurations_can_be_compared(rows):
    X, Z = rows
    own = {"mine": gx.Granite(switch, partitioner=gx.partitioners.GivenRules(["b ≤ 0", "b > 0"]))}
    found = gx.frameworks.compare(switch, X, test=Z, frameworks=own)
    assert found["rules"].tolist() == ["b ≤ 0 | b > 0"]
    assert found["stability"].tolist() == [1.0]


def test_risk_questions_are_measured_with_the_target_of_the_test_rows(rows):
    X, Z = rows
    found = gx.frameworks.compare(
        switch,
        X,
        switch(X),
        test=(Z, switch(Z)),
        questions=["pfi-risk"],
        frameworks=["granite"],
        resamples=0,
    )
    assert np.isnan(found["stability"][0])
    assert 0 <= found["remaining pfi-risk"][0] < 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frameworks": ["repit"]}, "'repit'.*'repid'"),
        ({"frameworks": []}, "frameworks is empty"),
        ({"questions": ()}, "questions"),
        ({"questions": "ice-pdp"}, "questions"),
        ({"questions": ["ice-pdf"]}, "'ice-pdf'.*'ice-pdp'"),
        ({"resamples": -1}, "resamples=-1"),
        ({"feature": "z", "frameworks": ["repid"]}, "'z'"),
    ],
)
def test_wrong_requests_are_named(rows, options, words):
    with pytest.raises(gx.InputError, match=words):
        gx.frameworks.compare(switch, rows[0], test=rows[1], **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: gx.frameworks.vine(m, "x0"),
        gx.frameworks.cohex,
        lambda m: gx.frameworks.repid(m, "x0", exact=True),
        lambda m: gx.frameworks.gadget(m, exact=True),
        lambda m: gx.frameworks.fd_trees(m, exact=True),
        lambda m: gx.frameworks.transformation_trees(m, "x0"),
    ],
)
def test_frameworks_are_unfitted_estimators_that_clone_and_print(make):
    from sklearn.base import clone

    g = make(len)
    assert not hasattr(g, "partition_")
    again = clone(g)
    assert again.model is g.model
    assert repr(again) == repr(g)
    assert again.get_params()["partitioner"] == g.get_params()["partitioner"]


def test_options_of_the_estimator_pass_through():
    g = gx.frameworks.repid(
        len, "x0", max_depth=1, question="shap-pdp", random_state=7, min_samples_leaf=3, exact=True
    )
    assert (g.max_depth, g.question, g.random_state, g.min_samples_leaf) == (1, "shap-pdp", 7, 3)

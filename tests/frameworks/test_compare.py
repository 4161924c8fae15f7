"""All frameworks side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.frameworks.compare import most_heterogeneous_feature, stability


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
        switch, X, test=(Z, None), questions=("ice-pdp", "coe"), resamples=1
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


def test_the_feature_of_frameworks_for_one_feature_has_the_largest_gap(rows):
    X, _ = rows
    assert most_heterogeneous_feature(switch, X, {}) == "a"
    twice = lambda X: X.to_numpy()[:, 1] * X.to_numpy()[:, 2]  # noqa: E731
    assert most_heterogeneous_feature(twice, X, {}) in ("b", "c")


def test_stability_compares_the_regions_of_refits(rows):
    """Regions that do not depend on the rows agree in full; without refits there is no figure."""
    X, Z = rows
    given = gx.Granite(switch, partitioner=gx.partitioners.GivenRules(["b ≤ 0", "b > 0"]))
    given.fit(X)
    assert stability(given, X, None, Z, resamples=2) == 1.0
    assert np.isnan(stability(given, X, None, Z, resamples=0))

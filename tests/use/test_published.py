"""Each framework recovers what was planted, in the example of its own paper or code."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import granite_xai as gx
from use.dependent_rows import columns_of, dependent, sum_and_product


def slopes(X):
    """Slope of x2: -8 where x1 ≤ 0, otherwise 0 or 8 by the binary x3."""
    return np.where(X[:, 0] <= 0, -8.0, 8.0 * X[:, 2])


def by_slope(X):
    return 0.2 * X[:, 0] + slopes(X) * X[:, 1]


@pytest.fixture(scope="module")
def planted():
    """x1, x2, the binary x3, and three columns without effect, as arrays with the paper's names."""
    import pandas as pd

    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(240, 6)).round(2)
    X[:, 2] = rng.integers(0, 2, size=240)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(1, 7)])


def named(function):
    return lambda X: function(np.asarray(X, dtype=float))


def test_vine_finds_the_three_slopes_of_x2(planted):
    g = gx.frameworks.vine(named(by_slope), "x2").fit(planted)
    truth = np.unique(slopes(planted.to_numpy()), return_inverse=True)[1]
    assert len(set(zip(g.clusters_.tolist(), truth.tolist(), strict=True))) == 3
    assert columns_of(g.partition_) == {"x1", "x3"}
    assert len(g.partition_) == 3
    assert g.description_accuracy_ > 0.97


@pytest.mark.parametrize("method", ["k-means", "birch"])
def test_vine_with_other_clusterings(planted, method):
    g = gx.frameworks.vine(named(by_slope), "x2", n_clusters=3, method=method).fit(planted)
    truth = np.unique(slopes(planted.to_numpy()), return_inverse=True)[1]
    assert len(set(zip(g.clusters_.tolist(), truth.tolist(), strict=True))) == 3


def test_vine_in_its_exact_form_gives_each_cluster_a_rule(planted):
    """Three slopes: x1 ≤ 0, and above it by x3. Five clusters are merged where their cuts are alike."""
    g = gx.frameworks.vine(named(by_slope), "x2", exact=True, grid="equidistant").fit(planted)
    assert sum(rule["n_samples"] for rule in g.cluster_rules_) == len(planted)
    assert [rule["n_samples"] for rule in g.cluster_rules_] == np.bincount(g.clusters_).tolist()
    first = next(rule for rule in g.cluster_rules_ if rule["rule"].startswith("x1 ≤"))
    assert first["kept"]
    assert first["accuracy"] > 0.99
    assert columns_of(g.partition_) <= {"x1", "x3"}


def test_clusters_near_the_overall_curve_or_with_a_poor_rule_are_dropped():
    """Slopes 1 and -1 by x1, and slope 0 at random rows, which lie on the overall curve and have no rule."""
    chance = np.random.default_rng(0)
    X = chance.uniform(-1, 1, (300, 3))
    X[:, 2] = chance.random(300) < 0.3

    def model(X):
        return np.where(X[:, 2] > 0, 0.4, np.where(X[:, 1] > 0, 2.0, -1.0)) * X[:, 0]

    g = gx.frameworks.vine(model, "x0", exact=True, n_clusters=3).fit(X)
    kept = {rule["rule"].split()[0]: rule["kept"] for rule in g.cluster_rules_}
    assert kept == {"x1": True, "x2": False}
    assert len(g.partition_) > 1


@pytest.mark.parametrize("exact", [False, True])
def test_repid_splits_where_the_slope_of_x2_changes(planted, exact):
    options = {"alpha": 0.01, "max_candidates": 200} if not exact else {}
    g = gx.frameworks.repid(named(by_slope), "x2", exact=exact, **options).fit(planted)
    assert g.partition_.root.column == "x1"
    assert abs(g.partition_.root.left.high) < 0.1
    assert columns_of(g.partition_) == {"x1", "x3"}
    assert g.remaining_ < 0.05


def test_the_loss_of_repid_is_the_variance_of_the_slopes(planted):
    """The curves are slope · (x - mean of the grid): the loss is their variance times the grid's sum of squares."""
    g = gx.frameworks.repid(named(by_slope), "x2", exact=True).fit(planted)
    grid = np.linspace(planted["x2"].min(), planted["x2"].max(), 20)
    slope = slopes(planted.to_numpy())
    stated = np.square(slope - slope.mean()).sum() * np.square(grid - grid.mean()).sum()
    assert g.loss_ == pytest.approx(stated, rel=1e-9)
    regions = g.apply(planted)
    for k, loss in enumerate(g.region_losses_):
        inside = slope[regions == k]
        stated = np.square(inside - inside.mean()).sum() * np.square(grid - grid.mean()).sum()
        assert loss == pytest.approx(stated, rel=1e-7, abs=1e-7)


def gadget_case(X):
    """3 x1 on one side of x3 = 0 and -3 x1 on the other, plus x3."""
    return np.where(X[:, 2] > 0, 3 * X[:, 0], -3 * X[:, 0]) + X[:, 2]


def gadget_rows(correlation, n=300):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(n, 3)).round(2)
    X[:, 2] = (correlation * X[:, 0] + (1 - correlation) * X[:, 2]).round(2)
    return X


@pytest.mark.parametrize("effect", ["pd", "ale", "shap"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.45])
def test_gadget_splits_at_the_sign_of_x3(effect, exact, correlation):
    """The second column has no effect; the first and third interact.

    ALE is asked about the first alone: the jump of the third lies in one interval of its own, whatever the region.
    """
    X = gadget_rows(correlation)
    features = ["x0"] if effect == "ale" else None
    g = gx.frameworks.gadget(gadget_case, features, effect, exact=exact, max_depth=1).fit(X)
    assert columns_of(g.partition_) == {"x2"}  # the third column
    assert abs(g.partition_.root.left.high) < 0.15
    assert g.remaining_ < 0.25


def test_the_loss_of_gadget_is_stated():
    """Before the split, curves of x1 are ±3 (x - mean); those of x3 jump by 6 x1 at 0 (known grid, known rows)."""
    X = gadget_rows(0.0)
    g = gx.frameworks.gadget(gadget_case, exact=True, max_depth=1).fit(X)
    first = np.linspace(X[:, 0].min(), X[:, 0].max(), 20)
    third = np.linspace(X[:, 2].min(), X[:, 2].max(), 20)
    slope = np.where(X[:, 2] > 0, 3.0, -3.0)
    step = np.where(third > 0, 1.0, -1.0)
    stated = np.square(slope - slope.mean()).sum() * np.square(first - first.mean()).sum()
    stated += np.square(3 * (X[:, 0] - X[:, 0].mean())).sum() * np.square(step - step.mean()).sum()
    assert g.loss_ == pytest.approx(stated, rel=1e-9)
    assert g.region_losses_.sum() < 0.05 * g.loss_


@pytest.mark.parametrize("objective", ["coe", "pfi-pdp", "shap-pdp", "pfi-shap"])
@pytest.mark.parametrize("exact", [False, True])
def test_fd_trees_split_at_the_switch(objective, exact):
    """h = x1 if x2 > 0 else x3 is additive on both sides of x2 = 0."""
    X = np.random.default_rng(3).uniform(-1, 1, size=(200, 3)).round(1)

    def switch(X):
        return np.where(X[:, 1] > 0, X[:, 0], X[:, 2])

    g = gx.frameworks.fd_trees(switch, objective, exact=exact).fit(X)
    assert [str(rule) for rule in g.partition_.rules] == ["x1 ≤ 0", "x1 > 0"]
    assert g.remaining_ < 1e-12


def test_the_root_loss_of_fd_trees_is_a_share_of_the_variance():
    """For the switch with independent columns half the variance is an interaction."""
    X = (
        np.array(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]))
        .reshape(3, -1)
        .T.repeat(25, axis=0)
    )
    model = lambda X: np.where(X[:, 1] > 0, X[:, 0], X[:, 2])  # noqa: E731
    g = gx.frameworks.fd_trees(model, exact=True, max_depth=0).fit(X)
    assert g.remaining_ * g.disagreement_ / model(X).var() == pytest.approx(0.5)


def two_groups(n=160, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=0.3, size=(n, 3))
    X[: n // 2, 0] -= 3
    X[n // 2 :, 0] += 3
    return X, np.repeat([0, 1], n // 2)


def test_cohex_finds_two_planted_cohorts():
    """Inside each group the model hardly moves, so that SHAP values with the cohort as reference nearly vanish."""
    X, truth = two_groups()
    g = gx.frameworks.cohex(
        lambda X: (X[:, 0] > 0) * (6.0 + X[:, 1]), free=2, restarts=4, rounds=2
    ).fit(X)
    assert len(g.partition_) == 2
    assert set(zip(g.clusters_.tolist(), truth.tolist(), strict=True)) in (
        {(0, 0), (1, 1)},
        {(0, 1), (1, 0)},
    )
    assert g.description_accuracy_ == 1.0
    assert columns_of(g.partition_) == {"x0"}


def test_cohex_against_the_pure_effect_leaves_main_effects_alone():
    """x1 acts in one group, x2 in the other: additive inside both."""
    X, truth = two_groups(120)
    model = lambda X: np.where(X[:, 0] > 0, 5 * X[:, 1], 5 * X[:, 2])  # noqa: E731
    g = gx.frameworks.cohex(model, against="pure", free=2, restarts=2, rounds=1).fit(X)
    assert len(np.unique(g.apply(X) * 2 + truth)) == 2
    assert g.remaining_ < 1e-10


def test_conditional_subgroups_report_both_questions_in_their_leaves():
    X = dependent("piecewise", 300, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.BinWarning)
        for question in ("mplot-pdp", "cfi-pfi"):
            g = gx.frameworks.transformation_trees(sum_and_product, "x0", question).fit(
                X, sum_and_product(X)
            )
            assert [str(rule).split()[0] for rule in g.partition_.rules] == ["x1", "x1"]
            assert g.remaining_ < 0.5


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


@pytest.mark.parametrize("make", ["vine", "repid", "transformation_trees"])
def test_frameworks_of_one_feature_ask_about_that_one(make):
    configure = getattr(gx.frameworks, make)
    assert configure(len, "x0").features == ["x0"]
    assert configure(len, "x0", features=["x1"]).features == ["x1"]
    posed = configure(len, "x0", question=gx.question("ice-pdp"))
    assert posed.question.first.influence == gx.Individual(["x0"])

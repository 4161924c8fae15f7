"""Trees from the largest to one region, and the price that chooses among them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import granite_xai as gx


def two_steps(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.7 * X[:, 0] * np.sign(X[:, 2])


def product_and_step(X):
    return 2 * X[:, 0] * np.sign(X[:, 1]) + X[:, 2] * X[:, 1]


def table(seed=0, n=160):
    return np.round(np.random.default_rng(seed).uniform(-1, 1, size=(n, 3)), 1) + 0.05


@pytest.mark.parametrize("seed", [0, 1])
def test_two_planted_steps_are_four_regions_whatever_the_folds(seed):
    """Steps of the same size: three regions leave more than a tenth of the disagreement."""

    def equal_steps(X):
        return X[:, 0] * (np.sign(X[:, 1]) + np.sign(X[:, 2]))

    options = {"holdout": False, "search": "greedy", "split_features": ["x1", "x2"]}
    g = gx.Granite(equal_steps, alpha="auto", random_state=seed, **options).fit(table())
    assert len(g.partition_) == 4
    assert "4 regions: the smallest tree that keeps 90%" in str(g.partition_)


@pytest.mark.parametrize("confidence_level", [0.95, None])
def test_the_alpha_of_the_path_finds_the_tree_again(confidence_level):
    X, model = table(n=120), lambda X: two_steps(X) + 0.5 * X[:, 0] * X[:, 1]
    auto = gx.Granite(
        model, alpha="auto", max_depth=2, holdout=False, confidence_level=confidence_level
    ).fit(X)
    path = auto.path_
    assert path["regions"].is_monotonic_decreasing
    assert path["alpha"].is_monotonic_increasing
    assert path["regions"].iloc[-1] == 1
    assert path["left"].iloc[-1] == path["left_out"].iloc[-1] == 1.0
    for line in path[:-1].itertuples():
        again = clone(auto).set_params(alpha=line.alpha).fit(X)
        assert len(again.partition_) == line.regions
        if line.chosen:
            assert again.partition_ == auto.partition_
            assert auto.diagnostics_["alpha"]["alpha"] == line.alpha
    shown = sum(region.disagreement for region in auto.partition_)
    if confidence_level is None:
        assert path["left"][path["chosen"]].item() == pytest.approx(shown, abs=1e-12)


def test_the_price_of_one_region_is_the_least_that_finds_it():
    """The search at the price where the largest tree is undone finds another tree, which leaves less than nothing."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 3))
    y = product_and_step(X) + 3 * rng.normal(size=100)
    options = {"holdout": False, "max_depth": 2, "min_samples_leaf": 10}
    g = gx.Granite(product_and_step, "pfi-risk", **options).fit(X, y)
    path = g.path_
    assert path["left"].min() < 0
    assert path["regions"].iloc[-1] == 1
    alpha = path["alpha"].iloc[-1]
    assert alpha <= 1.0
    for price, n_regions in ((alpha, 1), (0.99 * alpha, 2)):
        again = clone(g).set_params(alpha=price).fit(X, y)
        assert len(again.partition_) == n_regions


def test_a_path_asks_the_model_nothing_and_is_kept():
    calls = []

    def model(X):
        calls.append(len(X))
        return two_steps(X)

    g = gx.Granite(model, max_depth=1, holdout=False, search="greedy").fit(table())
    calls.clear()
    path = g.path_
    assert not calls
    assert path.equals(g.path_)


def test_too_few_clusters_for_folds_leave_everything_on_rows_that_are_left_out():
    """Four clusters: no tree is known to hold elsewhere, so one region is chosen."""
    g = gx.Granite(two_steps, holdout=False, search="greedy", confidence_level=None)
    path = g.fit(table(), clusters=np.arange(160) % 4).path_
    assert path["regions"].tolist()[-3:] == [3, 2, 1]
    assert set(path["left_out"]) == {1.0}
    assert path["chosen"].tolist() == [False] * (len(path) - 1) + [True]


def test_nothing_to_explain_is_one_region():
    g = gx.Granite(lambda X: X.sum(axis=1), alpha="auto").fit(table())
    assert len(g.partition_) == 1
    (only,) = g.path_.to_dict("records")
    assert only == {"alpha": 0.0, "regions": 1, "left": 1.0, "left_out": 1.0, "chosen": True}


def test_where_there_is_no_path_is_said(tmp_path):
    X = table(n=100)
    with pytest.raises(ValueError, match="not fitted"):
        _ = gx.Granite(two_steps).path_
    gx.save(gx.Granite(two_steps, max_depth=1).fit(X), tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json", model=two_steps)
    with pytest.raises(gx.InputError, match="P03.*evaluations of the fit.*before the fit is saved"):
        _ = loaded.path_
    rules = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])
    with pytest.raises(gx.InputError, match="P03.*has no path"):
        _ = gx.Granite(two_steps, partitioner=rules).fit(X).path_
    with pytest.raises(gx.InputError, match="alpha"):
        gx.Granite(two_steps, alpha="auto", partitioner=rules).fit(X)
    with pytest.raises(gx.InputError, match="alpha"):
        gx.Granite(two_steps, alpha="automatic").fit(X)


@pytest.mark.parametrize("alpha", ["auto", 0.05])
def test_a_path_that_is_known_is_saved_with_the_fit(alpha, tmp_path):
    g = gx.Granite(two_steps, alpha=alpha, max_depth=2, holdout=False, search="greedy").fit(table())
    path = g.path_ if alpha != "auto" else None  # which the fit itself has made
    gx.save(g, tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json")
    assert loaded.path_.equals(g.path_ if path is None else path)
    assert pickle.loads(pickle.dumps(g)).path_.equals(g.path_)
    assert loaded.partition_ == g.partition_


def test_alpha_auto_is_refused_beside_a_partitioner():
    rules = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])
    with pytest.raises(gx.InputError, match='P03.*alpha="auto" chooses among the trees') as caught:
        gx.Granite(two_steps, alpha="auto", partitioner=rules).fit(table(n=60))
    assert caught.value.argument == "alpha"

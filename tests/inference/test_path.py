"""How many regions: the path from the largest tree to none, and the tree that ``alpha="auto"`` takes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from granite_xai.inference.path import (
    MeasuredNode,
    Path,
    PathStep,
    folds,
    pruned,
    pruned_trees,
)
from sklearn.base import clone

import granite_xai as gx


def two_steps(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.7 * X[:, 0] * np.sign(X[:, 2])


def table(seed=0, n=160):
    return np.round(np.random.default_rng(seed).uniform(-1, 1, size=(n, 3)), 1) + 0.05


def node(share, other=0.0, *children):
    return MeasuredNode(share, other, children)


def test_pruning_undoes_the_weakest_split_first_and_ends_with_one_region():
    inner = node(0.5, 0.6, node(0.2, 0.1), node(0.2, 0.2))
    tree = node(1.0, 1.0, inner, node(0.1, 0.1))
    found = [(round(each.alpha, 12), each.regions, each.left_out) for each in pruned_trees(tree)]
    assert found == [(0.0, 3, pytest.approx(0.4)), (0.1, 2, pytest.approx(0.7)), (0.4, 1, 1.0)]


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.1, 0.3])
def test_the_pruned_tree_has_the_least_objective_of_all_subtrees(alpha):
    def cut(part):  # what is left and how many regions, of every subtree
        ways = [(part.left, 1)]
        if part.children:
            one, two = (cut(child) for child in part.children)
            ways += [(a + c, b + d) for a, b in one for c, d in two]
        return ways

    rng = np.random.default_rng(int(100 * alpha))
    for _ in range(50):
        a, b, c, d, e, f = rng.uniform(-0.05, 0.4, size=6)
        left = node(a, 0.0, node(b), node(c))
        tree = node(1.0, 0.0, left, node(d, 0.0, node(e), node(f)))
        found = pruned(tree, alpha)
        assert found.left + alpha * found.regions == pytest.approx(
            min(x + alpha * k for x, k in cut(tree))
        )


def test_the_smallest_tree_that_keeps_nine_tenths_is_chosen():
    steps = [PathStep(0.0, 5, 0.0, 0.2), PathStep(0.1, 3, 0.1, 0.28), PathStep(0.2, 2, 0.2, 0.281)]
    path = Path((*steps, PathStep(0.5, 1, 1.0, 1.0)))
    assert path.line == pytest.approx(0.28)
    assert path.chosen is steps[1]
    assert "3 regions: the smallest tree that keeps 90%" in path.text(3)


def test_folds_leave_every_cluster_out_once():
    clusters = np.repeat(np.arange(12), 3)
    parts = list(folds(clusters, 0))
    assert sorted(np.concatenate([left_out for _, left_out in parts])) == list(range(36))
    for rows, left_out in parts:
        assert set(clusters[rows]).isdisjoint(clusters[left_out])
    assert list(folds(np.array([0, 1, 1]), 0)) == []


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

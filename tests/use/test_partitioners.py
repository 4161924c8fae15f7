"""Every partitioner works with any question, returns disjoint rules, and refuses nonsense by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.partitioners import (
    AllExcept,
    Clusters,
    Cohorts,
    GivenRules,
    Ice,
    RepidTree,
    Subgroups,
    Tree,
)
from strategies import paper


def model(X):
    X = np.asarray(X, dtype=float)
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(120, 3)).round(1)


PARTITIONERS = [
    Tree(min_improvement=0.05, search="greedy"),
    GivenRules(["x1 ≤ 0", "x1 > 0"]),
    Clusters("shap", n_clusters=3),
    Clusters(Ice("x0"), "k-means", 2),
    Cohorts(restarts=2, rounds=2),
    Subgroups("x0"),
    RepidTree(["x0"]),
]


@pytest.mark.parametrize("partitioner", PARTITIONERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "pfi-risk"])
def test_any_partitioner_serves_any_question(X, partitioner, question):
    """Regions add up to what remains, measured as by the given rules; membership is that of the rules."""
    g = paper(model, question, partitioner=partitioner).fit(X, model(X))
    assert g.remaining_ == pytest.approx(sum(region.disagreement for region in g.partition_))
    assert sum(region.n_samples for region in g.partition_) == len(X)
    assert np.bincount(g.apply(X)).tolist() == [region.n_samples for region in g.partition_]
    again = paper(model, question, partitioner=GivenRules(g.partition_.rules)).fit(X, model(X))
    assert again.remaining_ == pytest.approx(g.remaining_)
    assert again.fidelity_ == pytest.approx(g.fidelity_)
    assert again.apply(X).tolist() == g.apply(X).tolist()


def test_given_trees_are_measured_anew(X):
    """A tree fitted on some rows, used on others: their counts and disagreement."""
    first = paper(model, "ice-pdp").fit(X[:80])
    second = paper(model, "ice-pdp", partitioner=GivenRules(first.partition_)).fit(X)
    assert second.partition_.root.n_samples == len(X)
    assert [str(rule) for rule in second.partition_.rules] == [
        str(rule) for rule in first.partition_.rules
    ]
    assert second.evaluate(X).remaining == pytest.approx(second.remaining_)


def test_given_rules_must_hold_rows_and_cover_them(X):
    with pytest.raises(gx.InputError, match="no fitting row satisfies 'x1 > 99'"):
        paper(model, partitioner=GivenRules(["x1 ≤ 99", "x1 > 99"])).fit(X)
    with pytest.raises(gx.InputError, match="no rule of the partition"):
        paper(model, partitioner=GivenRules(["x1 ≤ 0"])).fit(X)


def test_what_a_partitioner_learned_leaves_with_it(X):
    g = paper(model, partitioner=Clusters(Ice("x0"))).fit(X)
    assert hasattr(g, "clusters_")
    g.set_params(partitioner=None).fit(X)
    assert not hasattr(g, "clusters_")


def test_a_model_with_nothing_to_explain_has_one_cluster(X):
    for partitioner in (Clusters("shap"), Clusters(Ice("x0")), Cohorts()):
        g = paper(lambda X: X[:, 0] + X[:, 1], partitioner=partitioner).fit(X)
        assert len(g.partition_) == 1
        assert set(g.clusters_) == {0}
        assert g.description_accuracy_ == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_the_accuracy_of_a_description_is_that_of_the_most_frequent_label_of_a_region(X, weighted):
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.5], size=len(X)) if weighted else None
    g = paper(model, partitioner=Clusters("shap", n_clusters=4), max_depth=1)
    g.fit(X, sample_weight=weights)
    regions = g.apply(X)
    mass = np.ones(len(X)) if weights is None else weights
    right = 0.0
    for region in range(len(g.partition_)):
        inside = regions == region
        right += max(mass[inside & (g.clusters_ == label)].sum() for label in set(g.clusters_))
    assert 0.5 < g.description_accuracy_ < 1.0
    assert g.description_accuracy_ == pytest.approx(right / mass.sum())


@pytest.mark.parametrize("beta", [0.0, 100.0])
def test_cohorts_are_many_where_they_are_free_and_one_where_they_are_dear(X, beta):
    cohorts = Cohorts(free=1, beta=beta, restarts=2, rounds=2)
    g = paper(model, partitioner=cohorts, random_state=3).fit(X[:14])
    assert sorted(set(g.clusters_.tolist())) == list(range(g.clusters_.max() + 1))
    assert (g.clusters_.max() > 0) == (beta == 0.0)


@pytest.mark.parametrize(("cohorts", "price"), [(1, 0.0), (2, 0.0), (3, 0.5), (6, 1.0), (18, 2.0)])
def test_only_cohorts_beyond_the_free_ones_cost(cohorts, price):
    assert Cohorts(free=2, beta=5.0).penalty(cohorts, 100) == pytest.approx(price)
    assert Cohorts().penalty(cohorts + 2, 100) == pytest.approx(price)  # four are free by default


def test_subgroups_ignore_the_model_and_the_units():
    rng = np.random.default_rng(4)
    x1 = rng.normal(size=200).round(2)
    x0 = (np.where(x1 > 0.5, 3.0, 0.0) + rng.normal(size=200)).round(2)
    X = np.column_stack([x0, x1])
    options = {"partitioner": Subgroups("x0"), "alpha": 0.02, "max_candidates": 300}
    regions = paper(lambda X: X[:, 0] * X[:, 1], **options).fit(X).apply(X)
    other = paper(lambda X: np.log(X[:, 0]) * X[:, 1] ** 3, **options).fit(np.exp(X))
    assert other.apply(np.exp(X)).tolist() == regions.tolist()
    assert "x0" not in " ".join(map(str, other.partition_.rules))


@pytest.mark.parametrize("by", ["distribution", "mean"])
def test_subgroups_follow_levels_and_missing_values(by):
    """What differs between the halves of `size` is the level of `kind`; of `gaps` only whether it is missing."""
    rng = np.random.default_rng(5)
    size = rng.normal(size=150)
    frame = pd.DataFrame(
        {"kind": np.where(size > 0, "a", "b"), "size": size, "noise": rng.normal(size=150)}
    )
    frame.loc[::10, "kind"] = "c"
    frame["gaps"] = pd.Series(np.where(size > 0, np.nan, 1.0) * rng.integers(1, 4, 150))

    def of_kind(X):
        return X["size"].to_numpy() * (X["kind"] == "a").to_numpy()

    options = {"missing": "allow", "split_features": ["size", "noise"]}
    for feature in ("kind", "gaps"):
        g = paper(of_kind, partitioner=Subgroups(feature, by), **options).fit(frame)
        assert g.partition_.root.column == "size"


def test_columns_left_out_are_not_split(X):
    g = paper(model, split_features=AllExcept("x1"), alpha=0.0).fit(X)
    assert "x1" not in " ".join(map(str, g.partition_.rules))
    with pytest.raises(gx.InputError, match="split_features='x7'"):
        paper(model, split_features=AllExcept("x7")).fit(X)


def test_improvement_stops_the_tree_at_the_root_and_below(X):
    """A split needs a tenth of all disagreement first, then a tenth of the gain before it."""
    strict = paper(model, partitioner=Tree(search="greedy", alpha=0.0, min_improvement=0.99)).fit(X)
    assert strict.diagnostics_["stop_reasons"] == ["improvement too small"]
    free = paper(
        model, partitioner=Tree(search="greedy", alpha=0.0, min_improvement=0.0, min_samples_leaf=5)
    ).fit(X)
    some = paper(
        model, partitioner=Tree(search="greedy", alpha=0.0, min_improvement=0.1, min_samples_leaf=5)
    ).fit(X)
    assert 1 < len(some.partition_) <= len(free.partition_)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Clusters("shp"), "on='shp'.*'shap'"),
        (lambda: Clusters("pfi"), "risk behavior"),
        (lambda: Clusters(method="dbscan"), "method='dbscan'"),
        (lambda: Clusters(n_clusters=0), "n_clusters=0"),
        (lambda: Cohorts(against="median"), "against='median'"),
        (lambda: Cohorts(beta=-1), "beta=-1"),
        (lambda: Cohorts(rounds=0), "rounds=0"),
        (lambda: Subgroups("a", by="mode"), "by='mode'"),
        (lambda: RepidTree(effect="shp"), "effect='shp'"),
        (lambda: RepidTree(points=1), "points=1"),
        (lambda: Ice("x0", points=1), "points=1"),
        (lambda: Ice("x0", grid="log"), "grid='log'"),
        (lambda: Tree(cuts="random"), "cuts='random'"),
        (lambda: Tree(min_improvement=-0.1), "min_improvement=-0.1"),
        (lambda: gx.frameworks.gadget(model, effect="pdp"), "effect='pdp'"),
        (lambda: gx.frameworks.fd_trees(model, "cow"), "objective='cow'.*'coe'"),
    ],
)
def test_wrong_options_are_named(make, words):
    with pytest.raises(gx.InputError, match=words):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda f: Clusters(Ice(f)),
        Subgroups,
        lambda f: RepidTree([f]),
        lambda f: RepidTree([f], "ale"),
    ],
)
def test_unknown_columns_are_named_before_the_model_is_asked(X, make):
    calls = []

    def counting(X):
        calls.append(len(X))
        return model(X)

    with pytest.raises(gx.InputError, match="'x9'"):
        paper(counting, partitioner=make("x9")).fit(X)
    assert not calls

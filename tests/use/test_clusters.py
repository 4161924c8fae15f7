"""Clusters of explanations and of ICE curves."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai import Individual
from granite_xai.partitioners import Clusters, Ice
from strategies import paper


def model(X):
    X = np.asarray(X, dtype=float)
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(120, 3)).round(1)


@pytest.mark.parametrize("method", ["ward", "k-means", "birch"])
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_clusters_have_no_unit(method, factor):
    """Four groups of vectors are found whatever their unit and place; labels count by first appearance."""
    generator = np.random.default_rng(0)
    groups = np.array([0, 0, 1, 2, 1, 3, 2, 0, 3, 1])
    vectors = 10.0 * np.array([[0, 0], [5, 0], [0, 5], [5, 5]])[groups] + generator.normal(
        size=(10, 2)
    )
    found = Clusters("shap", method, 4, threshold=0.2).labels(factor * (vectors + 3.0))
    assert found.tolist() == groups.tolist()


@pytest.mark.parametrize("method", ["ward", "k-means", "birch"])
@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_there_are_no_more_clusters_than_wanted_nor_than_vectors(method, wanted):
    few = np.array(
        [[0.0], [1.0], [1.0 + 1e-13], [0.0]]
    )  # what differs by noise alone is one vector
    found = Clusters("shap", method, wanted, threshold=1e-3).labels(few)
    assert found.tolist() == ([0, 0, 0, 0] if wanted == 1 else [0, 1, 1, 0])
    many = np.arange(12.0)[:, None] ** 2
    assert len(set(Clusters("shap", method, wanted, threshold=1e-3).labels(many))) == wanted
    assert Clusters("shap", method, wanted).labels(np.full((5, 2), 0.1)).tolist() == [0] * 5


def test_a_second_question_without_disagreement_does_not_silence_the_first():
    """Rows are clustered as long as one of the questions has something to explain."""
    X = np.random.default_rng(0).normal(size=(60, 3)).round(1)
    model = lambda X: X[:, 0] * np.sign(X[:, 1]) + X[:, 2]  # noqa: E731
    loud = gx.question("ice-pdp").with_influence(Individual(["x0"]))
    still = gx.question("ice-pdp").with_influence(Individual(["x2"]))
    for partitioner in (
        Clusters(Ice("x0"), n_clusters=2),
        gx.partitioners.Cohorts(free=2, restarts=2, rounds=1),
    ):
        granite = paper(model, [loud, still], partitioner=partitioner).fit(X)
        assert len(set(granite.clusters_.tolist())) > 1
        assert len(set(paper(model, still, partitioner=partitioner).fit(X).clusters_.tolist())) == 1


def test_the_options_of_the_estimator_word_the_clusters(X):
    deep = paper(
        model, "shap-pdp", partitioner=Clusters("shap"), alpha=0.0, min_samples_leaf=5
    ).fit(X)
    flat = paper(model, "shap-pdp", partitioner=Clusters("shap"), max_depth=1).fit(X)
    assert len(flat.partition_) == 2 < len(deep.partition_)
    assert flat.description_accuracy_ < deep.description_accuracy_ <= 1.0
    assert flat.clusters_.tolist() == deep.clusters_.tolist()


def test_clusters_are_the_same_for_the_same_seed(X):
    for method in ("ward", "k-means", "birch"):
        one, two = (
            paper(model, partitioner=Clusters("shap", method)).fit(X).clusters_ for _ in range(2)
        )
        assert one.tolist() == two.tolist()


def test_birch_tells_effects_apart_that_differ_by_a_tenth_of_their_spread(X):
    """Its threshold by default; a coarser one finds other clusters, and at the whole spread only one."""
    found = [
        paper(model, partitioner=Clusters("shap", "birch", 4, **options)).fit(X).clusters_.tolist()
        for options in ({}, {"threshold": 0.1}, {"threshold": 0.5}, {"threshold": 1.1})
    ]
    assert found[0] == found[1] != found[2]
    assert [max(each) for each in found] == [3, 3, 3, 0]


def test_vine_lists_its_clusters_and_describes_those_that_are_kept(X):
    partitioner = Clusters(Ice("x0", differences=True), "birch", 4, merge=True)
    g = paper(model, partitioner=partitioner).fit(X)
    kept = [rule for rule in g.cluster_rules_ if rule["kept"]]
    assert sum(rule["n_samples"] for rule in g.cluster_rules_) == len(X)
    assert len(set(g.clusters_.tolist())) == len(g.cluster_rules_)
    assert {rule["rule"].split()[0] for rule in kept} == {"x1"}


@pytest.mark.parametrize("method", ["ward", "k-means", "birch"])
@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_the_clusters_of_vine_have_no_unit(X, method, factor):
    """Its second stage begins with clusters in units of the spread of the curves, as the first does."""
    partitioner = Clusters(Ice("x0", differences=True), method, 4, merge=True)
    g = paper(model, partitioner=partitioner).fit(X)
    in_other_unit = paper(lambda X: factor * model(X), partitioner=partitioner).fit(X)
    assert in_other_unit.clusters_.tolist() == g.clusters_.tolist()
    assert len(set(g.clusters_.tolist())) > 1

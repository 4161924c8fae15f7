"""Scatter of vectors in regions, and the clusters and columns that are turned into vectors, against plain loops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.vectors import Vectors
from granite_xai.explanation.influence import Individual
from granite_xai.partitioners import Ice
from granite_xai.partitioners.clusters import Clusters, OneCut, described, merged, one_cut
from granite_xai.partitioners.original import spline_basis
from granite_xai.partitioners.scatter import Scatter
from granite_xai.tables import read_table
from strategies import examples, paper


@given(data=st.data())
@examples(60)
def test_N05_scatter_is_the_mean_squared_distance_to_the_mean_vector(data):
    """Of both sides of every split, summed over all vectors; 0 on an empty side; an offset takes no digits."""
    n, K = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    offset = data.draw(st.sampled_from([0.0, 1e7]))
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    inside, weights = generator.random((K, n)) < 0.6, generator.choice([0.5, 1.0, 2.0], size=n)
    several = [generator.integers(-8, 9, size=(n, G)) / 4 for G in (1, 3)]
    evaluations = SimpleNamespace(vectors=[Vectors(values + offset) for values in several])
    found = Scatter().regional(evaluations, Splits.of(inside, weights))
    for k in range(K):
        for side, rows in enumerate((inside[k], ~inside[k])):
            wanted = 0.0
            for values in several:
                if rows.any():
                    mean = np.average(values[rows], axis=0, weights=weights[rows])
                    wanted += np.average(
                        ((values[rows] - mean) ** 2).sum(axis=1), weights=weights[rows]
                    )
            assert found[k, side] == pytest.approx(wanted, abs=1e-6)


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


def test_columns_are_described_by_their_tenths_levels_or_standardised_values():
    """A column of missing values beside them where there are some."""
    frame = pd.DataFrame(
        {"number": np.arange(20.0), "kind": list("abca") * 5, "gaps": [np.nan, 1.0, 3.0, 5.0] * 5}
    )
    number, kind, gaps = read_table(frame, missing="allow").columns
    below = described(number, "distribution")
    assert below.shape[0] == 20
    assert set(np.unique(below)) == {0.0, 1.0}
    assert (
        np.diff(below, axis=0) <= 0
    ).all()  # lying below a tenth ends somewhere and does not begin again
    assert (np.diff(below, axis=1) >= 0).all()
    assert described(number, "mean") == pytest.approx(
        ((np.arange(20) - 9.5) / np.arange(20).std())[:, None]
    )
    for by in ("distribution", "mean"):
        assert described(kind, by).tolist() == [
            [float(label == level) for level in "abc"] for label in frame["kind"]
        ]
    spread = np.array([1.0, 3.0, 5.0]).std()
    wanted = [[0.0, 1.0], [-2 / spread, 0.0], [0.0, 0.0], [2 / spread, 0.0]]
    assert described(gaps, "mean") == pytest.approx(np.array(wanted * 5))
    assert described(gaps, "distribution")[:, -1].tolist() == [1.0, 0.0, 0.0, 0.0] * 5


def test_one_cut_tells_a_cluster_from_the_others_and_like_cuts_are_one():
    table = read_table([[0.0], [1.0], [2.0], [3.0]], missing="error")
    assert one_cut(table, np.array([True, True, False, False])) == OneCut(0, 1.5, True)
    cuts = [OneCut(0, 1.0, True), OneCut(0, 1.05, True), OneCut(0, 0.5, True), OneCut(1, 1.0, True)]
    assert merged(cuts, [1.0, 1.0]) == [0, 0, 2, 3]


def test_columns_of_few_values_are_read_by_value():
    column = read_table([[0.0], [1.0], [0.0]], missing="error").columns[0]
    assert spline_basis(column).tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]

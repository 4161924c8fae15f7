"""Disagreement from second moments against its definition, for every question that has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from granite_xai.algebra import moments as module
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.masking import Conditional
from granite_xai.algebra.moments import factor, moments_of
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.evaluations.evaluations import Coalition
from granite_xai.tables import read_table
from parts.by_hand import drawn, evaluations_of, named, waves

MARGINAL = ("ice-pdp", "sobol", "variance", "pfi-risk")
CONDITIONAL = ("mplot-pdp", "csobol-sobol", "cfi-pfi")
N = 90


@pytest.fixture
def every_direction(monkeypatch):
    """Nothing is left out, as if all directions were strong."""
    monkeypatch.setattr(module, "KEPT", 2.0)
    monkeypatch.setattr(module, "MOST_DIRECTIONS", 100)


def evaluations(weighted: bool = False):
    """With a target and bins of every coalition that questions show."""
    x = drawn(N)
    rng = np.random.default_rng(1)
    visible = [Coalition([j]) for j in range(3)] + [Coalition({0, 1, 2} - {j}) for j in range(3)]
    return evaluations_of(
        waves,
        x,
        y=rng.normal(size=N),
        weights=rng.uniform(0.5, 2, size=N) if weighted else np.ones(N),
        facts={(Conditional(), columns): rng.integers(0, 4, size=N) for columns in visible},
    )


def from_sums(moments, members):
    """Disagreement of regions (n, K) by summing up products within bins."""
    total = 0.0
    for of_sets in moments:
        bins = np.zeros(N, dtype=int) if of_sets.bins is None else of_sets.bins
        in_bins = (bins[:, None] == np.arange(of_sets.n_bins)).astype(float)
        sums = np.einsum("np,nb,nk->pbk", of_sets.products, in_bins, members)
        total = total + of_sets.of_sums(sums)
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("question", [*MARGINAL, *CONDITIONAL])
def test_sums_over_rows_give_the_disagreement_of_any_region(question, weighted, every_direction):
    known = evaluations(weighted)
    asked = named(question, 3)
    members = (np.random.default_rng(2).uniform(size=(N, 5)) < [0.9, 0.6, 0.5, 0.3, 0.2]).astype(
        float
    )
    expected = asked.regional(known, RegionWeights(members * known.weights[:, None]))[0]
    found = from_sums(moments_of(asked, known), members)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("question", [*MARGINAL, *CONDITIONAL])
def test_some_rows_are_a_region(question, every_direction):
    known = evaluations()
    asked = named(question, 3)
    inside = np.flatnonzero(drawn(N)[:, 0] > 0)
    expected = asked.regional(known.take(inside), RegionWeights.whole(np.ones(len(inside))))[0]
    total = 0.0
    for of_sets in moments_of(asked, known):
        part = of_sets.take(inside)
        bins = np.zeros(len(inside), dtype=int) if part.bins is None else part.bins
        in_bins = (bins[:, None] == np.arange(part.n_bins)).astype(float)
        total += part.of_sums(np.einsum("np,nb->pb", part.products, in_bins)[:, :, None])[0]
    assert total == pytest.approx(expected[0], rel=1e-6)


def test_rows_that_share_one_bin_have_nothing_conditional(every_direction):
    known = evaluations_of(waves, drawn(N))
    moments = moments_of(named("mplot-pdp", 3), known)
    assert from_sums(moments, np.ones((N, 1))) == pytest.approx(0.0)


@pytest.mark.parametrize("question", ["shap-pdp", "ice-shap", "coe", "cice-mplot", "sage-risk"])
def test_questions_without_moments(question):
    assert moments_of(named(question, 3), evaluations()) is None


def test_two_ways_to_bin_one_set_have_none():
    """What is averaged within other bins does not cancel."""
    other = Conditional(bins="exact")
    asked = Disagreement(Explainer(other), Explainer(Conditional())).resolve(
        read_table(drawn(N), missing="error")
    )
    known = evaluations()
    bins = {(other, members): codes[::-1] for (_, members), codes in known.facts.items()}
    known = replace(known, facts={**known.facts, **bins})
    assert asked.regional(known, RegionWeights.whole(np.ones(N)))[0, 0] > 0
    assert moments_of(asked, known) is None


def test_pairs_have_none():
    assert moments_of(named("ice-pdp", 3, order=2), evaluations()) is None


def test_two_columns_are_read_from_one(every_direction):
    """Of two columns one is asked; the other one's factors are the same, turned."""
    x = drawn(N, d=2)
    both = evaluations_of(lambda x: np.sin(2 * x[:, 0] * x[:, 1]) + x[:, 0], x, y=x[:, 0])
    first = {Coalition([0]): both.matrices[Coalition([0])]}
    one = replace(both, matrices=first)
    for question in MARGINAL:
        asked = named(question, 2)
        members = (np.random.default_rng(2).uniform(size=(N, 3)) < 0.6).astype(float)
        assert from_sums(moments_of(asked, one), members) == pytest.approx(
            from_sums(moments_of(asked, both), members), rel=1e-6
        )


def test_factors_add_up_to_the_predictions():
    known = evaluations(weighted=True)
    for matrix in known.matrices.values():
        factors = factor(matrix, known.weights)
        assert factors.a + factors.b + factors.e == pytest.approx(matrix.own())
        assert factors.strengths.tolist() == sorted(factors.strengths, reverse=True)
        interaction = np.einsum("nr,nr->n", factors.U, factors.w)
        assert interaction == pytest.approx(factors.e, abs=1e-7)


def test_a_search_reads_the_strong_directions():
    strengths = np.array([1.0, 0.5, 1e-3, 1e-5])
    assert module.search_rank(strengths, 0.0) == 2
    assert module.search_rank(np.array([1.0, 0.95, 0.9, 1e-6]), 0.0) == 3
    assert module.search_rank(np.full(9, 1.0), 0.0) == 9  # none is told from the others
    assert module.search_rank(strengths, 2.0) == 0


def test_many_values_have_the_same_strong_directions(monkeypatch):
    known = evaluations()
    matrix = known.matrices[Coalition([0])]
    exact = factor(matrix, known.weights)
    monkeypatch.setattr(module, "MANY_VALUES", 4)
    monkeypatch.setattr(module, "SKETCHED", 8)
    sketched = factor(matrix, known.weights)
    assert sketched.strengths[:2] == pytest.approx(exact.strengths[:2], rel=1e-6)
    assert np.abs(sketched.U[:, 0]) == pytest.approx(np.abs(exact.U[:, 0]), abs=1e-4)

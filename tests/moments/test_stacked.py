"""All sets of a question side by side, against each set by itself."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.moments.stacked import StackedGaps

from problems import problem_of, random_model, random_table


@pytest.fixture
def sets():
    """The sets of a fit with weights; their ranks differ."""
    generator = np.random.default_rng(3)
    problem = problem_of(
        random_model(generator),
        random_table(generator),
        sample_weight=generator.choice([0.5, 1.0, 3.0], 60),
    )
    (statistics,) = problem.statistics
    assert len({own.rank for own in statistics}) > 1
    return statistics


def test_gaps_of_any_rows_are_those_of_the_sets(sets):
    stacked = StackedGaps.of(sets)
    for rows in (np.arange(60), np.array([5]), np.arange(3, 41, 2)):
        wanted = sum(own.take(rows).mean_squared_gap_of_rows() for own in sets)
        found = stacked.take(rows).mean_squared_gap()
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-15)


def test_vectors_are_turned_set_by_set_in_a_unit_of_their_own(sets):
    stacked = StackedGaps.of(sets)
    largest = max(np.abs(own.factors.row_factors).max(initial=0.0) for own in sets)
    largest = max(largest, *(np.abs(own.factors.interaction).max() for own in sets))
    assert stacked.unit == largest > 0
    for own, place in zip(sets, stacked.slices, strict=True):
        vectors = own.vectors()
        scale = np.ones(vectors.shape[1])
        scale[: 1 + own.rank] = stacked.unit
        np.testing.assert_allclose(stacked.vectors[:, place] * scale, vectors, rtol=1e-14)
        turned = own.times_k((vectors / scale).T).T
        np.testing.assert_allclose(stacked.times_k(stacked.vectors)[:, place], turned, rtol=1e-14)


def test_sets_without_interactions_show_nothing():
    generator = np.random.default_rng(0)
    problem = problem_of(lambda X: X[:, 0] + X[:, 1], random_table(generator), "ice-pdp")
    stacked = StackedGaps.of(problem.statistics[0])
    assert stacked.mean_squared_gap() == pytest.approx(0.0, abs=1e-25)

"""Figures under signed pairs of weights: standard errors, and the corrected figures alone."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.signed_weights import signs
from granite_xai.inference.perturbed_figures import (
    corrected_figures,
    perturbed_figures,
    standard_error_of,
)

from problems import problem_of


def interacting(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.5 * X[:, 2]


@pytest.mark.parametrize("question", ["ice-pdp", "mplot-pdp", "variance", "pfi-risk"])
@pytest.mark.parametrize("n_clusters", [None, 7])
def test_the_corrected_figures_alone_are_the_same_numbers(question, n_clusters):
    """Bit for bit: what is computed once for both must not depend on which of them asks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)).round(1)
    problem = problem_of(
        interacting, X, question, y=X.sum(axis=1), sample_weight=rng.uniform(1, 2, 90)
    )
    (asked,) = problem.shares.comparisons
    drawn = signs(np.arange(90), 3)
    alone = corrected_figures(asked, problem.evaluations, drawn, n_clusters)
    figures = perturbed_figures(asked, problem.evaluations, drawn, n_clusters)
    assert alone.plug_in_by_set.tolist() == figures.figures.plug_in_by_set.tolist()
    assert alone.corrected_by_set.tolist() == figures.figures.corrected_by_set.tolist()
    assert (alone.plug_in, alone.corrected) == (figures.plug_in, figures.corrected)
    assert alone.corrected != alone.plug_in


def test_both_weights_of_a_pair_move_a_figure_to_both_sides():
    """Signs that favour the rows of one half: their disagreement alone decides under a step of 1."""
    X = np.random.default_rng(1).normal(size=(60, 3))
    problem = problem_of(interacting, X)
    (asked,) = problem.shares.comparisons
    drawn = signs(np.arange(60), 0)
    figures = perturbed_figures(asked, problem.evaluations, drawn)
    opposite = perturbed_figures(asked, problem.evaluations, -drawn)
    assert figures.moved.shape == figures.mass.shape == (2, len(drawn))
    np.testing.assert_allclose(figures.moved[::-1], opposite.moved, rtol=1e-12)
    np.testing.assert_allclose(figures.mass.sum(axis=0), 120.0)
    assert figures.centred_excess.mean() == pytest.approx(0.0, abs=1e-12)


def test_the_standard_error_counts_observations_not_pairs():
    """Of two observations signed weights show half of the variance."""
    slopes = np.array([3.0, -3.0])
    none = np.zeros(2)
    assert standard_error_of(slopes, none, 2) == pytest.approx(3.0 * np.sqrt(2.0))
    assert standard_error_of(slopes, np.array([4.0, -4.0]), 10**9) == pytest.approx(5.0)


def test_the_standard_error_of_gaps_near_0_is_that_of_their_squares():
    """Variance of an additive model: gaps are covariances of the sample, whose slope is 0 where they are."""
    shown, errors = [], []
    for seed in range(60):
        X = np.random.default_rng(seed).normal(size=(150, 2)).round(1)
        problem = problem_of(lambda X: X[:, 0] + X[:, 1], X, "variance")
        asked = problem.shares.comparisons[0]
        part = perturbed_figures(asked, problem.evaluations, signs(np.arange(150), 0))
        shown.append(part.corrected)
        errors.append(part.standard_error)
    spread = np.std(shown)
    assert np.sqrt(np.mean(np.square(errors))) < 2 * spread
    assert min(errors) > 0.3 * spread  # by slopes alone 0.05 of it, and 0.2 in a tenth of samples

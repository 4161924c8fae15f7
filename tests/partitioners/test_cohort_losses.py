"""What the search for cohorts lowers, against plain loops over rows and cohorts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.request import request
from granite_xai.models import as_predictor
from granite_xai.partitioners.cohort_losses import (
    DistanceToMean,
    DistanceToPureEffect,
    effects_inside,
    scatter_within,
)
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route
from strategies import examples

PARTIAL = Explainer("marginal", "local", "partial")
PURE = Explainer("marginal", "local", "pure")


def model(X):
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2] ** 2


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(1).normal(size=(14, 3)).round(1)


def evaluated(model, X, weights):
    """The evaluations behind partial and pure effects, and these effects."""
    table = read_table(X, missing="error")
    route = Route(as_predictor(model), table)
    effects = [explainer.effect(route, Resources(), 0) for explainer in (PARTIAL, PURE)]
    evaluations, _ = evaluate(
        route,
        request(table, effects),
        FittedMaskings({}, {}, {}),
        weights=weights,
        y=None,
        resources=Resources(),
    )
    return evaluations, effects


@pytest.fixture(scope="module")
def known(X):
    return evaluated(model, X, np.random.default_rng(2).choice([0.5, 1.0, 2.0], size=len(X)))


def divisions(n):
    """Some ways to divide n rows into cohorts; a number may be skipped, as when a representative has no row."""
    return st.lists(
        st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=3
    ).map(np.array)


def scatter_by_loop(vectors, labels, weights):
    """Mean over all rows of the squared distance to the weighted mean of their cohort."""
    total = 0.0
    for k in set(labels.tolist()):
        rows = [n for n in range(len(labels)) if labels[n] == k]
        mass = sum(weights[n] for n in rows)
        for j in range(vectors.shape[1]):
            mean = sum(weights[n] * vectors[n, j] for n in rows) / mass
            total += sum(weights[n] * (vectors[n, j] - mean) ** 2 for n in rows)
    return total / weights.sum()


@given(divisions(9), st.sampled_from([0.0, 1e3, 1e7]), st.integers(0, 10**6))
@examples(60)
def test_N05_scatter_is_the_squared_distance_to_the_mean_of_the_cohort(labels, offset, seed):
    """With weights, for several divisions at once, also where what all rows share is much larger."""
    generator = np.random.default_rng(seed)
    vectors, weights = (
        generator.integers(-8, 9, size=(9, 2)) / 4 + offset,
        generator.choice([0.5, 1.0, 3.0], size=9),
    )
    wanted = [scatter_by_loop(vectors - offset, line, weights) for line in labels]
    np.testing.assert_allclose(
        scatter_within(vectors, labels, weights), wanted, rtol=1e-6, atol=1e-6
    )


@given(labels=divisions(14))
@examples(20)
def test_rows_are_explained_with_their_own_cohort_as_reference(X, known, labels):
    evaluations, effects = known
    found = effects_inside(effects[1], evaluations, labels[0])
    assert found.shape == (14, 3)
    for k in np.unique(labels[0]):
        rows = np.flatnonzero(labels[0] == k)
        weights = evaluations.weights[rows]
        for j in range(3):
            for n in rows:
                hybrids = X[rows].copy()
                hybrids[:, j] = X[n, j]
                wanted = np.average(model(hybrids), weights=weights) - np.average(
                    model(X[rows]), weights=weights
                )
                assert found[n, j] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("block", [1, 2, 128])
@given(labels=divisions(14))
@examples(15)
def test_the_pure_loss_is_the_disagreement_inside_each_cohort(known, block, labels):
    """A share of that of one cohort, however many cohorts are scored at once and whoever guided."""
    evaluations, (partial, pure) = known
    question = ResolvedQuestion(Disagreement(PARTIAL, PURE), partial, pure)
    one_cohort = np.zeros(14, dtype=np.intp)

    def by_loop(line):
        full = effects_inside(partial, evaluations, line)
        gaps = full - effects_inside(pure, evaluations, line)
        return np.average(np.square(gaps).sum(axis=1), weights=evaluations.weights)

    score = DistanceToPureEffect(evaluations, question, block).explained_in(one_cohort)
    expected = [by_loop(line) / by_loop(one_cohort) for line in labels]
    np.testing.assert_allclose(score(labels), expected, rtol=1e-9, atol=1e-12)


@given(labels=divisions(14))
@examples(15)
def test_the_mean_loss_is_a_share_of_that_of_one_cohort(known, labels):
    evaluations, (partial, _) = known
    one_cohort = np.zeros(14, dtype=np.intp)
    on_all_rows = effects_inside(partial, evaluations, one_cohort)
    root = scatter_by_loop(on_all_rows, one_cohort, evaluations.weights)
    guided = effects_inside(partial, evaluations, labels[0])
    expected = [scatter_by_loop(guided, line, evaluations.weights) / root for line in labels]
    score = DistanceToMean(evaluations, partial).explained_in(labels[0])
    np.testing.assert_allclose(score(labels), expected, rtol=1e-9, atol=1e-12)


def test_a_loss_of_nothing_has_no_share(X):
    """Where one cohort has no loss, neither has any other division; nothing is divided by zero."""
    evaluations, effects = evaluated(lambda X: 0.0 * X[:, 0], X, np.ones(14))
    question = ResolvedQuestion(Disagreement(PARTIAL, PURE), *effects)
    labels = np.arange(14)[None] % 2
    to_mean = DistanceToMean(evaluations, effects[0])
    to_pure_effect = DistanceToPureEffect(evaluations, question)
    assert to_mean.explained_in(labels[0])(labels).tolist() == [0.0]
    assert to_pure_effect.explained_in(labels[0])(labels).tolist() == [0.0]

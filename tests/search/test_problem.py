"""Shares of regions as a partitioner reads them, against the disagreement of these rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.inference.replicates import Chance

from problems import problem_of


def step(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.4 * X[:, 0] * X[:, 2]


def posed(question="ice-pdp", **options):
    X = np.random.default_rng(0).normal(size=(90, 3)).round(1)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 90)
    problem = problem_of(step, X, question, sample_weight=weights, holdout=False, **options)
    return problem, np.flatnonzero(problem.table.columns[1].values > 0)


def disagreement(problem, rows):
    """Disagreement of the first question on some rows as one region."""
    (question,) = problem.shares.comparisons
    inside = problem.evaluations.restrict(rows)
    shares = inside.weights / inside.weights.sum()
    whole = Splits.whole(inside.weights)
    return sum(float(shares @ gap[0] ** 2) for gap in question.gap_values(inside, whole))


def test_the_share_of_a_region_is_by_its_mass_and_its_disagreement():
    problem, rows = posed()
    weights = problem.evaluations.weights
    members = np.stack([np.ones(90), np.isin(np.arange(90), rows)])
    mass = weights[rows].sum() / weights.sum()
    expected = mass * disagreement(problem, rows) / disagreement(problem, np.arange(90))
    assert problem.measure(members) == pytest.approx([1.0, expected])
    assert problem.share(rows) == pytest.approx(expected)


def test_with_a_confidence_level_the_share_is_without_what_chance_adds():
    problem, rows = posed(confidence_level=0.9)
    chance = problem.chance.chance_in(problem.evaluations.restrict(rows), rows, 1)
    mass = problem.evaluations.weights[rows].sum() / problem.evaluations.weights.sum()
    corrected = mass * chance.corrected[0] / problem.chance.root.corrected[0]
    assert problem.share(rows) == pytest.approx(corrected)
    members = np.isin(np.arange(90), rows)[None].astype(float)
    assert problem.share(rows) < float(problem.measure(members)[0])


def test_only_questions_that_count_are_more_than_chance():
    """Of two questions one is above its bar; if it does not count, the rows show no more than chance."""
    problem, _ = posed(["ice-pdp", "sobol"])
    large = np.array([1e3, 1e3])
    chance = Chance(plug_in=large, chance_level=large, bar=np.array([0.0, 1e6]), corrected=large)
    for factors, only_chance in [([1.0, 1.0], False), ([1.0, 0.0], False), ([0.0, 1.0], True)]:
        shares = replace(problem.shares, factors=np.array(factors))
        assert replace(problem, shares=shares).only_chance(chance) is only_chance


def test_an_additive_model_is_below_its_noise_floor():
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert problem_of(lambda X: X[:, 0] + X[:, 1], X).below_noise_floor
    assert not problem_of(lambda X: X[:, 0] * X[:, 1], X).below_noise_floor

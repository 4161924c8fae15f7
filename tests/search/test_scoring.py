"""Scoring in stages: columns that are certainly none of the best are dropped early."""

from __future__ import annotations

import numpy as np
from granite_xai.search.scoring import score_best_columns, score_candidates

import granite_xai as gx
from granite_xai.search import scoring
from problems import options_of, problem_of
from strategies import quiet


def test_scoring_in_stages_finds_the_best_columns_of_a_wide_table():
    """Forty columns, two questions, weights: what is not dropped equals the full scores, and holds the best three."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(80, 40))
    size = generator.exponential(size=38)
    problem = problem_of(
        lambda X: (X[:, :38] * size * np.sign(X[:, 1:39])).sum(axis=1),
        X,
        {"ice-pdp": 2, "coe": 1},
        sample_weight=generator.integers(1, 4, 80) * 0.5,
    )
    rows = np.flatnonzero(X[:, 0] > -1)
    options = [option for group in options_of(problem, rows, 8, 5) for option in group]
    inside = problem.evaluations.restrict(rows)
    full, mass = score_candidates(problem, rows, options, inside, 8)
    some, its_mass = score_best_columns(problem, rows, options, inside, 8, 3)
    kept = np.isfinite(some).all(axis=(1, 2))
    columns = np.array([option.column for option in options])
    totals = problem.shares.of(full, mass).sum(axis=1)
    least = {column: totals[columns == column].min() for column in set(columns.tolist())}
    assert 0 < kept.sum() < len(options)
    assert set(sorted(least, key=least.get)[:3]) <= set(columns[kept].tolist())
    np.testing.assert_allclose(some[kept], full[kept], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(its_mass[kept], mass[kept])


def test_a_wide_table_with_a_question_that_shows_only_chance_is_divided_by_the_other():
    """Columns that are dropped leave infinitely much of what counts, and nothing of what does not."""
    X = np.random.default_rng(0).normal(size=(120, 40))
    options = {"search": "greedy", "max_samples": None, "holdout": False}
    with quiet():
        both, one = (
            gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), question, **options).fit(X)
            for question in (["ice-pdp", "mplot-pdp"], "ice-pdp")
        )
    assert both.partition_.rules == one.partition_.rules
    assert len(one.partition_) > 1


def test_stages_change_nothing(monkeypatch):
    """The tree of a wide table with stages and without them."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(80, 30))
    inner = generator.normal(size=(30, 6)) / 3
    outer = generator.normal(size=6)
    rules = []
    for wide in (30, 1000):
        monkeypatch.setattr(scoring, "WIDE", wide)
        g = gx.Granite(
            lambda X: np.tanh(X @ inner) @ outer,
            search="greedy",
            confidence_level=None,
            max_depth=2,
            alpha=0.001,
            min_samples_leaf=10,
        )
        rules.append([str(rule) for rule in g.fit(X).partition_.rules])
    assert rules[0] == rules[1]

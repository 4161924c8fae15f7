"""Scores of cuts: on the predictions, by sums, and by the closed form of repeated searches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.search.node_opening import NodeOpening
from granite_xai.search.node_scores import NodeScores

import granite_xai as gx
from granite_xai.search import node_scores
from granite_xai.search.tables import region_tables
from problems import problem_of


def step(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.2 * X[:, 0] * X[:, 2]


def opened(search="refined", **options):
    X = np.random.default_rng(0).normal(size=(70, 3)).round(1)
    problem = problem_of(step, X, holdout=False, **options)
    tree = gx.partitioners.Tree(min_samples_leaf=5, max_candidates=8, search=search)
    nodes = NodeOpening(tree, problem, [0, 1, 2])
    root = nodes.root(np.arange(70), problem.evaluations)
    return NodeScores(tree, problem), root, nodes.candidates(root)


def test_sums_and_predictions_tell_the_same():
    scores, root, options = opened()
    tables = region_tables(scores.problem, 5)
    by_tables = scores.by_tables(root, tables.of_node(root.rows), options)
    on_predictions = scores.remaining(scores.on_predictions(root, options))
    assert by_tables == pytest.approx(on_predictions, abs=0.02)
    choices = scores.choices(root, options)
    gains = [choice.gain for choice in choices]
    assert gains == pytest.approx((root.shown_share - on_predictions).tolist())
    assert [choice.candidate for choice in choices] == options


def test_repeated_searches_score_by_the_closed_form():
    """The same figures without reading the predictions; each part is summed up once."""
    scores, root, options = opened(confidence_level=0.9)
    exact = scores.choices(root, options)
    repeated = NodeScores(scores.settings, replace(scores.problem, is_repetition=True))
    by_sums = repeated.choices(root, options)
    for one, other in zip(exact, by_sums, strict=True):
        assert other.gain == pytest.approx(one.gain, abs=1e-9)
        np.testing.assert_allclose(other.disagreements, one.disagreements, rtol=1e-8)
        np.testing.assert_allclose(other.mass, one.mass)


@pytest.mark.parametrize(("search", "n_computed"), [("greedy", 2), ("refined", 1)])
def test_only_searches_that_grow_several_trees_keep_scores(search, n_computed, monkeypatch):
    calls = []
    score = node_scores.score_best_columns

    def counted(*arguments):
        calls.append(arguments)
        return score(*arguments)

    monkeypatch.setattr(node_scores, "score_best_columns", counted)
    scores, root, options = opened(search)
    first, again = (scores.of_all_cuts(root, options) for _ in range(2))
    np.testing.assert_array_equal(first.disagreements, again.disagreements)
    assert len(calls) == n_computed

"""Cuts that are followed: shortlisted by sums, scored on the predictions, two levels ahead."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.finer import FinerCuts
from granite_xai.search.followed_cuts import CutsByTables
from granite_xai.search.node_opening import NodeOpening
from granite_xai.search.node_scores import NodeScores
from granite_xai.search.scoring import score_candidates

import granite_xai as gx
from granite_xai.search import followed_cuts
from granite_xai.search.tables import region_tables
from problems import options_of, problem_of, random_model, random_table
from strategies import quiet

PLAIN = {"confidence_level": None}


def fitted(model, X, question="ice-pdp", y=None, weights=None, **options):
    with quiet():
        return gx.Granite(model, question, **{**PLAIN, **options}).fit(X, y, sample_weight=weights)


def three_way(X):
    return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])


def test_what_tables_choose_is_scored_on_the_predictions():
    """The shortlist of cuts near the best one by sums; the choice is the best of them by the engine."""
    generator = np.random.default_rng(5)
    X = generator.uniform(-1, 1, size=(120, 3))
    problem = problem_of(lambda X: np.exp(2 * X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 0], X)
    tree = gx.partitioners.Tree(min_samples_leaf=5, max_candidates=10)
    cuts = CutsByTables(NodeScores(tree, problem), region_tables(problem, 5))
    rows = np.arange(120)
    root = NodeOpening(tree, problem, [0, 1, 2]).root(rows, problem.evaluations)
    options = [option for group in options_of(problem, rows, 10, 5) for option in group]
    (choice,) = cuts.choices(root, options, levels_left=3)
    scores = score_candidates(problem, rows, options, problem.evaluations, 10)
    left = problem.shares.of(scores.disagreements, scores.mass).sum(axis=1)
    assert root.shown_share - choice.gain == pytest.approx(left.min(), abs=1e-12)
    assert choice.candidate is options[int(np.argmin(left))]


def test_scores_of_tables_that_are_off_by_the_factoring_error_do_no_harm(monkeypatch):
    """Sums that are wrong by up to 2 % of the node: the best cut is still found among the shortlisted."""
    generator = np.random.default_rng(5)
    problem = problem_of(random_model(generator), random_table(generator, 100))
    tree = gx.partitioners.Tree(min_samples_leaf=5, max_candidates=5)
    cuts = CutsByTables(NodeScores(tree, problem), region_tables(problem, 5))
    rows = np.arange(100)
    root = NodeOpening(tree, problem, [0, 1, 2, 3]).root(rows, problem.evaluations)
    options = [option for group in options_of(problem, rows, 5, 5) for option in group]
    assert len(options) <= followed_cuts.SHORTLISTED
    scores_of = NodeScores.by_tables

    def off(self, node, node_tables, some):
        noise = generator.uniform(-0.0099, 0.0099, size=len(some))
        return scores_of(self, node, node_tables, some) + noise

    monkeypatch.setattr(NodeScores, "by_tables", off)
    scores = score_candidates(problem, rows, options, problem.evaluations, 10)
    left = problem.shares.of(scores.disagreements, scores.mass).sum(axis=1)
    for _ in range(20):
        (choice,) = cuts.choices(root, options, levels_left=3)
        assert root.shown_share - choice.gain == pytest.approx(left.min(), abs=1e-9)


@pytest.mark.parametrize("weighting", ["mass", "uniform"])
def test_a_part_of_the_rows_of_a_large_node_looks_ahead(weighting, monkeypatch):
    """A third of the rows say where to begin; all of them decide. Small regions stay allowed."""
    monkeypatch.setattr(followed_cuts, "AHEAD_ROWS", 100)
    X = np.random.default_rng(1).uniform(-1, 1, size=(300, 4))
    objective = gx.Objective("ice-pdp", weighting=weighting)
    options = {"features": ["x0"], "max_depth": 2, "min_samples_leaf": 40, "alpha": 0.01}
    g = fitted(three_way, X, objective, **options)
    columns = {column for rule in g.partition_.rules for column, _ in rule.conditions}
    assert columns == {"x1", "x2"}
    assert g.remaining_ < 0.05


def test_of_many_columns_the_look_ahead_takes_those_with_the_best_single_cuts(monkeypatch):
    monkeypatch.setattr(followed_cuts, "AHEAD_COLUMNS", 2)
    generator = np.random.default_rng(3)
    problem = problem_of(random_model(generator), random_table(generator))
    rows = np.arange(60)
    tables = region_tables(problem, 2)
    tree = gx.partitioners.Tree(min_samples_leaf=2, alpha=0.01)
    finer = FinerCuts(problem.table, 2)
    ahead = CutsByTables(NodeScores(tree, problem), tables, finer, looks_ahead=True)
    root = NodeOpening(tree, problem, [0, 1, 2, 3]).root(rows, problem.evaluations)
    options = [option for group in options_of(problem, rows) for option in group]
    for best in [(0, 1), (1, 3), (2, 3)]:
        scores = np.array([0.5 if option.column in best else 1.0 for option in options])
        cut = ahead.first_of_two_levels(root, tables.of_node(rows), options, scores)
        assert cut.column in best


def test_ties_of_a_greedy_search_are_counted():
    """Of two equal columns the first is cut, and the diagnostics say that it was a tie."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    twice = np.column_stack([X, X[:, 1]])
    options = {"search": "greedy", "max_depth": 1, "min_samples_leaf": 5, **PLAIN}
    with quiet():
        tied = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), **options).fit(twice)
        clear = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), **options).fit(X)
    assert tied.diagnostics_["ties"] == 1
    assert "ties" not in clear.diagnostics_

"""Nodes as they are opened: their shares, their candidates, and when they stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.node_opening import NodeOpening
from granite_xai.search.node_scores import NodeScores

import granite_xai as gx
from granite_xai.search import node_opening
from granite_xai.search.tables import region_tables
from problems import problem_of


def step(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.2 * X[:, 0] * X[:, 2]


def opened(**options):
    """A problem, its nodes, and the root."""
    X = np.random.default_rng(0).normal(size=(80, 3)).round(1)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    problem = problem_of(step, X, sample_weight=weights)
    tree = gx.partitioners.Tree(min_samples_leaf=10, max_candidates=8, **options)
    nodes = NodeOpening(tree, problem, [0, 1, 2])
    return problem, nodes, nodes.root(np.arange(80), problem.evaluations)


def test_both_sides_of_a_cut_have_its_rows_mass_and_shares():
    problem, nodes, root = opened()
    cut = nodes.candidates(root)[12]
    (choice,) = NodeScores(nodes.settings, problem).choices(root, [cut])
    sides = [nodes.below(root, choice, side) for side in (LEFT, RIGHT)]
    goes_left = cut.goes_left(problem.table, root.rows)
    assert root.shown_share == pytest.approx(1.0)
    assert sides[LEFT].rows.tolist() == np.flatnonzero(goes_left).tolist()
    assert sides[RIGHT].rows.tolist() == np.flatnonzero(~goes_left).tolist()
    for node in sides:
        assert node.depth == 1
        assert node.mass == pytest.approx(problem.evaluations.weights[node.rows].sum())
        members = np.isin(np.arange(80), node.rows)[None].astype(float)
        assert node.shown_share == pytest.approx(float(problem.measure(members)[0]))
        np.testing.assert_array_equal(
            node.evaluations.value.weights, problem.evaluations.weights[node.rows]
        )
    assert choice.gain == pytest.approx(1.0 - sum(node.shown_share for node in sides))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"is_silent": True, "only_chance": True}, "nothing to explain"),
        ({"only_chance": True, "counted_share": 0.0}, "no more than chance"),
        ({"counted_share": 0.049}, "below alpha"),
        ({"counted_share": 0.05}, None),
        ({"depth": 2}, "maximum depth"),
        ({"rows": np.arange(19)}, "too few samples"),
        ({"rows": np.arange(20)}, None),
    ],
)
def test_C2_the_first_reason_to_stop_is_told(changes, reason):
    _, nodes, root = opened(max_depth=2)
    assert nodes.reason_to_stop(replace(root, **changes)) == reason


def test_a_split_must_gain_a_share_of_what_the_split_before_gained():
    """REPID and GADGET: in shares of the disagreement at the root, of the gain above it below."""
    problem, nodes, root = opened(search="greedy", min_improvement=0.2)
    assert root.required_gain == pytest.approx(0.2)
    (choice,) = NodeScores(nodes.settings, problem).choices(root, [nodes.candidates(root)[12]])
    below = nodes.below(root, choice, LEFT)
    assert below.required_gain == pytest.approx(0.2 * choice.gain)


@pytest.mark.parametrize("gains", [True, False])
def test_a_node_of_chance_is_divided_where_a_split_gains_more(gains, monkeypatch):
    """The test is made once for the same rows, with half of the error a level deeper."""
    errors = []

    def tested(problem, tables, rows, options, error):
        errors.append(error)
        return gains

    monkeypatch.setattr(node_opening, "split_beyond_chance", tested)
    problem, nodes, root = opened()
    tables = region_tables(problem, 10)
    nodes = replace(nodes, problem=replace(problem, gain_error=0.02))
    stopped = replace(root, only_chance=True, depth=1)
    for _ in range(2):
        assert nodes.with_second_chance(stopped, tables).only_chance is not gains
    assert errors == [0.01]
    small = replace(stopped, rows=np.arange(39))
    assert nodes.with_second_chance(small, tables) is small
    assert nodes.with_second_chance(stopped, None) is stopped
    assert nodes.with_second_chance(root, tables) is root
    assert errors == [0.01]

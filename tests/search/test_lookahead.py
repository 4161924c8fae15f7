"""The best two levels of cuts against every pair of cuts."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.moments import factors
from granite_xai.search.candidates import cuts_of

import granite_xai as gx
from granite_xai.search import lookahead, tables as tables_module
from granite_xai.search.lookahead import CutTree, SideCosts, TwoLevels, sides_of_upper_cut
from granite_xai.search.tables import region_tables
from problems import (
    MixedModel,
    goes_left,
    mixed_table,
    options_of,
    problem_of,
    random_model,
    random_table,
)


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    """Searches read all directions and all sets: then tables are exact."""
    monkeypatch.setattr(factors, "KEPT_BY_SEARCH", 1.0)
    monkeypatch.setattr(tables_module, "NEGLIGIBLE", -1.0)


def shares_of(problem, members):
    """Share of the objective in each of some regions, (K, n) bool, by the engine."""
    splits = Splits.of(members, problem.evaluations.weights)
    disagreements = problem.shares.disagreements(problem.evaluations, splits)
    return problem.shares.of(disagreements, splits.mass)[:, 0]


def regions_of(rows, tree, problem):
    """Rows of every region of a tree of cuts."""
    if tree is None:
        return [rows]
    left = goes_left(problem, tree.cut, rows)
    return regions_of(rows[left], tree.left, problem) + regions_of(rows[~left], tree.right, problem)


def tree_cost(problem, rows, tree, alpha):
    """What the regions of a tree leave, and their price."""
    regions = regions_of(rows, tree, problem)
    members = np.array([np.isin(np.arange(problem.table.n_rows), region) for region in regions])
    return float(shares_of(problem, members).sum()) + alpha * len(regions)


def least_by_first_column(problem, rows, groups, alpha, least):
    """For each column the least cost of a tree that cuts it first, by trying every pair of cuts."""
    every = [option for group in groups for option in group]
    node = np.isin(np.arange(problem.table.n_rows), rows)
    left = np.array([goes_left(problem, option, np.arange(len(node))) for option in every])
    members = []  # of every side of every cut, then of both parts that each cut makes of it
    for first in left:
        for side in (node & first, node & ~first):
            members.append(side)
            for second in left:
                members += [side & second, side & ~second]
    members = np.array(members)
    shares = shares_of(problem, members) + alpha
    shares[members.sum(axis=1) < least] = np.inf
    shares = shares.reshape(len(every), 2, 1 + 2 * len(every))
    divided = shares[:, :, 1:].reshape(len(every), 2, len(every), 2).sum(axis=3).min(axis=2)
    costs = np.minimum(shares[:, :, 0], divided).sum(axis=1)
    columns = np.array([option.column for option in every])
    return {column: costs[columns == column].min() for column in set(columns.tolist())}


def two_levels(problem, rows, groups, alpha, least):
    return TwoLevels(
        tables=region_tables(problem, least).of_node(rows),
        cuts=[cuts_of(group, problem.table, rows)[0] for group in groups],
        options=groups,
        alpha=alpha,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["ice-pdp", "mplot-pdp", "pfi-risk"])
def test_the_best_trees_are_those_of_all_pairs_of_cuts(seed, name, monkeypatch):
    """The best tree for each first column, best first: numbers, labels, missing values, in a node."""
    monkeypatch.setattr(lookahead, "PAIRS_AT_ONCE", 3)
    generator = np.random.default_rng(seed)
    is_mixed = seed % 2 == 0
    X = mixed_table(generator, 50) if is_mixed else random_table(generator, 50)
    model = MixedModel(generator) if is_mixed else random_model(generator)
    weights = generator.choice([0.5, 1.0, 2.0], size=50)
    problem = problem_of(model, X, name, y=generator.normal(size=50), sample_weight=weights)
    rows = np.arange(4, 50)
    alpha = (0.0, 0.02, 0.1, 0.5)[seed]
    groups = options_of(problem, rows, 3, 6)
    levels = two_levels(problem, rows, groups, alpha, 6)
    trees = levels.trees(levels.side_costs())
    wanted = least_by_first_column(problem, rows, groups, alpha, 6)
    assert [cost for cost, _ in trees] == sorted(cost for cost, _ in trees)
    assert len(trees) == len(groups)
    for cost, tree in trees:
        assert cost == pytest.approx(wanted[tree.cut.column], rel=1e-8, abs=1e-9)
        assert cost == pytest.approx(tree_cost(problem, rows, tree, alpha), rel=1e-8, abs=1e-9)


def test_a_region_that_costs_more_divided_is_left_whole():
    generator = np.random.default_rng(0)
    problem = problem_of(random_model(generator), random_table(generator))
    rows = np.arange(60)
    groups = options_of(problem, rows, 4, 5)
    dear = two_levels(problem, rows, groups, 10.0, 5)
    assert {tree.height for _, tree in dear.trees(dear.side_costs())} == {1}
    free = two_levels(problem, rows, groups, 0.0, 5)
    assert max(tree.height for _, tree in free.trees(free.side_costs())) == 2


def test_a_column_may_be_cut_twice():
    """A model that changes its slope at two values of x1: both levels cut x1, and nothing is left."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(120, 2))
    X[:, 1] = np.arange(120) % 3
    problem = problem_of(
        lambda X: X[:, 0] * (X[:, 1] - 1) ** 2,
        X,
        gx.question("ice-pdp").with_influence(gx.Individual(["x0"])),
    )
    rows = np.arange(120)
    levels = two_levels(problem, rows, options_of(problem, rows, 5, 5, columns=[1]), 0.01, 5)
    ((cost, tree),) = levels.trees(levels.side_costs())
    assert tree.height == 2
    assert cost == pytest.approx(0.03)


def test_an_interaction_of_three_columns_is_seen_two_levels_ahead():
    """One cut of x1 or x2 alone leaves as much as before; both together leave nothing."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(200, 4))
    problem = problem_of(
        lambda X: X[:, 0] * np.where(X[:, 1] > 0, 1, -1) * np.where(X[:, 2] > 0, 1, -1),
        X,
        gx.question("ice-pdp").with_influence(gx.Individual(["x0"])),
    )
    rows = np.arange(200)
    groups = options_of(problem, rows, 10, 5, columns=[1, 2, 3])
    levels = two_levels(problem, rows, groups, 0.01, 5)
    cost, tree = levels.trees(levels.side_costs())[0]
    assert {tree.cut.column, tree.left.cut.column, tree.right.cut.column} == {1, 2}
    assert cost < 0.3


def test_sides_of_quarters_are_read_in_both_orders():
    """Quarters of two columns: left left, left right, right left, right right."""
    quarters = np.arange(4 * 2 * 3, dtype=float).reshape(4, 2, 3)
    left_left, left_right, right_left, right_right = quarters
    below_first = sides_of_upper_cut(quarters, first_on_top=True)
    np.testing.assert_array_equal(below_first, [left_left + left_right, right_left + right_right])
    below_second = sides_of_upper_cut(quarters, first_on_top=False)
    np.testing.assert_array_equal(
        below_second, [(left_left + right_left).T, (left_right + right_right).T]
    )


def test_equal_costs_keep_the_first():
    """A second cut must cost less by more than rounding; of equal first cuts the first one is best."""
    costs = SideCosts.of_regions(np.array([[1.0, 1.0], [1.0, 1.0]]), alpha=0.5)
    no_better = [[9.0, 9.0], [9.0, 9.0]]
    costs.improve(3, np.array([[[1.5 - 1e-14], [1.5]], [[9.0], [9.0]]]))
    assert np.all(costs.column == -1)
    costs.improve(3, np.array([[[9.0, 1.5], [1.25, 1.0]], no_better]))
    np.testing.assert_array_equal(costs.column, [[-1, 3], [-1, -1]])
    np.testing.assert_array_equal(costs.cut[0], [-1, 1])
    np.testing.assert_array_equal(costs.cost, [[1.5, 1.0], [1.5, 1.5]])
    assert costs.best() == 1
    costs.cost[0] = [1.0, 1.0 - 1e-14]
    assert costs.best() == 0


def test_the_height_of_a_tree_is_its_longest_way():
    assert CutTree(None).height == 1
    assert CutTree(None, CutTree(None), None).height == 2
    assert CutTree(None, CutTree(None), CutTree(None, None, CutTree(None))).height == 3

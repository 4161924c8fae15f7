"""Thresholds that are chosen together, against all trees of two levels."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.search.cuts import Cuts, quantile_codes, thresholds_at
from granite_xai.search.growth import Growth, Tree
from granite_xai.search.lookahead import (
    CutTree,
    _best_two_levels,
    _recut,
    first_of_two_levels,
    polished,
)
from parts.by_hand import drawn, problem_of, steps

ALPHA = 0.03


def three_way(x):
    """No single cut lowers its disagreement."""
    return 4 * (x[:, 0] + 0.3) * np.sign(x[:, 1] - 0.1) * np.sign(x[:, 2] + 0.2)


def posed(function, n=150, n_cuts=5, **options):
    x = drawn(n)
    problem = problem_of(function, x, tree=Tree(alpha=ALPHA, min_samples_leaf=8, **options))
    growth = Growth.of(problem)
    cuts = []
    for column in problem.table.columns:
        last = quantile_codes(column.codes, n_cuts)
        options = thresholds_at(column.position, last, column.codes)
        cuts.append(Cuts.of(options, column.codes, 8))
    return growth, cuts


def sides(growth, places, cut):
    """Places on both sides of a cut."""
    goes_left = cut.goes_left(growth.problem.table.columns[cut.column].codes[places])
    return places[goes_left], places[~goes_left]


def cost(growth, tree, places=None):
    """What a tree of cuts costs by tables, region by region."""
    places = growth.problem.every_row if places is None else places
    if tree is None:
        if len(places) < growth.options.min_samples_leaf:
            return np.inf
        tables = growth.tables.take(places)
        everyone = Cuts.of_regions(np.zeros(len(places), dtype=int), 1)
        return float(tables.sides([everyone])[0][0, 0]) + ALPHA
    left, right = sides(growth, places, tree.cut)
    return cost(growth, tree.below[0], left) + cost(growth, tree.below[1], right)


@pytest.mark.parametrize("function", [steps, three_way])
def test_the_best_two_levels_over_a_grid_are_the_best_of_all_such_trees(function):
    growth, columns = posed(function)
    found = _best_two_levels(growth.tables, columns, ALPHA)
    assert sorted(tree.cut.column for tree in found) == [0, 1, 2]
    lower = [None, *(CutTree(cut) for cuts in columns for cut in cuts.options)]
    for tree in found:
        tops = columns[tree.cut.column].options
        costs_of_tops = {}
        for top in tops:
            rows = sides(growth, growth.problem.every_row, top)
            costs_of_tops[top] = sum(
                min(cost(growth, below, of_side) for below in lower) for of_side in rows
            )
        assert cost(growth, tree) == pytest.approx(min(costs_of_tops.values()))
    costs = [cost(growth, tree) for tree in found]
    assert costs == sorted(costs)


def test_two_levels_are_cut_again_at_least_as_well_as_on_the_grid():
    growth, columns = posed(three_way)
    node = growth.node_cuts(growth.root())
    for tree in _best_two_levels(growth.tables, columns, ALPHA):
        assert _recut(node, growth.tables, tree, ALPHA).remaining <= cost(growth, tree) + 1e-9


def test_an_interaction_of_three_columns_is_seen_two_levels_ahead():
    growth, columns = posed(three_way, n=400)
    node = growth.node_cuts(growth.root())
    first = first_of_two_levels(node, growth.tables, columns, ALPHA)
    assert first.column in (1, 2)
    values = growth.problem.table.columns[first.column].levels
    assert abs(values[first.last] - (0.1 if first.column == 1 else -0.2)) < 0.12


def test_a_large_node_looks_ahead_with_some_of_its_rows(monkeypatch):
    from granite_xai.search import lookahead

    monkeypatch.setattr(lookahead, "ROWS_AHEAD", 100)
    growth, columns = posed(three_way, n=400)
    node = growth.node_cuts(growth.root())
    assert first_of_two_levels(node, growth.tables, columns, ALPHA).column in (1, 2)


@pytest.mark.parametrize("function", [steps, three_way])
def test_no_single_threshold_of_a_polished_tree_can_be_moved_for_less(function):
    growth, columns = posed(function)
    node = growth.node_cuts(growth.root())
    start = CutTree(
        columns[1].options[0],
        (CutTree(columns[2].options[-1]), CutTree(columns[0].options[0])),
    )
    tree = polished(node, growth.tables, start, 40)
    least = cost(growth, tree)
    assert least < cost(growth, start)
    assert [tree.cut.column, *(below.cut.column for below in tree.below)] == [1, 2, 0]
    for last in range(len(growth.problem.table.columns[0].levels)):
        moved = [tree._replace(cut=tree.cut._replace(last=last))]
        for side, below in enumerate(tree.below):
            lower = list(tree.below)
            lower[side] = below._replace(cut=below.cut._replace(last=last))
            moved.append(tree._replace(below=tuple(lower)))
        assert min(cost(growth, other) for other in moved) >= least - 1e-9

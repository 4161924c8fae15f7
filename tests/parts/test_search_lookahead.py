"""Thresholds that are chosen together, against all trees of two levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from granite_xai.search.cuts import Cut, Cuts, quantile_codes, regions_as_cuts, thresholds_at
from granite_xai.search.growth import Growth
from granite_xai.search.lookahead import (
    CutTree,
    _best_two_levels,
    _recut,
    first_of_two_levels,
    polished,
)
from granite_xai.search.tree import Tree
from parts.by_hand import drawn, problem_of, steps

ALPHA = 0.03


def three_way(x):
    """No single cut lowers its disagreement."""
    return 4 * (x[:, 0] + 0.3) * np.sign(x[:, 1] - 0.1) * np.sign(x[:, 2] + 0.2)


def posed(function, n=150, n_cuts=5, **options):
    x = drawn(n)
    problem = problem_of(function, x, tree=Tree(alpha=ALPHA, min_samples_leaf=8, **options))
    growth = Growth.of(problem, problem.tree)
    cuts = []
    for column in problem.table.columns:
        last = quantile_codes(column.codes, n_cuts)
        options = thresholds_at(column.position, last, column.codes)
        cuts.append(Cuts.of(options, column.codes, 8))
    return growth, cuts


def cost(growth, tree, places=None):
    """What a tree of cuts costs by tables, region by region."""
    places = growth.problem.every_row if places is None else places
    if tree is None:
        if len(places) < growth.options.min_samples_leaf:
            return np.inf
        tables = growth.tables.take(places)
        everyone = regions_as_cuts(np.zeros(len(places), dtype=int), 1)
        return float(tables.sides([everyone])[0][0, 0]) + ALPHA
    left, right = growth.node_cuts(places).sides(tree.cut)
    return cost(growth, tree.below[0], left) + cost(growth, tree.below[1], right)


@pytest.mark.parametrize("function", [steps, three_way])
def test_the_best_two_levels_over_a_grid_are_the_best_of_all_such_trees(function):
    growth, columns = posed(function)
    found = _best_two_levels(growth.tables, columns, ALPHA)
    assert sorted(tree.cut.column for tree in found) == [0, 1, 2]
    lower = [None, *(CutTree(cut) for cuts in columns for cut in cuts.options)]
    for tree in found:
        tops = columns[tree.cut.column].options
        sides = {}
        for top in tops:
            rows = growth.node_cuts(growth.problem.every_row).sides(top)
            sides[top] = sum(
                min(cost(growth, below, of_side) for below in lower) for of_side in rows
            )
        assert cost(growth, tree) == pytest.approx(min(sides.values()))
    costs = [cost(growth, tree) for tree in found]
    assert costs == sorted(costs)


def test_two_levels_are_cut_again_at_least_as_well_as_on_the_grid():
    growth, columns = posed(three_way)
    node = growth.node_cuts(growth.problem.every_row)
    for tree in _best_two_levels(growth.tables, columns, ALPHA):
        assert _recut(node, growth.tables, tree, ALPHA).remaining <= cost(growth, tree) + 1e-9


def test_an_interaction_of_three_columns_is_seen_two_levels_ahead():
    growth, columns = posed(three_way, n=400)
    node = growth.node_cuts(growth.problem.every_row)
    first = first_of_two_levels(node, growth.tables, columns, ALPHA)
    assert first.column in (1, 2)
    values = growth.problem.table.columns[first.column].levels
    assert abs(values[first.last] - (0.1 if first.column == 1 else -0.2)) < 0.12


def test_a_large_node_looks_ahead_with_some_of_its_rows(monkeypatch):
    from granite_xai.search import lookahead

    monkeypatch.setattr(lookahead, "ROWS_AHEAD", 100)
    growth, columns = posed(three_way, n=400)
    node = growth.node_cuts(growth.problem.every_row)
    assert first_of_two_levels(node, growth.tables, columns, ALPHA).column in (1, 2)


@pytest.mark.parametrize("function", [steps, three_way])
def test_no_single_threshold_of_a_polished_tree_can_be_moved_for_less(function):
    growth, columns = posed(function)
    node = growth.node_cuts(growth.problem.every_row)
    start = CutTree(
        columns[1].options[0],
        (CutTree(columns[2].options[-1]), CutTree(columns[0].options[0])),
    )
    tree = polished(node, growth.tables, start, 40)
    least = cost(growth, tree)
    assert least < cost(growth, start)
    assert [tree.cut.column, *(below.cut.column for below in tree.below)] == [1, 2, 0]
    for path, last in product(tree.paths(), range(len(growth.problem.table.columns[0].levels))):
        inner = tree
        for side in path:
            inner = inner.below[side]
        moved = tree.with_cut(path, inner.cut._replace(last=last))
        assert cost(growth, moved) >= least - 1e-9


def test_paths_lead_to_every_cut_from_the_top():
    cuts = [Cut(0, last) for last in range(4)]
    tree = CutTree(cuts[0], (CutTree(cuts[1], (None, CutTree(cuts[2]))), CutTree(cuts[3])))
    assert tree.paths() == [(), (0,), (0, 1), (1,)]
    other = Cut(0, 9)
    assert tree.with_cut((0, 1), other).below[0].below[1].cut == other
    assert tree.with_cut((0, 1), other).with_cut((0, 1), cuts[2]) == tree
    with pytest.raises(ValueError, match="ends at a region"):
        tree.with_cut((1, 0), other)

"""What tables say of the parts of a node, against the disagreement of these rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from granite_xai.algebra import moments as moments_module
from granite_xai.search import tables as module
from granite_xai.search.cuts import Cuts, quantile_codes, thresholds_at
from granite_xai.search.growth import Growth, Tree
from granite_xai.search.tables import LEFT, RIGHT, Grid
from parts.by_hand import drawn, problem_of, waves

N = 120
QUESTIONS = ("ice-pdp", "sobol", "variance", "pfi-risk")
FEWEST = 6


@pytest.fixture(autouse=True)
def every_direction(monkeypatch):
    monkeypatch.setattr(moments_module, "KEPT", 2.0)
    monkeypatch.setattr(moments_module, "MOST_DIRECTIONS", 100)


def posed(question="ice-pdp"):
    """A problem with weights, its tables, and cuts of each column."""
    x = drawn(N)
    rng = np.random.default_rng(4)
    problem = problem_of(
        waves,
        x,
        question,
        Tree(min_samples_leaf=FEWEST),
        y=rng.normal(size=N),
        weights=rng.uniform(0.5, 2.0, size=N),
    )
    cuts = []
    for column in problem.table.columns:
        last = quantile_codes(column.codes, 6)
        cuts.append(Cuts.of(thresholds_at(column.position, last, column.codes), column.codes))
    return problem, Growth.of(problem).tables, cuts


def share_of(problem, is_inside):
    """Share of the disagreement of some rows; infinite where they are too few."""
    if np.count_nonzero(is_inside) < FEWEST:
        return np.inf
    return problem.share(np.flatnonzero(is_inside))


@pytest.mark.parametrize("question", QUESTIONS)
def test_both_sides_of_every_cut(question):
    problem, tables, cuts = posed(question)
    for of_column, sides in zip(cuts, tables.sides(cuts), strict=True):
        left = of_column.goes_left()
        for number in range(len(of_column.left)):
            expected = [share_of(problem, left[:, number]), share_of(problem, ~left[:, number])]
            assert sides[:, number] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("question", QUESTIONS)
def test_all_quarters_of_every_pair_of_cuts(question):
    problem, tables, cuts = posed(question)
    first, second = cuts[0].goes_left(), cuts[1].goes_left()
    (quarters,) = tables.remaining([Grid(cuts[0], cuts[1])])
    assert quarters.shape == (2, 2, len(cuts[0].left), len(cuts[1].left))
    for i in range(len(cuts[0].left)):
        for j in range(len(cuts[1].left)):
            for side, upper in ((LEFT, first[:, i]), (RIGHT, ~first[:, i])):
                for lower_side, lower in ((LEFT, second[:, j]), (RIGHT, ~second[:, j])):
                    expected = share_of(problem, upper & lower)
                    assert quarters[side, lower_side, i, j] == pytest.approx(expected, rel=1e-6)


def test_one_side_of_the_upper_cuts_is_that_side_of_all_quarters():
    _, tables, cuts = posed()
    both, left, right, alone = tables.remaining(
        [
            Grid(cuts[0], cuts[2]),
            Grid(cuts[0], cuts[2], LEFT),
            Grid(cuts[0], cuts[2], RIGHT),
            Grid(cuts[1], side=RIGHT),
        ]
    )
    assert np.array_equal(left[0], both[LEFT])
    assert np.array_equal(right[0], both[RIGHT])
    assert np.array_equal(alone[0], tables.sides([cuts[1]])[0][RIGHT])


def test_regions_in_the_place_of_cuts():
    problem, tables, cuts = posed()
    numbers = np.arange(N) % 3
    (parts,) = tables.remaining([Grid(cuts[0], Cuts.of_regions(numbers, 3))])
    left = cuts[0].goes_left()
    for region in range(3):
        expected = share_of(problem, left[:, 0] & (numbers == region))
        assert parts[LEFT, LEFT, 0, region] == pytest.approx(expected, rel=1e-6)


def test_groups_and_missing_values_add_up_as_thresholds_do():
    """Cuts that are not nested are summed up by another way."""
    _, tables, cuts = posed()
    nested = cuts[0]
    other = replace(nested, is_nested=False)
    for pair in [(nested, cuts[1]), (cuts[1], nested), (nested, nested)]:
        swapped = tuple(other if each is nested else each for each in pair)
        (expected,) = tables.remaining([Grid(*pair)])
        (found,) = tables.remaining([Grid(*swapped)])
        assert found == pytest.approx(expected)


def test_blocks_of_parts_and_threads_change_nothing(monkeypatch):
    _, tables, cuts = posed()
    whole = tables.sides(cuts)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 5)
    for n_jobs in (1, 2):
        for expected, found in zip(whole, replace(tables, n_jobs=n_jobs).sides(cuts), strict=True):
            assert np.array_equal(expected, found)


def test_tables_of_some_rows_are_those_of_these_rows():
    problem, tables, _ = posed()
    inside = np.flatnonzero(problem.table.columns[1].values > 0)
    part = tables.take(inside)
    codes = problem.table.columns[0].codes[inside]
    of_part = Cuts.of(thresholds_at(0, quantile_codes(codes, 4), codes), codes)
    left = of_part.goes_left()[:, 0]
    expected = [share_of(problem, np.isin(np.arange(N), inside[left]))]
    assert part.sides([of_part])[0][LEFT, 0] == pytest.approx(expected[0], rel=1e-6)


def test_sets_that_show_nothing_in_any_part_are_left_out():
    """A fourth column that interacts with nothing: its products are gone, and what remains is the same."""
    x = drawn(N, d=4)
    problem = problem_of(lambda x: waves(x) + x[:, 3] + 1e-3 * x[:, 3] * x[:, 0], x)
    tables = Growth.of(problem).tables
    smaller = tables.deciding()
    width = sum(moments.products.shape[1] for _, moments in tables.sets)
    assert sum(moments.products.shape[1] for _, moments in smaller.sets) < width
    codes = problem.table.columns[0].codes
    cuts = [Cuts.of(thresholds_at(0, quantile_codes(codes, 9), codes), codes)]
    assert smaller.sides(cuts)[0] == pytest.approx(tables.sides(cuts)[0], abs=1e-3)


def test_every_so_manieth_row_stands_for_all():
    _, tables, cuts = posed()
    thinner = tables.thinner(2)
    assert thinner.min_samples == FEWEST // 2
    codes = cuts[0].classes[::2]
    of_half = Cuts.of(thresholds_at(0, np.array([1]), codes), codes)
    of_all = Cuts.of(thresholds_at(0, np.array([1]), cuts[0].classes), cuts[0].classes)
    assert thinner.sides([of_half])[0] == pytest.approx(tables.sides([of_all])[0], rel=0.5)


def test_regions_that_count_alike_count_without_their_mass():
    problem, _, cuts = posed()
    alike = replace(problem, shares=replace(problem.shares, by_mass=False))
    tables = Growth.of(alike).tables
    left = cuts[0].goes_left()[:, 0]
    mass = problem.weights[left].sum() / problem.weights.sum()
    expected = share_of(problem, left) / mass
    assert tables.sides([cuts[0]])[0][LEFT, 0] == pytest.approx(expected, rel=1e-6)

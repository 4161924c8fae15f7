"""Other cuts of a column: those around a cut, and those between it and its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.finer import FinerCuts, by_column, thinned
from hypothesis import given, strategies as st

from granite_xai.search import finer as module
from problems import MixedModel, goes_left, mixed_table, options_of, problem_of
from strategies import examples


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def numbers():
    """Five columns of eighty numbers each."""
    return problem_of(product, np.random.default_rng(2).uniform(-1, 1, size=(80, 5)))


@pytest.fixture(scope="module")
def mixed():
    """Gaps in a column of numbers and in one of labels."""
    generator = np.random.default_rng(1)
    return problem_of(MixedModel(generator), mixed_table(generator, 200))


def parted(problem, options, rows):
    """Which rows each of some cuts parts from which, whatever the side is called."""
    return {frozenset([tuple(left), tuple(~left)]) for left in _lefts(problem, options, rows)}


def _lefts(problem, options, rows):
    return [goes_left(problem, option, rows) for option in options]


@given(st.integers(1, 60), st.integers(1, 20))
@examples(60)
def test_thinned_cuts_are_some_of_the_cuts_in_their_order(count, most):
    options = list(range(count))
    some = thinned(options, most)
    assert some == sorted(set(some))
    assert len(some) == min(count, most)
    widest = max(np.diff([-1, *some, count]))
    assert (
        widest <= 1.5 * count / most + 2
    )  # evenly: none of the cuts is far from those that are left


def test_candidates_of_a_column_stay_together(mixed):
    groups = options_of(mixed, np.arange(200), 6, 5)
    flat = [option for group in groups for option in group]
    assert by_column(flat) == groups
    assert [{option.column for option in group} for group in groups] == [{0}, {1}, {2}, {3}]


@pytest.mark.parametrize("most", [1, 4, 19])
@pytest.mark.parametrize("table", ["numbers", "mixed"])
def test_around_a_cut_it_is_itself_among_the_cuts(table, most, request):
    """Also of columns with missing values or labels, where there are more than are wanted; in a part of the rows."""
    problem = request.getfixturevalue(table)
    every = np.arange(problem.table.n_rows)
    for rows in (every, every[::2]):
        for group in options_of(problem, every, 40, 2):
            for cut in group:
                left = goes_left(problem, cut, rows)
                if min(left.sum(), (~left).sum()) < 3:
                    continue
                around = FinerCuts(problem.table, 3).around(rows, cut, most)
                assert parted(problem, [cut], rows) <= parted(problem, around, rows)
                assert len(around) <= 2 * most + 1
                assert len({option.family for option in around}) == 1
                for lefts in _lefts(problem, around, rows):
                    assert min(lefts.sum(), (~lefts).sum()) >= 3


def test_around_a_cut_all_cuts_of_few_values_are_looked_at():
    """The lowest one too: three values have two cuts, at the codes 0 and 1."""
    X = np.column_stack([np.random.default_rng(3).normal(size=60), np.arange(60) % 3])
    problem = problem_of(product, X)
    for cut in options_of(problem, np.arange(60))[1]:
        around = FinerCuts(problem.table, 2).around(np.arange(60), cut, 4)
        assert [option.code for option in around] == [0, 1]


def test_cuts_of_a_finer_grid_hold_those_of_a_coarse_one(numbers):
    """So that second thoughts over 19 cuts are never worse than over 9."""
    finer = FinerCuts(numbers.table, 1)
    rows = np.arange(80)
    cut = options_of(numbers, rows, 4)[0][1]
    coarse, fine = ({option.code for option in finer.around(rows, cut, k)} for k in (9, 19))
    assert coarse < fine


def test_between_are_all_values_up_to_the_neighbours(numbers):
    """Not the neighbours, not the cut itself, nothing beyond them; thinned where there are many."""
    finer = FinerCuts(numbers.table, 2)
    rows = np.arange(80)
    known = options_of(numbers, rows, 5)[0]
    codes = [option.code for option in known]
    inner = finer.between(rows, known, known[1], 1000)
    wanted = set(range(codes[0] + 1, codes[2])) - {codes[1]}
    assert {option.code for option in inner} == wanted
    below = {option.code for option in finer.between(rows, known, known[0], 1000)}
    assert below == set(range(1, codes[1])) - {codes[0]}  # two rows on each side, at least
    above = {option.code for option in finer.between(rows, known, known[-1], 1000)}
    assert above == set(range(codes[-2] + 1, 78)) - {codes[-1]}
    assert len(finer.between(rows, known, known[1], 5)) == 5
    assert finer.between(rows, [*known, *inner], known[1], 1000) == []


def test_between_in_a_node_are_values_of_its_rows(numbers):
    rows = np.arange(0, 80, 3)
    known = options_of(numbers, rows, 4)[0]
    inner = FinerCuts(numbers.table, 2).between(rows, known, known[1], 1000)
    present = set(numbers.table.columns[0].codes[rows].tolist())
    assert inner
    assert {option.code for option in inner} <= present


def test_labels_have_nothing_between_them(mixed):
    rows = np.arange(200)
    finer = FinerCuts(mixed.table, 2)
    for number in (1, 3):
        group = options_of(mixed, rows)[number]
        assert finer.between(rows, group, group[0], 10) == []


def test_between_missing_and_present_values_there_is_nothing(mixed):
    rows = np.arange(200)
    group = options_of(mixed, rows)[0]
    alone = [option for option in group if option.code < 0]
    assert len(alone) == 1
    assert FinerCuts(mixed.table, 2).between(rows, group, alone[0], 10) == []


def distance_scores(problem, X, steps):
    """Columns further to the left leave less, and within a column cuts near its step."""

    def score(options):
        values = []
        for option in options:
            left = goes_left(problem, option, np.arange(len(X)))
            nearest = X[left, option.column].max()
            values.append(option.column + abs(nearest - steps[option.column]))
        return np.array(values)

    return score


@pytest.mark.parametrize("tried", [256, 3])
def test_the_best_cuts_of_three_columns_are_sharpened(tried, monkeypatch):
    """The nearest value to the step of each, also if only a few values are tried at a time."""
    monkeypatch.setattr(module, "TRIED_BETWEEN", tried)
    X = np.random.default_rng(2).uniform(-1, 1, size=(80, 5))
    problem = problem_of(product, X)
    rows = np.arange(80)
    steps = np.array([0.3, -0.2, 0.1, 0.4, -0.5])
    score = distance_scores(problem, X, steps)
    known = [option for group in options_of(problem, rows, 4) for option in group]
    found = FinerCuts(problem.table, 2).sharpened(rows, known, score(known), score)
    assert [option.column for option in found] == [0, 1, 2]
    for option in found:
        nearest = np.abs(np.sort(X[:, option.column])[1:-2] - steps[option.column]).min()
        assert score([option])[0] - option.column == pytest.approx(nearest)


def test_a_quantile_that_is_best_is_not_replaced(monkeypatch):
    """Finer cuts that leave more are no sharper ones, and do not lead the search away."""
    monkeypatch.setattr(module, "TRIED_BETWEEN", 3)
    X = np.random.default_rng(2).uniform(-1, 1, size=(80, 2))
    problem = problem_of(product, X)
    rows = np.arange(80)
    known = options_of(problem, rows, 4)[0]
    at = X[goes_left(problem, known[1], rows), 0].max()
    score = distance_scores(problem, X, np.array([at, 0.0]))
    assert FinerCuts(problem.table, 2).sharpened(rows, known, score(known), score) == []

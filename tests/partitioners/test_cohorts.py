"""The search for cohorts: distances of rows, restarts, rounds and the price of a cohort."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.partitioners.cohorts import Cohorts, SearchEnd, nearest, row_distances
from granite_xai.tables import read_table
from strategies import paper


def model(X):
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2] ** 2


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(1).normal(size=(14, 3)).round(1)


@pytest.mark.parametrize(("cohorts", "price"), [(1, 0.0), (2, 0.0), (3, 0.5), (6, 1.0), (18, 2.0)])
def test_only_cohorts_beyond_the_free_ones_cost(cohorts, price):
    assert Cohorts(free=2, beta=5.0).penalty(cohorts, 100) == pytest.approx(price)
    assert Cohorts().penalty(cohorts + 2, 100) == pytest.approx(price)  # four are free by default


@pytest.mark.parametrize("beta", [0.0, 0.2, 100.0])
def test_the_search_never_ends_above_one_cohort(X, beta):
    """The cohorts found cost no more than all rows together, and no more than free when the others are dear."""
    granite = paper(
        model, partitioner=Cohorts(free=1, beta=beta, restarts=2, rounds=2), random_state=3
    ).fit(X)
    found = granite.clusters_
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))
    if beta == 100.0:
        assert set(found.tolist()) == {0}
    if beta == 0.0:
        assert found.max() > 0


FIRST = np.repeat([0, 1], 7)
SECOND = np.tile([0, 1], 7)


def cohorts_in_two_rounds():
    """A search that finds FIRST, then SECOND, and what it has yet to find."""
    divisions = iter([FIRST, SECOND])

    class TwoRounds(Cohorts):
        def best_of_restarts(self, score, distances, generator):
            return next(divisions)

    return TwoRounds(free=2, rounds=2), divisions


def test_of_equally_good_rounds_the_first_is_kept():
    class SameForAll:
        def explained_in(self, guiding):
            return lambda divisions: np.full(len(divisions), 0.5)

    cohorts, divisions = cohorts_in_two_rounds()
    division = cohorts.search(SameForAll(), np.zeros((14, 14)), np.random.default_rng(0))
    assert division.tolist() == FIRST.tolist()
    assert next(divisions, None) is None


def test_a_round_is_judged_with_the_explanations_of_its_own_cohorts():
    """The second round looks better to what guided it, but not once it is explained itself."""

    class Loss:
        def explained_in(self, guiding):
            loss = 0.9 if guiding.tolist() == SECOND.tolist() else 0.1
            return lambda divisions: np.full(len(divisions), loss)

    cohorts, _ = cohorts_in_two_rounds()
    division = cohorts.search(Loss(), np.zeros((14, 14)), np.random.default_rng(0))
    assert division.tolist() == FIRST.tolist()


def test_distances_have_no_unit_and_treat_missing_values_as_a_label():
    """Standardised gaps of numbers and places in an order, 1 where labels differ or one of two values is missing."""
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, np.nan, 5.0, np.nan],
            "same": [3.0] * 5,
            "size": pd.Categorical(["s", "m", None, "l", "s"], ["s", "m", "l"], ordered=True),
            "kind": ["a", "b", "a", None, None],
            "flag": [True, False, True, True, False],
        }
    )
    places = {"number": [1, 2, None, 5, None], "same": [3] * 5, "size": [0, 1, None, 2, 0]}
    found = row_distances(read_table(frame, missing="allow"))
    for n in range(5):
        for m in range(5):
            wanted = 0.0
            for name in ("kind", "flag"):
                one, two = frame[name][n], frame[name][m]
                wanted += (one != two) and not (pd.isna(one) and pd.isna(two))
            for cells in places.values():
                present = np.array([cell for cell in cells if cell is not None], dtype=float)
                if cells[n] is None or cells[m] is None:
                    wanted += (cells[n] is None) != (cells[m] is None)
                else:
                    wanted += ((cells[n] - cells[m]) / (present.std() or 1.0)) ** 2
            assert found[n, m] == pytest.approx(wanted), (n, m)
    assert nearest(found, [[3, 0], [0, 1]])[0].tolist() == [
        int(line[0] < line[3]) for line in found
    ]


def test_random_starts_end_when_nothing_improves():
    """Better until the fifth start, then thirty more, of at most a hundred."""
    costs = iter([9.0, 8.0, 7.0, 6.0, 5.0, *[5.0] * 95])
    ends = []

    class Scripted(Cohorts):
        def _descend(self, score, distances, generator):
            ends.append(next(costs))
            return SearchEnd(ends[-1], np.array([len(ends)]))

    best = Scripted().best_of_restarts(None, np.zeros((1, 1)), np.random.default_rng(0))
    assert best.tolist() == [5]
    assert len(ends) == 35


def test_a_greedy_search_ends_where_no_neighbour_is_better():
    """Two far groups of rows, and a loss that counts rows outside the cohort of their group."""
    places = np.array([0.0, 1.0, 2.0, 50.0, 51.0, 52.0])
    distances = np.square(places[:, None] - places)
    groups = places > 25

    def score(divisions):
        wrong = []
        for division in divisions:
            by_cohort = [groups[division == cohort] for cohort in np.unique(division)]
            wrong.append(sum(min(cells.sum(), (~cells).sum()) for cells in by_cohort))
        return np.array(wrong, dtype=float)

    cohorts = Cohorts(free=1, beta=1.0, restarts=5)
    division = cohorts.best_of_restarts(score, distances, np.random.default_rng(0))
    assert len(set(division.tolist())) == 2
    assert len(set(division[:3].tolist())) == len(set(division[3:].tolist())) == 1

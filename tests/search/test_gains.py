"""Splits that gain more than chance: found where there are some, seldom where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.search.gains import (
    FEWEST_OBSERVATIONS,
    REPLICATES,
    _bar_position,
    gains_of_questions,
    split_beyond_chance,
)

import granite_xai as gx
from granite_xai.search import gains as gains_room
from granite_xai.search.tables import region_tables
from problems import options_of, problem_of
from strategies import quiet

ERROR = 0.05
QUESTIONS = ("ice-pdp", "pfi-risk", "mplot-pdp", "variance")


def sharp(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def additive(X):
    return X[:, 0] + np.sin(2 * X[:, 1])


def normal_rows(seed, n, dependence=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, :2] += dependence * np.sign(X[:, [2]])  # on each side of 0 they are independent
    return X, rng


def gains(model, question, seed, n=160, clusters=None, dependence=0.0):
    """Whether some cut of all rows gains beyond chance."""
    X, rng = normal_rows(seed, n, dependence)
    y = model(X) + 0.3 * rng.normal(size=n)
    problem = problem_of(model, X, question, y=y, clusters=clusters, confidence_level=0.95)
    rows = np.arange(n)
    options = [
        option for column in options_of(problem, rows, most=6, least=10) for option in column
    ]
    return split_beyond_chance(problem, region_tables(problem, 10), rows, options, ERROR)


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk", "variance"])
def test_a_cut_that_parts_opposite_effects_gains(question):
    assert all(gains(sharp, question, seed) for seed in range(3))


def test_a_cut_that_parts_what_made_columns_dependent_gains():
    assert all(gains(additive, "mplot-pdp", seed, n=400, dependence=2.0) for seed in range(3))


@pytest.mark.parametrize("question", QUESTIONS)
def test_independent_additive_columns_have_no_cut_that_gains(question):
    assert sum(gains(additive, question, seed, n=80) for seed in range(12)) <= 2


def test_clusters_count_and_few_of_them_prove_nothing():
    few = np.arange(160) % (FEWEST_OBSERVATIONS - 1)
    assert not gains(sharp, "ice-pdp", 0, clusters=few)
    assert gains(sharp, "ice-pdp", 0, clusters=np.arange(160) // 2)


def test_no_cut_no_gain():
    X, _ = normal_rows(0, 60)
    problem = problem_of(sharp, X, confidence_level=0.95)
    tables = region_tables(problem, 10)
    everyone = np.arange(60)
    (column, *_) = options_of(problem, everyone, most=6, least=10)
    # A cut that sends every row to one side leaves nobody to compare.
    one_side = everyone[column[0].goes_left(problem.table, everyone)]
    assert not split_beyond_chance(replace(problem, seed=1), tables, one_side, column[:1], ERROR)


def weakly_dependent(seed, n=300):
    """Two of eight columns depend on each other, through the sign of a third."""
    X = np.random.default_rng(seed).normal(size=(n, 8))
    X[:, :2] += 0.5 * np.sign(X[:, [2]])
    return X


@pytest.mark.parametrize("seed", [1, 3])
def test_rows_that_show_only_chance_in_all_are_divided_where_a_cut_gains(seed):
    """The noise of eight columns hides what two of them show; the cut at x2 brings it out."""
    options = {"holdout": False, "max_depth": 1}
    with quiet():
        g = gx.Granite(lambda X: X.sum(axis=1), "mplot-pdp", **options).fit(weakly_dependent(seed))
    shown = g.diagnostics_["chance"]["mplot-pdp"]
    assert shown["disagreement"] < shown["bar"]
    assert {region.rule.conditions[0][0] for region in g.partition_} == {"x2"}


@pytest.mark.parametrize(("min_samples_leaf", "n_regions"), [(60, 2), (76, 1)])
def test_all_rows_are_tested_as_other_nodes_are_in_halves_that_hold_two_regions(
    min_samples_leaf, n_regions
):
    """Four times the smallest region, at least: 300 rows are enough for regions of 75."""
    options = {"holdout": False, "max_depth": 1, "min_samples_leaf": min_samples_leaf}
    with quiet():
        g = gx.Granite(lambda X: X.sum(axis=1), "mplot-pdp", **options).fit(weakly_dependent(1))
    assert len(g.partition_) == n_regions


@pytest.mark.parametrize("min_samples_leaf", [20, 21])
def test_a_cut_of_a_half_leaves_the_smallest_region_on_both_sides(min_samples_leaf, monkeypatch):
    tested = []
    monkeypatch.setattr(gains_room, "split_beyond_chance", lambda *known: tested.append(known[1]))
    problem = problem_of(sharp, normal_rows(0, 4 * 21)[0], confidence_level=0.95)
    tree = gx.partitioners.Tree(min_samples_leaf=min_samples_leaf)
    gains_of_questions(problem, tree, np.array([True]))
    assert [tables.min_samples for tables in tested] == [min_samples_leaf]


def test_the_bar_is_the_order_statistic_that_leaves_the_error_above_it():
    """Of B replicates and the gain itself, all alike, the gain is among the highest with the error at most."""
    for error in (0.5, 0.1, 0.0125):
        n_above = REPLICATES - 1 - _bar_position(error)  # replicates above the bar
        assert (n_above + 1) / (REPLICATES + 1) <= error < (n_above + 2) / (REPLICATES + 1)
    assert _bar_position(1e-9) == REPLICATES - 1

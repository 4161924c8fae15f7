"""Thresholds chosen again: a tree never becomes dearer, and planted thresholds are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.moments import factors
from granite_xai.search.finer import FinerCuts
from granite_xai.search.second_thoughts import FINE_CUTS, SecondThoughts
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.search import tables as tables_module
from granite_xai.search.lookahead import CutTree
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
from strategies import examples


def thoughts_of(problem, least, alpha):
    return SecondThoughts(region_tables(problem, least), FinerCuts(problem.table, least), alpha)


def regions_of(problem, rows, tree):
    """Rows of every region of a tree."""
    if tree is None:
        return [rows]
    left = goes_left(problem, tree.cut, rows)
    return regions_of(problem, rows[left], tree.left) + regions_of(problem, rows[~left], tree.right)


def random_tree(problem, rows, height, least, generator):
    """A tree of cuts that leave enough rows on both sides; None where there is none."""
    options = [option for group in options_of(problem, rows, 5, least) for option in group]
    if height == 0 or not options:
        return None
    cut = options[generator.integers(len(options))]
    left = goes_left(problem, cut, rows)
    sides = [rows[left], rows[~left]]
    heights = [height - 1, int(generator.integers(0, height))]
    below = [
        random_tree(problem, side, own, least, generator)
        for side, own in zip(sides, heights, strict=True)
    ]
    return CutTree(cut, *below)


def columns_of(tree):
    """The columns of a tree, place by place."""
    if tree is None:
        return None
    return tree.cut.column, columns_of(tree.left), columns_of(tree.right)


def is_part_of(one, other):
    """Whether a tree of columns is another one with some of its subtrees made regions."""
    if one is None:
        return True
    if other is None or one[0] != other[0]:
        return False
    return is_part_of(one[1], other[1]) and is_part_of(one[2], other[2])


@given(seed=st.integers(0, 2**32 - 1), height=st.integers(1, 4), is_mixed=st.booleans())
@examples(30)
def test_a_tree_never_becomes_dearer_and_keeps_its_columns(seed, height, is_mixed):
    """Random trees with labels, missing values, weights; what is returned costs what it says."""
    generator = np.random.default_rng(seed)
    n = 60
    X = mixed_table(generator, n) if is_mixed else random_table(generator, n)
    model = MixedModel(generator) if is_mixed else random_model(generator)
    weights = generator.choice([0.5, 1.0, 2.0], size=n) if generator.random() < 0.5 else None
    question = generator.choice(["ice-pdp", "variance"])
    problem = problem_of(model, X, question, sample_weight=weights)
    alpha = float(generator.choice([0.0, 0.02, 0.2]))
    rows = np.arange(n)
    tree = random_tree(problem, rows, height, 4, generator)
    if tree is None:
        return
    with pytest.MonkeyPatch.context() as patch:  # no set is left out, in any node
        patch.setattr(tables_module, "NEGLIGIBLE", -1.0)
        check_recut(problem, thoughts_of(problem, 4, alpha), rows, tree)


def check_recut(problem, thoughts, rows, tree):
    before = thoughts.cost(rows, tree)
    cost, recut = thoughts.recut(rows, tree)
    assert cost <= before + 1e-9
    assert cost == pytest.approx(thoughts.cost(rows, recut), abs=1e-9)
    assert is_part_of(columns_of(recut), columns_of(tree))
    assert min(map(len, regions_of(problem, rows, recut))) >= 4
    assert thoughts.recut(rows, recut)[0] <= cost + 1e-9  # also where there is little to gain


@pytest.mark.parametrize("step", [11, 16, 22, 27])
def test_the_best_group_of_many_labels_is_kept(step):
    """More groups of labels than are tried at a time: that of the tree is always among them."""
    generator = np.random.default_rng(0)
    labels = [f"l{k:02}" for k in range(60)]
    X = pd.DataFrame({"x0": generator.normal(size=600), "label": np.tile(labels, 10)})
    order = dict(zip(labels, generator.permutation(60), strict=True))

    def model(X):
        return X["x0"].to_numpy() * (X["label"].map(order).astype(float).to_numpy() > step)

    problem = problem_of(model, X, gx.question("ice-pdp").with_influence(gx.Individual(["x0"])))
    rows = np.arange(600)
    thoughts = thoughts_of(problem, 5, 0.05)
    groups = options_of(problem, rows, 40, 5)[1]
    assert len(groups) > 2 * FINE_CUTS
    costs = [thoughts.cost(rows, CutTree(cut)) for cut in groups]
    best = CutTree(groups[int(np.argmin(costs))])
    assert thoughts.recut(rows, best)[0] == pytest.approx(min(costs)) == pytest.approx(0.1)


def test_the_cost_of_a_tree_is_what_its_regions_leave_and_their_price(monkeypatch):
    monkeypatch.setattr(factors, "KEPT_BY_SEARCH", 1.0)
    monkeypatch.setattr(tables_module, "NEGLIGIBLE", -1.0)
    generator = np.random.default_rng(3)
    problem = problem_of(random_model(generator), random_table(generator, 80))
    rows = np.arange(5, 80)
    for height in (1, 2, 3):
        tree = random_tree(problem, rows, height, 5, generator)
        regions = regions_of(problem, rows, tree)
        members = np.array([np.isin(np.arange(80), region) for region in regions])
        splits = Splits.of(members, problem.evaluations.weights)
        disagreements = problem.shares.disagreements(problem.evaluations, splits)
        wanted = problem.shares.of(disagreements, splits.mass)[:, 0].sum() + 0.03 * len(regions)
        assert thoughts_of(problem, 5, 0.03).cost(rows, tree) == pytest.approx(wanted, rel=1e-8)


def test_a_tree_with_too_small_regions_costs_infinitely_much():
    generator = np.random.default_rng(3)
    problem = problem_of(random_model(generator), random_table(generator, 80))
    tree = random_tree(problem, np.arange(80), 2, 5, generator)
    assert thoughts_of(problem, 60, 0.0).cost(np.arange(80), tree) == np.inf
    assert thoughts_of(problem, 60, 0.0).recut(np.arange(80), tree) == (np.inf, None)


def tree_at(problem, thresholds):
    """A tree that cuts x1, then x2 on both sides, then x3 on the left of all, at the nearest values."""

    def cut(column, threshold):
        codes = problem.table.columns[column].levels
        group = FinerCuts(problem.table, 1).around(
            np.arange(problem.table.n_rows), options_of(problem, np.arange(200), 3)[column][0], 199
        )
        nearest = np.array([abs(codes[option.code] - threshold) for option in group])
        return group[int(np.argmin(nearest))]

    first, left, right, last = thresholds
    lower = None if last is None else CutTree(cut(3, last))
    return CutTree(cut(1, first), CutTree(cut(2, left), lower), CutTree(cut(2, right)))


@pytest.mark.parametrize("height", [2, 3])
def test_planted_thresholds_are_found_from_others(height):
    """The top cut is best only together with those below it, all of which begin somewhere else."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 4))

    def model(X):
        low = np.where(X[:, 2] > 0.31, 1.0, -2.0)
        if height == 3:
            low = np.where((X[:, 2] <= 0.31) & (X[:, 3] > -0.12), 4.0, low)
        high = np.where(X[:, 2] > -0.23, 3.0, 0.5)
        return X[:, 0] * np.where(X[:, 1] > 0.14, high, low)

    problem = problem_of(model, X, gx.question("ice-pdp").with_influence(gx.Individual(["x0"])))
    start = tree_at(problem, (-0.2, 0.0, 0.1, 0.3 if height == 3 else None))
    thoughts = thoughts_of(problem, 5, 0.01)
    cost, tree = thoughts.recut(np.arange(200), start)
    assert cost == pytest.approx(0.01 * len(regions_of(problem, np.arange(200), tree)), abs=1e-9)
    assert thoughts.cost(np.arange(200), start) > 0.2
    assert columns_of(tree) == columns_of(start)


def test_a_side_that_is_cheaper_whole_becomes_a_region():
    """Nothing is left below the first cut: the second ones cost more than they save."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 4))
    problem = problem_of(
        lambda X: X[:, 0] * np.where(X[:, 1] > 0.14, 1.0, -1.0),
        X,
        gx.question("ice-pdp").with_influence(gx.Individual(["x0"])),
    )
    start = tree_at(problem, (-0.2, 0.0, 0.1, None))
    cost, tree = thoughts_of(problem, 5, 0.05).recut(np.arange(200), start)
    assert columns_of(tree) == (1, None, None)
    assert cost == pytest.approx(0.1, abs=1e-9)

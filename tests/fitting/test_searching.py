"""The search for regions from the evaluations of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.judged_fit import fit_and_judge
from granite_xai.fitting.searching import (
    RootFigures,
    find_path,
    problem_of,
    search_again,
    search_regions,
)

import granite_xai as gx
from granite_xai.base.errors import Diagnostics
from strategies import quiet

X = np.random.default_rng(4).normal(size=(240, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0.2, 1.0, -1.0)


def additive(X):
    return X[:, 0] + np.square(X[:, 1])


def run_of(model=step, rows=X, **options):
    opened = open_inputs(gx.Granite(model, **options), rows, None, None, None, Diagnostics())
    return fit_and_judge(opened, Diagnostics(), is_judged=False)


def root_of(run):
    result = run.result
    return RootFigures(result.root_disagreements, result.floors, run.error, result.chance)


@pytest.fixture(scope="module")
def run():
    return run_of()


def test_the_search_can_be_repeated_from_the_evaluations(run):
    found = search_regions(run.inputs, run.evaluations, root_of(run)).partition
    assert str(found.rules) == str(run.result.partition.rules)


@pytest.mark.parametrize(
    ("model", "n_rows", "reason"),
    [
        (additive, 240, "nothing to explain"),
        (additive, 1, "too few samples"),
        (step, 30, "too few samples"),
    ],
)
def test_one_region_says_why(model, n_rows, reason):
    (region,) = run_of(model, X[:n_rows]).result.partition
    assert region.stop_reason == reason


@pytest.mark.parametrize("questions", [["sobol"], ["sobol", "ice-pdp"]])
def test_without_a_confidence_level_nothing_is_chance(questions):
    """A model that varies only beside the rows has no variance to measure disagreements by."""
    rows = np.array([[0.0, -1.0], [1.0, 0.0], [-1.0, -1.0], [0.0, 1.5]])
    objective = gx.Objective(dict.fromkeys(questions, 1.0), normalize="variance")
    options = {"search": "greedy", "confidence_level": None, "min_samples_leaf": 1}
    corner = lambda X: 100.0 + ((X[:, 0] > 0.5) & (X[:, 1] > 0.5))  # noqa: E731
    g = gx.Granite(corner, objective, **options).fit(rows)
    (region,) = g.partition_
    assert (region.stop_reason, region.disagreement) == ("nothing to explain", 0.0)
    assert g.remaining_ == 0.0
    assert max(g.disagreements_.values()) > 0.0
    assert g.disagreement_ == (0.0 if len(questions) > 1 else g.disagreements_["sobol"])


def test_some_of_the_rows_find_what_a_fit_of_them_finds():
    run = run_of(confidence_level=None)
    rows = np.arange(0, 240, 2)
    again = search_again(run.inputs, run.evaluations, run.result.floors, run.error, rows)
    alone = run_of(rows=X[rows], confidence_level=None).result.partition
    assert [str(rule) for rule in again.rules] == [str(rule) for rule in alone.rules]


def test_questions_that_are_proven_are_divided_even_where_their_rows_show_no_more_than_chance(run):
    rows = np.arange(45)
    weak = replace(run.inputs, partitioner=replace(run.inputs.partitioner, min_samples_leaf=5))
    known = (weak, run.evaluations, run.result.floors, run.error)
    exceeded = replace(run.result.chance, bar=run.result.chance.bar + np.inf)
    assert not exceeded.exceeded(run.result.floors).any()
    assert len(search_again(*known, rows, proven=np.array([True]))) >= len(
        search_again(*known, rows, proven=np.array([False]))
    )
    root = replace(root_of(run), chance=exceeded)
    (region,) = search_regions(weak, run.evaluations, root).partition
    assert region.stop_reason == "no more than chance"
    proven = replace(root, chance=replace(exceeded, proven=np.array([True])))
    assert len(search_regions(weak, run.evaluations, proven).partition) > 1


def test_rows_that_show_no_more_than_chance_are_divided_where_more_rows_have_proven_it():
    def weak(X):
        return 0.4 * step(X) + np.sin(5 * X[:, 0] * X[:, 2])

    run = run_of(weak)
    inputs = replace(run.inputs, partitioner=replace(run.inputs.partitioner, min_samples_leaf=5))
    known = (inputs, run.evaluations, run.result.floors, run.error, np.arange(100, 110))
    assert len(search_again(*known)) == 1
    assert len(search_again(*known, proven=np.array([True]))) == 2


def test_chance_is_not_blamed_where_rows_are_too_few_to_divide(run):
    root = root_of(run)
    root = replace(root, chance=replace(root.chance, bar=root.chance.bar + np.inf))
    for fewest, reason in ((120, "no more than chance"), (121, "too few samples")):
        inputs = replace(run.inputs, tree=replace(run.inputs.tree, min_samples_leaf=fewest))
        (region,) = search_regions(inputs, run.evaluations, root).partition
        assert region.stop_reason == reason


def test_a_higher_price_leaves_fewer_regions(run):
    sizes = []
    for alpha in (0.0, 0.05, 2.0):
        inputs = run.inputs.with_alpha(alpha)
        sizes.append(len(search_regions(inputs, run.evaluations, root_of(run)).partition))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1 < sizes[0]


def test_the_path_goes_from_the_largest_tree_to_one_region(run):
    sizes = [line.regions for line in find_path(run.inputs, run.evaluations, root_of(run)).steps]
    assert sizes[-1] == 1
    assert sizes == sorted(sizes, reverse=True)


def test_where_there_is_nothing_to_explain_the_path_is_one_region():
    run = run_of(additive)
    assert len(find_path(run.inputs, run.evaluations, root_of(run)).steps) == 1


def weakly_dependent(seed, n=300):
    """Two of eight columns depend on each other, through the sign of a third."""
    rows = np.random.default_rng(seed).normal(size=(n, 8))
    rows[:, :2] += 0.5 * np.sign(rows[:, [2]])
    return rows


def total(X):
    return X.sum(axis=1)


@pytest.fixture(scope="module")
def run_by_gains():
    """A fit whose rows show no more than chance in all, while the best cut of them gains more."""
    options = {"holdout": False, "max_depth": 1, "random_state": 0}
    with quiet():
        return run_of(total, weakly_dependent(1), question="mplot-pdp", alpha="auto", **options)


def test_the_path_has_the_tree_of_rows_that_only_a_test_of_gains_lets_pass(run_by_gains):
    chance = run_by_gains.result.chance
    assert chance.plug_in[0] < chance.bar[0]
    assert chance.proven.all()
    path = find_path(run_by_gains.inputs, run_by_gains.evaluations, root_of(run_by_gains))
    assert [step.regions for step in path.steps] == [2, 1]
    assert path.steps[0].left_out < 1.0
    assert path.chosen.regions == len(run_by_gains.result.partition) == 2


def test_a_search_that_is_repeated_tests_gains_as_a_fit_does(run_by_gains):
    result = run_by_gains.result
    known = (run_by_gains.inputs, run_by_gains.evaluations, result.floors, run_by_gains.error)
    rows = np.arange(result.table.n_rows)
    assert len(search_again(*known, rows, proven=np.array([False]))) == 1
    assert len(search_again(*known, rows)) == len(result.partition)


def three_way(X):
    return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])


@pytest.mark.parametrize(
    ("of_tree", "others"),
    [
        ({"min_samples_leaf": 60, "max_candidates": 5, "split_features": ["x1", "x2"]}, {}),
        ({"search": "refined"}, {"search": "greedy", "confidence_level": None}),
    ],
)
def test_a_tree_that_is_given_as_partitioner_is_read_everywhere(of_tree, others):
    """Regions and what is noted of their splits are those of the same options of the estimator."""
    given = gx.Granite(three_way, partitioner=gx.partitioners.Tree(**of_tree), **others).fit(X)
    as_options = gx.Granite(three_way, **{**others, **of_tree}).fit(X)
    assert [str(rule) for rule in given.partition_.rules] == [
        str(rule) for rule in as_options.partition_.rules
    ]
    for key in ("splits", "candidates"):
        assert given.diagnostics_.get(key) == as_options.diagnostics_.get(key)


def test_shares_of_the_problem_start_at_one(run):
    problem = problem_of(run.inputs, run.evaluations, root_of(run))
    assert problem.measure(np.ones((1, 240)))[0] == pytest.approx(1.0)
    assert problem.share(np.arange(240)) == pytest.approx(1.0)

"""Optimism of searched trees: none where nothing was chosen, that of the search where regions were."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.signed_weights import signs
from granite_xai.fitting.judgement import trees_of_folds
from granite_xai.inference.cross_validation import (
    FoldTree,
    expected_optimism,
    optimism_of_tree,
)
from granite_xai.inference.path import folds
from granite_xai.inference.perturbed_figures import corrected_figures

import granite_xai as gx
from problems import problem_of
from strategies import quiet


def step(X):
    """The effect of x0 turns with the sign of x1."""
    return X[:, 0] * np.sign(X[:, 1]) + 0.6 * X[:, 0] * X[:, 2]


def trees_of(labels, clusters, seed=0):
    """The same regions in every fold, as if they had been given."""
    found = []
    for _, left_out in folds(clusters, seed):
        is_left_out = np.zeros(len(labels), dtype=bool)
        is_left_out[left_out] = True
        found.append(FoldTree(regions=labels, is_left_out=is_left_out))
    return found


BINS = gx.Conditional(sampler="bins")


@pytest.mark.parametrize(
    "question",
    [
        "ice-pdp",
        gx.question("cice-mplot", conditional=BINS),
        "ale",
        "variance",
        "pfi-risk",
        gx.question("mplot-pdp", conditional=BINS),
    ],
    ids=str,
)
def test_regions_that_nobody_chose_have_no_optimism(question):
    """On average over samples: what the slope says of the fold and twice the sampling bias cancel."""
    optimism, left = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 3))
        X[:, 2] += X[:, 0]
        X = X.round(1)
        y = step(X) + rng.normal(size=150)
        problem = problem_of(step, X, question, y=y)
        asked = problem.shares.comparisons[0]
        labels = (X[:, 1] > 0).astype(np.intp)
        known = problem.evaluations
        drawn = signs(np.arange(150), 0)
        trees = trees_of(labels, np.arange(150))
        by_fold = [optimism_of_tree(asked, known, tree, drawn) for tree in trees]
        optimism.append(expected_optimism(by_fold, trees, known.weights))
        parts = 0.0
        for region in (0, 1):
            rows = np.flatnonzero(labels == region)
            part = corrected_figures(asked, known.restrict(rows), drawn[:, rows])
            parts += len(rows) / 150 * part.corrected
        left.append(parts)
    error = np.std(optimism, ddof=1) / np.sqrt(12)
    scale = abs(np.mean(left))
    corrected = np.array(left) + optimism
    assert np.corrcoef(corrected, left)[0, 1] > 0.85
    assert abs(np.mean(optimism)) < 3 * error + 0.02 * scale


def test_optimism_falls_like_one_over_the_rows():
    """Trees of four fifths of the rows look too good by 1: one of all rows by four fifths of that."""
    trees = trees_of(np.zeros(50, dtype=np.intp), np.arange(50))
    assert expected_optimism([1.0] * 5, trees, np.ones(50)) == pytest.approx(0.8)
    heavy = np.where(trees[0].is_left_out, 4.0, 1.0)  # a fold of half the weight
    weighted = expected_optimism([1.0, 0.0, 0.0, 0.0, 0.0], trees, heavy)
    assert weighted == pytest.approx(0.25)


def test_the_rows_of_a_fold_judge_and_not_those_that_searched():
    """Where the fold's rows disagree and the others do not, the tree is optimistic, and the other way round."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    problem = problem_of(step, X, "ice-pdp")
    asked = problem.shares.comparisons[0]
    drawn = signs(np.arange(200), 0)
    order = np.argsort(np.abs(X[:, 0] * X[:, 1]))
    optimism, shown = {}, {}
    for name, fold in (("tame", order[:40]), ("wild", order[-40:])):
        is_left_out = np.isin(np.arange(200), fold)
        tree = FoldTree(np.zeros(200, dtype=np.intp), is_left_out)
        optimism[name] = optimism_of_tree(asked, problem.evaluations, tree, drawn)
        rows = np.flatnonzero(~is_left_out)
        part = corrected_figures(asked, problem.evaluations.restrict(rows), drawn[:, rows])
        shown[name] = part.corrected
    assert optimism["wild"] > 1.5 * shown["wild"]
    assert optimism["tame"] < -0.8 * shown["tame"]


def test_small_tables_are_judged_by_folds_and_the_model_is_not_asked_again():
    calls = []

    def counted(X):
        calls.append(len(X))
        return step(np.asarray(X))

    X = np.random.default_rng(1).normal(size=(200, 3)).round(1)
    with quiet():
        g = gx.Granite(counted).fit(X)
        asked = sum(calls)
        held_in = gx.Granite(counted, max_depth=0).fit(X)
    assert g.estimate_.rows == "cross-validated"
    assert 0 < g.estimate_.remaining < 1
    assert np.isnan([g.estimate_.low, g.estimate_.high, g.estimate_.standard_error]).all()
    assert g.estimate_.fidelity < g.fidelity_  # rows that make curves fit them better
    assert g.diagnostics_["model"]["rows"] == asked
    assert held_in.estimate_.rows == "fitting"  # nothing was searched
    assert "100" not in str(held_in.estimate_)


def test_each_row_is_left_out_once_and_whole_clusters_are():
    X = np.random.default_rng(1).normal(size=(200, 3)).round(1)
    clusters = np.repeat(np.arange(40), 5)
    with quiet():
        g = gx.Granite(step).fit(X, clusters=clusters)
    trees = trees_of_folds(vars(g)["_run"])
    assert len(trees) == 5
    assert np.array_equal(sum(tree.is_left_out.astype(int) for tree in trees), np.ones(200))
    own = vars(g)["_run"].inputs.clusters
    for tree in trees:
        assert not set(own[tree.is_left_out]) & set(own[~tree.is_left_out])


def optimism_with_a_bin_apart(height, n_searched_there):
    """M-plot against PDP of x0, where the model has a height of its own in a bin of eight rows.

    All of these are of the fold but so many.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2)).round(1)
    X[:8, 0] = 50.0  # a bin of their own
    is_left_out = np.arange(80) < 8 - n_searched_there

    def model(X):
        X = np.asarray(X, dtype=float)
        return np.where(X[:, 0] > 40, height, X[:, 0]) * X[:, 1]

    problem = problem_of(model, X, "mplot-pdp", features=["x0"])
    tree = FoldTree(np.zeros(80, dtype=np.intp), is_left_out)
    question = problem.shares.comparisons[0]
    return optimism_of_tree(question, problem.evaluations, tree, signs(np.arange(80), 0))


@pytest.mark.parametrize("height", [0.0, 1.0, 100.0])
def test_a_cell_that_only_a_fold_fills_says_nothing(height):
    """Whatever the model does in a bin of the fold's own, nothing is judged there."""
    wanted = optimism_with_a_bin_apart(-3.0, n_searched_there=0)
    assert optimism_with_a_bin_apart(height, n_searched_there=0) == pytest.approx(wanted, rel=1e-6)


def test_a_cell_with_one_search_row_is_judged():
    slopes = []
    for searched in (0, 1):
        low = optimism_with_a_bin_apart(1.0, n_searched_there=searched)
        slopes.append(optimism_with_a_bin_apart(100.0, n_searched_there=searched) - low)
    assert abs(slopes[1]) > 10 * abs(slopes[0]) + 1.0


@pytest.mark.parametrize("question", ["ice-pdp", "variance", "pfi-risk"])
def test_a_cluster_of_equal_rows_counts_as_one_row(question):
    """Every row twice, in a cluster with its copy: the optimism of the rows once."""
    rng = np.random.default_rng(5)
    once = rng.normal(size=(60, 3)).round(1)
    y = step(once) + rng.normal(size=60)
    fold_once = np.arange(60) % 5 == 0
    regions_once = (once[:, 2] > 0).astype(np.intp)
    signs_once = signs(np.arange(60), 0)

    def optimism(rows, clusters):
        problem = problem_of(step, once[rows], question, y=y[rows])
        asked = problem.shares.comparisons[0]
        tree = FoldTree(regions_once[rows], fold_once[rows])
        return optimism_of_tree(
            asked, problem.evaluations, tree, signs_once[:, rows], clusters=clusters
        )

    twice = np.repeat(np.arange(60), 2)
    expected = optimism(np.arange(60), None)
    assert optimism(twice, twice) == pytest.approx(expected, rel=1e-6)
    assert optimism(twice, None) != pytest.approx(expected, rel=1e-3)

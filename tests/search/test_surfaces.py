"""Surfaces along the column of a split, against regressions by hand."""

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.search.surfaces import strongest_surface
from problems import problem_of

FAST = {"holdout": False, "search": "greedy"}


def test_a_surface_leaves_what_a_regression_of_the_gaps_leaves():
    """By hand: each row's differences to all others, fitted by a cubic in the ranks and read at its own rank."""
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(150, 3)), rng.integers(1, 4, 150).astype(float)
    model = lambda X: X[:, 0] * X[:, 1] + 0.3 * X[:, 0] * X[:, 2]  # noqa: E731
    exact = gx.Resources(max_grid=None)
    options = {**FAST, "max_samples": None, "resources": exact}
    g = gx.Granite(model, features=["x0"], split_features=["x1"], **options)
    first = g.fit(X, sample_weight=weight).diagnostics_["splits"][0]
    ranks = np.argsort(np.argsort(X[:, 1])) / 150
    smooth, mean, sides = np.zeros(150), np.zeros(150), np.zeros(150)
    for n in range(150):
        given, taken = np.tile(X[n], (150, 1)), X.copy()
        taken[:, 0], given[:, 0] = X[n, 0], X[:, 0]
        gaps = model(taken) - model(X) + model(given) - model(X)[n]
        smooth[n] = np.polyval(np.polyfit(ranks, gaps, 3, w=np.sqrt(weight)), ranks[n])
        mean[n] = np.average(gaps, weights=weight)
        same = (X[:, 1] <= cut_of(first)) == (X[n, 1] <= cut_of(first))
        sides[n] = np.average(gaps[same], weights=weight[same])
    assert first["with"] == "x0"
    assert first["left"] == pytest.approx(weight @ sides**2 / (weight @ mean**2), rel=1e-9)
    assert first["surface"] == pytest.approx(weight @ smooth**2 / (weight @ mean**2), rel=1e-6)
    assert first["smooth"]


def cut_of(split):
    return float(split["split"].split("≤")[1])


def surface_of(model, X, question="ice-pdp"):
    """The surface of a split of x1 at 0."""
    problem = problem_of(model, X, question)
    evaluations = problem.evaluations
    halves = [np.flatnonzero(X[:, 1] <= 0), np.flatnonzero(X[:, 1] > 0)]
    sides = [evaluations.restrict(rows) for rows in halves]
    rows = np.arange(len(X))
    return strongest_surface(problem, rows, evaluations, sides, problem.table.columns[1])


def test_sums_and_pairs_of_rows_tell_the_same_surface():
    """Attributions against PDP have no sums: of a product of two columns their gaps are half as large."""
    X = np.random.default_rng(0).normal(size=(80, 3))
    product = lambda X: X[:, 0] * X[:, 1] + X[:, 2]  # noqa: E731
    by_sums = surface_of(product, X)
    from_pairs = surface_of(product, X, "shap-pdp")
    assert by_sums.partner == from_pairs.partner == "x0"
    assert by_sums.left_by_surface == pytest.approx(from_pairs.left_by_surface, abs=0.01)
    assert by_sums.left_by_regions == pytest.approx(from_pairs.left_by_regions, abs=0.01)
    assert by_sums.left_by_surface < 0.1 < by_sums.left_by_regions


def test_where_a_split_makes_no_other_set_agree_there_is_no_surface():
    X = np.random.default_rng(0).normal(size=(80, 3))
    assert surface_of(lambda X: X[:, 0] + X[:, 1], X) is None

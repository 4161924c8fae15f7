"""One row against the fitting rows of its region: ranks, neighbours and changes by their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.results.explain_row import explain_one

RNG = np.random.default_rng(22)
X = np.round(RNG.normal(size=(200, 3)), 1)


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def fitted():
    return gx.Granite(step, max_depth=1, holdout=False).fit(X)


def explained(g, row):
    return g.explain_row(row[None])


def test_contributions_and_interactions_add_up_to_the_prediction(fitted):
    for row in X[:5]:
        found = explained(fitted, row)
        total = found.mean + found.contributions.sum() + found.rest
        assert total == pytest.approx(step(row[None])[0])


def test_percentiles_are_mid_ranks_among_the_region(fitted):
    row = X[7]
    found = explained(fitted, row)
    inside = X[fitted.apply(X) == found.region]
    for column in range(3):
        below = np.mean(inside[:, column] < row[column])
        equal = np.mean(inside[:, column] == row[column])
        assert found.percentiles[column] == pytest.approx(below + equal / 2)
        assert found.shares[column] == pytest.approx(equal)


def test_the_change_that_is_named_leads_to_the_region(fitted):
    (change,) = explained(fitted, np.array([0.0, -0.5, 0.0])).changes
    assert change.region == 1
    assert fitted.apply(np.array([[0.0, 5.0, 0.0]]))[0] == 1
    assert "x1" in change.condition
    nearer = explained(fitted, np.array([0.0, -0.1, 0.0])).changes[0]
    assert nearer.distance < change.distance


def test_several_rows_are_refused(fitted):
    view = fitted_view(fitted)
    table = view.read(X[:2])
    with pytest.raises(gx.InputError, match="P03"):
        explain_one(view.result, table, view.regions(table), view.resources, 0)


def test_without_the_fitting_rows_curves_contribute(fitted, tmp_path):
    gx.save(fitted, tmp_path / "fit.json")
    loaded = gx.load(tmp_path / "fit.json", model=step)
    exact = explained(fitted, X[3])
    by_curves = explained(loaded, X[3])
    assert by_curves.contributions == pytest.approx(exact.contributions, abs=0.15)
    assert np.isnan(by_curves.percentiles).all()

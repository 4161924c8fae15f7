"""Regions against all other rows."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.numbers import OutputUnit
from granite_xai.fitting.fitted import fitted_view
from granite_xai.results.profile import profiles
from results.two_groups import two_groups


@pytest.fixture(scope="module")
def case():
    return two_groups()


def test_means_and_risk_stand_beside_those_of_the_rest(case):
    g, X, model = case
    y = model(X) + np.where(X["group"] > 0, 2.0, 1.0)
    result = fitted_view(g).result
    fitting = result.rows.positions  # the fit has the rows in an order of its own
    by_row = (model(X)[fitting], y[fitting], np.square(model(X) - y)[fitting])
    found = profiles(result, *by_row)[1]
    inside = X["group"] > 0
    assert found.prediction == pytest.approx((model(X[inside]).mean(), model(X[~inside]).mean()))
    assert found.target == pytest.approx((y[inside].mean(), y[~inside].mean()))
    assert found.risk == pytest.approx((4.0, 1.0))
    assert "the model's error is 4 times as much as elsewhere" in " ".join(found.sentences())


def test_one_region_has_no_rest():
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = profiles(fitted_view(gx.Granite(lambda X: X[:, 0]).fit(X)).result)
    assert len(found) == 1
    assert found[0].traits == ()
    assert "elsewhere" not in " ".join(found[0].sentences())


def test_the_report_tells_them(case):
    g, X, model = case
    told = g.report(X, model(X) + X["group"])
    assert "Besides its rule: age" in told.facts["regions"][1]["profile"][0]
    assert "Besides its rule: age" in told.html()
    assert "the 10% and 90% quantiles" in told.facts["regions"][1]["profile"][0]


def test_a_probability_is_told_in_percent(case):
    g, X, _ = case
    result = fitted_view(g).result
    fitting = result.rows.positions
    inside = (X["group"] > 0).to_numpy()
    chances = np.where(inside, 0.25, 0.75)[fitting]
    told = profiles(result, chances, output=OutputUnit(probability=True))[1].sentences()
    assert "Mean prediction 25%, elsewhere 75%." in told

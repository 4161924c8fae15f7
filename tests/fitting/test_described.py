"""The share of a model that curves describe on other rows."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.fitting.described import described_later
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.fitting.judging_rows import observe_regions

import granite_xai as gx

RNG = np.random.default_rng(14)
X = RNG.normal(size=(400, 3))
OTHER = RNG.normal(size=(300, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def shares(g):
    new, regions = fitted_view(g).other_rows(OTHER, None)
    observed = new.observe(both_sides(new.fitted.comparisons))
    return described_later(new, observe_regions(new, regions, None, observed))


def test_the_share_is_one_minus_the_squared_error_of_the_curves():
    g = gx.Granite(step, max_depth=1).fit(X)
    described = shares(g).value
    truth = step(OTHER)
    error = np.square(truth - g.predict(OTHER)).mean()
    assert described.in_regions.value == pytest.approx(1.0 - error / truth.var())


def test_regions_describe_more_than_curves_of_all_rows():
    described = shares(gx.Granite(step, max_depth=1).fit(X)).value
    assert described.overall.value < 0.3 < 0.9 < described.in_regions.value


def test_an_unread_surrogate_is_described_when_somebody_asks():
    later = shares(gx.Granite(step, max_depth=1, features=[0]).fit(X))
    assert not later.is_computed
    assert later.value.in_regions.value > 0.9

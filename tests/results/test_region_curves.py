"""Curves of a region beside those of all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.results.region_curves import overall_curves, region_curves

RNG = np.random.default_rng(31)
X = pd.DataFrame(
    {
        "hour": RNG.integers(0, 6, 300),
        "temp": RNG.normal(size=300),
        "day": RNG.choice(["work", "off"], 300),
    }
)


def model(frame):
    sign = np.where(frame["day"] == "work", 1.0, -1.0)
    return (sign * frame["hour"]).to_numpy() + frame["temp"].to_numpy()


@pytest.fixture(scope="module")
def g():
    return gx.Granite(model, max_depth=1, holdout=False, confidence_level=None).fit(X)


@pytest.fixture(scope="module")
def fitted(g):
    return fitted_view(g).result


def test_a_curve_is_the_mean_prediction_with_the_feature_set(fitted):
    curve = overall_curves(fitted)["hour"]
    expected = [model(X.assign(hour=hour)).mean() for hour in range(6)]
    assert curve.predictions == pytest.approx(expected)
    assert curve.labels == ["0", "1", "2", "3", "4", "5"]


def test_inside_a_region_its_rows_are_averaged(g, fitted):
    regions = g.apply(X)
    for region in range(2):
        inside = X[regions == region]
        pair = region_curves(fitted, region)["hour"]
        expected = [model(inside.assign(hour=hour)).mean() for hour in range(6)]
        assert pair.here.predictions == pytest.approx(expected)


def test_both_curves_of_a_pair_stand_at_the_values_of_the_region(g, fitted):
    for region in range(2):
        pairs = region_curves(fitted, region)
        assert len(pairs["day"].here.labels) == 1
        for pair in pairs.values():
            assert pair.here.labels == pair.overall.labels
            assert pair.here.weights == pytest.approx(pair.overall.weights)
            assert pair.here.weights.sum() == pytest.approx(1.0)


def test_weights_are_shares_of_the_rows(fitted):
    curve = overall_curves(fitted)["hour"]
    assert curve.weights == pytest.approx(np.bincount(X["hour"]) / 300)


def test_numbers_have_positions_and_labels_have_none(fitted):
    curves = overall_curves(fitted)
    assert curves["hour"].positions.tolist() == [0, 1, 2, 3, 4, 5]
    assert curves["hour"].whole
    assert not curves["temp"].whole
    assert curves["day"].positions is None
    assert not curves["day"].ordered


def test_a_loaded_fit_knows_the_shares_of_its_rows(g, fitted, tmp_path):
    gx.save(g, tmp_path / "fit.json")
    loaded = fitted_view(gx.load(tmp_path / "fit.json")).result
    for name, pair in region_curves(fitted, 0).items():
        again = region_curves(loaded, 0)[name]
        assert again.here.weights.tolist() == pair.here.weights.tolist()
        assert again.overall.labels == pair.overall.labels

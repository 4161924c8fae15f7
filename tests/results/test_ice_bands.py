"""Bands of ICE curves, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.results.ice_bands import ice_bands
from granite_xai.results.values import Values

X = np.random.default_rng(25).normal(size=(120, 3))


def model(X):
    return X[:, 0] * X[:, 1] + X[:, 2]


def at_every_level(predictions, line_of_level):
    return predictions[line_of_level[1:]]


def values_of(**options):
    return Values.of_fit(gx.Granite(model, **options).fit(X))


@pytest.fixture(scope="module")
def bands():
    return ice_bands(values_of(confidence_level=None, max_depth=0), 0, at_every_level)


@pytest.fixture(scope="module")
def curves():
    """Predictions of every row at every value of the first column in ascending order."""
    hybrids = np.repeat(X[None], 120, axis=0)
    hybrids[:, :, 0] = np.sort(X[:, 0])[:, None]
    return model(hybrids.reshape(-1, 3)).reshape(120, 120)


def test_eight_of_ten_curves_run_inside(bands, curves):
    moved = curves - curves.mean(axis=0) + curves.mean()
    (band,) = bands
    assert band.low == pytest.approx(np.sort(moved, axis=1)[:, 11])
    assert band.high == pytest.approx(np.sort(moved, axis=1)[:, 107])


def test_errors_are_those_of_means_over_rows(bands, curves):
    (band,) = bands
    assert band.error == pytest.approx(curves.std(axis=1) / np.sqrt(120))
    moved = curves - curves.mean(axis=0)
    assert band.effect_error == pytest.approx(moved.std(axis=1) / np.sqrt(120))


def test_rows_of_one_cluster_count_together(curves):
    g = gx.Granite(model, confidence_level=None, max_depth=0)
    g.fit(X, clusters=np.arange(120) // 40)
    (band,) = ice_bands(Values.of_fit(g), 0, at_every_level)
    deviations = (curves - curves.mean(axis=1, keepdims=True)) / 120
    sums = deviations.reshape(120, 3, 40).sum(axis=2)
    assert band.error == pytest.approx(np.sqrt(np.square(sums).sum(axis=1)))


def test_every_scope_has_its_band():
    values = values_of(confidence_level=None, max_depth=1)
    assert len(ice_bands(values, 1, at_every_level)) == len(values.scopes) == 3


def test_values_of_a_pilot_make_the_curves_finer():
    values = values_of(max_depth=0, max_samples=None, holdout=False)
    lines = []

    def draw(predictions, line_of_level):
        lines.append(len(np.unique(line_of_level[1:])))
        return predictions[line_of_level[1:]]

    (band,) = ice_bands(values, 0, draw)
    assert lines[0] > 16
    assert np.all(np.isfinite(band.low))

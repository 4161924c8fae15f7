"""The disagreement of all rows, and the floors that it must exceed."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx


def product(X):
    return np.asarray(X)[:, 0] * np.asarray(X)[:, 1]


def test_the_disagreement_is_that_of_the_definition_and_above_its_floor():
    """ICE against PDP of x0 x1, by hand."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    resources = gx.Resources(max_grid=None)
    g = gx.Granite(product, resources=resources, confidence_level=None, max_depth=0).fit(X)
    shown = g.diagnostics_["measured_disagreement"]["ice-pdp"]
    centred = X - X.mean(axis=0)
    # h(n, m) = (x0[n] - x0[m]) (x1[n] - x1[m]), its mean over m is the gap of row n, in both columns
    gaps = centred[:, 0] * centred[:, 1] + np.mean(centred[:, 0] * centred[:, 1])
    assert shown == pytest.approx(2 * np.mean(np.square(gaps)), rel=1e-9)
    assert 0 < g.diagnostics_["noise_floor"]["ice-pdp"] < 1e-12 * shown

"""Rows that are drawn, and rows that an interval needs."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.inference.sample_size import random_rows


def step(X):
    """ICE and PDP of x0 differ by the sign of x1; in both halves they agree."""
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + 0.6 * X[:, 0] * X[:, 2]


def test_an_interval_a_fifth_as_wide_needs_25_times_the_rows():
    X = np.random.default_rng(0).normal(size=(1100, 3))
    g = gx.Granite(step).fit(X)
    assert 24 * g.rows_needed(0.05) < g.rows_needed(0.01) <= 25 * g.rows_needed(0.05)
    with pytest.raises(gx.InputError, match="P03: rows_needed.* needs an interval"):
        gx.Granite(step).fit(X[:100]).rows_needed(0.05)


def test_drawn_rows_are_different_ones_in_their_order():
    rows = np.arange(10, 60)
    for seed in range(5):
        found = random_rows(rows, np.arange(100), 30, seed)
        assert len(set(found.tolist())) == 30
        assert found.tolist() == sorted(found.tolist())
        assert set(found) <= set(rows)
    clusters = np.arange(100) // 5
    found = random_rows(rows, clusters, 20, 0)
    assert np.unique(clusters[found], return_counts=True)[1].tolist() == [5] * (len(found) // 5)

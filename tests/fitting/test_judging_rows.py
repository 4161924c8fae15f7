"""Rows that judge the regions of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.fitting.described import described_later
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.fitting.judging_rows import estimate_of, observe_regions

import granite_xai as gx

RNG = np.random.default_rng(13)
X = RNG.normal(size=(200, 3))
OTHER = RNG.normal(size=(80, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def judging(g, clusters=None):
    new, regions = fitted_view(g).other_rows(OTHER, None)
    observed = new.observe(both_sides(new.fitted.comparisons))
    return new, observe_regions(new, regions, clusters, observed)


def test_every_row_is_in_the_sample_of_its_region():
    new, rows = judging(gx.Granite(step, max_depth=1).fit(X))
    for region, sample in enumerate(rows.by_region):
        assert np.array_equal(sample.rows, np.flatnonzero(rows.regions == region))
        assert sample.evaluations.n_rows == len(sample.rows)
    assert rows.everywhere.evaluations.n_rows == new.route.table.n_rows


def test_a_region_without_rows_has_no_sample():
    g = gx.Granite(step, max_depth=1).fit(X)
    new, _ = fitted_view(g).other_rows(OTHER, None)
    observed = new.observe(both_sides(new.fitted.comparisons))
    rows = observe_regions(new, np.zeros(80, dtype=np.intp), None, observed)
    assert rows.by_region[1] is None


def test_without_clusters_every_row_is_one():
    g = gx.Granite(step, max_depth=1).fit(X)
    assert np.array_equal(judging(g)[1].clusters, np.arange(80))
    clusters = np.arange(80) // 4
    assert np.array_equal(judging(g, clusters)[1].clusters, clusters)


def test_an_estimate_needs_a_confidence_level():
    new, rows = judging(gx.Granite(step, max_depth=1, confidence_level=None).fit(X))
    with pytest.raises(ValueError, match="confidence level"):
        estimate_of(new.fitted, rows, [], "given", described_later(new, rows))


def test_the_estimate_knows_which_rows_it_is_from():
    new, rows = judging(gx.Granite(step, max_depth=1).fit(X))
    measured = rows.measured(new.fitted.confidence.seed)
    estimate = estimate_of(new.fitted, rows, measured, "given", described_later(new, rows))
    assert estimate.rows == "given"
    assert estimate.n_rows == 80
    assert estimate.remaining < 0.2

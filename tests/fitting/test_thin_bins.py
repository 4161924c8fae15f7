"""Conditional means that rest on few rows are counted, and warned about once."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.evaluations.row_bins import Bins
from granite_xai.fitting.thin_bins import _listed_features, note_bins

import granite_xai as gx
from granite_xai.base.errors import BinWarning, Diagnostics

ALL = np.arange(12)
MASKING = gx.Conditional()
VISIBLE = (MASKING, frozenset({0}))


def noted(bins, densities, regions):
    record = Diagnostics()
    evaluations = SimpleNamespace(bins=bins, densities=densities)
    note_bins(record, evaluations, regions, names=["a", "b", "c"], single_bins_are_meant=False)
    return record.as_dict()["thin_bins"]


def test_bins_with_few_rows_of_a_region_and_regions_of_one_bin_are_counted():
    bins = {VISIBLE: Bins.of(np.array([0] * 7 + [1] * 5))}
    with pytest.warns(BinWarning) as caught:
        counts = noted(bins, {}, [ALL[:6], ALL[6:], ALL])
    assert counts == {"cells": 1, "single_bin": 1}
    text = (
        "C10: conditional masking has 1 bin with fewer than 5 rows of a region (feature 'a'); has once a "
        "region whose rows share one bin, where conditional equals marginal by construction (feature 'a')."
    )
    assert [str(warning.message) for warning in caught] == [text]


def test_bins_with_enough_rows_are_silent():
    bins = {VISIBLE: Bins.of(np.array([0] * 7 + [1] * 5))}
    assert noted(bins, {}, [ALL]) == {"cells": 0, "single_bin": 0}


def test_rows_whose_weights_rest_on_few_rows_are_counted():
    # Rows in the first interval weigh the first row a hundred times as much as the others.
    ratios = np.ones((2, 12))
    ratios[0, 0] = 100.0
    densities = DensityRatios(column=0, intervals=np.array([0] * 3 + [1] * 9), ratios=ratios)
    with pytest.warns(BinWarning, match=r"by a copula leaves a row of a region 3 times .*'a'"):
        counts = noted({}, {VISIBLE: densities}, [ALL])
    assert counts["weighted_rows"] == 3
    # In a region without that row all weights are equal.
    assert noted({}, {VISIBLE: densities}, [ALL[1:]])["weighted_rows"] == 0


def test_few_outermost_rows_are_counted_without_a_warning():
    ratios = np.ones((2, 300))
    ratios[0, 0] = 1000.0
    intervals = np.array([0] * 3 + [1] * 297)  # 3 of 300 means rest on one row: one in a hundred
    densities = DensityRatios(column=1, intervals=intervals, ratios=ratios)
    everyone = [np.arange(300)]
    visible = (MASKING, frozenset({1}))
    assert noted({}, {visible: densities}, everyone)["weighted_rows"] == 3
    more = DensityRatios(column=1, intervals=np.roll(intervals, 1) * 0, ratios=ratios)
    with pytest.warns(BinWarning, match="300 times .*feature 'b'"):
        noted({}, {visible: more}, everyone)


def test_the_features_that_are_hidden_are_named_where_the_others_are_shown():
    bins = {(MASKING, frozenset({0, 2})): Bins.of(np.array([0] * 9 + [1] * 3))}
    with pytest.warns(BinWarning, match="1 bin with fewer than 5 .*feature 'b'"):
        noted(bins, {}, [ALL])


def test_a_fit_that_weighs_rows_by_a_copula_says_so():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2))
    X[:, 1] = X[:, 0] + 0.001 * X[:, 1]
    granite = gx.Granite(lambda X: X[:, 0] * X[:, 1], "mplot-pdp", min_samples_leaf=20)
    with pytest.warns(BinWarning, match="effective number"):
        granite.fit(X)
    assert granite.diagnostics_["conditional"]["sampler"] == "copula"
    assert granite.diagnostics_["thin_bins"]["weighted_rows"] > 0


def test_features_that_are_affected_alike_are_named_in_the_same_order_always():
    for names in (["b", "a", "c"], ["c", "a", "b"]):
        counts = Counter(dict.fromkeys(names, 2)) + Counter({"z": 5})
        assert _listed_features(counts) == "features 'z', 'a', 'b', 'c'"

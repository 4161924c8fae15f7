"""Levels of bars and intervals that a confidence level means."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.options import chosen_confidence
from granite_xai.inference.by_sums import small_sample_factor
from granite_xai.inference.confidence import Confidence, rank_of_bar

import granite_xai as gx


def test_the_chance_bar_is_an_order_statistic():
    assert rank_of_bar(50, 0.95) == 49
    assert rank_of_bar(19, 0.95) == 19
    drawn = Confidence(0.95, 50, 0).replicates(np.arange(4))
    # The other half of the error is for the test of gains.
    assert drawn.bar_level == pytest.approx(0.975)
    assert drawn.bar_position == rank_of_bar(50, 0.975) - 1 == 49
    assert small_sample_factor(np.array([1, 2, 9])).tolist() == [3.0, 3.0, 1.25]


@pytest.mark.parametrize(("level", "n_replicates"), [(0.9, 50), (0.95, 50), (0.99, 199)])
def test_a_higher_level_has_as_many_replicates_as_its_bar_needs(level, n_replicates):
    g = gx.Granite(lambda X: X[:, 0], confidence_level=level)
    confidence = chosen_confidence(g, 0)
    assert confidence.n_replicates == n_replicates
    assert rank_of_bar(n_replicates, confidence.bar_level) <= n_replicates


def test_rows_of_a_cluster_have_the_same_random_weight():
    clusters = np.array([0, 0, 1, 2, 2])
    replicates = Confidence(0.9, 60, 1).replicates(clusters)
    assert np.array_equal(replicates.multipliers[:, 0], replicates.multipliers[:, 1])
    assert not np.array_equal(replicates.multipliers[:, 0], replicates.multipliers[:, 2])
    assert replicates.clusters is clusters
    assert Confidence(0.9, 60, 1).replicates(np.arange(5)).clusters is None
    assert replicates.multipliers.mean() == pytest.approx(1.0, abs=0.3)


def test_fewer_than_five_clusters_have_no_quantile():
    confidence = Confidence(0.95, 60, 0)
    assert np.isnan([confidence.quantile(4), confidence.one_sided_quantile(4)]).all()
    assert confidence.quantile(5) == pytest.approx(2.776, abs=1e-3)
    assert confidence.one_sided_quantile(5) == pytest.approx(2.132, abs=1e-3)
    assert confidence.normal == pytest.approx(1.960, abs=1e-3)

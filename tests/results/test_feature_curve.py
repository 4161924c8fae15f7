"""Curves along the values of a feature."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.results.feature_curve import FeatureCurve


def curve(predictions, positions=None, **options):
    predictions = np.asarray(predictions, dtype=float)
    labels = [f"v{index}" for index in range(len(predictions))]
    weights = np.full(len(predictions), 1 / max(len(predictions), 1))
    return FeatureCurve("x", labels, predictions, weights, positions, **options)


def test_the_range_is_highest_minus_lowest():
    assert curve([3.0, -1.0, 2.0]).range == 4.0
    assert curve([]).range == 0.0


def test_the_axis_runs_from_0_to_1_by_position():
    assert curve([1.0, 1.0, 1.0], np.array([10.0, 15.0, 30.0])).axis == pytest.approx([0, 0.25, 1])
    assert curve([1.0, 1.0, 1.0]).axis == pytest.approx([0, 0.5, 1])
    assert curve([1.0], np.array([7.0])).axis == pytest.approx([0.0])


def test_numbers_that_are_not_whole_are_about_there():
    temperatures = curve([0.0, 1.0], np.array([0.2345, 151.3]), whole=False)
    assert temperatures.value_text(0) == "about 0.23"
    assert temperatures.short_value_text(1) == "150"
    assert curve([0.0, 1.0], np.array([8.0, 17.0])).value_text(1) == "v1"


def test_a_restricted_curve_has_shares_that_add_up_to_1():
    whole = curve([1.0, 2.0, 3.0, 4.0], np.arange(4.0), errors=np.arange(4.0) / 10)
    part = whole.restrict(np.array([False, True, False, True]))
    assert part.labels == ["v1", "v3"]
    assert part.predictions.tolist() == [2.0, 4.0]
    assert part.positions.tolist() == [1.0, 3.0]
    assert part.errors.tolist() == [0.1, 0.3]
    assert part.weights == pytest.approx([0.5, 0.5])

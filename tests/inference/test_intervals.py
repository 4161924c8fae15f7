"""Intervals of figures that are never below 0."""

from __future__ import annotations

import math

import numpy as np
import pytest
from granite_xai.inference.intervals import interval_around, upper_limit


def test_intervals_are_of_ratios_far_from_0_and_of_differences_near_it():
    low, high = interval_around(3.0, 0.5, 2.0)
    assert (low, high) == pytest.approx((3.0 * np.exp(-1 / 3), 3.0 * np.exp(1 / 3)))
    assert interval_around(3.0, 1.5, 1.0) == (1.5, 4.5)
    assert interval_around(3.0, 2.0, 2.0) == (0.0, 7.0)
    assert np.isnan(interval_around(3.0, 2.0, np.nan)).all()


def test_an_interval_of_ratios_is_as_far_above_as_below():
    low, high = interval_around(3.0, 0.5, 2.0)
    assert high / 3.0 == pytest.approx(3.0 / low)
    assert high == pytest.approx(3.0 * math.exp(1.0 / 3.0))


@pytest.mark.parametrize(("value", "error"), [(3.0, 0.5), (3.0, 1.5), (1.0, 4.0), (0.0, 0.0)])
def test_the_upper_limit_is_the_upper_end(value, error):
    assert upper_limit(value, error, 1.7) == interval_around(value, error, 1.7)[1]


def test_two_standard_errors_from_0_the_scale_changes():
    """Just beyond, ratios; exactly there, differences."""
    assert upper_limit(2.0, 1.0, 1.0) == 3.0
    assert upper_limit(2.0001, 1.0, 1.0) == pytest.approx(2.0 * math.exp(0.5), rel=1e-3)

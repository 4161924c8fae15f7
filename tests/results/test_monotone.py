"""Whether constructed curves rise or fall."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.monotone import direction_of, fit_weights, isotonic


def curve(values, positions=None, weights=None):
    values = np.asarray(values, dtype=float)
    if weights is None:
        weights = np.full(len(values), 1 / len(values))
    return FeatureCurve("x", [f"{v}" for v in values], values, weights, positions)


def test_isotonic_fit_is_the_nearest_ascending_one():
    generator = np.random.default_rng(0)
    values, weights = generator.normal(size=30), generator.uniform(0.1, 1.0, size=30)
    fit = isotonic(values, weights)
    assert np.all(np.diff(fit) >= 0)
    own_error = weights @ np.square(values - fit)
    for _ in range(300):
        other = np.sort(fit + generator.normal(scale=0.1, size=30))
        assert weights @ np.square(values - other) >= own_error
    # Of every block of equal values it is the weighted mean.
    for level in np.unique(fit):
        block = fit == level
        assert np.average(values[block], weights=weights[block]) == pytest.approx(level)


@pytest.mark.parametrize(
    ("values", "direction"),
    [
        ([0, 1, 2, 3], 1),
        ([3, 2, 1, 0], -1),
        ([0, 2, 1, 3, 4, 3.8], 1),
        ([0, 1, 2, 1, 0], None),
    ],
)
def test_directions(values, direction):
    assert direction_of(curve(values)) == direction


def test_values_weigh_half_by_rows_and_half_by_their_length_of_the_axis():
    positions = np.array([0.0, 1.0, 10.0])
    weights = fit_weights(curve([0, 1, 2], positions, np.array([0.5, 0.4, 0.1])))
    lengths = np.gradient(positions)
    expected = 0.5 * lengths / lengths.sum() + 0.5 * np.array([0.5, 0.4, 0.1])
    assert weights == pytest.approx(expected)
    assert fit_weights(curve([0, 1], np.array([5.0, 5.0]))) == pytest.approx([0.5, 0.5])

"""Moments on lines of weights along signs against the same lines taken one by one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from granite_xai.algebra.behavior import Sensitivity
from granite_xai.algebra.masked_model import MaskedModel
from granite_xai.algebra.region_weights import RegionWeights, SignedLines


@pytest.mark.parametrize("is_of_pairs", [False, True])
def test_means_and_squares_are_those_of_each_line(is_of_pairs):
    rng = np.random.default_rng(0)
    n, n_signs, step = 30, 7, 0.1
    weights = rng.random(n) + 0.5
    signed = SignedLines(weights, rng.choice([-1.0, 1.0], (n, n_signs)), step)
    if is_of_pairs:
        masked = MaskedModel(rng.normal(size=(n, n)))
    else:
        masked = MaskedModel(rng.normal(size=(n, 4)), rng.normal(size=(n, 4)))
    target = rng.normal(size=n)
    lines = RegionWeights.along_signs(signed)
    values = masked.values(lines) - target[:, None]  # (n, 1 + 2 P)

    along_signs = masked.along_signs(signed).less(target)

    np.testing.assert_allclose(along_signs.means(), lines.means(values)[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(along_signs.mean_squares(), lines.means(values**2)[0], rtol=1e-12)
    np.testing.assert_allclose(lines.mass()[0], weights.sum() * signed.mass(), rtol=1e-12)
    errors = (values[:, 1 : 1 + n_signs] - values[:, 1 + n_signs :]) / (2 * step)
    shares = weights / weights.sum()
    tilts = (shares * 2 * values[:, 0]) @ (signed.signs * errors)
    squares, of_signs = along_signs.error_moments()
    np.testing.assert_allclose(squares, shares @ errors**2, rtol=1e-11)
    np.testing.assert_allclose(of_signs, tilts, rtol=1e-10, atol=1e-13)


def test_rows_of_bins_do_not_count_by_their_weight_alone():
    """So a variance of theirs is taken line by line."""
    rng = np.random.default_rng(0)
    signed = SignedLines(np.ones(8), rng.choice([-1.0, 1.0], (8, 3)), 0.1)
    masked = MaskedModel(rng.normal(size=(8, 2)), rng.normal(size=(8, 2)), np.repeat([0, 1], 4))
    evaluations = SimpleNamespace(weights=signed.weights)
    lines = RegionWeights.along_signs(signed)
    on_lines = Sensitivity().value(masked, evaluations, lines)
    one_by_one = Sensitivity().value(masked, evaluations, RegionWeights(lines.weights))
    np.testing.assert_array_equal(on_lines, one_by_one)

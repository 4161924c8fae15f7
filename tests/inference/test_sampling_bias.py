"""Sampling bias: what a small sample shows beyond a large one, for means of known distribution."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.signed_weights import signed_lines, slopes
from granite_xai.explanation.behavior.losses import gap_loss
from granite_xai.inference.sampling_bias import (
    bias_of_regions,
    bias_of_rows,
    moved_losses,
    signed_losses,
)

N_SAMPLES = 4000


def random_signs(rng, n_rows, n_pairs=20):
    return 2.0 * rng.integers(0, 2, size=(n_pairs, n_rows)) - 1.0


def weighted_means(values, lines):
    """Mean of the rows under each line of weights, (n_lines,)."""
    return lines @ values / lines.sum(axis=1)


@pytest.mark.parametrize("n_rows", [2, 3, 8])
def test_rows_against_their_own_mean_show_too_little(n_rows):
    """Squared distance from the cell's mean: its true value is the variance, whatever the size of the cell."""
    rng = np.random.default_rng(0)
    corrected = []
    for _ in range(N_SAMPLES):
        values = rng.normal(size=n_rows)
        drawn = random_signs(rng, n_rows)
        means = weighted_means(values, signed_lines(drawn, np.ones(n_rows)))
        gaps = values - means[:, None]  # (1 + 2 P, n)
        cells = np.full(n_rows, n_rows)
        bias = bias_of_rows(signed_losses(gap_loss("squared"), gaps, cells), drawn, cells)
        corrected.append(np.mean(np.square(gaps[0]) - bias))
    error = np.std(corrected) / np.sqrt(N_SAMPLES)
    assert np.mean(corrected) == pytest.approx(1.0, abs=4 * error)


@pytest.mark.parametrize("n_rows", [2, 3, 8])
def test_a_mean_against_a_constant_shows_too_much(n_rows):
    """Squared mean of a cell: the sampling variance of the mean is taken off."""
    rng = np.random.default_rng(1)
    corrected = []
    for _ in range(N_SAMPLES):
        values = 0.5 + rng.normal(size=n_rows)
        drawn = random_signs(rng, n_rows)
        means = weighted_means(values, signed_lines(drawn, np.ones(n_rows)))
        gaps = np.repeat(means[:, None], n_rows, axis=1)
        cells = np.full(n_rows, n_rows)
        bias = bias_of_rows(signed_losses(gap_loss("squared"), gaps, cells), drawn, cells)
        corrected.append(np.mean(np.square(gaps[0]) - bias))
    error = np.std(corrected) / np.sqrt(N_SAMPLES)
    assert np.mean(corrected) == pytest.approx(0.25, abs=4 * error)


def test_rows_alone_in_their_cell_borrow_the_bias_of_the_others():
    """Alone, a row is its own mean and its gap is 0; the variance that it hides is that of the others."""
    rng = np.random.default_rng(2)
    corrected = []
    cell = np.array([0, 1, 2, 2, 2, 3, 3, 3, 3])
    cells = np.bincount(cell)[cell]
    member = (cell == np.arange(4)[:, None]).astype(float)  # (4, n)
    for _ in range(N_SAMPLES):
        values = rng.normal(size=9)
        drawn = random_signs(rng, 9)
        lines = signed_lines(drawn, np.ones(9))
        means = ((lines * values) @ member.T) / (lines @ member.T)  # (1 + 2 P, 4)
        gaps = values - means[:, cell]
        corrected.append(
            np.mean(
                (
                    np.square(gaps[0])
                    - bias_of_rows(signed_losses(gap_loss("squared"), gaps, cells), drawn, cells)
                )[:2]
            )
        )
    error = np.std(corrected) / np.sqrt(N_SAMPLES)
    assert np.mean(corrected) == pytest.approx(1.0, abs=4 * error)


def test_absolute_losses_are_corrected_to_the_same_side():
    rng = np.random.default_rng(3)
    shown, bias = [], []
    for _ in range(200):
        values = rng.normal(size=6)
        drawn = random_signs(rng, 6)
        means = weighted_means(values, signed_lines(drawn, np.ones(6)))
        gaps = values - means[:, None]
        shown.append(np.abs(gaps[0]).mean())
        bias.append(
            bias_of_rows(
                signed_losses(gap_loss("absolute"), gaps, np.full(6, 6)), drawn, np.full(6, 6)
            ).mean()
        )
    truth = np.sqrt(2 / np.pi)
    assert np.mean(shown) < truth
    assert abs(np.mean(shown) - np.mean(bias) - truth) < 0.3 * (truth - np.mean(shown))


def test_one_gap_of_a_region_loses_its_variance_and_its_curvature():
    """The squared variance of a sample: the gap is biased, and its square varies."""
    rng = np.random.default_rng(4)
    n_rows = 60
    shown, corrected = [], []
    for _ in range(1500):
        values = rng.normal(size=n_rows)
        lines = signed_lines(random_signs(rng, n_rows, 30), np.ones(n_rows))
        means = weighted_means(values, lines)
        gaps = (weighted_means(np.square(values), lines) - np.square(means))[:, None]
        bias = bias_of_regions(gap_loss("squared"), gaps, slopes(gaps, n_rows))
        shown.append(gaps[0, 0] ** 2)
        corrected.append(shown[-1] - bias[0])
    error = np.std(corrected) / np.sqrt(1500)
    assert np.mean(corrected) == pytest.approx(1.0, abs=3 * error + 0.005)


def test_squares_are_moved_by_a_formula_that_any_loss_agrees_with():
    """The named loss has a closed form; the same function of a user's has not."""
    rng = np.random.default_rng(7)
    gaps = rng.normal(size=5)
    moves = rng.normal(size=(3, 5))
    by_formula = moved_losses(gap_loss("squared"), gaps, moves)
    by_function = moved_losses(gap_loss(lambda gap: gap**2), gaps, moves)
    for one, other in zip(by_formula, by_function, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)

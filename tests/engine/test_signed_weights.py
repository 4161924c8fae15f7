"""Random signs that move weights, and the standard errors they give."""

from __future__ import annotations

import math

import numpy as np
from granite_xai.engine.signed_weights import (
    PAIRS,
    STEP,
    signed_lines,
    signs,
    slopes,
    standard_errors,
)


def test_rows_of_a_cluster_have_the_same_sign_and_the_seed_decides():
    clusters = np.array([0, 1, 0, 2, 1])
    drawn = signs(clusters, seed=3)
    assert drawn.shape == (PAIRS, 5)
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 2])
    assert np.any(drawn[:, 0] != drawn[:, 1])
    np.testing.assert_array_equal(drawn, signs(clusters, seed=3))
    assert np.any(drawn != signs(clusters, seed=4))


def test_lines_are_the_weights_then_with_and_against_each_vector_of_signs():
    weights = np.array([1.0, 2.0])
    lines = signed_lines(np.array([[1.0, -1.0], [-1.0, -1.0]]), weights)
    up, down = 1 + STEP, 1 - STEP
    wanted = [[1, 2], [up, 2 * down], [down, 2 * down], [down, 2 * up], [up, 2 * up]]
    np.testing.assert_allclose(lines, wanted)


def test_the_standard_error_of_a_mean_is_the_textbooks():
    values = np.random.default_rng(0).normal(size=400)
    lines = signed_lines(signs(np.arange(400), 0), np.ones(400))
    means = lines @ values / lines.sum(axis=1)
    found = float(standard_errors(means, 400))
    assert math.isclose(found, values.std(ddof=1) / 20, rel_tol=0.2)  # of 50 pairs of signs


def test_a_cell_of_one_row_borrows_the_variance_of_the_others():
    """Its mean does not move with its weight; that says nothing about how well it is known."""
    values, cells = np.random.default_rng(0).normal(size=(9, 4)), np.array([1, 5, 2, 1])
    found, moves = (
        slopes(values, cells),
        [(values[k] - values[k + 4]) / (2 * STEP) for k in range(1, 5)],
    )
    corrected = {
        i: math.sqrt(cells[i] / (cells[i] - 1)) for i in (1, 2)
    }  # as a variance with divisor n - 1
    for i, factor in corrected.items():
        np.testing.assert_allclose(found[:, i], [move[i] * factor for move in moves])
    lent = np.mean(
        [
            cells[i] * np.mean([(move[i] * factor) ** 2 for move in moves])
            for i, factor in corrected.items()
        ]
    )
    np.testing.assert_allclose(found[:, [0, 3]], math.sqrt(lent))
    np.testing.assert_allclose(
        slopes(values, np.ones(4, dtype=int)), moves
    )  # nobody to borrow from

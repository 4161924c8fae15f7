"""Values of rows in their own regions: written out, and summed up without being written."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.compute.primitives import (
    ABSOLUTE,
    MOMENTS,
    SQUARE,
    Part,
    as_part,
)
from granite_xai.engine.row_values import RowValues, sum_row_values
from granite_xai.engine.splits import Splits

CHANCE = np.random.default_rng(7)
N, K = 9, 3
INSIDE = CHANCE.random((K, N)) < 0.5
WEIGHTS = CHANCE.uniform(0.5, 2.0, N)
OF_ROW = CHANCE.normal(size=N)
OF_SIDE = CHANCE.normal(size=(2, K))
WRITTEN = CHANCE.normal(size=(N, K))
TILED = CHANCE.normal(size=(N, K))
SPLITS = Splits.of(INSIDE, WEIGHTS)


def tiles():
    """The rows in two tiles, the later ones first."""
    for rows in (slice(4, N), slice(0, 4)):
        yield rows, as_part(TILED[rows])


def values_of():
    part = as_part(WRITTEN)
    return RowValues(of_row=OF_ROW, of_side=OF_SIDE, parts=(part,), tiled=tiles())


# What all of it adds up to, (n, K).
TOTAL = OF_ROW[:, None] + np.where(INSIDE.T, OF_SIDE[0], OF_SIDE[1]) + WRITTEN + TILED


def test_values_are_the_sum_of_their_parts():
    found = values_of().array(SPLITS)
    np.testing.assert_allclose(found, TOTAL, rtol=1e-13)


@pytest.mark.parametrize(
    ("mode", "first"), [(SQUARE, np.square), (ABSOLUTE, np.abs), (MOMENTS, np.array)]
)
def test_sums_are_those_of_both_sides(mode, first):
    found = values_of().sums(mode, SPLITS)
    for k in range(K):
        for side, rows in enumerate((INSIDE[k], ~INSIDE[k])):
            wanted = WEIGHTS[rows] @ first(TOTAL[rows, k])
            assert found[0, side, k] == pytest.approx(wanted, rel=1e-12, abs=1e-13)


def test_a_function_is_applied_before_values_are_added_up():
    cubes = values_of().sums(MOMENTS, SPLITS, lambda values, rows: values**3)
    found = cubes
    for k in range(K):
        wanted = WEIGHTS[INSIDE[k]] @ TOTAL[INSIDE[k], k] ** 3
        assert found[0, 0, k] == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_values_join_to_their_sum_with_one_of_them_in_tiles():
    second = RowValues(of_row=2 * OF_ROW, of_side=OF_SIDE, tiled=tiles())
    bare = RowValues(of_row=OF_ROW)
    whole = sum_row_values([bare, values_of(), second], SPLITS)
    side = np.where(INSIDE.T, OF_SIDE[0], OF_SIDE[1])
    wanted = OF_ROW[:, None] + TOTAL + 2 * OF_ROW[:, None] + side + TILED
    np.testing.assert_allclose(whole.array(SPLITS), wanted, rtol=1e-12)


def test_means_of_bins_are_read_through_their_index():
    """A table of sums over the left and over all, one entry a value, scaled by side."""
    left, total = CHANCE.normal(size=(2, K)), CHANCE.normal(size=2)
    scale = CHANCE.uniform(1.0, 2.0, (1, 2, K))
    index = np.arange(N) % 2
    part = Part(left=left, total=total, scale=scale, index=index)
    found = RowValues(of_row=OF_ROW, parts=(part,)).array(SPLITS)
    for n in range(N):
        for k in range(K):
            if INSIDE[k, n]:
                mean = left[index[n], k] * scale[0, 0, k]
            else:
                mean = (total[index[n]] - left[index[n], k]) * scale[0, 1, k]
            assert found[n, k] == pytest.approx(OF_ROW[n] + mean, rel=1e-12)

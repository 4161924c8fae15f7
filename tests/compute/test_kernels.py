"""The loops without the compiler: what they write is what the formulas say."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.compute import kernels

CHANCE = np.random.default_rng(5)


def test_rows_are_sorted_by_segment_and_keep_their_order():
    segments = np.array([[1, 0, 1, 0], [2, 4, 2, 2]])  # two segments, then three
    rows = np.empty((2, 4), dtype=np.intp)
    ends = np.zeros(5 + 2, dtype=np.intp)
    kernels.order(segments, np.array([0, 2, 5]), rows, ends)
    assert rows.tolist() == [[1, 3, 0, 2], [0, 2, 3, 1]]
    assert ends.tolist() == [0, 2, 4, 0, 3, 3, 4]


@pytest.mark.parametrize("n", [3, 8, 21])
def test_lines_are_added_up_by_segment(n):
    segments = CHANCE.integers(0, 2, size=(1, n))
    starts = np.array([0, 2])
    rows = np.empty((1, n), dtype=np.intp)
    ends = np.zeros(3, dtype=np.intp)
    kernels.order(segments, starts, rows, ends)
    block = CHANCE.normal(size=(n, 5))
    sums = np.zeros((2, 5))
    kernels.segment_sum(block, rows, ends, starts, sums)
    expected = [block[segments[0] == segment].sum(axis=0) for segment in (0, 1)]
    np.testing.assert_allclose(sums, expected, atol=1e-14)


@pytest.mark.parametrize("c", [3, 8, 19])
def test_left_sums_go_on_or_begin_again(c):
    by_segment = CHANCE.normal(size=(3, c))
    sums = np.empty((c, 3))
    begins_again = np.array([True, False, True])
    kernels.left_sums(by_segment, begins_again, np.array([1, 2, 4]), np.array([0, 1, 1, 2]), sums)
    expected = [by_segment[0], by_segment[:2].sum(axis=0), by_segment[1:].sum(axis=0)]
    np.testing.assert_allclose(sums.T, expected, atol=1e-14)


@pytest.mark.parametrize(("hidden", "shown"), [(1.0, 0.0), (0.0, -2.0), (0.5, 1.5)])
@pytest.mark.parametrize("columns", [np.arange(9), np.arange(9)[::-1].copy()])
def test_pairs_are_read_in_both_orientations(hidden, shown, columns):
    E = CHANCE.normal(size=(6, 9))
    row_lines = CHANCE.integers(0, 6, size=9)
    ref_lines = CHANCE.integers(0, 6, size=4)
    ref_columns = CHANCE.integers(0, 9, size=4)
    block = np.empty((4, 9))
    kernels.pair_block(E, ref_lines, ref_columns, row_lines, columns, hidden, shown, block)
    expected = hidden * E[ref_lines][:, columns] + shown * E[row_lines][:, ref_columns].T
    np.testing.assert_allclose(block, expected, atol=1e-14)

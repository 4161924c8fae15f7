"""The bin of each row."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.row_bins import Bins


def test_any_numbers_become_numbers_without_gaps():
    bins = Bins.of(np.array([7, -1, 7, 3]))
    assert bins.numbers.tolist() == [2, 0, 2, 1]
    assert bins.sizes.tolist() == [2, 1, 2, 1]
    assert [rows.tolist() for rows in bins.rows_by_bin] == [[1], [3], [0, 2]]
    assert not bins.single


@pytest.mark.parametrize("count", [5, 300, 2**16 + 3])
def test_blocks_hold_the_rows_of_each_bin_in_ascending_order(count):
    """Also where there are more bins than two bytes count."""
    numbers = np.random.default_rng(0).permutation(np.r_[np.arange(count), np.arange(count)])
    blocks = Bins(numbers).rows_by_bin
    assert len(blocks) == count
    for number in (0, count // 2, count - 1):
        assert blocks[number].tolist() == np.flatnonzero(numbers == number).tolist()


def test_some_rows_are_numbered_again():
    bins = Bins(np.array([2, 0, 2, 1])).restrict(np.array([0, 3, 2]))
    assert bins.numbers.tolist() == [1, 0, 1]
    assert bins.restrict(np.array([0, 2])).single

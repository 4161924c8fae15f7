"""Types of arrays, and sets of features."""

from typing import get_args

import numpy as np
import pytest

from granite_xai.base.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    subsets,
    union,
    without,
)


@pytest.mark.parametrize(
    ("array", "number"), [(FloatArray, np.float64), (IntArray, np.intp), (BoolArray, np.bool_)]
)
def test_arrays_hold_the_numbers_that_files_read_from_their_names(array, number):
    assert get_args(get_args(array)[-1]) == (number,)


A, B, C = frozenset([0]), frozenset([1, 3]), frozenset([2])


def test_the_union_of_players_is_all_their_columns():
    assert union([A, B]) == {0, 1, 3}
    assert union([]) == frozenset()


def test_every_subset_comes_once_and_small_ones_first():
    assert list(subsets([A, B, C])) == [
        (),
        (A,),
        (B,),
        (C,),
        (A, B),
        (A, C),
        (B, C),
        (A, B, C),
    ]


def test_players_without_members_keep_their_order():
    assert without([C, A, B], [A]) == (C, B)

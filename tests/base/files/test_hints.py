"""What type hints say about values."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Optional

import numpy as np
import pytest
from numpy.typing import NDArray

from granite_xai.base.files.hints import (
    allows_none,
    fits,
    item_hints,
    number_type_of,
    without_none,
)
from granite_xai.base.typing import BoolArray, FloatArray, IntArray


@pytest.mark.parametrize(
    ("hint", "is_allowed", "remainder"),
    [
        (int | None, True, int),
        (Optional[int], True, int),  # noqa: UP045
        (int | str | None, True, int | str),
        (int | str, False, int | str),
        (int, False, int),
        (Any, False, Any),
        (type(None), True, type(None)),
        (list[int | None], False, list[int | None]),
    ],
)
def test_none_is_one_of_the_values_or_not(hint, is_allowed, remainder):
    assert allows_none(hint) == is_allowed
    assert without_none(hint) == remainder


@pytest.mark.parametrize(
    ("hint", "hints"),
    [
        (list[int], [int, int, int]),
        (frozenset[str], [str, str, str]),
        (Sequence[float], [float, float, float]),
        (tuple[int, ...], [int, int, int]),
        (tuple[int, str], [int, str]),  # the caller compares the lengths
        (tuple[int], [int]),
    ],
)
def test_items_have_one_hint_each(hint, hints):
    assert list(item_hints(hint, 3)) == hints


@pytest.mark.parametrize(
    ("hint", "number_type"),
    [
        (FloatArray, np.float64),
        (IntArray, np.intp),
        (BoolArray, np.bool_),
        (NDArray[Any], None),
        (NDArray[np.object_], None),
        (NDArray[np.datetime64], None),
        (NDArray[np.generic], None),
        (list[float], None),
        (float, None),
    ],
)
def test_arrays_say_which_numbers_they_hold(hint, number_type):
    assert number_type_of(hint) is number_type


@pytest.mark.parametrize(
    ("value", "hint", "is_fitting"),
    [
        (1, int, True),
        (True, int, False),
        (True, float, False),
        (True, bool, True),
        (1, float, True),
        (1.0, int, False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        (1, Literal[True], False),
        (True, Literal[True], True),
        ("a", int | str, True),
        (1.5, int | str, False),
        ((1,), tuple[int, ...], True),
        ([1], tuple[int, ...], False),
        (np.zeros(1), NDArray[Any], True),
        ([0.0], NDArray[Any], False),
        (object(), Any, True),
        (len, Callable[[int], int], True),
        (3, Callable[[int], int], False),
    ],
)
def test_values_fit_their_hints(value, hint, is_fitting):
    assert fits(value, hint) == is_fitting

"""Checks of a file name the place that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.base.errors import FormatError
from granite_xai.base.files.checks import entry, plain_list, require


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "here is not an object"),
        ({}, "here has no entry 'a'"),
        ({"a": True}, r"here\.a is not of type int"),
        ({"a": "1"}, r"here\.a is not of type int"),
    ],
)
def test_F04_an_entry_that_is_wrong_is_named_by_its_place(data, words):
    with pytest.raises(FormatError, match=words) as caught:
        entry(data, "a", int, "here")
    assert caught.value.code == "F04"


def test_an_entry_of_the_right_type_is_returned():
    assert entry({"a": 1}, "a", int, "here") == 1
    assert entry({"a": np.array([1, 2])}, "a", list, "here") == [1, 2]


def test_the_nan_of_an_array_was_a_null():
    assert plain_list(np.array([1.0, np.nan]), "here") == [1.0, None]
    with pytest.raises(FormatError, match="here is not a list"):
        plain_list("ab", "here")


def test_what_holds_is_not_refused():
    require([0], "here", "is empty")
    with pytest.raises(FormatError, match="F04: here is empty"):
        require([], "here", "is empty")

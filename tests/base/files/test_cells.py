"""Arrays in files: every dtype comes back exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest

from granite_xai.base.errors import FormatError
from granite_xai.base.files.cells import (
    UnwritableError,
    dtype_name,
    object_array,
    read_cells,
    read_dtype,
    write_cells,
)

ARRAYS = [
    np.array([True, False]),
    np.array([-128, 127], dtype=np.int8),
    np.array([0, 2**64 - 1], dtype=np.uint64),
    np.array([1.5, np.nan, np.inf, -np.inf]),
    np.array([0.1, 65504], dtype=np.float16),
    np.eye(3)[None],
    np.zeros((0, 4)),
    np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    np.array([5, "NaT"], dtype="m8[ns]"),
    np.array(["a", "bb", "a", "a", "a"]),
    np.array([1, 1.0, True, "1", None], dtype=object),
]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda values: f"{values.dtype}{values.shape}")
def test_what_is_read_is_what_was_written(values):
    text = json.dumps([dtype_name(values), write_cells(values)], allow_nan=False)
    name, cells = json.loads(text)
    copy = read_cells(cells, read_dtype(name, "here"), "here")
    assert copy.dtype == values.dtype
    assert copy.shape == values.shape
    np.testing.assert_array_equal(copy, values)
    assert [type(cell) for cell in copy.ravel().tolist()] == [
        type(cell) for cell in values.ravel().tolist()
    ]


def test_nan_and_shape_are_written_as_json_has_them():
    assert write_cells(np.array([1.5, np.nan])) == [1.5, None]
    assert write_cells(np.eye(2, dtype=int)) == {"shape": [2, 2], "cells": [1, 0, 0, 1]}


def test_texts_that_recur_are_written_once():
    assert write_cells(np.array(["a", "b", "a", "a", "a"])) == {
        "distinct": ["a", "b"],
        "codes": [0, 1, 0, 0, 0],
    }


@pytest.mark.parametrize(
    "values", [np.array([1j]), np.array([b"a"]), object_array([[1]]), object_array([np.inf])]
)
def test_what_a_file_cannot_hold_exactly_is_refused(values):
    with pytest.raises(UnwritableError):
        write_cells(values)


@pytest.mark.parametrize(
    ("data", "dtype", "words"),
    [
        ([1e300], np.float32, "has cells that do not fit float32"),
        ([300], np.int8, "has cells that do not fit int8"),
        ([-1], np.uint8, "has cells that do not fit uint8"),
        ([1], np.bool_, r"here\[0\] is not of type bool"),
        ([0.5], "M8[D]", r"here\[0\] is not of type datetime64"),
        (["a", 1], str, "has a cell that is not text"),
        (["a", [1]], object, "neither text nor number"),
        ({"distinct": ["a"], "codes": [1]}, str, "is not a list of positions"),
        ({"distinct": ["a" * 2**20], "codes": [0] * 100}, str, "has texts that are too long"),
    ],
)
def test_F04_cells_that_are_wrong_are_named(data, dtype, words):
    with pytest.raises(FormatError, match=words):
        read_cells(data, np.dtype(dtype), "here")


def test_F04_an_unknown_dtype_is_named():
    with pytest.raises(FormatError, match=r"here\.dtype is 'V8', which is not known"):
        read_dtype("V8", "here")

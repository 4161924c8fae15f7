"""Dataclasses in files: fields by their hints, and each wrong one named by its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

import numpy as np
import pytest

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files.structure import BY_ROW, NAN_AS_NULL, Structure, saved_as
from granite_xai.base.typing import FloatArray, IntArray


def structured(data, hint):
    return Structure().read(data, hint, "here")


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: structured(10**400, float), "here is not a finite number"),
        (lambda: structured(float("nan"), float), "here is not a finite number"),
        (lambda: structured(True, float), "here is 'True', not of type float"),
        (lambda: structured(1.0, int), "here is '1.0', not of type int"),
        (lambda: structured(1, str), "here is '1', not of type str"),
        (lambda: structured("yes", bool), "here is 'yes', not of type bool"),
        (lambda: structured(None, int), "here is 'None', not of type int"),
        (lambda: structured([1, True], FloatArray), r"here\[1\] is not of type float64"),
        (lambda: structured([1, "x"], FloatArray), r"here\[1\] is not of type float64"),
        (lambda: structured([0, 1.0], IntArray), r"here\[1\] is not of type int64"),
        (lambda: structured([0, 2**70], IntArray), "here has cells that do not fit int64"),
        (lambda: structured([0.5] * 70, IntArray), r"here\[0\] is not of type int64"),
        (
            lambda: structured({"shape": [2, 2], "cells": [1.0]}, FloatArray),
            r"here\.shape is not that of 1 cells",
        ),
        (lambda: structured({"shape": [1] * 5, "cells": [1.0]}, FloatArray), r"here\.shape"),
        (lambda: structured({"shape": [2**40, 0], "cells": [1.0]}, FloatArray), r"here\.shape"),
        (lambda: structured([1, 2], tuple[int, int, int]), "here has 2 entries, not 3"),
        (lambda: structured([[1, 2], [1, 3]], dict[int, int]), "here has a key twice"),
        (lambda: structured([1, 2], dict[str, int]), "here is not an object"),
        (lambda: structured("c", Literal["a", "b"]), "here is 'c'"),
    ],
)
def test_F04_every_field_that_is_wrong_is_named_by_its_place(read, words):
    with pytest.raises(FormatError, match=words) as caught:
        read()
    assert caught.value.code == "F04"


@dataclass
class Step:
    size: float
    columns: tuple[int, ...] = ()


def test_values_are_written_by_their_names_and_refused_by_their_place():
    structure = Structure({"step": Step})
    assert structure.write(Step(0.5, (1, 2)), Any, "step") == {
        "type": "step",
        "size": 0.5,
        "columns": [1, 2],
    }
    with pytest.raises(FormatError, match="F04: step.size is 'True', not of type float"):
        structure.read({"type": "step", "size": True}, Any, "step")


@dataclass
class Weighted:
    name: str
    weights: FloatArray = field(metadata=BY_ROW)
    note: str = "none"


def test_fields_by_row_are_left_out_without_rows_and_come_back_empty():
    weighted = Weighted("a", np.array([1.0, 2.0]))
    without_rows = Structure(by_row=False)
    assert without_rows.write(weighted, Weighted, "here") == {"name": "a", "note": "none"}
    copy = without_rows.read({"name": "a"}, Weighted, "here")
    assert (copy.note, copy.weights.shape, copy.weights.dtype) == ("none", (0,), np.float64)


@dataclass
class Renamed:
    root_disagreements: list[float] = field(metadata=saved_as("roots"))


def test_a_renamed_field_keeps_its_name_in_files_and_their_errors():
    form = Structure()
    assert form.write(Renamed([0.5]), Renamed, "it") == {"roots": [0.5]}
    assert form.read({"roots": [0.5]}, Renamed, "it") == Renamed([0.5])
    for data, message in (
        ({"root_disagreements": [0.5]}, "'root_disagreements', which is not known"),
        ({}, "no entry 'roots'"),
        ({"roots": ["a"]}, "roots"),
    ):
        with pytest.raises(FormatError, match=message):
            form.read(data, Renamed, "it")


def test_fields_that_a_file_does_not_hold_are_handed_over():
    data = Structure().write(Weighted("a", np.ones(1)), Weighted, "here", without=["name"])
    assert data == {"weights": [1.0], "note": "none"}
    assert Structure().read(data, Weighted, "here", {"name": "b"}).name == "b"
    with pytest.raises(FormatError, match="here has no entry 'name'"):
        Structure().read(data, Weighted, "here")
    with pytest.raises(FormatError, match="here has 'size', which is not known"):
        Structure().read({"name": "a", "weights": [], "size": 1}, Weighted, "here")


OPEN_VALUES = [
    None,
    True,
    3,
    -0.5,
    "text",
    [1, "a"],
    (1, (2.0, None)),
    {"a": 1, 2: "b"},
    float("inf"),
    np.array([1, 2], dtype=np.int8),
    np.datetime64("2020-01-01"),
]


@pytest.mark.parametrize("value", OPEN_VALUES, ids=str)
def test_a_value_whose_hint_is_open_comes_back_as_it_was(value):
    copy = Structure().read(Structure().write(value, Any, "here"), Any, "here")
    assert type(copy) is type(value)
    np.testing.assert_equal(copy, value)


def test_a_date_comes_back_as_that_of_numpy():
    written = Structure().write(date(2020, 1, 2), Any, "here")
    assert Structure().read(written, Any, "here") == np.datetime64("2020-01-02")


def test_sets_are_written_in_one_order():
    assert Structure().write({"b", 2, "a", 1.5}, set[Any], "here") == [1.5, 2, "a", "b"]


def test_numbers_that_are_not_known_are_null_where_the_form_says_so():
    structure = Structure(forms={float: NAN_AS_NULL})
    assert structure.write([1.0, float("nan")], list[float], "here") == [1.0, None]
    assert np.isnan(structure.read([None], list[float], "here")[0])


def test_F08_a_function_and_a_generator_are_refused_with_what_to_do():
    with pytest.raises(InputError, match=r"loss is the function abs") as caught:
        Structure().write({"loss": abs}["loss"], Any, "loss")
    assert (caught.value.code, caught.value.argument) == ("F08", "loss")
    with pytest.raises(InputError, match="a Generator") as caught:
        Structure().write(np.random.default_rng(0), Any, "random_state")
    assert "diagnostics_['seed']" in caught.value.hint

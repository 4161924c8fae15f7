"""Options: a wrong one is answered with the argument, the value and what is valid."""

import numpy as np
import pytest

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, closest, real_number, unknown, whole_number

TABLE = {"ice-pdp": 1.5, "sobol": 2.5}


def test_a_name_stands_for_its_entry_and_an_object_for_itself():
    assert choose("question", "sobol", TABLE) == 2.5
    assert choose("question", 7.5, TABLE) == 7.5
    assert choose("loss", abs, {"squared": np.square}, accept=type(abs)) is abs


@pytest.mark.parametrize("value", ["ice-pdf", "ICE-PDP", None, True, ["sobol"], np.zeros(1000)])
def test_P01_an_unknown_value_is_answered_with_the_valid_names(value):
    with pytest.raises(InputError, match=r"P01: question=.*'ice-pdp', 'sobol'") as caught:
        choose("question", value, TABLE)
    assert caught.value.code == "P01"
    assert caught.value.argument == "question"
    assert len(str(caught.value)) < 250


def test_P01_the_closest_name_is_suggested():
    with pytest.raises(InputError, match="Did you mean 'ice-pdp'") as caught:
        choose("question", "ICE-PDF", TABLE)
    assert caught.value.hint == "Did you mean 'ice-pdp'?"
    assert closest("entirely else", TABLE) is None


def test_true_is_no_entry_of_a_table_of_numbers():
    with pytest.raises(InputError, match="P01"):
        choose("order", True, {"one": 1})
    assert choose("order", 3, {"one": 1}) == 3


@pytest.mark.parametrize(
    "value", [-1, 2.5, 2.0, True, "3", None, float("nan"), np.float64(3), np.array([1])]
)
def test_P02_what_is_not_a_whole_number_in_range(value):
    with pytest.raises(
        InputError, match=r"P02: max_depth=.* must be a whole number ≥ 0 and ≤ 9"
    ) as caught:
        whole_number("max_depth", value, at_least=0, at_most=9)
    assert caught.value.argument == "max_depth"


def test_whole_numbers_of_any_integer_type_become_int():
    assert type(whole_number("k", np.int8(3))) is int
    assert whole_number("k", 0, at_least=0, at_most=0) == 0
    with pytest.raises(InputError, match="≤ 9"):
        whole_number("k", 10, at_most=9)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1, True, "0.5", None, 1j])
def test_P02_what_is_not_a_finite_number_in_range(value):
    with pytest.raises(InputError, match=r"P02: alpha=.* must be a finite number ≥ 0 and ≤ 1"):
        real_number("alpha", value, at_least=0, at_most=1)


def test_open_ends_are_told_from_closed_ones():
    assert real_number("t", np.float32(0.5), above=0, at_most=1) == 0.5
    with pytest.raises(InputError, match="> 0 and ≤ 1"):
        real_number("t", 0, above=0, at_most=1)
    for value in (0, 1):
        assert real_number("t", value, at_least=0, at_most=1) == value


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lime", None),
        ("prob", "probability"),
        ("Ale", "ale"),
        ("ice_pdp", "ice-pdp"),
        ("al", "ale"),
    ],
)
def test_P01_only_a_close_name_is_suggested(name, meant):
    """Half of the letters in common is no likeness: nobody who writes lime means ale."""
    assert closest(name, ["ale", "ice-pdp", "shap-pdp", "probability"]) == meant


def test_P04_the_message_names_the_closest_column():
    message = str(unknown("features", "tmp", ["temp", "hr"], code="P04", what="Features"))
    assert (
        message == "P04: features='tmp' is not known. Features: 'temp', 'hr'. Did you mean 'temp'?"
    )

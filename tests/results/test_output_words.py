"""Names of the explained output."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from granite_xai.results.output_words import output_words, target_name


def predictor(is_probability, label=None):
    return SimpleNamespace(is_probability=is_probability, explained_class=label)


@pytest.mark.parametrize(
    ("is_probability", "label", "target", "name"),
    [
        (False, None, "cnt", "predicted cnt"),
        (False, None, "", "the prediction"),
        (True, 1, "income", "the probability of income = 1"),
        (True, "yes", "", "the probability of class yes"),
        (True, None, "income", "the predicted probability"),
        (False, "yes", "income", "the score of income = yes"),
    ],
)
def test_the_output_is_called_as_a_reader_would(is_probability, label, target, name):
    words = output_words(predictor(is_probability, label), target)
    assert words.name == name
    assert words.unit.probability == is_probability


def test_only_a_class_is_named_in_the_first_sentence():
    assert output_words(predictor(False), "cnt").target == ""
    assert output_words(predictor(True, 1), "income").target == "the probability of income = 1"


def test_the_unit_is_the_user_s():
    assert output_words(predictor(False), "cnt", "rentals").unit.effect(3.0) == "3.0 rentals"


def test_names_are_made_harmless():
    assert "\x1b" not in output_words(predictor(True, "\x1b[31m"), "a\x1b").name


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (pd.Series([1], name="cnt"), "cnt"),
        (pd.Series([1], name=3), ""),
        (np.ones(2), ""),
        ("cnt", "cnt"),
        (None, ""),
    ],
)
def test_a_target_has_the_name_of_its_series_or_column(y, name):
    assert target_name(y) == name

"""One row in words."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.base.numbers import OutputUnit
from granite_xai.results.row_words import (
    MOST_NAMED,
    interactions_sentence,
    outweighs,
    prediction_sentence,
    reasons_sentence,
)

PLAIN = OutputUnit()


def reasons(contributions, difference, unit=PLAIN):
    names = [f"f{i}" for i in range(len(contributions))]
    values = [str(i) for i in range(len(contributions))]
    return reasons_sentence(names, values, np.array(contributions), difference, unit)


def test_the_region_is_named_only_where_there_are_several():
    alone = prediction_sentence(3, "the prediction", 2.0, 1.0, "", PLAIN)
    assert alone == "Row 3: prediction 2.0; the average is 1.0."
    inside = prediction_sentence(3, "predicted cnt", 78.0, 246.0, "hr 7–23", PLAIN)
    assert "its region (hr 7–23) averages 246" in inside


@pytest.mark.parametrize(("difference", "first"), [(-1.0, "Lower"), (1.0, "Higher")])
def test_the_direction_of_the_prediction_comes_first(difference, first):
    assert reasons([-5.0, 4.0], difference).startswith(f"{first} because of")


def test_slight_contributions_are_not_named():
    text = reasons([10.0, 0.9, 1.1], 12.0)
    assert "f0 = 0 (+10)" in text
    assert "f2" in text
    assert "f1" not in text


def test_the_largest_are_named_first_and_no_more_than_three():
    text = reasons([5.0, 9.0, 7.0, 6.0, 8.0], 35.0)
    assert text.index("f1") < text.index("f4") < text.index("f2")
    assert text.count("=") == MOST_NAMED


def test_a_row_without_contributions_has_no_reasons():
    assert reasons([0.0, 0.0], 0.0) == ""


def test_probabilities_are_in_points():
    text = reasons([0.2, -0.1], 0.1, OutputUnit(probability=True))
    assert text.endswith("(in points).")
    assert "(+20)" in text


def test_interactions_are_compared_with_the_largest_contribution():
    contributions = np.array([-5.0, 3.0])
    assert outweighs(5.1, contributions)
    assert not outweighs(-5.0, contributions)
    assert interactions_sentence(0.4, contributions, PLAIN) == ""
    assert interactions_sentence(-2.0, contributions, PLAIN) == "Interactions add −2.0."
    assert "more than any single feature" in interactions_sentence(6.0, contributions, PLAIN)


def test_a_class_and_its_probability_do_not_read_as_one_number():
    unit = OutputUnit(probability=True)
    text = prediction_sentence(0, "the probability of target = 1", 0.02, 0.01, "", unit)
    assert text.startswith("Row 0: probability of target = 1 is 2%;")


def test_a_row_without_a_label_is_this_row():
    assert prediction_sentence(None, "the prediction", 2.0, 1.0, "", PLAIN).startswith("This row: ")
    assert prediction_sentence(0, "the prediction", 2.0, 1.0, "", PLAIN).startswith("Row 0: ")


def test_a_row_that_single_features_do_not_explain_says_so():
    text = interactions_sentence(6.0, np.array([5.0, -1.0]), PLAIN)
    assert text.endswith("single features alone do not explain this row.")

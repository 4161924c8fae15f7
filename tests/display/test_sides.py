"""Which explanations a display of local effects shows."""

from __future__ import annotations

import pytest

import granite_xai as gx
from granite_xai.display.sides import local_sides


def sides_of(question):
    posed = gx.question(question)
    return posed.first, posed.second


def test_the_sides_of_a_question_are_shown_where_they_are_local_effects():
    assert local_sides(sides_of("shap-pdp"), None) == sides_of("shap-pdp")


def test_other_questions_show_ice_and_pdp():
    known = gx.explanations()
    assert local_sides(sides_of("pfi-risk"), None) == (known["ice"], known["pdp"])


def test_explanations_that_are_asked_for_must_be_local_effects():
    assert local_sides(sides_of("pfi-risk"), "shap") == (gx.explanations()["shap"],)
    with pytest.raises(gx.InputError, match="'pfi' is no effect of single features"):
        local_sides(sides_of("ice-pdp"), ["ice", "pfi"])

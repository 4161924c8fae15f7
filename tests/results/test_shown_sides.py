"""The explanations that a display shows."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.results.shown_sides import chosen_question, shown_names, side_names, sides_shown

RNG = np.random.default_rng(23)
X = RNG.normal(size=(150, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def test_questions_are_chosen_by_their_label():
    g = gx.Granite(step, ["ice-pdp", "sobol"], max_depth=0).fit(X)
    assert chosen_question(g, None).question.label == "ice-pdp"
    assert chosen_question(g, "sobol").question.label == "sobol"
    with pytest.raises(gx.InputError, match="P01"):
        chosen_question(g, "shap-pdp")


def test_both_sides_are_shown_where_they_fit_otherwise_ice_and_pdp():
    explanations = gx.explanations()
    compared = (explanations["shap"], explanations["pdp"])
    assert sides_shown(compared, None, lambda _: True) == compared
    fallback = sides_shown(compared, None, lambda side: side is not compared[0])
    assert side_names(fallback) == ("ice", "pdp")
    assert side_names(sides_shown(compared, "ale", lambda _: False)) == ("ale",)
    with pytest.raises(gx.InputError, match="P01"):
        sides_shown(compared, [], lambda _: True)


def test_explanations_without_a_name_are_called_by_their_place():
    unnamed = gx.Explainer("marginal", "local", "pure")
    assert side_names([unnamed] * 4) == ("first", "second", "further", "further")
    assert shown_names(["ice", "pdp"]) == "ICE and PDP"

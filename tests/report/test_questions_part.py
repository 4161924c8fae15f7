"""Questions of a story: shares of the features, and what regions leave of other questions."""

from __future__ import annotations

import numpy as np
import pandas as pd

import granite_xai as gx
from granite_xai.report.questions_part import question_names


def test_where_nothing_is_found_no_empty_chart_is_drawn():
    rows = pd.DataFrame(np.random.default_rng(2).normal(size=(300, 3)), columns=list("abc"))
    told = gx.explain(lambda X: np.asarray(X).sum(axis=1), rows, question="mplot-pdp")
    assert told.story["case"] == "noise"
    assert "average misleads" not in told.html()


def test_a_question_is_told_with_both_explanations_and_why_they_differ(report):
    (facts,) = report.story["questions"]
    assert (facts["first"]["name"], facts["second"]["name"]) == ("ICE", "PDP")
    assert facts["cause"]
    assert facts["kept"] is None  # without interactions rows would not stray at all


def test_the_sides_of_a_question_are_named_in_their_order():
    names = question_names(gx.questions()["mplot-pdp"])
    assert names["question"] == "mplot-pdp"
    assert "M-plot" in names["first"]
    assert "PDP" in names["second"]

"""Questions of a story: shares of the features, and what regions leave of other questions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.report.questions_part import question_names
from report.cases import interacting


def test_the_map_needs_no_further_model_rows(X):
    """Model rows of a report without pairs are those of a fit alone."""
    three = X[["a", "b"]]
    model = lambda X: np.asarray(X)[:, 0] * np.asarray(X)[:, 1]  # noqa: E731
    told = gx.explain(model, three, model(three)).story["provenance"]
    assert (
        told["model_rows"]
        == told["fit_rows"]
        == gx.Granite(model).fit(three).diagnostics_["model"]["rows"]
    )


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
def test_every_column_of_the_map_is_what_a_fit_of_that_question_measures(report, X):
    y = interacting(X)
    for line in report.story["map"]["questions"]:
        alone = gx.Granite(interacting, line["question"], max_depth=0).fit(X, y)
        assert line["disagreement"] == pytest.approx(alone.disagreement_, rel=1e-9)
        assert sum(line["shares"]) == pytest.approx(float(alone.disagreement_ > 0), abs=1e-3)
    assert {line["question"] for line in report.story["map"]["questions"]} >= {
        "ice-pdp",
        "mplot-pdp",
        "sobol",
        "cfi-pfi",
    }


def test_the_map_says_what_the_regions_leave(report):
    own = report.story["map"]["questions"][0]
    assert own["question"] == "ice-pdp"
    assert own["remaining"] == pytest.approx(report.granite.remaining_, rel=1e-9)


def test_where_nothing_is_found_other_questions_are_not_asked_and_no_empty_chart_is_drawn():
    rows = pd.DataFrame(np.random.default_rng(2).normal(size=(300, 3)), columns=list("abc"))
    told = gx.explain(lambda X: np.asarray(X).sum(axis=1), rows, question="mplot-pdp")
    assert told.story["case"] == "noise"
    assert len(told.story["map"]["questions"]) == 1
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

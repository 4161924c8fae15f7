"""How certain regions are: searches of halves, and rows given for testing."""

from __future__ import annotations

import numpy as np

import granite_xai as gx
from granite_xai.report.certainty_part import evaluation
from granite_xai.report.markdown import markdown
from granite_xai.report.page import render
from granite_xai.report.text import story_text


def test_held_out_figures_are_those_of_evaluate(report, X):
    found = report.granite.evaluate(X.iloc[:60])
    assert report.story["evaluation"]["remaining"] == found.remaining
    assert report.story["evaluation"]["n_rows"] == 60


def test_a_finding_carries_its_doubt_right_under_it(golden_reports):
    told = golden_reports["additive"]
    assert told.story["doubts"] == []
    doubt = "The first split, on x, came back in 1 of 6 searches on half the rows."
    doubted = {**told.story, "doubts": [doubt]}
    assert markdown(doubted).split("\n\n")[2] == doubt
    assert story_text(doubted, "").split("\n\n")[2] == doubt
    after_the_finding = render(doubted).split("</h1>")[1]
    assert after_the_finding.strip().startswith(f'<p class="text">{doubt}')


def test_every_split_says_how_often_it_came_back(golden_reports):
    told = golden_reports["diabetes"].story["stability"]
    stability = golden_reports["diabetes"].granite.stability_
    assert [split["times"] for split in told["splits"]] == [
        split.count for split in stability.splits
    ]
    assert told["splits"][0]["rule"] == "all rows"
    assert told["sentence"].startswith(f"Of {stability.searches} searches on half the rows")


def test_test_rows_may_come_with_their_target(report, X):
    alone = evaluation(report.granite, X.iloc[:30])
    with_target = evaluation(report.granite, (X.iloc[:30], np.zeros(30)))
    assert alone == with_target
    assert sum(region["n_samples"] for region in alone["regions"]) == 30


def test_on_test_rows_too_rounding_is_no_disagreement(X):
    granite = gx.Granite(lambda X: 1e6 + np.asarray(X)[:, 0] / 3).fit(X[:50])
    told = evaluation(granite, X[50:90])
    assert told["disagreement"] == told["global_disagreement"] == 0.0
    assert told["regions"][0]["disagreement"] == 0.0

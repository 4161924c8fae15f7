"""Findings of a file are checked as far as anything is made of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.persistence.findings import check_by_question, check_findings

X = np.random.default_rng(41).normal(size=(80, 2))


@pytest.fixture(scope="module")
def findings():
    g = gx.Granite(lambda X: X[:, 0] * X[:, 1], max_depth=1).fit(X)
    return g.diagnostics_


def test_what_a_fit_notes_is_accepted(findings):
    check_findings(findings, "here")
    check_by_question(findings, ["ice-pdp"], "here")


def test_entries_may_be_missing_and_others_may_be_there():
    check_findings({}, "here")
    check_findings({"something": object()}, "here")


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("rows", {"search": [1.5], "held_out": [], "reason": ""}),
        ("rows", {"search": [1]}),
        ("rows", []),
        ("seed", True),
        ("seed", "1"),
        ("warnings", "a text"),
        ("warnings", [1]),
        ("model", {"calls": 1}),
        ("model", {"calls": 1, "rows": 1, "seconds": "long"}),
        ("seconds", {"total": None}),
        ("plan", {"max_grid": 1}),
        ("plan", {"max_grid": 2.5}),
        ("splits", [{"smooth": 1}]),
    ],
)
def test_F04_another_shape_is_refused_with_its_place(findings, name, entry):
    changed = {**copy.deepcopy(findings), name: entry}
    with pytest.raises(gx.FormatError, match=f"F04.*here.{name}"):
        check_findings(changed, "here")


@pytest.mark.parametrize("labels", [["sobol"], ["ice-pdp", "sobol"]])
def test_F04_findings_by_question_are_about_the_questions_of_the_fit(findings, labels):
    with pytest.raises(gx.FormatError, match="F04"):
        check_by_question(findings, labels, "here")

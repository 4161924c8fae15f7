"""The search against today's, on the same predictions."""

from __future__ import annotations

import pytest

import default_tables
import golden.models
from core.todays import problem_of
from problems import problem_of as todays_problem_of

CASES = [
    ("gated", "numbers", "ice-pdp"),
    ("smooth", "numbers", "variance"),
    ("three-way", "numbers", "pfi-risk"),
    ("gated", "numbers", "sobol"),
    ("gated", "numbers", "coe"),
    ("smooth", "dependent", "mplot-pdp"),
    ("smooth", "dependent", "cfi-pfi"),
    ("smooth", "dependent", "csobol-sobol"),
    ("three-way", "few values", "ice-pdp"),
    ("mixed effects", "mixed", "ice-pdp"),
    ("mixed effects", "gaps", "ice-pdp"),
    ("slope by town", "levels", "ice-pdp"),
]
OPTIONS = [{}, {"alpha": 0.01, "min_samples_leaf": 8, "beam": 2, "max_candidates": 12}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("model", "table", "question"), CASES)
def test_the_greedy_tree_is_todays(model, table, question, options):
    rows = default_tables.rows(table, 200, 3)
    function = golden.models.CLOSED_FORMS[model]
    today = todays_problem_of(function, rows.X, question, y=rows.y, search="greedy", **options)
    expected = today.tree.partition(today).partition
    problem = problem_of(today, question)
    found = problem.tree.partition(problem).partition
    assert [str(region.rule) for region in found] == [str(region.rule) for region in expected]
    assert [region.stop_reason for region in found] == [region.stop_reason for region in expected]
    for region, other in zip(found, expected, strict=True):
        assert region.disagreement == pytest.approx(other.disagreement, rel=1e-9, abs=1e-12)
        assert region.n_samples == other.n_samples
        assert region.fraction == pytest.approx(other.fraction)

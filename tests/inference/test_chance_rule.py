"""What chance says of parts of the fitting rows, by whichever way a question has."""

from __future__ import annotations

import numpy as np
import pytest

from problems import problem_of


def model(X):
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2]


def problem(question="ice-pdp", **options):
    X = np.random.default_rng(0).normal(size=(90, 3)).round(1)
    return problem_of(model, X, question, confidence_level=0.9, holdout=False, **options)


@pytest.mark.parametrize(
    ("question", "reads_predictions", "has_closed_form"),
    [("ice-pdp", False, True), ("mplot-pdp", False, False), ("coe", True, False)],
)
def test_each_kind_of_question_has_its_own_way(question, reads_predictions, has_closed_form):
    posed = problem(question)
    rule = posed.chance
    assert rule.reads_predictions is reads_predictions
    assert rule.has_closed_form is has_closed_form
    rows = np.arange(0, 90, 2)
    evaluations = posed.evaluations.restrict(rows)
    chance = rule.chance_in(evaluations, rows, 1)
    anew = rule.replicates.chance(rule.questions, evaluations, rows)
    assert chance.plug_in[0] == pytest.approx(anew.plug_in[0], rel=1e-9)
    assert chance.bar[0] == pytest.approx(anew.bar[0], rel=0.1)
    assert chance.plug_in[0] != pytest.approx(rule.root.plug_in[0], rel=1e-3)


def test_all_rows_are_the_root():
    posed = problem()
    assert posed.chance.chance_in(posed.evaluations, np.arange(90), 1) is posed.chance.root


def test_disagreements_in_closed_form_are_those_of_the_predictions():
    posed = problem()
    rows = np.arange(10, 70)
    members = np.isin(np.arange(90), rows)[None].astype(float)
    (shown,) = posed.chance.disagreements(rows)
    share = shown / posed.roots[0] * len(rows) / 90
    assert share == pytest.approx(float(posed.measure(members)[0]), rel=1e-8)


def test_rows_stand_alone_unless_they_have_clusters():
    assert problem().chance.rows_stand_alone
    assert not problem(clusters=np.arange(90) // 3).chance.rows_stand_alone

"""Explanations and questions with a name: what they stand for, their options, and several in one objective."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.algebra.catalog import CATALOG, QUESTIONS, meaning, title
from problems import problem_of


def test_every_explanation_is_an_explainer_of_its_name():
    named = gx.explanations()
    assert named.keys() == CATALOG.keys()
    for name, explainer in named.items():
        assert explainer.name == name


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("pdp", ("marginal", "local", "pure")),
        ("cfi", ("conditional", "risk", "full")),
        ("shapley-effects", ("conditional", "sensitivity", "partial")),
        ("ale", ("accumulated", "local", "pure")),
        ("additive", ("marginal", "local", "additive")),
    ],
)
def test_names_stand_for_the_choices_of_the_paper(name, axes):
    explainer = gx.explanations()[name]
    assert (explainer.masking.key, explainer.behavior.key, explainer.interaction.key) == axes


def test_total_indices_are_jansens_and_groups_are_joint():
    named = gx.explanations()
    assert named["sobol-total"].behavior.total == "jansen"
    assert named["variance-full"].behavior.total == "difference"
    assert named["grouped-pfi"].influence.key == "joint"


def test_an_explanation_without_a_familiar_name_is_told_by_its_own_name_or_its_place():
    assert title("pdp") == "PDP"
    assert title("mine") == "mine"
    assert title(None, "second") == "the second explanation"
    assert "on average" in meaning("pdp")
    assert meaning("mine") == "an explanation without a familiar name"


def test_every_question_compares_the_two_explanations_of_its_entry():
    named = gx.questions()
    assert named.keys() == QUESTIONS.keys()
    for name, asked in named.items():
        assert asked.name == name
        assert (asked.first.name, asked.second.name) == QUESTIONS[name]


def test_options_reach_both_sides():
    asked = gx.question("pfi-risk", risk_loss="absolute", average="loss", pointwise=True)
    for side in (asked.first, asked.second):
        behavior = side.behavior
        assert (behavior.loss, behavior.average, behavior.pointwise) == ("absolute", "loss", True)
    assert gx.question("sobol", total="difference").second.behavior.total == "difference"
    assert gx.question("ice-pdp", loss="absolute").loss == "absolute"


def test_a_masking_replaces_only_that_of_its_kind():
    masking = gx.Conditional(bins="exact")
    asked = gx.question("mplot-pdp", conditional=masking)
    assert asked.first.masking == masking
    assert asked.second.masking.key == "marginal"
    both = gx.question("cice-mplot", conditional=masking)
    assert both.first.masking == both.second.masking == masking
    assert gx.question("ale", intervals=7).first.masking.intervals == 7


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("ice-pdp", {"total": "jansen"}),
        ("ice-pdp", {"risk_loss": "squared"}),
        ("sobol", {"average": "loss"}),
        ("sobol", {"pointwise": True}),
        ("ice-pdp", {"conditional": gx.Conditional()}),
        ("mplot-pdp", {"intervals": 5}),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_an_option_of_other_questions_is_refused_by_name(name, option):
    with pytest.raises(gx.InputError, match=f"{next(iter(option))} is an option of .* none"):
        gx.question(name, **option)


def test_questions_may_be_one_several_or_weighted():
    pair = gx.Disagreement("ice", "pdp")
    weights = {"ice-pdp": 1.0, "sobol": 1.0}
    assert [(q.name, w) for q, w in gx.Objective("sobol").weighted()] == [("sobol", 1.0)]
    assert [(q, w) for q, w in gx.Objective(pair).weighted()] == [(pair, 1.0)]
    assert {q.name: w for q, w in gx.Objective(list(weights)).weighted()} == weights
    assert [w for _, w in gx.Objective({"ice-pdp": 0.5, pair: 1}).weighted()] == [0.5, 1.0]
    assert [w for _, w in gx.Objective([("ice-pdp", 0.25), "sobol"]).weighted()] == [0.25, 1.0]


def test_only_questions_given_by_name_take_the_influence():
    pairs, own = gx.Interactions(), gx.question("ice-pdp")
    named, given = gx.Objective(["ice-pdp", own]).weighted(pairs)
    assert named[0].first.influence == pairs
    assert given[0] == own


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gx.Objective("ice-pdp", weighting="rows"), "weighting='rows'"),
        (lambda: gx.Objective("ice-pdp", normalize="sd"), "normalize='sd'"),
        (lambda: gx.Objective(3), "question=3"),
        (lambda: gx.Objective([]).weighted(), "there is no question"),
        (lambda: gx.Objective({"ice-pdp": 0}).weighted(), "question"),
        (lambda: gx.Objective({"ice-pdp": -1.0}).weighted(), "question"),
        (lambda: gx.Objective(["ice-pdb"]).weighted(), "Did you mean 'ice-pdp'"),
    ],
)
def test_wrong_objectives_are_named(make, words):
    with pytest.raises(gx.InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("question", "influence", "order"),
    [("ice-pdp", "individual", 1), ("coe", "individual", 1), ("ice-pdp", "interaction", 2)],
)
def test_the_order_of_effects_is_that_of_the_compared_interactions(question, influence, order):
    X = np.random.default_rng(0).normal(size=(30, 2)).round(1)
    problem = problem_of(lambda X: X[:, 0] * X[:, 1], X, question, influence=influence)
    assert problem.measures[0].order == order

"""Any two explanations can be compared; what cannot is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from strategies import (
    Case,
    agree,
    behaviors,
    cases,
    examples,
    influences,
    interactions,
    is_defined,
    maskings,
    paper,
    questions,
    quiet,
    scale_of,
)


def huber(gap: Any) -> Any:
    """A loss on gaps of one's own."""
    size = np.abs(gap)
    return np.where(size < 1, size**2, 2 * size - 1)


def measured(case: Case, question: Any, **options: Any) -> float:
    """R of all rows, before the noise floor is considered: a fit without splits."""
    granite = paper(case.model, question, max_depth=0, **options)
    with quiet():
        granite.fit(case.X, np.array(case.y), case.weights)
    (value,) = granite.diagnostics_["measured_disagreement"].values()
    return value


def check(case: Case, question: Any, asked: o.Question, **options: Any) -> None:
    """Measure in both ways and compare."""
    problem = case.problem()
    wanted = o.disagreement(asked, problem)
    effect = scale_of(case, problem, vars(asked.first))
    scale = len(o.question_sets(asked, case.d)) * o.gap_loss(asked.loss, effect)
    found = measured(case, question, **options)
    assert agree(found, wanted, scale), (found, wanted)


@pytest.mark.parametrize("name", [*o.NAMED, "coe", "ale"])
@given(data=st.data())
@examples(30)
def test_named_questions_measure_what_they_say(name, data):
    """R(X) of every named question, with weights, losses, bins and features of chance."""
    case = data.draw(cases(max_columns=4, weighted=None, missing=None))
    loss = data.draw(st.sampled_from(["squared", "absolute", huber]))
    question, asked, options = data.draw(questions(case, name, loss))
    check(case, question, asked, **options)


@given(data=st.data())
@examples(200)
def test_any_two_explanations_can_be_compared(data):
    """R(X) of two explanations with the same behavior and influence that differ in masking, interaction or both."""
    case = data.draw(cases(max_columns=4, weighted=None, missing=None))
    behavior, shared = data.draw(
        st.sampled_from(["local", "sensitivity", "risk"]).flatmap(behaviors)
    )
    influence, names, sets = data.draw(influences(case))
    sides, words = [], []
    for _ in range(2):
        masking, about_masking = data.draw(maskings(case))
        interaction, about_interaction = data.draw(
            st.sampled_from(["pure", "partial", "full"]).flatmap(interactions)
        )
        words.append({**about_masking, **about_interaction, **shared, **names})
        assume(is_defined(words[-1]))
        sides.append(gx.Explainer(masking, behavior, interaction, influence))
    assume((sides[0].masking, sides[0].interaction) != (sides[1].masking, sides[1].interaction))
    loss = data.draw(st.sampled_from(["squared", "absolute", huber]))
    asked = o.Question(o.Setting(**words[0]), o.Setting(**words[1]), loss, features=sets)
    check(case, gx.Disagreement(sides[0], sides[1], loss), asked)


@pytest.mark.parametrize("axis", ["behavior", "influence"])
def test_explanations_of_different_things_are_not_compared(axis):
    other = {"behavior": "sensitivity", "influence": "interaction"}[axis]
    with pytest.raises(gx.InputError, match=f"differ in {axis}"):
        gx.Disagreement(
            gx.Explainer(interaction="full"), gx.Explainer(interaction="pure", **{axis: other})
        )


def test_an_explanation_is_not_compared_with_itself():
    with pytest.raises(gx.InputError, match="the same: masking and interaction"):
        gx.Disagreement("pdp", "pdp")
    assert gx.Disagreement("ice", "pdp").label == "ice-pdp"
    assert gx.Disagreement(gx.Explainer(interaction="full"), "pdp").label == "first-pdp"
    assert gx.Disagreement("ice", "pdp", name="mine").label == "mine"


@pytest.mark.parametrize(
    "loss", [lambda gaps: gaps * 1j, lambda gaps: [str(gap) for gap in gaps.flat]]
)
def test_a_loss_that_is_no_real_number_is_refused(loss):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(gx.InputError, match="T07"):
        paper(lambda X: X[:, 0] * X[:, 1], gx.question("ice-pdp", loss=loss)).fit(X)


@pytest.mark.parametrize(
    "asked", [{"name": "ice-pdp", "loss": None}, {"name": "pfi-risk", "risk_loss": None}]
)
def test_a_loss_that_raises_is_named(asked):
    def broken(*values):
        raise KeyError("no such loss")

    X = np.random.default_rng(0).normal(size=(30, 2))
    question = gx.question(
        **{key: broken if value is None else value for key, value in asked.items()}
    )
    with pytest.raises(gx.InputError, match="T07: the loss broken raised KeyError"):
        paper(lambda X: X[:, 0] * X[:, 1], question).fit(X, X.sum(axis=1))


def test_weights_whose_sums_are_no_numbers_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(gx.InputError, match="P02: question=1e"):
        paper(lambda X: X[:, 0] * X[:, 1], {"ice-pdp": 1e308, "coe": 1e308}).fit(X)

"""The questions with a name, and their options."""

from __future__ import annotations

import pytest
from granite_xai.disagreement.catalog import CATALOG, question, questions

import granite_xai as gx


def test_every_question_compares_the_two_explanations_of_its_entry():
    named = questions()
    assert named.keys() == CATALOG.keys()
    for name, asked in named.items():
        assert asked.name == name
        assert (asked.first.name, asked.second.name) == CATALOG[name]


def test_options_reach_both_sides():
    asked = question("pfi-risk", risk_loss="absolute", average="loss", pointwise=True)
    for side in (asked.first, asked.second):
        assert (side.behavior.loss, side.behavior.average, side.behavior.pointwise) == (
            "absolute",
            "loss",
            True,
        )
    assert question("sobol", total="difference").second.behavior.total == "difference"
    assert question("ice-pdp", loss="absolute").loss == "absolute"


def test_a_masking_replaces_only_that_of_its_kind():
    masking = gx.Conditional(bins="exact")
    asked = question("mplot-pdp", conditional=masking)
    assert asked.first.masking == masking
    assert asked.second.masking.key == "marginal"
    both = question("cice-mplot", conditional=masking)
    assert both.first.masking == both.second.masking == masking
    assert question("ale", intervals=7).first.masking.intervals == 7


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
        question(name, **option)

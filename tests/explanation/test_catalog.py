"""The explanations with a familiar name."""

from __future__ import annotations

import pytest
from granite_xai.explanation.catalog import CATALOG, explanations, meaning, title


def test_every_entry_is_an_explainer_of_its_name():
    named = explanations()
    assert named.keys() == CATALOG.keys()
    for name, explainer in named.items():
        assert explainer.name == name
        assert explainer.masking.key == CATALOG[name].masking


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
    explainer = explanations()[name]
    assert (explainer.masking.key, explainer.behavior.key, explainer.interaction.key) == axes


def test_total_indices_are_jansens():
    named = explanations()
    assert named["sobol-total"].behavior.total == "jansen"
    assert named["variance-full"].behavior.total == "difference"


def test_grouped_importance_waits_for_groups():
    assert explanations()["grouped-pfi"].influence.key == "joint"


def test_an_explanation_without_a_familiar_name_is_told_by_its_own_name_or_its_place():
    assert title("pdp") == "PDP"
    assert title("mine") == "mine"
    assert title(None, "second") == "the second explanation"
    assert "on average" in meaning("pdp")
    assert meaning("mine") == "an explanation without a familiar name"

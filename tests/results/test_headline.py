"""First sentences about constructed findings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import granite_xai as gx
from granite_xai.base.numbers import OutputUnit
from granite_xai.results.dependence import Dependence
from granite_xai.results.headline import both_titles, headline
from granite_xai.results.output_words import OutputWords

NOTHING = Dependence((), (), is_mutual=False)
PREDICTION = OutputWords(name="the prediction", target="", unit=OutputUnit())
CHANCE = OutputWords(name="the chance", target="the chance", unit=OutputUnit(probability=True))


def facts(outcome, question="ice-pdp", is_effect=True, stop_reason="", **fields):
    region = SimpleNamespace(stop_reason=stop_reason, n_samples=12)
    facts = {
        "outcome": outcome,
        "question": gx.question(question),
        "is_effect": is_effect,
        "is_doubtful": False,
        "n_rows": 900,
        "figures": None,
        "model_is_unsteady": False,
        "diagnostics": {},
        "fitted": SimpleNamespace(partition=[region]),
    }
    return SimpleNamespace(**facts | fields)


@pytest.mark.parametrize(
    ("features", "moderators", "sentence"),
    [
        (("a",), ("b",), "The effect of a depends on b."),
        (("a", "b"), ("c", "d"), "The effects of a and b depend on c and d."),
        (("a",), (), "The effect of a differs between regions."),
        (("a", "b"), (), "The effects of a and b differ between regions."),
        ((), ("b",), "Effects differ between regions."),
        (tuple("abcd"), ("e",), "The effects of a, b, c and d depend on each other."),
        (tuple("abcdf"), ("e",), "The effects of a, b, c and 2 more depend on each other."),
    ],
)
def test_dependence(features, moderators, sentence):
    dependence = Dependence(features, moderators, is_mutual=len(features) >= 4)
    assert headline(facts("regions"), dependence, PREDICTION) == sentence
    on_chance = headline(facts("regions"), dependence, CHANCE)
    assert " on the chance d" in on_chance
    assert on_chance.replace(" on the chance", "") == sentence


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        ((), "Effects differ between regions, which g divides first."),
        (tuple("abcdf"), "The effects of a, b, c and 2 more depend on g and on each other."),
        (tuple("gbcdf"), "The effects of g, b, c and 2 more depend on each other."),
    ],
)
def test_the_first_split_is_named_once(features, sentence):
    is_mutual = len(features) >= 4
    dependence = Dependence(features, ("e", "g"), is_mutual, first_split="g")
    assert headline(facts("regions"), dependence, PREDICTION) == sentence


@pytest.mark.parametrize(
    ("outcome", "fields", "sentence"),
    [
        ("nothing", {}, "No interactions: every row follows the average curves."),
        (
            "nothing",
            {"model_is_unsteady": True},
            "No interaction stands out from the model's own jumps: see the note.",
        ),
        ("noise", {}, "No interaction stands out from sampling noise on 900 rows."),
        ("no rule", {}, "Rows differ, but no simple rule says where."),
        (
            "no rule",
            {"stop_reason": "maximum depth"},
            "Rows differ. No regions were searched (max_depth=0).",
        ),
        (
            "no rule",
            {"stop_reason": "too few samples"},
            "Rows differ; 12 rows are too few to search for regions.",
        ),
        ("regions", {"n_rows": 1}, "1 row: nothing can be said."),
    ],
)
def test_effects_without_regions(outcome, fields, sentence):
    assert headline(facts(outcome, **fields), NOTHING, PREDICTION) == sentence


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        ("nothing", " agree: there is nothing to explain."),
        ("noise", " differ by sampling noise only on 900 rows."),
    ],
)
def test_two_explanations_that_do_not_differ(outcome, ending):
    compared = facts(outcome, question="mplot-pdp", is_effect=False)
    assert headline(compared, NOTHING, PREDICTION) == f"M-plot and PDP{ending}"
    assert both_titles(compared.question) == "M-plot and PDP"


def test_the_feature_with_the_largest_difference_is_named():
    root = SimpleNamespace(by_set=(1.0, 16.0), first=(), second=())
    figures = SimpleNamespace(root=root, sets=(("a",), ("b", "c")), is_rooted=True)
    compared = facts("regions", question="mplot-pdp", is_effect=False, figures=figures)
    text = headline(compared, NOTHING, PREDICTION)
    assert text.startswith("M-plot and PDP differ most for b × c, by ±4.0 at single rows. Why: ")


@pytest.mark.parametrize(
    ("is_effect", "rows", "sentence"),
    [
        (
            True,
            "held-out",
            (
                "The search found 4 regions (first split: b), but on the 300 held-out rows the difference "
                "between rows does not stand out from sampling noise: do not rely on them."
            ),
        ),
        (
            False,
            "cross-validated",
            (
                "The search found 4 regions (first split: b), but on rows left out in turn the difference "
                "between the two explanations does not stand out from sampling noise: do not rely on them."
            ),
        ),
    ],
)
def test_regions_that_the_judging_rows_do_not_see_are_doubted_first(is_effect, rows, sentence):
    doubted = facts(
        "regions",
        is_effect=is_effect,
        is_doubtful=True,
        figures=SimpleNamespace(root=SimpleNamespace(column="b")),
        fitted=SimpleNamespace(
            partition=[None] * 4, estimate=SimpleNamespace(rows=rows, n_rows=300)
        ),
    )
    assert headline(doubted, Dependence(("a",), ("b",), is_mutual=False), PREDICTION) == sentence

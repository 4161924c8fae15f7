"""How much curves and regions describe, from constructed findings."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

import granite_xai as gx
from granite_xai.inference.nodes import NodeFigure, NodeFigures
from granite_xai.results.benefit import benefit
from granite_xai.results.described import Described


def facts(outcome, question="ice-pdp", is_effect=True, estimate=None, **fields):
    fitted = SimpleNamespace(partition=[None] * 3, estimate=estimate, questions=[None], level=0.95)
    facts = {
        "outcome": outcome,
        "question": gx.question(question),
        "is_effect": is_effect,
        "is_doubtful": False,
        "n_rows": 900,
        "model_is_unsteady": False,
        "fitted": fitted,
    }
    return SimpleNamespace(**facts | fields)


def described(overall=0.5, in_regions=0.9, low=math.nan, high=math.nan, rows="held-out"):
    return Described(overall, in_regions, low, high, 0.95, rows, 300)


def test_regions_beside_one_curve_per_feature():
    text = benefit(facts("regions"), described(low=0.85, high=0.94))
    assert text == (
        "One curve per feature describes 50% of the model; in 3 regions, 90% "
        "(95% interval 85–94%, 300 held-out rows)."
    )


@pytest.mark.parametrize(
    ("in_regions", "ending"),
    [
        (0.4, " Regions do not describe it better: do not rely on them."),
        (0.7, " For the rest look at pairs: influence='interaction'."),
        (0.8, "(300 held-out rows)."),
    ],
)
def test_what_follows_from_little(in_regions, ending):
    assert benefit(facts("regions"), described(in_regions=in_regions)).endswith(ending)


def test_rows_that_searched_and_judged_are_said_to_give_no_interval():
    estimate = SimpleNamespace()
    text = benefit(facts("regions", estimate=estimate), described(rows="cross-validated"))
    assert text.endswith(" g.evaluate(X, y) on other rows gives an interval.")
    assert "interval" not in benefit(facts("regions"), described(rows="fitting"))


def test_nothing_to_explain_is_the_whole_model_unless_the_model_jumps():
    assert benefit(facts("nothing"), None) == "One curve per feature describes the whole model."
    unsteady = facts("nothing", model_is_unsteady=True)
    assert benefit(unsteady, None) == ""
    assert benefit(unsteady, described(overall=0.97)).startswith(
        "One curve per feature describes 97% of the model ("
    )


def test_four_times_the_rows_show_half_of_what_may_be_hidden():
    estimate = SimpleNamespace(
        fidelities=SimpleNamespace(is_computed=True), hidden_high=0.2, remaining=math.nan
    )
    assert benefit(facts("noise", estimate=estimate), None) == (
        "Up to 20% of the model could still be hidden; about 3,600 rows would show 10%."
    )
    assert benefit(facts("noise"), None) == ""


def figures(rows="held-out"):
    """Gaps of 16 over all rows, and of 4 and 0 in two halves."""

    def node(parent, region, share, gap):
        return NodeFigure(
            node=region + 1,
            parent=parent,
            region=region,
            column="" if region >= 0 else "b",
            n_samples=300,
            share=share,
            mean=0.0,
            spread=1.0,
            heterogeneity=gap**0.5,
            by_set=(gap,),
        )

    nodes = (node(-1, -1, 1.0, 1600.0), node(0, 0, 0.5, 288.0), node(0, 1, 0.5, 0.0))
    return NodeFigures("mplot-pdp", rows, 300, (("a",),), True, nodes)


def test_the_difference_between_two_explanations_is_told_as_its_column_shows_it():
    compared = {"question": "mplot-pdp", "is_effect": False, "figures": figures()}
    assert benefit(facts("regions", **compared), None) == (
        "Inside 3 regions, the difference falls from 40 to 12 (300 held-out rows)."
    )
    held_out = SimpleNamespace(
        remaining=0.09, low=0.04, high=0.16, rows="held-out", confidence_level=0.95
    )
    assert benefit(facts("regions", estimate=held_out, **compared), None) == (
        "Inside 3 regions, the difference falls from 40 to 12 "
        "(95% interval 8.0–16, 300 held-out rows)."
    )
    folds = SimpleNamespace(remaining=0.25, low=math.nan, high=math.nan, rows="cross-validated")
    on_search_rows = {**compared, "figures": figures("search")}
    assert benefit(facts("regions", estimate=folds, **on_search_rows), None) == (
        "Inside 3 regions, the difference falls from 40 to 12 "
        "(300 search rows; cross-validated: 20)."
    )
    assert benefit(facts("no rule", **compared), None) == "No simple rule says where."
    assert benefit(facts("noise", **compared), None) == ""


def test_of_a_doubtful_difference_the_first_sentence_has_said_all():
    compared = {"question": "mplot-pdp", "is_effect": False, "figures": figures()}
    assert benefit(facts("regions", is_doubtful=True, **compared), None) == ""


def test_one_row_has_no_benefit():
    assert benefit(facts("nothing", n_rows=1), described()) == ""

"""What the sentences about a fit need to know, from constructed results."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

import granite_xai as gx
from granite_xai.results.fit_facts import FitFacts


def facts(n_regions=1, spreads=(), question="ice-pdp", warnings=(), **fields):
    leaves = [SimpleNamespace(region=k, spread=spread) for k, spread in enumerate(spreads)]
    figures = SimpleNamespace(leaves=leaves, root=SimpleNamespace(spread=10.0))
    result = {
        "partition": [SimpleNamespace(n_samples=40)] * n_regions,
        "below_noise_floor": False,
        "is_chance": False,
        "estimate": None,
        "nodes": (figures,) if spreads else (),
        "questions": [SimpleNamespace(question=gx.question(question))],
    }
    return FitFacts(SimpleNamespace(**result | fields), {"warnings": warnings})


def estimate(remaining=0.5, rows="held-out"):
    return SimpleNamespace(remaining=remaining, rows=rows, n_rows=25)


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"n_regions": 2, "is_chance": True}, "regions"),
        ({"below_noise_floor": True, "is_chance": True}, "nothing"),
        ({"is_chance": True}, "noise"),
        ({"estimate": estimate(remaining=math.nan)}, "noise"),
        ({"estimate": estimate()}, "no rule"),
        ({}, "no rule"),
    ],
)
def test_outcomes(options, outcome):
    assert facts(**options).outcome == outcome


def test_only_held_out_rows_are_counted_with_the_search_rows():
    assert facts(n_regions=2).n_rows == 80
    assert facts(n_regions=2, estimate=estimate()).n_rows == 105
    assert facts(n_regions=2, estimate=estimate(rows="cross-validated")).n_rows == 80


@pytest.mark.parametrize(
    ("question", "is_effect"), [("ice-pdp", True), ("mplot-pdp", False), ("sobol", False)]
)
def test_questions_about_effects(question, is_effect):
    assert facts(question=question).is_effect == is_effect


def test_quiet_regions_are_some_of_several():
    assert facts(spreads=(1.0, 9.0, 2.0)).quiet_regions == (0, 2)
    assert facts(spreads=(1.0, 2.0)).quiet_regions == ()
    assert facts(spreads=(1.0,)).quiet_regions == ()
    assert facts().quiet_regions == ()


def test_a_model_is_unsteady_where_a_warning_says_so():
    assert facts(warnings=("N01: the model jumps",)).model_is_unsteady
    assert not facts(warnings=("M13: stopped",)).model_is_unsteady


def test_regions_are_doubtful_where_the_judging_rows_see_only_noise():
    assert facts(n_regions=3, estimate=estimate(remaining=math.nan)).is_doubtful
    assert not facts(n_regions=3, estimate=estimate()).is_doubtful
    assert not facts(n_regions=3).is_doubtful
    assert not facts(estimate=estimate(remaining=math.nan)).is_doubtful

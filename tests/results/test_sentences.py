"""Who speaks first, and what is said where."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.deferred import Deferred
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.fitting.stability import SplitStability, Stability
from granite_xai.inference.estimate import DescribedShare, DescribedShares
from granite_xai.models import RESPONSE
from granite_xai.results.facts import FitFacts, dependence_of
from granite_xai.results.sentences import (
    finding_of,
    output_words,
    region_sentences,
)

rng = np.random.default_rng(1)
X = pd.DataFrame(
    {"a": rng.normal(size=900), "b": rng.integers(0, 2, 900), "c": rng.normal(size=900)}
)


def crossed(frame):
    """The effect of a depends on b."""
    return np.asarray(frame["a"] * (2.0 * frame["b"] - 1.0) + frame["c"])


@pytest.fixture(scope="module")
def g():
    return gx.Granite(crossed).fit(X)


def finding(g, **changes):
    """What is said of a fit in which something is changed."""
    facts = FitFacts(replace(fitted_view(g).result, **changes), g.diagnostics_)
    return finding_of(facts, output_words(facts.fitted.model))


def estimate(g, overall, in_regions, **changes):
    """The estimate of a fit with other shares described."""
    shares = DescribedShares(
        in_regions=DescribedShare(in_regions, in_regions - 0.01, in_regions + 0.01),
        overall=DescribedShare(overall),
    )
    fidelities = Deferred(lambda: shares, now=True)
    return replace(fitted_view(g).result.estimate, fidelities=fidelities, **changes)


# Who speaks first -------------------------------------------------------------------------------------


def test_the_finding_speaks_first_where_regions_add_three_points(g):
    said = finding(g, estimate=estimate(g, 0.9, 0.931)).headline
    assert said == "The effect of a depends on b."


@pytest.mark.parametrize(
    ("in_regions", "points"), [(0.94, "2 points"), (0.93, "1 point"), (0.921, "less than 1 point")]
)
def test_where_regions_add_less_one_curve_is_nearly_enough(g, in_regions, points):
    said = finding(g, estimate=estimate(g, 0.92, in_regions)).headline
    assert said == (
        "One curve per feature is nearly enough: it describes 92% of the model; "
        f"regions add {points}, where the effect of a depends on b."
    )


def test_a_poor_description_is_never_nearly_enough(g):
    said = finding(g, estimate=estimate(g, 0.5, 0.52)).headline
    assert said.startswith("Regions help little: one curve per feature describes 50% of the model")


def test_a_doubt_about_all_speaks_before_everything_else(g):
    unseen = estimate(g, 0.92, 0.94, remaining=math.nan, low=math.nan, high=math.nan)
    said = finding(g, estimate=unseen)
    assert said.headline.startswith(
        "The search found 2 regions (first split: b), but on the 300 held-out rows "
    )
    assert said.headline.endswith("does not stand out from sampling noise: do not rely on them.")
    assert said.details == said.curves == ""


# Without regions --------------------------------------------------------------------------------------


def test_what_is_said_without_regions():
    def first(model, frame=X, **options):
        said = finding(gx.Granite(model, **options).fit(frame))
        return said.headline, said.benefit

    assert first(lambda frame: frame["a"] + frame["c"]) == (
        "No interactions: every row follows the average curves.",
        "One curve per feature describes the whole model.",
    )
    assert first(lambda frame: np.full(len(frame), 7.0)) == (
        "The model gives every row the same prediction: there is nothing to explain.",
        "",
    )
    assert first(crossed, X[:1]) == ("1 row: nothing can be said.", "")
    headline, _ = first(crossed, max_depth=0)
    assert re.fullmatch(
        r"Rows differ \(±\S+\)\. No regions were searched \(max_depth=0\)\.", headline
    )


def test_where_the_average_hides_what_single_rows_do_that_is_said():
    said = finding(gx.Granite(lambda frame: frame["a"] * frame["c"], max_depth=0).fit(X))
    assert re.fullmatch(
        r"On average [ac] shifts the prediction by up to \S+ only, but single rows typically by \S+\.",
        said.details,
    )
    average, single = said.details.facts
    assert single.value > 2 * average.value


def test_of_many_features_the_first_are_named():
    frame = pd.DataFrame(
        np.random.default_rng(3).choice([-1.0, 1.0], size=(1200, 5)), columns=list("abcde")
    )

    def product_of_pairs(frame):
        values = np.asarray(frame)
        return values[:, 0] * (values[:, 1] + values[:, 2] + values[:, 3] + values[:, 4])

    said = finding(gx.Granite(product_of_pairs).fit(frame)).headline
    assert said.startswith("The effects of ")
    assert said.endswith(" depend on a.")
    assert sorted(said.removeprefix("The effects of ").removesuffix(" depend on a.")) == sorted(
        "b, c, d and e"
    )


def test_regions_with_the_same_curves_differ_in_their_mean_alone(g):
    result = fitted_view(g).result
    curves = result.shared_curves.value
    alike = replace(
        curves, all_curves=tuple(replace(curve, role="same") for curve in curves.all_curves)
    )
    said = finding(g, shared_curves=Deferred(lambda: alike, now=True))
    assert re.fullmatch(
        r"Regions differ mostly in the level of predictions \(means \S+ to \S+\), hardly in the shape of effects\.",
        said.headline,
    )
    assert " curves and the mean prediction of each region describe " in said.curves
    assert said.curves.endswith("b divides the regions and has one curve.")


# Curves -----------------------------------------------------------------------------------------------


def test_the_line_of_curves_counts_and_names_them(g):
    said = finding(g).curves
    assert said.startswith(f"{len(g.curves_)} curves describe ")
    differs, same, *_ = said.partition("): ")[2].split("; ")
    assert differs == "a differs by region"
    assert same == "c is the same everywhere"
    assert "b divides the regions and has one curve" in said
    assert str(g).index("a differs by region") > str(g).index("all rows")


@pytest.mark.parametrize("question", ["pfi-risk", "sobol", "mplot-pdp"])
def test_only_questions_about_effects_have_that_line(question):
    g = gx.Granite(crossed, question).fit(X, crossed(X))
    assert finding(g).curves == ""


def test_the_paper_s_options_have_no_such_line():
    g = gx.Granite(crossed, confidence_level=None).fit(X)
    assert finding(g).curves == ""


def test_a_range_beside_it_is_told_by_strength_and_a_tiny_one_without_a_figure():
    g = gx.Granite(lambda frame: frame["a"] * (1.0 + 3.0 * frame["b"]) + frame["c"]).fit(X)
    said = finding(g).details
    assert re.fullmatch(
        r"a shifts the prediction by up to \S+ where b = 1, by up to \S+ where b = 0\.", said
    )
    for fact in said.facts:
        (curve,) = (curve for curve in g.curves_.of("a") if curve.regions == fact.regions)
        ends = np.flatnonzero(curve.shares > 0)[[0, -1]]
        assert fact.error == pytest.approx(curve.errors[ends].sum())
    g = gx.Granite(lambda frame: frame["a"] * frame["b"] + 0.001 * frame["a"] + frame["c"]).fit(X)
    assert re.fullmatch(
        r"a shifts the prediction by up to \S+ where b = 1, hardly at all where b = 0\.",
        finding(g).details,
    )


def test_where_a_shape_is_stronger_in_a_part_of_its_rows_that_is_said():
    rows = X.assign(b=rng.random(len(X)) < 0.7, c=rng.integers(0, 2, len(X)))

    def steeper(frame):
        return np.where(frame["b"], frame["a"] * (1 + 3 * frame["c"]), -2 * frame["a"])

    assert finding(gx.Granite(steeper).fit(rows)).details == (
        "Where b = True, the prediction rises with a, more strongly where c = 1. Where b = False, it falls."
    )


def test_curves_that_lie_closer_than_what_matters_do_not_differ(g):
    facts = FitFacts(fitted_view(g).result, g.diagnostics_)
    (apart,) = facts.dependence.sizes
    assert dependence_of(facts.figures, facts.curves, flat=0.9 * apart).features == ("a",)
    assert dependence_of(facts.figures, facts.curves, flat=1.1 * apart).features == ()


def test_a_curve_beside_much_larger_ones_is_flat():
    g = gx.Granite(lambda frame: frame["a"] + 0.01 * frame["c"]).fit(X)
    _ = g.curves_
    facts = FitFacts(fitted_view(g).result, g.diagnostics_)
    shapes = {curve.label: facts.shape(curve).kind for curve in facts.curves}
    assert (shapes["a"], shapes["c"]) == ("rises", "flat")


def test_a_region_says_what_is_its_own(g):
    facts = FitFacts(fitted_view(g).result, g.diagnostics_)
    output = output_words(facts.fitted.model)
    (falls,), (rises,) = (region_sentences(facts, region, output) for region in (0, 1))
    assert falls == "The prediction falls with a; where b = 1, it rises."
    assert rises == "The prediction rises with a; where b = 0, it falls."


def test_the_largest_effect_of_a_region_comes_first_and_a_smaller_one_is_so_only():
    def steeper(frame):
        return np.asarray(frame["a"] * (1 + frame["b"]) + frame["c"] * (3 - 2 * frame["b"]))

    g = gx.Granite(steeper).fit(X)
    facts = FitFacts(fitted_view(g).result, g.diagnostics_)
    larger, smaller = region_sentences(facts, 0, output_words(facts.fitted.model))
    size = r"by up to \S+"
    assert re.fullmatch(rf"The prediction rises with c, {size} \({size} where b = 1\)\.", larger)
    assert re.fullmatch(
        rf"The prediction rises with a, {size} only \({size} where b = 1\)\.", smaller
    )


def test_importances_differ_for_a_reason_and_inside_regions_within_an_interval():
    g = gx.Granite(lambda frame: np.asarray(frame["a"] * frame["c"]), "sobol", max_depth=1)
    said = finding(g.fit(X))
    assert said.headline.endswith("Why: features interact.")
    inside = said.benefit.facts[-1].value
    low, high = map(float, re.search(r"95% interval (\S+)–(\S+), ", said.benefit).groups())
    assert low <= inside <= high


def test_every_row_of_the_table_is_accounted_for():
    said = finding(gx.Granite(crossed, max_samples=200).fit(X)).rows
    n_rows, n_search, n_held_out, n_unused = map(int, re.findall(r"\d+", said))
    assert (n_rows, n_search) == (900, 200)
    assert n_search + n_held_out + n_unused == n_rows


# Doubts -----------------------------------------------------------------------------------------------


def halves(count, score):
    split = SplitStability(
        rule="all rows",
        column="b",
        cut="b ≤ 0",
        share=count / 8,
        instead="c",
        low=math.nan,
        high=math.nan,
        searches=8,
    )
    return Stability(score=score, low=0.0, high=1.0, splits=(split,), n_regions=2, searches=8)


def test_a_first_split_that_does_not_come_back_is_the_first_doubt_and_said_once(g):
    said = finding(g, stability=halves(1, 0.2))
    assert said.doubts[0] == (
        "the first split, on b, came back in 1 of 8 searches on half the rows (otherwise most often c): "
        "take the regions as tentative."
    )
    assert said.stability == ""


def test_other_splits_may_make_nearly_the_same_regions(g):
    (doubt,) = finding(g, stability=halves(1, 0.84)).doubts
    assert doubt.endswith("but their regions are nearly the same (adjusted Rand index 0.84).")


def test_a_split_that_comes_back_is_no_doubt(g):
    said = finding(g, stability=halves(4, 0.9))
    assert said.doubts == ()
    assert said.stability.startswith(
        "Of 8 searches on half the rows, 4 split on b (otherwise c) again"
    )


def test_regions_of_few_rows_are_hints():
    (doubt,) = finding(gx.Granite(crossed).fit(X[:160])).doubts
    assert doubt == (
        "where b = 0 (region 0) and where b = 1 (region 1), there are fewer than 100 search rows each: "
        "take these regions as hints."
    )


# Outputs and sentences --------------------------------------------------------------------------------


def predictor(is_probability, label=None):
    return SimpleNamespace(
        is_probability=is_probability, explained_class=label, output_name=None, scale=RESPONSE
    )


@pytest.mark.parametrize(
    ("is_probability", "label", "target", "name"),
    [
        (False, None, "cnt", "predicted cnt"),
        (False, None, "", "the prediction"),
        (True, 1, "income", "the probability of income = 1"),
        (True, "yes", "", "the probability of class yes"),
        (True, None, "income", "the predicted probability"),
        (False, "yes", "income", "the score of income = yes"),
    ],
)
def test_the_output_is_called_as_a_reader_would(is_probability, label, target, name):
    words = output_words(predictor(is_probability, label), target)
    assert words.name == name
    assert words.unit.probability == is_probability


def test_only_a_class_is_named_in_the_first_sentence():
    assert output_words(predictor(False), "cnt").target == ""
    assert output_words(predictor(True, 1), "income").target == "the probability of income = 1"


def test_the_unit_is_the_user_s():
    assert output_words(predictor(False), "cnt", "rentals").unit.effect(3.0) == "3.0 rentals"


def test_names_are_made_harmless():
    assert "\x1b" not in output_words(predictor(True, "\x1b[31m"), "a\x1b").name


def test_a_sentence_is_text_with_figures_that_a_copy_keeps(g):
    said = finding(g).headline
    copied = pickle.loads(pickle.dumps(said))
    assert copied == said == "The effect of a depends on b."
    assert [fact.what for fact in copied.facts] == ["apart", "split on"]
    assert copied.facts[0].value == said.facts[0].value
    assert said.facts[0].value == pytest.approx(
        2 * 2 * 1.645, rel=0.1
    )  # two slopes, between 5% and 95%

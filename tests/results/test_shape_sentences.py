"""Where the main feature does what, in sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.regions import Rule, rule_in_sentence, vocabulary
from granite_xai.results.dependence import Dependence
from granite_xai.results.output_words import output_words
from granite_xai.results.region_shapes import CurvePart
from granite_xai.results.shape_sentences import _where_part, shape_sentences

RNG = np.random.default_rng(32)
X = pd.DataFrame(
    {
        "hr": RNG.integers(0, 24, 600).astype(float),
        "day": RNG.integers(0, 2, 600).astype(float),
        "size": RNG.normal(size=600),
    }
)


def sentences(model, quiet=(), features=("hr",), is_mutual=False):
    g = gx.Granite(model, max_depth=1, holdout=False).fit(X)
    fitted = fitted_view(g).result
    depends = Dependence(features=features, moderators=("day",), is_mutual=is_mutual)
    words = vocabulary(fitted.partition.rules, fitted.table)
    output = output_words(fitted.model, "cnt")
    return shape_sentences(fitted, fitted.nodes[0], depends, quiet, output, words)


def two_shapes(frame):
    rush = np.exp(-np.square(frame["hr"] - 8) / 4) + np.exp(-np.square(frame["hr"] - 17) / 4)
    noon = np.exp(-np.square(frame["hr"] - 13) / 20)
    return (100 * np.where(frame["day"] == 1, rush, noon)).astype(float)


def two_strengths(frame):
    return np.where(frame["day"] == 1, 5.0, 1.0) * frame["hr"].to_numpy()


def test_two_shapes_are_told_where_they_are():
    text = sentences(two_shapes)
    assert "Where day = 1, predicted cnt peaks at hr 8 and 17." in text
    assert "Where day = 0, it " in text


def test_two_strengths_of_one_shape_are_told_by_their_size():
    text = sentences(two_strengths)
    assert text == "hr shifts predicted cnt by up to 115 where day = 1, by up to 23 where day = 0."


def test_strengths_that_are_alike_are_not_told():
    def alike(frame):
        level = 20 * frame["day"].to_numpy() * frame["size"].to_numpy()
        return level + np.where(frame["day"] == 1, 1.05, 1.0) * frame["hr"].to_numpy()

    assert "shifts" not in sentences(alike)


def test_a_quiet_region_is_told_by_its_rule():
    text = sentences(two_shapes, quiet=(0,))
    assert text.endswith("Where day = 0, predictions vary far less than overall.")


def test_several_quiet_regions_are_counted():
    text = sentences(two_shapes, quiet=(0, 1))
    assert text == "In 2 of 2 regions (100% of the rows) predictions vary far less than overall."


@pytest.mark.parametrize("options", [{"features": ()}, {"is_mutual": True}])
def test_without_a_main_feature_there_is_no_sentence(options):
    assert sentences(two_shapes, **options) == ""


def four_strengths(frame):
    """Regions by day and size; inside them size matters, too."""
    is_large = frame["size"] > 0
    on_day_1 = np.where(is_large, 10.0, 6.0)
    on_day_0 = np.where(is_large, 5.0, 1.0)
    slope = np.where(frame["day"] == 1, on_day_1, on_day_0)
    return slope * frame["hr"].to_numpy() + (1 + 2 * frame["day"]) * frame["size"].to_numpy()


def sentences_of_four_regions(feature, quiet_rule=""):
    g = gx.Granite(four_strengths, max_depth=2, holdout=False).fit(X)
    fitted = fitted_view(g).result
    words = vocabulary(fitted.partition.rules, fitted.table)
    rules = [rule_in_sentence(rule, words) for rule in fitted.partition.rules]
    assert len(rules) == 4
    quiet = [region for region, rule in enumerate(rules) if rule == quiet_rule]
    depends = Dependence(features=(feature,), moderators=("day",), is_mutual=False)
    output = output_words(fitted.model, "cnt")
    return shape_sentences(fitted, fitted.nodes[0], depends, quiet, output, words), rules


def test_a_rule_is_not_shortened_to_one_that_fits_another_region():
    def part(text):
        rule = Rule.parse(text)
        return CurvePart(rule, rule, regions=(), share=0.25, curve=None, shape=None)

    strongest = part("day > 0 and size > 0")
    weakest = part("day <= 0 and size > 0")
    beside_it = Rule.parse("day > 1 and size <= 0")
    words = vocabulary([], fitted_view(gx.Granite(two_strengths).fit(X)).result.table)
    assert _where_part(strongest, weakest, [weakest.shared_rule], words) == "day > 0"
    assert (
        _where_part(strongest, weakest, [weakest.shared_rule, beside_it], words)
        == "day > 0 and size > 0"
    )


def test_a_rule_is_not_shortened_to_one_that_fits_a_quiet_region():
    """The quiet region differs from another by the main feature only."""
    _, rules = sentences_of_four_regions("size")
    quiet = next(rule for rule in rules if "day = 1" in rule and "size ≤" in rule)
    beside_it = next(rule for rule in rules if "day = 1" in rule and "size >" in rule)
    text, _ = sentences_of_four_regions("size", quiet)
    assert f"here {beside_it}" in text

"""Headings of regions, from constructed curves."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.results.contrasts import contrasts, further_contrasts, heading, is_quiet
from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.region_curves import CurvePair

hours = np.arange(24.0)
rush = 100 * (np.exp(-np.square(hours - 8)) + np.exp(-np.square(hours - 17)))
midday = 100 * np.exp(-np.square(hours - 14) / 20)


def pair(feature, here, overall, labels=None, **options):
    def made(values):
        values = np.asarray(values, dtype=float)
        names = labels or [f"{i}" for i in range(len(values))]
        weights = np.full(len(values), 1 / len(values))
        return FeatureCurve(feature, names, values, weights, **options)

    return {feature: CurvePair(made(here), made(overall))}


def heading_of(curves, **options):
    return heading(contrasts(curves), **({"quiet": False} | options)).text


BACKGROUND = pair("big", 4 * hours, 4 * hours)  # sets the scale, differs in nothing


@pytest.mark.parametrize(
    ("curves", "text"),
    [
        (
            pair("hr", midday, rush),
            "Predictions are highest from hr 13 to 15; overall they peak at hr 8 and 17",
        ),
        (
            pair("hr", 1.5 * rush, rush),
            "Predictions peak at hr 8 and 17, 1.5 times as strongly as overall",
        ),
        (
            pair("hr", 0.5 * rush, rush),
            "Predictions peak at hr 8 and 17, less strongly than overall",
        ),
        (pair("hr", 0.05 * rush, rush), "hr hardly matters here"),
        (
            pair("temp", -2 * hours, 2 * hours),
            "Predictions fall with temp; overall they rise with temp",
        ),
        (
            pair("job", [0, 50, 25], [1, 0, 1], ["Craft", "Prof", "Sales"], ordered=False),
            "job matters here, unlike overall (predictions highest for job = Prof, lowest for Craft)",
        ),
        (
            pair("sex", [0, 66], [0, 30], ["Female", "Male"], ordered=False),
            "Predictions are higher for sex = Male than for sex = Female, 2.2 times as strongly as overall",
        ),
        (pair("hr", 1.02 * rush, rush), "Much as overall: predictions peak at hr 8 and 17"),
    ],
)
def test_headings(curves, text):
    assert heading_of(BACKGROUND | curves, main_feature="hr") == text


def test_the_strongest_contrast_leads_not_the_largest_curve():
    # The larger curve is 1.4 times as strong, the smaller one eleven times.
    curves = pair("age", 1.4 * hours, hours) | pair("sex", [0, 22.0], [0, 2.0])
    assert heading_of(curves).startswith("Predictions are higher for sex = ")


def test_a_large_ratio_of_tiny_curves_does_not_lead():
    curves = pair("age", 1.6 * rush, rush) | pair("tiny", 0.3 * hours, 0.01 * hours)
    assert heading_of(curves).startswith("Predictions peak at age ")


def test_quiet_regions():
    assert is_quiet(10, 100)
    assert not is_quiet(30, 100)
    assert (
        heading_of(pair("hr", midday, rush), quiet=True)
        == "Predictions vary far less here than overall"
    )


def test_without_a_main_feature_the_largest_curve_is_named():
    assert heading_of(BACKGROUND | pair("hr", rush / 9, rush / 9)) == (
        "Much as overall: predictions rise with big"
    )


def test_a_feature_with_one_value_is_no_contrast():
    assert contrasts(pair("yr", [5.0], [0.0])) == []
    assert heading_of(pair("yr", [5.0], [0.0])) == ""


def test_further_contrasts():
    curves = (
        pair("hr", midday, rush)
        | pair("temp", 3.6 * hours, 2 * hours)
        | pair("hum", -1.2 * hours, -2 * hours)
        | pair("yr", [0.0, 1.0], [0.0, 80.0])
        | pair("mnth", hours, hours)
    )
    ranked = contrasts(curves)
    assert further_contrasts(ranked, without="hr") == (
        "Stronger effects than overall: temp (1.8 times). Weaker effects: hum. "
        "Hardly any effect: yr."
    )
    assert further_contrasts(contrasts(pair("mnth", hours, hours))) == ""

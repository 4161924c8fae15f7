"""How sizes are written."""

from __future__ import annotations

import math

from granite_xai.report.measure import Measure, measure_of


def test_probabilities_are_told_in_points():
    measure = Measure(per_row=True, is_rooted=True, probability=True, unit="")
    assert (measure.text(0.212), measure.level(0.27)) == ("±21", "27%")
    counts = Measure(per_row=True, is_rooted=True, probability=False, unit="bikes")
    assert (counts.text(121.3), counts.text(121.3, bare=False)) == ("±121", "±121 bikes")


def test_the_size_of_a_squared_gap_is_its_root_and_never_negative():
    squared = Measure(per_row=True, is_rooted=True, probability=False, unit="")
    absolute = squared._replace(is_rooted=False)
    assert (squared.root(9.0), absolute.root(9.0)) == (3.0, 9.0)
    assert squared.root(-1e-9) == absolute.root(-1e-9) == 0.0
    assert math.isnan(squared.root(math.nan))


def test_importances_are_no_distances_of_rows():
    measure = Measure(per_row=False, is_rooted=True, probability=True, unit="")
    assert measure.noun == "difference"
    assert measure.text(0.25) == measure.effect_of_feature(0.25) == "0.25"
    per_row = measure._replace(per_row=True)
    assert per_row.effect_of_feature(0.25) == "25"


def test_what_is_not_known_has_a_sign():
    measure = Measure(per_row=True, is_rooted=True, probability=False, unit="kg")
    assert measure.text(None) == measure.text(math.nan) == measure.level(None)
    assert measure.effect(None) == measure.level(None) != measure.level(0.0)


def test_a_story_says_how_it_is_measured(report):
    told = measure_of(report.story)
    assert told == Measure(per_row=True, is_rooted=True, probability=False, unit="")

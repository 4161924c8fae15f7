"""What the templates need beside the story."""

from __future__ import annotations

import pytest

from granite_xai.report.page_values import MOST_DOTS, page_values
from report.cases import effect, panel


def changed(report, **entries):
    return page_values({**report.story, **entries})


def test_nodes_between_root_and_regions_are_told_apart(report):
    values = page_values(report.story)
    assert values["nodes"][0]["id"] == "all"
    identifiers = [node["id"] for node in values["nodes"]]
    assert len(identifiers) == len(set(identifiers)) == 2 * len(report.story["regions"]) - 1
    assert {node["id"][:4] for node in values["inner_nodes"]} <= {"node"}


def test_the_hero_is_drawn_as_predictions_and_the_others_as_effects(report):
    values = page_values(report.story)
    assert values["hero"]["set"] == report.story["main_feature"]
    assert values["hero"]["quantity"] == "Prediction"
    assert values["hero"]["set"] not in [drawn["set"] for drawn in values["others"]]
    assert {drawn["quantity"] for drawn in values["others"]} == {"Effect"}
    assert set(values["strays"]) == {drawn["set"] for drawn in values["others"]}


def test_limits_of_the_panels_hold_the_bands_of_rows(report):
    values = page_values(report.story)
    low, high = values["ice_limits"]
    for one in values["hero"]["panels"]:
        assert low <= min(y for y in one["low"] if y is not None)
        assert high >= max(y for y in one["high"] if y is not None)


def test_rows_are_said_to_follow_closely_only_where_they_do(report):
    hero = report.story["main_feature"]
    region = {f"region-{k}": [1.0, 0.5] for k in range(len(report.story["regions"]))}

    def panels(within):
        entry = {"set": hero, "shows": 1.0, "hides": 3.0, "within": [1.0, within], "nodes": region}
        return changed(report, triage=[entry])["panels"]

    assert panels(1.0)["heading"].endswith(f"curve of {hero} 3.0 times as closely")
    assert panels(2.9)["heading"] == f"How closely single rows follow the curve of {hero}"
    assert panels(1.0)["strays"] == [3.0] + [0.5] * len(region)


def test_distances_of_all_features_add_up_as_squares(report):
    triage = [{**report.story["triage"][0], "within": [0.0, size]} for size in (3.0, 4.0)]
    assert changed(report, triage=triage)["stray_in_regions"] == 5.0


def test_of_many_features_the_strongest_have_dots(report):
    first = report.story["triage"][0]
    triage = [{**first, "set": str(k), "shows": float(k), "hides": 0.0} for k in range(40)]
    dots = changed(report, triage=triage)["dots"]
    assert [dot["set"] for dot in dots] == [str(k) for k in range(39, 39 - MOST_DOTS, -1)]
    few = changed(report, triage=triage[:3])["dots"]
    assert [dot["set"] for dot in few] == ["2", "1"]  # a feature without effect has none


def test_intervals_have_the_confidence_of_the_fit(report):
    one = effect([panel(None, [1.0], error=[1.0])])
    wide = changed(report, effects=[one], estimate={"confidence_level": 0.95})
    narrow = changed(report, effects=[one], estimate={"confidence_level": 0.68})
    assert wide["level"] == "95%"
    assert wide["hero"]["panels"][0]["half_widths"] == pytest.approx([1.96], abs=1e-3)
    assert narrow["hero"]["panels"][0]["half_widths"] == pytest.approx([0.994], abs=1e-3)


def test_a_title_has_the_unit_of_the_predictions(report):
    measure = {**report.story["measure"], "unit": "bikes"}
    values = changed(report, measure=measure, output="rentals")
    assert values["axis_title"] == "rentals (bikes)"
    assert values["with_unit"] == " (bikes)"

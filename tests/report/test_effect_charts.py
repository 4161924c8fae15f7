"""Charts of one feature."""

from __future__ import annotations

import re

import pytest

from granite_xai.report.effect_charts import (
    as_drawn,
    draw_region_against_all_rows,
    draw_regions_together,
    draw_scope,
    limits_of,
)
from report.cases import effect, panel


def test_the_band_of_all_rows_moves_with_its_curve_and_fits_into_the_chart():
    panel = {
        "centre": 100.0,
        "mean": [90.0, 110.0],
        "curve": [90.0, 110.0],
        "low": [70.0, None],
        "high": [95.0, None],
        "error": None,
        "effect_error": None,
        "lines": [],
    }
    drawn = as_drawn({"style": "line", "panels": [panel]}, 2.0, centred=True)
    assert drawn["panels"][0]["low"] == [-30.0, None]
    assert drawn["panels"][0]["high"] == [-5.0, None]
    low, high = limits_of([drawn])
    assert low < -30.0
    assert high > 10.0
    without = as_drawn({"style": "line", "panels": [{**panel, "low": None, "high": None}]}, 2.0)
    assert without["panels"][0]["low"] is None


def two_regions(**entries):
    panels = [
        panel(None, [1.0, 2.0, 3.0], error=[0.1, 0.2, 0.1], effect_error=[0.0, 0.1, 0.0]),
        panel(0, [1.0, 2.0, None], rows=[30, 0, 0], curve=[1.0, 2.0, 9.0]),
        panel(1, [None, 4.0, 6.0], rows=[0, 10, 0], curve=[5.0, 4.0, 6.0]),
    ]
    return effect(panels, **entries)


def draw_together(drawn, nodes=(), rules=()):
    return draw_regions_together(drawn, nodes, (0.0, 10.0), (400.0, 200.0), "prediction", rules)


def test_half_an_interval_is_so_many_standard_errors():
    drawn = as_drawn(two_regions(), 2.0)
    assert drawn["panels"][0]["half_widths"] == [0.2, 0.4, 0.2]
    assert drawn["panels"][1]["half_widths"] == [None] * 3
    assert as_drawn(two_regions(), 2.0, centred=True)["panels"][0]["half_widths"] == [0.0, 0.2, 0.0]
    assert two_regions()["panels"][0].keys() < drawn["panels"][0].keys()


@pytest.mark.parametrize(
    ("heights", "low"), [([1.0, 10.0], 0.0), ([8.0, 10.0], 7.88), ([-1.0, 10.0], -1.66)]
)
def test_an_axis_begins_at_zero_where_that_is_near(heights, low):
    drawn = as_drawn(effect([panel(None, heights)]), 2.0)
    assert limits_of([drawn])[0] == pytest.approx(low)


def test_limits_hold_intervals_and_other_lines():
    line = {"name": "SHAP", "x": [0.0], "y": [-3.0]}
    drawn = as_drawn(effect([panel(None, [5.0, 6.0], error=[1.0, 1.0], lines=[line])]), 2.0)
    low, high = limits_of([drawn])
    assert low < -3.0
    assert high > 8.0
    assert limits_of([]) == (0.0, 1.06)


def test_every_region_has_a_curve_and_a_label():
    chart = draw_together(as_drawn(two_regions(), 2.0), rules=["small", "large"])
    assert re.findall(r'<g class="k" data-r="(\w+)">', chart) == ["all", "0", "1"]
    assert {"small", "large", "all rows"} <= set(re.findall(r">([^<>]+)</text>", chart))
    assert chart.count("badge r") == 2


def test_the_curve_of_a_node_is_the_mean_of_its_regions_by_rows():
    """At 0: (30 · 1 + 10 · 5) / 40 = 2, at 2: (30 · 9 + 10 · 6) / 40 = 8.25."""
    node = {"id": "node-1", "regions": [0, 1]}
    drawn = as_drawn(two_regions(), 2.0)
    chart = draw_together(drawn, [node])
    ((path,),) = [re.findall(r'class="nodec" d="([^"]+)" data-node="node-1"', chart)]
    heights = [float(place.split()[1]) for place in re.split("[ML]", path)[1:]]
    top, bottom = 24.0, 156.0
    expected = [bottom - (bottom - top) * y / 10.0 for y in (2.0, 2.5, 8.25)]
    assert heights == pytest.approx(expected, abs=0.06)


def test_a_region_with_one_value_has_no_line():
    panels = [panel(None, [1.0, 2.0]), panel(0, [1.0, None], values=1), panel(1, [1.0, 2.0])]
    chart = draw_together(as_drawn(effect(panels), 2.0))
    assert re.findall(r'<g class="k" data-r="(\w+)">', chart) == ["all", "1"]


def test_points_of_regions_stand_side_by_side():
    chart = draw_together(as_drawn(two_regions(style="points"), 2.0))
    at_first = {
        look: float(re.search(rf'class="pt {look}" cx="([\d.]+)"', chart)[1])
        for look in ("rall", "r0")
    }
    assert at_first["rall"] + 11.0 < at_first["r0"]


def test_a_scope_is_drawn_before_all_rows_and_alone_where_it_is_all_rows():
    drawn = as_drawn(two_regions(), 2.0)
    in_region = draw_scope(drawn, 1, (0.0, 10.0))
    assert "in region 0" in in_region
    assert in_region.index("gl rall") < in_region.index("ln r0")
    on_all_rows = draw_scope(drawn, 0, (0.0, 10.0))
    assert "on all rows" in on_all_rows
    assert on_all_rows.count("gl rall") == 1
    assert "ci rall" in on_all_rows
    assert "ci rall" not in in_region


def test_a_card_has_the_region_in_colour_and_all_rows_in_grey_without_intervals():
    chart = draw_region_against_all_rows(as_drawn(two_regions(), 2.0), 1, (0.0, 10.0))
    assert "gl rall" in chart
    assert "ln r1" in chart
    assert "ln r0" not in chart
    assert "ci " not in chart

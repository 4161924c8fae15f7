"""The painter of pages: escaping, scales, labels at the ends of curves, dots spread by density."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from granite_xai.document.chart import Chart, FeatureAxis, Mark
from granite_xai.document.svg import (
    Frame,
    curve_classes,
    element,
    paint_curves,
    paint_overview,
    spread_out,
)
from granite_xai.tables import read_table

SIZE = (600.0, 300.0)


def axis_of(values):
    return FeatureAxis(read_table(pd.DataFrame({"x": values}), missing="allow").columns[0])


def curve(axis, y, regions=None, label="", mark=""):
    nothing = np.full(len(axis.x), np.nan)
    y = np.array(y, dtype=float)
    ends = {"low": nothing, "high": nothing}
    return Mark("line", "", np.array(axis.x), y, regions=regions, label=label, mark=mark, **ends)


def painted(axis, curves, size=SIZE):
    chart = Chart(axis, tuple(curves), "prediction")
    return paint_curves(chart, (0.0, 10.0), size=size, write="{:g}".format)


def test_text_is_escaped():
    assert element("text", "", "<b>&", x=1.0) == '<text x="1">&lt;b&gt;&amp;</text>'
    assert "\\u202e" in element("text", "", "\u202eevil")


def test_values_beyond_the_limits_lie_at_the_edge():
    frame = Frame((100.0, 100.0), 10.0, 90.0, 10.0, 90.0, (0.0, 1.0), (0.0, 2.0))
    assert (frame.x(0.5), frame.y(1.0)) == (50.0, 50.0)
    assert (frame.x(9.0), frame.y(-9.0)) == (90.0, 90.0)


@pytest.mark.parametrize("heights", [[5.0, 5.0, 5.0], [90.0, 95.0, 99.0], [0.0, 50.0, 51.0]])
def test_labels_have_room_inside_the_figure(heights):
    places = spread_out(heights, (0.0, 100.0))
    assert np.all(np.diff(places) >= 13.9)
    assert max(places) <= 100.0


def test_a_curve_is_a_line_broken_where_it_has_no_value():
    axis = axis_of(np.arange(20.0))
    y = np.where(np.arange(20) == 10, np.nan, 5.0)
    chart = painted(axis, [curve(axis, y, (1,), "here")])
    path = re.search(r'class="ln r1" d="([^"]*)"', chart)[1]
    assert path.count("M") == 2
    assert ">here</text>" in chart


def test_few_values_are_points_that_stand_side_by_side():
    axis = axis_of([0.0, 1.0] * 5)
    chart = painted(axis, [curve(axis, [2.0, 4.0], (k,), f"region {k}") for k in range(2)])
    places = [float(x) for x in re.findall(r'<circle class="pt r\d" cx="([\d.]+)"', chart)]
    assert len(set(places)) == 4


def test_missing_values_are_a_point_beside_the_line():
    axis = axis_of([*np.arange(20.0), np.nan])
    chart = painted(axis, [curve(axis, np.full(21, 3.0), (0,))])
    assert chart.count("<circle") == 1
    assert ">missing<" in chart


def test_narrow_figures_have_numbers_in_place_of_rules():
    axis = axis_of(np.arange(20.0))
    chart = painted(axis, [curve(axis, np.ones(20), (0, 2), "a rule", mark="0·2")], size=(358, 250))
    assert ">0·2</text>" in chart
    assert ">a rule</text>" not in chart
    assert 'data-r="0 2"' in chart


def test_one_colour_is_one_region_and_shared_curves_have_inks_of_their_own():
    regions = (None, (3,), (2, 5), (99,), (0, 1))
    assert curve_classes(regions) == ["rall", "r3", "s0", "rx", "s1"]


def overview(effects, shades, scope="all"):
    return paint_overview(
        ["hr"],
        ["12"],
        {scope: np.array(effects)[:, None]},
        {scope: np.array(shades)[:, None]},
        (-1.0, 1.0),
        width=600.0,
        title="effect",
        write="{:g}".format,
        css_class="wide",
    )


def dots_of(chart):
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", chart)]


def test_every_row_has_a_dot_and_none_covers_another():
    rng = np.random.default_rng(0)
    points = dots_of(overview(rng.uniform(-1, 1, 60), rng.integers(0, 5, 60)))
    assert len(points) == len(set(points)) == 60


def test_where_rows_are_many_all_heaps_are_thinned_alike():
    points = dots_of(overview([0.5] * 900 + [-0.5] * 450, [0] * 1350))
    heaps = [sum(x > 400 for x, _ in points), sum(x < 400 for x, _ in points)]
    assert abs(heaps[0] - 2 * heaps[1]) <= 1
    assert heaps[0] <= 9


def test_dots_of_a_region_wait_until_it_is_chosen():
    assert '<g class="of on" data-of="all">' in overview([0.1], [2])
    assert '<g class="of" data-of="3">' in overview([0.1], [2], scope="3")

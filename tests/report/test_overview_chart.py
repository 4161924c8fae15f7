"""The chart of all features and rows."""

from __future__ import annotations

import re

from granite_xai.report.overview_chart import STRIP_HEIGHT, draw_overview
from granite_xai.report.svg import NARROW_WIDTH


def overview(cells, names=("hr",)):
    features = [{"set": name, "cells": cells} for name in names]
    return {"limits": [-1.0, 1.0], "across": 10, "upwards": 4, "features": features}


def dots(chart):
    """Class and places of each path of dots, in the order in which they are drawn."""
    found = re.findall(r'<path class="dots ([\w ]+)" d="([^"]*)"', chart)
    return [(look, re.findall(r"M(\d+) (\d+)h0", path)) for look, path in found]


def test_large_effects_lie_right_and_high_values_lie_high():
    cells = [[None, 0, 0, 1], [None, 9, 3, 1]]
    ((look, (low, high)),) = dots(draw_overview(overview(cells), 600.0, "effect"))
    assert look == "d0 rall"
    assert int(low[0]) < int(high[0])
    assert int(low[1]) > int(high[1])


def test_dots_of_many_rows_are_large_and_lie_behind():
    cells = [[0, 1, 1, 3], [0, 2, 1, 4], [1, 3, 1, 50]]
    looks = [look for look, _ in dots(draw_overview(overview(cells), 600.0, "effect"))]
    assert looks == ["d2 r1", "d1 r0", "d0 r0"]


def test_every_feature_has_a_line_of_its_own():
    chart = draw_overview(overview([[None, 5, 1, 1]], names=("hr", "temp")), 600.0, "effect")
    ((_, (first, second)),) = dots(chart)
    assert int(second[1]) - int(first[1]) == STRIP_HEIGHT
    assert chart.index(">hr</text>") < chart.index(">temp</text>")


def test_names_are_shorter_on_a_phone():
    name = "a name of some thirty letters."
    cells = [[None, 5, 1, 1]]
    wide = draw_overview(overview(cells, [name]), 932.0, "effect")
    narrow = draw_overview(overview(cells, [name]), NARROW_WIDTH, "effect")
    assert 'class="chart wide"' in wide
    assert 'class="chart narrow"' in narrow
    written = [re.search(r'<text class="m"[^>]*>([^<]+)', chart)[1] for chart in (wide, narrow)]
    assert len(written[0]) == 24
    assert len(written[1]) == 13

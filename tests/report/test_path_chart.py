"""The chart of the path."""

from __future__ import annotations

import re

import pytest

import granite_xai as gx
from granite_xai.report.path_chart import draw_path
from report.cases import interacting


def test_the_page_says_why_there_are_so_many_regions(X):
    """The path that chose alpha is drawn, with its table; where alpha was given there is none."""
    told = gx.explain(interacting, X, alpha="auto", max_depth=2, search="greedy")
    steps = told.story["path"]["steps"]
    assert [step["regions"] for step in steps if step["chosen"]] == [len(told.granite.partition_)]
    assert steps == told.granite.path_.to_dict("records")
    assert "what fewer regions would leave" in told.html()
    assert told.html().count("(chosen)") == 1
    assert gx.explain(interacting, X, max_depth=1, search="greedy").story["path"] is None


def step(regions, left, left_out, chosen=False):
    return {"regions": regions, "left": left, "left_out": left_out, "chosen": chosen}


def circles(chart, css_class):
    """Places of the circles of a class, from left to right."""
    pattern = rf'class="{css_class}" cx="([\d.]+)" cy="([\d.]+)"'
    return sorted((float(x), float(y)) for x, y in re.findall(pattern, chart))


def test_more_regions_lie_right_and_less_heterogeneity_lies_low():
    steps = [step(3, 0.2, 0.3), step(2, 0.5, 0.6, chosen=True), step(1, 1.0, 1.0)]
    chart = draw_path({"steps": steps, "line": 0.37})
    search_rows = circles(chart, "in rall")
    left_out = circles(chart, "in rink")
    assert [x for x, _ in search_rows] == [x for x, _ in left_out] == [52.0, 242.0, 432.0]
    heights = [y for _, y in left_out]
    assert heights == sorted(heights)  # down the page
    assert all(
        low > high for (_, low), (_, high) in zip(search_rows[1:], left_out[1:], strict=True)
    )
    assert circles(chart, "arr") == [left_out[1]]


def test_those_who_do_not_see_it_hear_the_shares_of_left_out_rows():
    chart = draw_path({"steps": [step(2, 0.1, 0.25), step(1, 1.0, 1.0)], "line": 0.3})
    assert 'aria-label="Heterogeneity left by the number of regions: 2: 25%, 1: 100%"' in chart


@pytest.mark.parametrize("height", [0.0, 1.0])
def test_a_path_of_one_region_is_drawn(height):
    assert "<svg" in draw_path({"steps": [step(1, 1.0, 1.0, chosen=True)], "line": height})

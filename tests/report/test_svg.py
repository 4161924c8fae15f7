"""Elements of SVG figures."""

from __future__ import annotations

import pytest

from granite_xai.report.svg import (
    area,
    arrow,
    circle,
    coordinate,
    dots,
    element,
    figure,
    group,
    path_data,
    region_class,
    text_at,
)


def test_an_element_escapes_its_text_and_writes_underscores_as_dashes():
    assert (
        element("text", "b", "a < b", x=1.04, data_r=2)
        == '<text class="b" x="1" data-r="2">a &lt; b</text>'
    )


def test_a_path_is_broken_where_there_is_no_point():
    assert path_data([(0, 2), (10, 3), None, (5, 5)]) == "M0 2L10 3M5 5"


def test_an_arrow_ends_in_a_head_unless_both_ends_touch():
    assert arrow("a", (0.0, 0.0), (3.0, 0.0)) == ""
    assert arrow("a", (0.0, 0.0), (100.0, 0.0)).count("L") == 3


def test_a_hint_is_an_escaped_title_inside_its_element():
    assert circle("out", (1.0, 2.0), 3.0, hint="a&b") == (
        '<circle class="out" cx="1" cy="2" r="3"><title>a&amp;b</title></circle>'
    )


def test_a_text_that_begins_at_its_place_has_no_anchor():
    assert text_at(1, 2, "a") == '<text x="1" y="2">a</text>'
    assert text_at(1, 2, "a", "b", anchor="end") == (
        '<text class="b" x="1" y="2" text-anchor="end">a</text>'
    )


@pytest.mark.parametrize(
    ("place", "text"), [(1.0, "1"), (1.04, "1"), (1.06, "1.1"), (-0.5, "-0.5")]
)
def test_coordinates_are_in_tenths(place, text):
    assert coordinate(place) == text


def test_an_area_runs_along_its_upper_ends_and_back_along_the_lower_ones():
    assert 'd="M0 1L10 2L10 8L0 9Z"' in area("ci", [(0, 1, 9), (10, 2, 8)])


def test_many_dots_are_one_path():
    assert 'd="M1 2h0M3 4h0"' in dots("d", [(1.2, 2.4), (3.0, 4.0)])


def test_a_figure_has_a_name_and_its_attributes():
    drawn = figure((10.0, 20.0), 'a "b"', [group("k", ["<x/>"], data_r=1)], "wide", data_x="1 2")
    assert drawn == (
        '<svg class="chart wide" role="img" aria-label="a &quot;b&quot;" viewBox="0 0 10 20" '
        'data-x="1 2"><g class="k" data-r="1"><x/></g></svg>'
    )


def test_regions_have_the_classes_of_the_palette_and_then_a_common_one():
    assert [region_class(region) for region in (None, 0, 7, 8)] == ["rall", "r0", "r7", "rx"]

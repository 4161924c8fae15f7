"""Colours of regions."""

from __future__ import annotations

from granite_xai.display.palette import (
    EVERYONE,
    ON_WHITE,
    PATTERNS,
    REGIONS,
    region_color,
    region_style,
)


def test_regions_beyond_the_palette_have_the_colour_of_all_rows():
    assert region_color(None) == EVERYONE[0]
    assert region_color(0) == ON_WHITE[0]
    assert region_color(len(REGIONS)) == EVERYONE[0]


def test_areas_repeat_the_colours_with_another_pattern():
    first = region_style(1)
    again = region_style(1 + len(REGIONS))
    assert first["facecolor"] == again["facecolor"] == ON_WHITE[1]
    assert (first["hatch"], again["hatch"]) == (PATTERNS[0], PATTERNS[1])

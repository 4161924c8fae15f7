"""The few colors of every picture: Okabe and Ito's, which people with any color vision tell apart."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW, BLACK, GREY = "#56B4E9", "#E69F00", "#222222", "#8C8C8C"
PALE = "#D9D9D9"
SIDES = (BLUE, ORANGE)
"""First and second explanation of a question."""
REGIONS = (SKY, YELLOW, GREEN, PURPLE, "#F0E442", GREY)
"""One color a region, none of them a side's; from the seventh on they repeat with a pattern."""
PATTERNS = ("", "///", "...", "xxx")

SMALL, NORMAL, LARGE = 7.5, 9.0, 11.0
"""Sizes of text, in points."""


def region_style(number: int) -> dict[str, Any]:
    """Color and pattern of a region.

    Examples
    --------
    >>> region_style(0)["facecolor"] == region_style(6)["facecolor"], region_style(6)["hatch"]
    (True, '///')
    """
    turn = number // len(REGIONS) % len(PATTERNS)
    return {"facecolor": REGIONS[number % len(REGIONS)], "hatch": PATTERNS[turn]}

"""Colours of pictures and pages.

Colour is the region, and nothing else: the rest is ink, grey, or another dash. Pictures and pages
share the palette; its colours stay apart, from each other and from the grey of all rows, for
readers of any colour vision.
"""

from __future__ import annotations

from typing import Any

BLUE = "#0072B2"
ORANGE = "#D55E00"
BLACK = "#222222"
GREY = "#8C8C8C"
PALE = "#D9D9D9"
SIDES = (BLACK, GREY)  # first and second explanation of a question, where no region is drawn
CASES = (BLUE, ORANGE, "#009E73", "#CC79A7", GREY)  # models or tables that are compared

ON_WHITE = ("#2a83ee", "#8f4200", "#35835a", "#ad3fa9", "#bd8600", "#265267", "#371a7d", "#670325")
ON_DARK = ("#3f9bff", "#f9761f", "#9df3df", "#d9a3b8", "#ebe02a", "#35d0fb", "#a056cc", "#bb5438")
REGIONS = tuple(zip(ON_WHITE, ON_DARK, strict=True))  # by the number of the region
EVERYONE = ("#8d9298", "#7d848b")  # all rows, and regions beyond the palette
PATTERNS = ("", "///", "...", "xxx")  # of areas: they repeat the colours with a pattern


def region_color(region: int | None) -> str:
    """Colour of a region on white paper; None: all rows."""
    if region is None or region >= len(REGIONS):
        return EVERYONE[0]
    return ON_WHITE[region]


def region_style(region: int) -> dict[str, Any]:
    """Colour and pattern of a region that is drawn as an area."""
    turn, place = divmod(region, len(REGIONS))
    return {"facecolor": ON_WHITE[place], "hatch": PATTERNS[turn % len(PATTERNS)]}

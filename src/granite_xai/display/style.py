"""The colors of every picture and page: Okabe and Ito's, which people with any color vision tell apart."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW, BLACK, GREY = "#56B4E9", "#E69F00", "#222222", "#8C8C8C"
PALE, BOX = "#D9D9D9", "#FFF4E8"
SIDES = (BLUE, ORANGE)
"""First and second explanation of a question."""
REGIONS = (SKY, YELLOW, GREEN, PURPLE, "#F0E442", GREY)
"""One color a region, none of them a side's; from the seventh on they repeat with a pattern."""
PATTERNS = ("", "///", "...", "xxx")

SMALL, NORMAL, LARGE = 7.5, 9.0, 11.0
"""Sizes of text, in points."""

PAGE = {
    "ink": ("#1b2430", "#e7ebf1"),
    "soft": ("#566172", "#a4afbe"),
    "line": ("#d5dae2", "#3a4452"),
    "paper": ("#fff", "#12171e"),
    "card": ("#f6f7fa", "#1b222c"),
    "accent": ("#0b5cad", "#6db3f8"),
    "first": ("#c4560a", "#f59a56"),
    "second": ("#0b5cad", "#6db3f8"),
    "good": ("#1d7a4a", "#5fcf95"),
    "band": ("#0b5cad2e", "#6db3f833"),
    "ice": ("#0b5cad55", "#6db3f855"),
    "heat": ("196,86,10", "245,154,86"),
}
"""Colors of the report by their use, on light and on dark paper."""


def region_style(number: int) -> dict[str, Any]:
    """Color and pattern of a region.

    >>> region_style(0)["facecolor"] == region_style(6)["facecolor"], region_style(6)["hatch"]
    (True, '///')
    """
    turn = number // len(REGIONS) % len(PATTERNS)
    return {"facecolor": REGIONS[number % len(REGIONS)], "hatch": PATTERNS[turn]}


def page_colors() -> str:
    """The colors as variables of a style sheet."""
    light, dark = (";".join(f"--{use}:{pair[k]}" for use, pair in PAGE.items()) for k in (0, 1))
    return f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"

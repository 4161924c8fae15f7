"""Chart of all features and rows: effects by region, with low values below and high ones above."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from granite_xai.base.numbers import amount
from granite_xai.base.text import shortened, visible
from granite_xai.document.chart import round_ticks
from granite_xai.report.chart_frame import Frame, Limits, Margins
from granite_xai.report.svg import (
    NARROW_WIDTH,
    Point,
    dots,
    figure,
    group,
    line,
    region_class,
    text_at,
)
from granite_xai.report.text_boxes import MONO_LETTER_WIDTH

STRIP_HEIGHT = 40.0  # of the line of one feature
FILLED = 0.86  # share of it that its dots fill
NAME_LETTERS = 24  # of the name of a feature
NARROW_NAME_LETTERS = 13
DOT_SIZES = (1, 4, 12)  # rows in a cell from which on its dot is small, middle, large

DotsByLook = dict[tuple[int | None, int], list[Point]]
"""Places of dots, by region (None: no regions) and place of their size in `DOT_SIZES`."""


def draw_overview(
    overview: Mapping[str, Any],
    width: float,
    title: str,
    number_text: Callable[[float], str] = amount,
) -> str:
    """Draw a strip a feature, with a dot for rows of a region with about the same value and effect.

    Parameters
    ----------
    overview : mapping
        As `overview_part.overview` has it.
    width : float
    title : str
        Of the horizontal axis.
    number_text : callable
        Writes a number of it.

    Returns
    -------
    str
        An SVG figure.
    """
    features = overview["features"]
    is_narrow = width == NARROW_WIDTH
    name_letters = NARROW_NAME_LETTERS if is_narrow else NAME_LETTERS
    left = 8 + MONO_LETTER_WIDTH * name_letters
    margins = Margins(left=left, right=12, top=8, bottom=40)
    size = (width, STRIP_HEIGHT * len(features) + margins.top + margins.bottom)
    low, high = overview["limits"]
    frame = Frame(size, margins, x=(low, high), y=(len(features), 0.0))
    shapes = _axis(frame, (low, high), title, number_text)
    dots_by_look: DotsByLook = {}
    for place, feature in enumerate(features):
        middle = frame.y(place + 0.5)
        lower_edge = frame.y(place + 1.0)
        name = shortened(str(visible(feature["set"])), name_letters, 4)
        shapes.append(text_at(margins.left - 8, middle + 4, name, "m", anchor="end"))
        shapes.append(line("grid", (4.0, lower_edge), (frame.right, lower_edge)))
        _add_dots(dots_by_look, frame, overview, feature["cells"], middle)
    shapes += _dot_shapes(dots_by_look)
    label = f"Effects of {len(features)} features on single rows, by region"
    return figure(size, label, shapes, "narrow" if is_narrow else "wide")


def _axis(
    frame: Frame, limits: Limits, title: str, number_text: Callable[[float], str]
) -> list[str]:
    zero = frame.x(0.0)
    shapes = [line("ax", (zero, frame.top), (zero, frame.bottom))]
    for number in round_ticks(*limits, 5):
        text = number_text(number)
        shapes.append(text_at(frame.x(number), frame.bottom + 16, text, anchor="middle"))
    shapes.append(text_at(frame.right, frame.bottom + 33, title, "t", anchor="end"))
    return shapes


def _add_dots(
    dots_by_look: DotsByLook,
    frame: Frame,
    overview: Mapping[str, Any],
    cells: list[tuple[int | None, int, int, int]],
    middle: float,
) -> None:
    """Add the dots of one feature, whose strip has its middle at a height."""
    for region, column, level, n_rows in cells:
        share_across = (column + 0.5) / overview["across"]
        share_upwards = (level + 0.5) / overview["upwards"]
        x = frame.left + share_across * (frame.right - frame.left)
        y = middle - FILLED * STRIP_HEIGHT * (share_upwards - 0.5)
        dots_by_look.setdefault((region, _dot_size(n_rows)), []).append((x, y))


def _dot_size(n_rows: int) -> int:
    """Place of the size of a dot in `DOT_SIZES`."""
    return sum(n_rows >= fewest for fewest in DOT_SIZES) - 1


def _dot_shapes(dots_by_look: DotsByLook) -> list[str]:
    """One shape for each region and size, large dots behind small ones."""
    shapes = []
    looks = sorted(dots_by_look, key=lambda look: -look[1])
    for region, size in looks:
        places = dots_by_look[region, size]
        drawn = dots(f"dots d{size} {region_class(region)}", places)
        shown_with = "all" if region is None else region
        shapes.append(group("k", [drawn], data_r=shown_with))
    return shapes

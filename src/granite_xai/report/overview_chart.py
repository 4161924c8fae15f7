"""Chart of all features and rows: effects by region, with low values below and high ones above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from granite_xai.base.formats import amount
from granite_xai.base.text import shortened, visible
from granite_xai.display.axis import round_ticks
from granite_xai.report.svg import (
    NARROW,
    Frame,
    Margins,
    Point,
    color,
    dots,
    group,
    line,
    svg,
    tag,
)

LINE_HEIGHT = 40.0  # of one feature
FILLED = 0.86  # share of it that its dots fill
SIZES = (1, 4, 12)  # rows in a cell from which on its dot is small, middle, large


def strips(
    overview: dict[str, Any],
    width: float,
    title: str,
    number: Callable[[float], str] = amount,
) -> str:
    """One line a feature, one dot for rows of one region with about the same value and effect.

    Parameters
    ----------
    overview : dict
        Of the story: limits, across (cells from left to right), upwards (cells from low to high
        values), and features with their cells (region, column, line, rows).
    width : float
    title : str
        Of the horizontal axis.
    number : callable
        Writes a number of it.
    """
    features = overview["features"]
    is_narrow = width == NARROW
    name_letters = 13 if is_narrow else 24
    margins = Margins(left=8 + 7.0 * name_letters, right=12, top=8, bottom=40)
    size = (width, LINE_HEIGHT * len(features) + margins.top + margins.bottom)
    low, high = overview["limits"]
    frame = Frame(size, margins, (low, high), (len(features), 0.0))
    shapes = _axis(frame, (low, high), title, number)
    by_look: dict[tuple[int | None, int], list[Point]] = {}
    for place, feature in enumerate(features):
        name = shortened(str(visible(feature["set"])), name_letters, 4)
        middle = frame.y(place + 0.5)
        shapes.append(tag("text", "m", name, x=margins.left - 8, y=middle + 4, text_anchor="end"))
        edge = frame.y(place + 1.0)
        shapes.append(line("grid", (4.0, edge), (frame.right, edge)))
        for region, column, level, rows in feature["cells"]:
            x = frame.left + (column + 0.5) / overview["across"] * (frame.right - frame.left)
            share = (level + 0.5) / overview["upwards"]
            y = middle - FILLED * LINE_HEIGHT * (share - 0.5)
            by_look.setdefault((region, _size(rows)), []).append((x, y))
    for (region, class_), points in sorted(by_look.items(), key=lambda entry: -entry[0][1]):
        drawn = dots(f"dots d{class_} {color(region)}", points)
        shapes.append(group("k", [drawn], data_r="all" if region is None else region))
    label = f"Effects of {len(features)} features on single rows, by region"
    return svg(size, label, shapes, "narrow" if is_narrow else "wide")


def _axis(
    frame: Frame, limits: tuple[float, float], title: str, number: Callable[[float], str]
) -> list[str]:
    zero = frame.x(0.0)
    shapes = [line("ax", (zero, frame.top), (zero, frame.bottom))]
    for rung in round_ticks(*limits, 5):
        x = frame.x(rung)
        shapes.append(tag("text", "", number(rung), x=x, y=frame.bottom + 16, text_anchor="middle"))
    shapes.append(tag("text", "t", title, x=frame.right, y=frame.bottom + 33, text_anchor="end"))
    return shapes


def _size(rows: int) -> int:
    """Class of a dot by its rows."""
    return sum(rows >= least for least in SIZES) - 1

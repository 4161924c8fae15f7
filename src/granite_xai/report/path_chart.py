"""Chart of the path: heterogeneity left by the number of regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from granite_xai.base.numbers import share
from granite_xai.report.chart_frame import Frame, Margins
from granite_xai.report.svg import circle, figure, line, text_at

SIZE = (460.0, 252.0)
MARGINS = Margins(left=52, right=28, top=20, bottom=52)
PERCENTAGES = (0, 25, 50, 75, 100)  # with a line across the chart
DOT_RADIUS = 3.5
RING_RADIUS = 8.0


def draw_path(path: Mapping[str, Any]) -> str:
    """Draw a path: one curve of the search rows and one of the rows left out of the search.

    Parameters
    ----------
    path : mapping
        Of the story. ``steps``: trees from the largest to one region, each with ``regions`` (how
        many), ``left`` and ``left_out`` (shares of the heterogeneity left on search rows and on
        left-out rows) and ``chosen``; ``line``: the share up to which a tree is good enough.

    Returns
    -------
    str
        An SVG figure. The chosen tree has a ring.
    """
    steps = path["steps"]
    most_regions = max(steps[0]["regions"], 2)
    frame = Frame(SIZE, MARGINS, x=(1.0, most_regions), y=(0.0, 1.0))
    shapes = _percentage_axis(frame)
    shapes.append(frame.grid_line(path["line"], "base"))
    shapes += _curve(frame, steps, "left", "gl rall", "in rall")
    shapes += _curve(frame, steps, "left_out", "ln rink", "in rink")
    for step in steps:
        x = frame.x(step["regions"])
        shapes.append(text_at(x, frame.bottom + 18, str(step["regions"]), anchor="middle"))
        if step["chosen"]:
            shapes.append(circle("arr", (x, frame.y(step["left_out"])), RING_RADIUS))
    middle = (frame.left + frame.right) / 2
    shapes.append(text_at(middle, frame.bottom + 38, "regions", "t", anchor="middle"))
    key = "left-out rows (dark), search rows (grey)"
    shapes.append(text_at(frame.right, 14.0, key, anchor="end"))
    shares = ", ".join(f"{step['regions']}: {share(step['left_out'])}" for step in steps)
    return figure(SIZE, f"Heterogeneity left by the number of regions: {shares}", shapes)


def _percentage_axis(frame: Frame) -> list[str]:
    shapes = []
    for percentage in PERCENTAGES:
        height = percentage / 100
        shapes.append(frame.grid_line(height))
        text = f"{percentage}%"
        shapes.append(text_at(frame.left - 6, frame.y(height) + 4, text, anchor="end"))
    return shapes


def _curve(
    frame: Frame, steps: list[dict[str, Any]], key: str, line_class: str, dot_class: str
) -> list[str]:
    """The shares of one kind of rows, joined by a line."""
    points = [(frame.x(step["regions"]), frame.y(step[key])) for step in steps]
    circles = [circle(dot_class, point, DOT_RADIUS) for point in points]
    return [line(line_class, *points), *circles]

"""Shapes of the charts of one feature: axes, bars of rows, curves and bands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from granite_xai.base.text import shortened, visible
from granite_xai.document.chart import ticks_along
from granite_xai.report.chart_frame import Frame, Limits, Margins
from granite_xai.report.svg import (
    Point,
    area,
    circle,
    coordinate,
    element,
    line,
    region_class,
    text_at,
)
from granite_xai.report.text_boxes import LETTER_WIDTH

Effect = dict[str, Any]
"""A feature as `effects_part.effects` tells it, prepared by `effect_charts.as_drawn`.

``effect["gone"]`` is whether the last place along the axis is that of missing values.
"""

Panel = dict[str, Any]
"""A feature in one scope, all rows or a region: one of ``effect["panels"]``, all rows first."""

NumberText = Callable[[float], str]
Span = tuple[float, float, float]  # x, upper end, lower end

SMALL_WIDTH = 150.0  # of the charts of one scope, whose points are small
MOST_LETTERS = 44  # of the name of a feature below its axis
TALLEST_BAR = 8.0  # of the bars of rows
LOWEST_BAR = 0.8
HALF_BAND = 4.0  # half the width of the band around a single point


def is_ordered(effect: Effect) -> bool:
    """Whether a line may join the values of a feature."""
    return effect["kind"] not in ("nominal", "boolean")


def frame_of(effect: Effect, size: Point, margins: Margins, limits: Limits) -> Frame:
    """The frame of a chart along a feature; single points have half a step of room around them.

    Parameters
    ----------
    effect : Effect
    size : (float, float)
        Width and height of the chart.
    margins : Margins
    limits : (float, float)
        Of the vertical axis.
    """
    first = effect["x"][0]
    last = effect["x"][-1]
    room = 0.0
    if effect["named"] or effect["style"] == "points":
        steps = max(len(effect["x"]) - 1, 1)
        room = 0.5 * (last - first or 1.0) / steps
    return Frame(size, margins, (first - room, last + room), limits, effect["log"])


def points_of(
    frame: Frame, xs: Sequence[float], ys: Sequence[float | None], shift: float = 0.0
) -> list[Point | None]:
    """Where the points of a curve lie; None where it has no value.

    Parameters
    ----------
    frame : Frame
    xs, ys : sequences
        Values of the feature and of the curve; surplus ones of the longer sequence are ignored.
    shift : float
        To the right, for points that would cover each other.
    """
    points: list[Point | None] = []
    for x, y in zip(xs, ys, strict=False):
        if y is None:
            points.append(None)
        else:
            points.append((frame.x(x) + shift, frame.y(y)))
    return points


def axes(
    frame: Frame,
    effect: Effect,
    heights: Sequence[float],
    number_text: NumberText,
    y_title: str = "",
    tick_drop: float = 21,
) -> list[str]:
    """Both axes of a chart.

    Parameters
    ----------
    frame : Frame
    effect : Effect
    heights : sequence of float
        Values of the vertical axis that have a line across the chart.
    number_text : callable
        Writes these values.
    y_title : str
        Of the vertical axis. Empty: the chart is small, and neither axis has a title.
    tick_drop : float
        From the horizontal axis down to its numbers.
    """
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.bottom))]
    for height in heights:
        shapes.append(frame.grid_line(height))
        text = number_text(height)
        shapes.append(text_at(frame.left - 5, frame.y(height) + 4, text, anchor="end"))
    width = frame.right - frame.left
    kind = "names" if effect["named"] else "dates" if effect["kind"] == "date" else "numbers"
    ticks = ticks_along(
        effect["x"],
        effect["texts"],
        width / LETTER_WIDTH,
        kind=kind,
        log=effect["log"],
        gone=effect["gone"],
        few=not y_title,
    )
    for place, text, full_text in ticks:
        x = frame.x(place)
        anchor = "middle"
        half_width = LETTER_WIDTH / 2 * len(text)
        if x + half_width > frame.width:  # it would be cut: it ends a little right of its place
            x = x + 6
            anchor = "end"
        hint = full_text if full_text != text else ""
        shapes.append(text_at(x, frame.bottom + tick_drop, text, anchor=anchor, hint=hint))
    if y_title:
        shapes.append(text_at(frame.right, frame.bottom + 38, _x_title(effect), "t", anchor="end"))
        shapes.append(text_at(0.0, 11.0, y_title, "t"))
    return shapes


def _x_title(effect: Effect) -> str:
    name = shortened(str(visible(effect["set"])), MOST_LETTERS)
    if effect["note"]:
        return f"{name} ({effect['note']})"
    return name


def row_bars(frame: Frame, effect: Effect, rows: Sequence[int], css_class: str) -> str:
    """Bars that hang from the axis and show where the rows lie; empty where there are none.

    Parameters
    ----------
    frame : Frame
    effect : Effect
    rows : sequence of int
        How many rows each bar stands for.
    css_class : str
        That colours the bars.
    """
    most_rows = max(rows, default=0)
    width = max(1.5, min(6.0, (frame.right - frame.left) / 45))
    top = coordinate(frame.bottom + 1)
    commands = []
    for middle, n_rows in zip(effect["bars"], rows, strict=True):
        if n_rows:
            left = coordinate(frame.x(middle) - width / 2)
            height = coordinate(max(TALLEST_BAR * n_rows / most_rows, LOWEST_BAR))
            across = coordinate(width)
            commands.append(f"M{left} {top}h{across}v{height}h-{across}z")
    if not commands:
        return ""
    return element("path", f"rug {css_class}", d="".join(commands))


def curve(
    frame: Frame, effect: Effect, panel: Panel, shift: float = 0.0, *, with_intervals: bool = True
) -> list[str]:
    """The mean curve of one scope.

    A line in the band of its intervals, or points with bars, which a thin line joins where their
    values have an order. Missing values are always a point of their own.

    Parameters
    ----------
    frame : Frame
    effect : Effect
    panel : Panel
        The feature in the scope.
    shift : float
        As in `points_of`.
    with_intervals : bool
        Whether intervals of the mean are drawn.
    """
    css_class = region_class(panel["region"])
    points = points_of(frame, effect["x"], panel["mean"], shift)
    n_present = len(points) - effect["gone"]  # a last place may be that of missing values
    present = points[:n_present]
    is_joined = effect["is_line"] and panel["values"] > 1
    spans: list[Span] = []
    if with_intervals:
        n_places = n_present if is_joined else len(points)
        spans = _interval_spans(frame, effect, panel, shift, n_places)
    shapes = []
    if is_joined:
        if spans:
            shapes.append(area(f"ci {css_class}", spans))
        line_class = "gl" if panel["region"] is None else "ln"
        shapes.append(line(f"{line_class} {css_class}", *present))
        single_points = points[n_present:]
    else:
        if is_ordered(effect) and len(present) > 1:
            shapes.append(line(f"conn {css_class}", *present))
        shapes += _interval_bars(spans, css_class)
        single_points = points
    radius = _point_radius(frame, effect)
    for point in single_points:
        if point is not None:
            shapes.append(circle(f"pt {css_class}", point, radius))
    return shapes


def _interval_spans(
    frame: Frame, effect: Effect, panel: Panel, shift: float, n_places: int
) -> list[Span]:
    """The intervals of the mean at those of the first places that have one."""
    spans = []
    cells = zip(effect["x"], panel["mean"], panel["half_widths"], strict=True)
    for x, mean, half_width in list(cells)[:n_places]:
        if mean is not None and half_width is not None:
            upper = frame.y(mean + half_width)
            lower = frame.y(mean - half_width)
            spans.append((frame.x(x) + shift, upper, lower))
    return spans


def _interval_bars(spans: Sequence[Span], css_class: str) -> list[str]:
    """Vertical bars, as one shape, of the intervals that have a height."""
    ends: list[Point | None] = []
    for x, upper, lower in spans:
        if upper < lower:
            ends += [(x, upper), (x, lower), None]
    if not ends:
        return []
    return [line(f"err {css_class}", *ends)]


def _point_radius(frame: Frame, effect: Effect) -> float:
    has_few_points = effect["style"] == "points" or effect["kind"] == "nominal"
    if has_few_points and frame.width > SMALL_WIDTH:
        return 3.8
    return 2.8


def ice_band(frame: Frame, effect: Effect, panel: Panel) -> list[str]:
    """Where most of the rows' own curves (ICE) run in one scope: one area, or one a point."""
    css_class = f"ice {region_class(panel['region'])}"
    spans = []
    cells = zip(effect["x"], panel["high"] or (), panel["low"] or (), strict=False)
    for x, high, low in cells:
        if high is not None:
            spans.append((frame.x(x), frame.y(high), frame.y(low)))
    if not effect["is_line"]:
        return [
            area(css_class, [(x - HALF_BAND, upper, lower), (x + HALF_BAND, upper, lower)])
            for x, upper, lower in spans
        ]
    if not spans:
        return []
    ends_with_missing = effect["gone"] and panel["mean"][-1] is not None
    if ends_with_missing:
        spans.pop()
    return [area(css_class, spans)]

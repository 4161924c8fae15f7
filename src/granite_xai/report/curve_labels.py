"""Labels beside the curves of a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from granite_xai.report.chart_frame import Frame
from granite_xai.report.label_places import BADGE_HEIGHT, BADGE_RADIUS, free_place, points_along
from granite_xai.report.svg import Point, circle, group, region_class, text_at
from granite_xai.report.text_boxes import LETTER_WIDTH, Box, text_box

MOST_RULES = 6  # curves that are labelled by their rules; more have numbers only
BADGE_ROOM = 2 * BADGE_RADIUS + 3  # from the left end of a label to its text
BOLD_LETTER_WIDTH = LETTER_WIDTH + 0.5


class LabelledCurve(NamedTuple):
    """A curve of all rows or of a region.

    Attributes
    ----------
    region : int or None
        None: all rows.
    points : list of (float, float)
        Where it has values.
    """

    region: int | None
    points: list[Point]


def curve_labels(
    frame: Frame, curves: Sequence[LabelledCurve], rules: Sequence[str], is_joined: bool
) -> list[str]:
    """Number and rule of each region beside its curve, on no other label and few curves.

    Parameters
    ----------
    frame : Frame
    curves : sequence of LabelledCurve
        All rows first.
    rules : sequence of str
        The text of each region, by its number. Empty: numbers alone.
    is_joined : bool
        Whether lines join the points of a curve.

    Returns
    -------
    list of str
        SVG shapes. A curve beside which there is no room has no label.
    """
    drawn = [curve for curve in curves if curve.points]
    all_points: list[Point] = []
    for curve in drawn:
        all_points += points_along(curve.points) if is_joined else curve.points
    shows_rules = bool(rules) and len(drawn) - 1 <= MOST_RULES
    taken: list[Box] = []
    shapes = []
    for curve in reversed(drawn):  # all rows last: its label gives way
        text = ""
        if curve.region is None:
            text = "all rows"
        elif shows_rules:
            text = rules[curve.region]
        width = _label_width(curve.region, text)
        start = free_place(frame, curve.points, width, all_points, taken)
        if start is not None:
            taken.append(text_box(*start, width))
            shapes.append(_label(curve.region, text, start))
    return shapes


def _label_width(region: int | None, text: str) -> float:
    if region is None:
        return LETTER_WIDTH * len(text)
    return BADGE_ROOM + BOLD_LETTER_WIDTH * len(text)


def _label(region: int | None, text: str, start: Point) -> str:
    x, y = start
    if region is None:
        return group("k lab", [text_at(x, y, text, "h")], data_r="all")
    middle = x + BADGE_RADIUS
    parts = [
        circle(f"badge {region_class(region)}", (middle, y - BADGE_HEIGHT), BADGE_RADIUS),
        text_at(middle, y, str(region), "h b", anchor="middle"),
    ]
    if text:
        parts.append(text_at(x + BADGE_ROOM, y, text, "h b"))
    return group("k lab", parts, data_r=region)

"""Chart of all features: how strong the average effect is, and how far single rows stray from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from granite_xai.base.numbers import amount
from granite_xai.base.text import shortened, visible
from granite_xai.document.chart import round_ticks
from granite_xai.report.chart_frame import Frame, Margins
from granite_xai.report.svg import (
    NARROW_WIDTH,
    Point,
    arrow,
    circle,
    dots,
    figure,
    group,
    line,
    region_class,
    text_at,
)
from granite_xai.report.text_boxes import MONO_LETTER_WIDTH, Box, places_around, text_box

MOST_NAMED = 12  # features that have a name and an arrow: those of more would cover each other
MOST_LETTERS = 18  # of a name
HEIGHT_SHARE = 0.78  # of the width
DOT_RADIUS = 4.2
HALF_DOT_ROOM = 5.0  # that no name covers, on each side of the middle of a dot
QUADRANTS = ("average misleads", "average is enough", "hardly matters")


class FeatureDots(NamedTuple):
    """Where a feature lies in the chart.

    Attributes
    ----------
    name : str
    on_all_rows : (float, float)
    in_regions : (float, float) or None
        None: there are no regions.
    by_node : dict
        Its place at each node of the tree, by the node's identifier.
    """

    name: str
    on_all_rows: Point
    in_regions: Point | None
    by_node: dict[str, Point]


def draw_features(
    features: Sequence[Mapping[str, Any]],
    titles: tuple[str, str],
    width: float,
    nodes: Sequence[Mapping[str, Any]],
    number_text: Callable[[float], str] = amount,
) -> str:
    """Draw features on root axes: hollow on all rows, an arrow to where they are in the regions.

    Parameters
    ----------
    features : sequence of mappings
        As `features_part.triage` has them: ``set``, ``shows`` and ``hides`` (average effect and
        heterogeneity on all rows), ``within`` (both in the regions) and ``nodes`` (both by node).
    titles : (str, str)
        Of the horizontal and the vertical axis.
    width : float
    nodes : sequence of mappings
        Of the tree (``id``, ``region``): each has dots of its own, hidden until it is chosen.
    number_text : callable
        Writes a number of the axes.

    Returns
    -------
    str
        An SVG figure.
    """
    sizes = [max(feature["shows"], feature["hides"]) for feature in features]
    largest = max(sizes, default=0.0) or 1.0
    size = (width, width * HEIGHT_SHARE)
    end = math.sqrt(largest * 1.1)
    margins = Margins(left=44, right=24, top=26, bottom=46)
    frame = Frame(size, margins, x=(0.0, end), y=(0.0, end))
    all_dots = [_dots_of(frame, feature) for feature in features]
    strongest = _strongest(features)
    shapes = _axes(frame, largest, titles, number_text)
    shapes += _quadrants(frame)
    shapes += _dots_in_regions(all_dots, strongest)
    for node in nodes:
        shapes += _dots_of_node(all_dots, node)
    for feature_dots in all_dots:
        name = feature_dots.name
        shapes.append(circle("out", feature_dots.on_all_rows, DOT_RADIUS, hint=name))
    shapes += _names(frame, all_dots, strongest)
    label = "Features by the size of their average effect and how far single rows stray from it"
    return figure(
        size,
        f"{label}; the numbers are in the table below",
        shapes,
        "narrow" if width == NARROW_WIDTH else "wide",
    )


def _dots_of(frame: Frame, feature: Mapping[str, Any]) -> FeatureDots:
    def place(average: float, stray: float) -> Point:
        return frame.x(math.sqrt(max(average, 0.0))), frame.y(math.sqrt(max(stray, 0.0)))

    has_regions = bool(feature["nodes"])
    return FeatureDots(
        name=feature["set"],
        on_all_rows=place(feature["shows"], feature["hides"]),
        in_regions=place(*feature["within"]) if has_regions else None,
        by_node={key: place(*sizes) for key, sizes in feature["nodes"].items()},
    )


def _strongest(features: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the features that have a name and an arrow in the chart, the strongest first."""
    ranked = sorted(features, key=lambda feature: -max(feature["shows"], feature["hides"]))
    return [feature["set"] for feature in ranked[:MOST_NAMED]]


def _dots_in_regions(all_dots: Sequence[FeatureDots], strongest: Sequence[str]) -> list[str]:
    """Solid dots of all features in the regions, with arrows to those of the strongest."""
    arrows = []
    solid = []
    for feature_dots in all_dots:
        end = feature_dots.in_regions
        if end is None:
            continue
        solid.append(end)
        if feature_dots.name in strongest:
            arrows.append(arrow("arr", feature_dots.on_all_rows, end))
    if not solid:
        return []
    return [group("k", [*arrows, dots("solid rink", solid)], data_node="all")]


def _dots_of_node(all_dots: Sequence[FeatureDots], node: Mapping[str, Any]) -> list[str]:
    """Solid dots of all features at a node of the tree, which are hidden until it is chosen."""
    key = node["id"]
    places = [feature_dots.by_node[key] for feature_dots in all_dots if key in feature_dots.by_node]
    if not places:
        return []
    color_class = "rink" if node["region"] is None else region_class(node["region"])
    return [group("k nodec", [dots(f"solid {color_class}", places)], data_node=key)]


def _axes(
    frame: Frame, largest: float, titles: tuple[str, str], number_text: Callable[[float], str]
) -> list[str]:
    """Numbers on both axes, their titles, and the diagonal."""
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.top))]
    # Root axes have room for small numbers, which round numbers of the whole range lack.
    near_zero = round_ticks(0.0, largest / 8, 2)[:2]
    numbers = [0.0, *near_zero, *round_ticks(0.0, largest, 4)]
    for number in dict.fromkeys(numbers):
        x = frame.x(math.sqrt(number))
        y = frame.y(math.sqrt(number))
        across = [(frame.left, y), (frame.right, y)]
        down = [(x, frame.top), (x, frame.bottom)]
        shapes.append(line("grid", *across, None, *down))
        text = number_text(number)
        shapes.append(text_at(frame.left - 5, y + 4, text, anchor="end"))
        shapes.append(text_at(x, frame.bottom + 17, text, anchor="middle"))
    x_title, y_title = titles
    shapes.append(text_at(0.0, 12.0, y_title, "t"))
    shapes.append(text_at(frame.right, frame.height - 6, x_title, "t", anchor="end"))
    return shapes


def _quadrants(frame: Frame) -> list[str]:
    """What it means to lie in a corner."""
    misleads, enough, hardly = QUADRANTS
    return [
        text_at(frame.left + 10, frame.top + 16, misleads, "quad"),
        text_at(frame.right - 6, frame.bottom - 10, enough, "quad", anchor="end"),
        text_at(frame.left + 10, frame.bottom - 10, hardly, "quad"),
    ]


def _names(frame: Frame, all_dots: Sequence[FeatureDots], strongest: Sequence[str]) -> list[str]:
    """Names of the strongest features, right beside their dots, where there is room."""
    taken = _taken_by_corners(frame)
    for feature_dots in all_dots:
        for place in (feature_dots.on_all_rows, feature_dots.in_regions):
            if place is not None:
                taken.append(_dot_box(place))
    by_name = {feature_dots.name: feature_dots.on_all_rows for feature_dots in all_dots}
    shapes = []
    for name in strongest:
        text = shortened(str(visible(name)), MOST_LETTERS, 5)
        width = MONO_LETTER_WIDTH * len(text)
        start = _free_start(frame, by_name[name], width, taken)
        if start is not None:
            taken.append(text_box(*start, width))
            shapes.append(text_at(*start, text, "h m"))
    return shapes


def _taken_by_corners(frame: Frame) -> list[Box]:
    """Room of the texts in the corners."""
    width = MONO_LETTER_WIDTH * max(map(len, QUADRANTS))
    return [
        text_box(frame.left + 10, frame.top + 16, width),
        text_box(frame.left + 10, frame.bottom - 10, width),
        text_box(frame.right - width, frame.bottom - 10, width),
    ]


def _dot_box(place: Point) -> Box:
    x, y = place
    return Box(
        left=x - HALF_DOT_ROOM,
        top=y - HALF_DOT_ROOM,
        right=x + HALF_DOT_ROOM,
        bottom=y + HALF_DOT_ROOM,
    )


def _free_start(frame: Frame, dot: Point, width: float, taken: Sequence[Box]) -> Point | None:
    """Where a name that touches a dot may begin; None: there is no room around it."""
    room = Box(frame.left + 2, frame.top - 8, frame.width - 1, frame.bottom)
    for start in places_around(dot, width):
        box = text_box(*start, width)
        if box.is_inside(room) and not box.overlaps_any(taken):
            return start
    return None

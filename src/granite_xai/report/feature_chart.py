"""Chart of all features: how strong the average effect is, and how far single rows stray from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from granite_xai.base.formats import amount
from granite_xai.base.text import shortened, visible
from granite_xai.display.axis import round_ticks
from granite_xai.report.svg import (
    LINE,
    NARROW,
    Box,
    Frame,
    Margins,
    Point,
    arrow,
    color,
    dots,
    group,
    line,
    svg,
    tag,
    text_box,
)

MONO_LETTER = 7.0  # width of a letter of a feature's name
MOST_NAMED = 12  # features that have their name beside them, where there is room
MOST_LETTERS = 18
QUADRANTS = ("average misleads", "average is enough", "hardly matters")


def scatter(
    features: Sequence[dict[str, Any]],
    titles: tuple[str, str],
    width: float,
    nodes: Sequence[dict[str, Any]],
    number: Callable[[float], str] = amount,
) -> str:
    """Features on root axes: hollow on all rows, an arrow to where they are inside the regions.

    Parameters
    ----------
    features : sequence of dicts
        With set, shows, hides, within and nodes, as the story has them.
    titles : (str, str)
        Of the horizontal and the vertical axis.
    width : float
    nodes : sequence of dicts
        Of the tree: each has dots of its own, hidden until it is chosen.
    number : callable
        Writes a number of the axes.
    """
    amounts = [feature[key] for feature in features for key in ("shows", "hides")]
    most = max(amounts, default=0.0) or 1.0
    size = (width, width * 0.78)
    top = math.sqrt(most * 1.1)
    frame = Frame(size, Margins(left=44, right=24, top=26, bottom=46), (0.0, top), (0.0, top))

    def place(shows: float, hides: float) -> Point:
        return frame.x(math.sqrt(max(shows, 0.0))), frame.y(math.sqrt(max(hides, 0.0)))

    shapes = [*_axes(frame, most, titles, number), *_quadrants(frame)]
    named = {feature["set"] for feature in _strongest(features)}
    hollow = [place(feature["shows"], feature["hides"]) for feature in features]
    inside = [(feature, start) for feature, start in zip(features, hollow, strict=True)]
    inside = [(feature, start) for feature, start in inside if feature["nodes"]]
    solid = [place(*feature["within"]) for feature, _ in inside]
    if solid:
        arrows = [
            arrow("arr", start, end)
            for (feature, start), end in zip(inside, solid, strict=True)
            if feature["set"] in named
        ]
        shapes.append(group("k", [*arrows, dots("solid rink", solid)], data_node="all"))
    for node in nodes:
        sizes = [
            feature["nodes"][node["id"]] for feature, _ in inside if node["id"] in feature["nodes"]
        ]
        if sizes:
            look = "rink" if node["region"] is None else color(node["region"])
            drawn = dots(f"solid {look}", [place(*size) for size in sizes])
            shapes.append(group("k nodec", [drawn], data_node=node["id"]))
    for feature, start in zip(features, hollow, strict=True):
        name = tag("title", "", feature["set"])
        circle = tag("circle", "out", cx=start[0], cy=start[1], r=4.2)
        shapes.append(circle.removesuffix("</circle>") + f"{name}</circle>")
    shapes += _names(frame, features, hollow, solid)
    label = "Features by the size of their average effect and how far single rows stray from it; "
    return svg(
        size,
        label + "the numbers are in the table below",
        shapes,
        "narrow" if width == NARROW else "wide",
    )


def _axes(
    frame: Frame, most: float, titles: tuple[str, str], number: Callable[[float], str]
) -> list[str]:
    """Rungs on both axes, the diagonal and titles."""
    shapes = [line("ax", (frame.left, frame.bottom), (frame.right, frame.top))]
    near_zero = round_ticks(0.0, most / 8, 2)[:2]
    for rung in dict.fromkeys([0.0, *near_zero, *round_ticks(0.0, most, 4)]):
        x = frame.x(math.sqrt(rung))
        y = frame.y(math.sqrt(rung))
        ends = [(frame.left, y), (frame.right, y), None, (x, frame.top), (x, frame.bottom)]
        shapes.append(line("grid", *ends))
        text = number(rung)
        shapes.append(tag("text", "", text, x=frame.left - 5, y=y + 4, text_anchor="end"))
        shapes.append(tag("text", "", text, x=x, y=frame.bottom + 17, text_anchor="middle"))
    shapes.append(tag("text", "t", titles[1], x=0.0, y=12.0))
    across = {"x": frame.right, "y": frame.height - 6, "text_anchor": "end"}
    shapes.append(tag("text", "t", titles[0], **across))
    return shapes


def _quadrants(frame: Frame) -> list[str]:
    """What it means to lie in a corner."""
    misleads, enough, hardly = QUADRANTS
    return [
        tag("text", "quad", misleads, x=frame.left + 10, y=frame.top + 16),
        tag("text", "quad", enough, x=frame.right - 6, y=frame.bottom - 10, text_anchor="end"),
        tag("text", "quad", hardly, x=frame.left + 10, y=frame.bottom - 10),
    ]


def _names(
    frame: Frame, features: Sequence[dict[str, Any]], hollow: list[Point], solid: list[Point]
) -> list[str]:
    """Names of the strongest features, right beside their dots, where there is room."""
    corner_width = MONO_LETTER * max(map(len, QUADRANTS))
    taken = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in [*hollow, *solid]]
    taken.append(text_box(frame.left + 10, frame.top + 16, corner_width))
    taken.append(text_box(frame.left + 10, frame.bottom - 10, corner_width))
    taken.append(text_box(frame.right - corner_width, frame.bottom - 10, corner_width))
    places = {feature["set"]: dot for feature, dot in zip(features, hollow, strict=True)}
    shapes = []
    for feature in _strongest(features):
        name = shortened(str(visible(feature["set"])), MOST_LETTERS, 5)
        width = MONO_LETTER * len(name)
        place = _beside(frame, places[feature["set"]], width, taken)
        if place is not None:
            taken.append(text_box(*place, width))
            shapes.append(tag("text", "h m", name, x=place[0], y=place[1]))
    return shapes


def _strongest(features: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Features that have a name and an arrow; many of these would cover each other."""
    ranked = sorted(features, key=lambda feature: -max(feature["shows"], feature["hides"]))
    return ranked[:MOST_NAMED]


def _beside(frame: Frame, dot: Point, width: float, taken: list[Box]) -> Point | None:
    """A free place that touches a dot: right, left, above, below, or at a corner."""
    x, y = dot
    right, left, middle = x + 7, x - 7 - width, x - width / 2
    places = [(right, y + 4), (left, y + 4), (middle, y - 8), (middle, y + LINE + 5)]
    places += [(right, y - 6), (right, y + LINE + 1), (left, y - 6), (left, y + LINE + 1)]
    for place in places:
        box = text_box(*place, width)
        inside = frame.left + 2 <= box.left and box.right <= frame.width - 1
        inside = inside and box.top >= frame.top - 8 and box.bottom <= frame.bottom
        if inside and not any(box.overlaps(other) for other in taken):
            return place
    return None

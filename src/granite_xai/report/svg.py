"""Elements of SVG figures, as text.

All text is escaped here. Shapes carry classes, which ``templates/style.css`` colours and
``templates/script.js`` shows or hides:

- colour: ``r0``, ``r1``, … a region; ``rall`` all rows; ``rx`` regions beyond the palette; ``rink`` ink;
- curves: ``ln`` of a region, ``gl`` of all rows, ``ci`` their band of intervals, ``pt`` points, ``err`` bars
  of intervals, ``conn`` a thin line between points, ``ice`` the band of the rows' own curves, ``side0`` and
  ``side1`` other explanations, ``rug`` bars that show where rows lie;
- axes: ``ax`` an axis, ``grid`` a line across, ``base`` a limit, ``cross`` the line under the pointer;
- dots: ``out`` hollow, ``in`` filled, ``solid`` and ``dots`` many as one path (``d0`` to ``d2`` by size),
  ``arr`` arrows and rings, ``badge`` the disc of a region's number;
- text: ``t`` a title, ``h`` with a halo, ``b`` bold, ``m`` a name as code, ``quad`` in a corner;
- choice of a node of the tree: ``k`` is dimmed unless it belongs to the node (``data-r``: its region),
  ``nodec`` is hidden unless it is the node's own (``data-node``);
- size of the screen: ``wide``, ``narrow``.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from granite_xai.base.text import visible
from granite_xai.document.chart import REGIONS

Point = tuple[float, float]  # from the left edge, from the top edge

NARROW_WIDTH = 358.0  # of the figures that a phone shows
SHORTEST_ARROW = 8.0  # between shapes that are nearer than this, no arrow is drawn
ARROW_GAP = 5.0  # between the tip of an arrow and the place that it points to
ARROW_HEAD = (5.0, 2.4)  # length and half the width of the head of an arrow


def coordinate(place: float) -> str:
    """A coordinate in tenths, without a trailing zero."""
    return f"{place:.1f}".removesuffix(".0")


def element(name: str, css_class: str, text: str = "", hint: str = "", **attributes: Any) -> str:
    """One element with its text.

    Parameters
    ----------
    name : str
    css_class : str
        Empty: none.
    text : str
        What stands in the element.
    hint : str
        What a pointer over it shows; empty: nothing.
    **attributes
        Underscores in their names become dashes. Those that are None are left out.
    """
    title = f"<title>{_escaped(hint)}</title>" if hint else ""
    return f"{_opening_tag(name, css_class, attributes)}{_escaped(text)}{title}</{name}>"


def text_at(
    x: float,
    y: float,
    text: str,
    css_class: str = "",
    anchor: str | None = None,
    hint: str = "",
) -> str:
    """A line of text.

    Parameters
    ----------
    x, y : float
        Where its baseline begins, or what ``anchor`` says.
    text : str
    css_class : str
    anchor : "middle", "end" or None
        The part of the text that stands at x; None: its beginning.
    hint : str
        What a pointer over it shows.
    """
    return element("text", css_class, text, hint, x=x, y=y, text_anchor=anchor)


def circle(css_class: str, center: Point, radius: float, hint: str = "") -> str:
    """A circle around a point."""
    x, y = center
    return element("circle", css_class, hint=hint, cx=x, cy=y, r=radius)


def group(css_class: str, shapes: Sequence[str], **attributes: Any) -> str:
    """Several elements in one."""
    return f"{_opening_tag('g', css_class, attributes)}{''.join(shapes)}</g>"


def figure(
    size: Point, label: str, shapes: Sequence[str], css_class: str = "", **attributes: Any
) -> str:
    """A whole figure.

    Parameters
    ----------
    size : (float, float)
        Width and height.
    label : str
        What it shows, for those who do not see it.
    shapes : sequence of str
        Its elements.
    css_class : str
        Beside the class of all figures.
    **attributes
        As in `element`.
    """
    width, height = size
    opening_tag = _opening_tag(
        "svg",
        f"chart {css_class}".strip(),
        {
            "role": "img",
            "aria_label": label,
            "viewBox": f"0 0 {coordinate(width)} {coordinate(height)}",
            **attributes,
        },
    )
    return f"{opening_tag}{''.join(shapes)}</svg>"


def _opening_tag(name: str, css_class: str, attributes: dict[str, Any]) -> str:
    parts = [name]
    if css_class:
        parts.append(f'class="{css_class}"')
    for key, value in attributes.items():
        if value is None:
            continue
        text = coordinate(value) if isinstance(value, float) else str(value)
        parts.append(f'{key.replace("_", "-")}="{_escaped(text)}"')
    return f"<{' '.join(parts)}>"


def _escaped(text: str) -> str:
    return html.escape(str(visible(text)))


def path_data(points: Sequence[Point | None]) -> str:
    """The way through points, as the attribute ``d`` says it; broken at None."""
    commands = []
    is_joined = False
    for point in points:
        if point is None:
            is_joined = False
            continue
        x, y = point
        letter = "L" if is_joined else "M"
        commands.append(f"{letter}{coordinate(x)} {coordinate(y)}")
        is_joined = True
    return "".join(commands)


def line(css_class: str, *points: Point | None, **attributes: Any) -> str:
    """A line through points, broken at None."""
    return element("path", css_class, d=path_data(points), **attributes)


def area(css_class: str, spans: Sequence[tuple[float, float, float]]) -> str:
    """The area between two lines.

    Parameters
    ----------
    css_class : str
    spans : sequence of (x, upper, lower)
        The ends of the area at each x, from left to right.
    """
    upper_line = [(x, upper) for x, upper, _ in spans]
    lower_line = [(x, lower) for x, _, lower in reversed(spans)]
    return element("path", css_class, d=path_data([*upper_line, *lower_line]) + "Z")


def dots(css_class: str, points: Sequence[Point]) -> str:
    """Many dots as one path, at whole places; their size is the width of its round line."""
    commands = [f"M{x:.0f} {y:.0f}h0" for x, y in points]
    return element("path", css_class, d="".join(commands))


def arrow(css_class: str, start: Point, end: Point) -> str:
    """A thin line with a head shortly before its end; nothing where start and end touch."""
    across = end[0] - start[0]
    down = end[1] - start[1]
    length = math.hypot(across, down)
    if length < SHORTEST_ARROW:
        return ""
    across /= length
    down /= length
    head_length, half_width = ARROW_HEAD
    tip = (end[0] - ARROW_GAP * across, end[1] - ARROW_GAP * down)
    back = (tip[0] - head_length * across, tip[1] - head_length * down)
    barb = (back[0] - half_width * down, back[1] + half_width * across)
    other_barb = (back[0] + half_width * down, back[1] - half_width * across)
    return line(css_class, start, tip, None, barb, tip, other_barb)


def region_class(region: int | None) -> str:
    """The class that colours a region; None: all rows.

    Regions beyond the palette share the grey of all rows.
    """
    if region is None:
        return "rall"
    if region >= len(REGIONS):
        return "rx"
    return f"r{region}"

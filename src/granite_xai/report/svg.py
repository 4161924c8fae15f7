"""Elements of SVG figures: plain shapes with classes, which the page's style colours.

Text is escaped here.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from granite_xai.base.text import visible
from granite_xai.display.palette import REGIONS

Limits = tuple[float, float]
Point = tuple[float, float]

NARROW = 358.0  # width of the figures that a phone shows
LETTER = 6.4  # width of a letter of the small text of figures
LINE = 13.0  # height of a line of it


class Margins(NamedTuple):
    """Room around a plot."""

    left: float
    right: float
    top: float
    bottom: float


class Frame:
    """A figure's size, the edges of its plot, and where values lie in it.

    Values beyond the limits lie at the edge.

    Parameters
    ----------
    size : (float, float)
        Width and height of the figure.
    margins : Margins
    x, y : (float, float)
        Values at the edges of the plot.
    log : bool
        Whether x is on a logarithmic scale.
    """

    def __init__(
        self, size: Point, margins: Margins, x: Limits, y: Limits, log: bool = False
    ) -> None:
        self.width, self.height = size
        self.left = margins.left
        self.right = self.width - margins.right
        self.top = margins.top
        self.bottom = self.height - margins.bottom
        self._x_limits = x
        self._y_limits = y
        self._log = log

    def x(self, value: float) -> float:
        """Where a value lies from left to right."""
        low, high = self._x_limits
        if self._log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return _between(value, (low, high), (self.left, self.right))

    def y(self, value: float) -> float:
        """Where a value lies from the bottom to the top."""
        return _between(value, self._y_limits, (self.bottom, self.top))


def _between(value: float, limits: Limits, ends: Limits) -> float:
    low, high = limits
    share = (value - low) / (high - low or 1.0)
    share = min(max(share, 0.0), 1.0)
    return ends[0] + share * (ends[1] - ends[0])


def short(place: float) -> str:
    """A coordinate in tenths."""
    return f"{place:.1f}".removesuffix(".0")


def tag(name: str, look: str, text: str = "", **attributes: Any) -> str:
    """One element; underscores in names of attributes are dashes, attributes that are None go."""
    return f"{_opened(name, look, attributes)}{_escaped(text)}</{name}>"


def group(look: str, shapes: Sequence[str], **attributes: Any) -> str:
    """Several elements in one."""
    return f"{_opened('g', look, attributes)}{''.join(shapes)}</g>"


def svg(size: Point, label: str, shapes: Sequence[str], look: str = "", **attributes: Any) -> str:
    """A figure with a text for those who do not see it."""
    box = f"0 0 {short(size[0])} {short(size[1])}"
    opened = _opened(
        "svg",
        f"chart {look}".strip(),
        {"role": "img", "aria_label": label, "viewBox": box, **attributes},
    )
    return f"{opened}{''.join(shapes)}</svg>"


def _opened(name: str, look: str, attributes: dict[str, Any]) -> str:
    cells = [f'class="{look}"'] if look else []
    for key, value in attributes.items():
        if value is not None:
            text = short(value) if isinstance(value, float) else str(value)
            cells.append(f'{key.replace("_", "-")}="{_escaped(text)}"')
    return f"<{' '.join([name, *cells])}>"


def _escaped(text: str) -> str:
    return html.escape(str(visible(text)))


def path(points: Sequence[Point | None]) -> str:
    """A path through points, broken where there is none."""
    steps = []
    joined = False
    for point in points:
        if point is not None:
            letter = "L" if joined else "M"
            steps.append(f"{letter}{short(point[0])} {short(point[1])}")
        joined = point is not None
    return "".join(steps)


def line(look: str, *points: Point | None, **attributes: Any) -> str:
    """A line through points."""
    return tag("path", look, d=path(points), **attributes)


def area(look: str, bars: Sequence[tuple[float, float, float]]) -> str:
    """The area between upper and lower ends along an axis: (x, upper, lower)."""
    upper = [(x, high) for x, high, _ in bars]
    lower = [(x, low) for x, _, low in reversed(bars)]
    return tag("path", look, d=path([*upper, *lower]) + "Z")


def dots(look: str, points: Sequence[Point]) -> str:
    """Many dots as one path, at whole places; their size is the width of its round line."""
    return tag("path", look, d="".join(f"M{x:.0f} {y:.0f}h0" for x, y in points))


def color(region: int | None) -> str:
    """The class that colours a region; those beyond the palette share the grey of all rows."""
    if region is None:
        return "rall"
    return f"r{region}" if region < len(REGIONS) else "rx"


def arrow(look: str, start: Point, end: Point) -> str:
    """A thin line with a head at its end; nothing where both ends touch."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(across, down)
    if length < 8:
        return ""
    across, down = across / length, down / length
    tip = (end[0] - 5 * across, end[1] - 5 * down)
    back = (tip[0] - 5 * across, tip[1] - 5 * down)
    left = (back[0] - 2.4 * down, back[1] + 2.4 * across)
    right = (back[0] + 2.4 * down, back[1] - 2.4 * across)
    return line(look, start, tip, None, left, tip, right)


class Box(NamedTuple):
    """Room that something takes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes have common room."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, point: Point) -> bool:
        """Whether a point lies inside."""
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom


def text_box(x: float, y: float, width: float) -> Box:
    """The room of a line of text that begins at a place, y being its baseline."""
    return Box(left=x, top=y - LINE + 3, right=x + width, bottom=y + 3)

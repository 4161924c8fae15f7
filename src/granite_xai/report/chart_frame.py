"""The frame of a chart: its size, the edges of its plot, and where values lie in it."""

from __future__ import annotations

import math
from typing import NamedTuple

from granite_xai.report.svg import Point, line

Limits = tuple[float, float]


class Margins(NamedTuple):
    """Room around a plot."""

    left: float
    right: float
    top: float
    bottom: float


class Frame:
    """The plot of a chart, and where values lie in it.

    Values beyond the limits lie at the edge.

    Parameters
    ----------
    size : (float, float)
        Width and height of the figure.
    margins : Margins
    x, y : (float, float)
        Values at the edges of the plot: left and right, bottom and top.
    log : bool
        Whether x is on a logarithmic scale.

    Attributes
    ----------
    width, height : float
        Of the figure.
    left, right, top, bottom : float
        Where the edges of the plot lie, from the upper left corner of the figure.
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
            value = math.log(value)
            low = math.log(low)
            high = math.log(high)
        return _interpolated(value, (low, high), (self.left, self.right))

    def y(self, value: float) -> float:
        """Where a value lies from the bottom to the top."""
        return _interpolated(value, self._y_limits, (self.bottom, self.top))

    def grid_line(self, value: float, css_class: str = "grid") -> str:
        """A horizontal line through the plot at a value."""
        y = self.y(value)
        return line(css_class, (self.left, y), (self.right, y))


def _interpolated(value: float, limits: Limits, places: Limits) -> float:
    """The place of a value, where the places of its limits are known."""
    low, high = limits
    share = (value - low) / (high - low or 1.0)
    share = min(max(share, 0.0), 1.0)
    first, last = places
    return first + share * (last - first)

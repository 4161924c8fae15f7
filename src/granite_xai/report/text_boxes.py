"""Room that texts of a chart take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from granite_xai.report.svg import Point

LETTER_WIDTH = 6.4  # of the small text of figures
MONO_LETTER_WIDTH = 7.0  # of a name of a feature, which is set as code
LINE_HEIGHT = 13.0  # of the small text
BELOW_BASELINE = 3.0  # that letters such as g reach down


class Box(NamedTuple):
    """Room that something takes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes have common room."""
        overlaps_across = self.left < other.right and other.left < self.right
        overlaps_down = self.top < other.bottom and other.top < self.bottom
        return overlaps_across and overlaps_down

    def overlaps_any(self, others: Sequence[Box]) -> bool:
        """Whether a box has room in common with one of several others."""
        return any(self.overlaps(other) for other in others)

    def holds(self, point: Point) -> bool:
        """Whether a point lies inside."""
        x, y = point
        return self.left < x < self.right and self.top < y < self.bottom

    def is_inside(self, other: Box) -> bool:
        """Whether a box lies in another one, whose edges it may touch."""
        fits_across = other.left <= self.left and self.right <= other.right
        fits_down = other.top <= self.top and self.bottom <= other.bottom
        return fits_across and fits_down


def text_box(x: float, y: float, width: float) -> Box:
    """The room of a line of text.

    Parameters
    ----------
    x, y : float
        Where its baseline begins.
    width : float
    """
    bottom = y + BELOW_BASELINE
    return Box(left=x, top=bottom - LINE_HEIGHT, right=x + width, bottom=bottom)


def places_around(dot: Point, width: float) -> list[Point]:
    """Where a line of text may begin that touches a dot, the best place first.

    Beside the dot (right, left), above, below, and at its corners.

    Parameters
    ----------
    dot : (float, float)
    width : float
        Of the text.
    """
    x, y = dot
    right = x + 7
    left = x - 7 - width
    middle = x - width / 2
    return [
        (right, y + 4),
        (left, y + 4),
        (middle, y - 8),
        (middle, y + LINE_HEIGHT + 5),
        (right, y - 6),
        (right, y + LINE_HEIGHT + 1),
        (left, y - 6),
        (left, y + LINE_HEIGHT + 1),
    ]

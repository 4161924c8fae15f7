"""Influences of features and pairs as a network: discs on a circle, and lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from granite_xai.base.text import wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.display.figures import SMALL, drawn_labels
from granite_xai.document.chart import BLACK, BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST_LINE = 9.0
"""Points, of the strongest pair."""

LARGEST_DISC = 900.0
"""Square points, of the strongest feature."""

LINE_ALPHA = 0.55


class LargestInfluences(NamedTuple):
    """The largest influence of a feature alone and of a pair, over all panels."""

    alone: float
    together: float


def draw_network(
    ax: Axes, names: Sequence[str], matrix: FloatArray, largest: LargestInfluences
) -> None:
    """Draw features as discs whose area, pairs as lines whose width is proportional to the influence.

    Parameters
    ----------
    ax : Axes
    names : sequence of str
        The features.
    matrix : array of shape (features, features)
        Influences of features alone on the diagonal, of pairs beside it.
    largest : LargestInfluences
        What has the largest disc and the widest line.
    """
    ax.set_axis_off()
    ax.set_aspect("equal")
    n_features = len(names)
    angles = np.pi / 2 - 2 * np.pi * np.arange(n_features) / n_features  # from the top, clockwise
    places = np.column_stack([np.cos(angles), np.sin(angles)])  # (features, 2)
    colors = np.where(matrix >= 0, BLUE, ORANGE)
    for first, second in combinations(range(n_features), 2):
        ax.plot(
            places[[first, second], 0],
            places[[first, second], 1],
            color=str(colors[first, second]),
            linewidth=WIDEST_LINE * abs(matrix[first, second]) / largest.together,
            alpha=LINE_ALPHA,
            solid_capstyle="round",
            zorder=1,
        )
    areas = LARGEST_DISC * np.abs(np.diag(matrix)) / largest.alone
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=areas,
        color=np.diag(colors).tolist(),
        edgecolor="white",
        linewidth=0.8,
        zorder=2,
    )
    ax.scatter(places[:, 0], places[:, 1], s=8, color=BLACK, zorder=3)
    _write_names(ax, names, places, radii=np.sqrt(areas / np.pi))


def _write_names(ax: Axes, names: Sequence[str], places: FloatArray, radii: FloatArray) -> None:
    """Write the names outside the discs, and leave room for them."""
    labels = [wrapped(name, 14, 4) for name in drawn_labels(list(names), 32)]
    for (x, y), radius, label in zip(places, radii, labels, strict=True):
        distance = radius + 4.0  # points from the centre of the disc
        ax.annotate(
            label,
            (x, y),
            xytext=(distance * x, distance * y),
            textcoords="offset points",
            ha=_horizontal_alignment(x),
            va=_vertical_alignment(y),
            fontsize=SMALL,
            zorder=4,
        )
    lines = [line for label in labels for line in label.split("\n")]
    n_letters = max(len(line) for line in lines)
    n_breaks = max(label.count("\n") for label in labels)
    half_width = 1.3 + 0.08 * n_letters
    half_height = 1.45 + 0.22 * n_breaks
    ax.set(xlim=(-half_width, half_width), ylim=(-half_height, half_height))


def _horizontal_alignment(x: float) -> str:
    if abs(x) < 0.25:
        return "center"
    return "left" if x > 0 else "right"


def _vertical_alignment(y: float) -> str:
    if y > 0.9:
        return "bottom"
    return "top" if y < -0.9 else "center"

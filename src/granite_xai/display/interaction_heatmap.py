"""Influences of features and pairs as a heat map: features on the diagonal, pairs below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.display.figures import SMALL, drawn_labels
from granite_xai.document.chart import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_NAME = 20
"""Characters of a name beside a heat map."""

MOST_NUMBERED = 10
"""Features of a heat map whose cells have numbers; more would not be legible."""

UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def draw_heatmaps(
    axes: Sequence[Axes],
    names: Sequence[str],
    matrices: FloatArray,
    *,
    largest: float,
    signed: bool,
    columns: int,
) -> Any:
    """Draw one heat map a panel, with the same colours in all of them.

    Parameters
    ----------
    axes : sequence of Axes
    names : sequence of str
        The features.
    matrices : array of shape (panels, features, features)
    largest : float
        Influence of the strongest colour.
    signed : bool
        Whether influences may be negative.
    columns : int
        Panels side by side: only those at the edges name the features.

    Returns
    -------
    object
        What a colour bar explains.
    """
    from matplotlib.colors import FuncNorm

    is_shown = np.tri(len(names), dtype=bool)
    labels = drawn_labels(list(names), LONGEST_NAME)
    places = range(len(names))
    for place, (ax, matrix) in enumerate(zip(axes, matrices, strict=True)):
        # Pairs are mostly much weaker than features alone: colour grows with the root of an
        # influence, and the numbers say how large it is.
        norm = FuncNorm(
            (_signed_root, _signed_square), vmin=-largest if signed else 0.0, vmax=largest
        )
        ax.imshow(
            np.where(is_shown, matrix, np.nan),
            cmap="PuOr" if signed else "Blues",
            norm=norm,
            aspect="equal",
        )
        ax.set_xticks(places, labels, rotation=90, fontsize=SMALL)
        ax.set_yticks(places, labels, fontsize=SMALL)
        is_first_of_line = place % columns == 0
        is_in_last_line = place + columns >= len(axes)
        ax.tick_params(length=0, labelleft=is_first_of_line, labelbottom=is_in_last_line)
        ax.spines[:].set_visible(False)
        if len(names) <= MOST_NUMBERED:
            _write_numbers(ax, matrix, largest)
    return axes[0].images[0]


def _signed_root(values: FloatArray) -> FloatArray:
    return np.sign(values) * np.sqrt(np.abs(values))


def _signed_square(values: FloatArray) -> FloatArray:
    return np.sign(values) * np.square(values)


def _write_numbers(ax: Axes, matrix: FloatArray, largest: float) -> None:
    """Write the influence into each cell that is shown."""
    for line, column in np.argwhere(np.tri(len(matrix), dtype=bool)).tolist():
        value = matrix[line, column]
        is_dark = abs(value) > 0.4 * largest
        ax.text(
            column,
            line,
            cell_text(value, largest),
            ha="center",
            va="center",
            fontsize=5.5,
            color="white" if is_dark else BLACK,
        )


def cell_text(value: float, largest: float) -> str:
    """A number short enough for a cell; nothing where it is too small to matter.

    Parameters
    ----------
    value : float
    largest : float
        The largest number of all cells.
    """
    if abs(value) < 0.01 * largest:
        return ""
    size, letter = UNITS[-1]
    for unit in UNITS:
        if abs(value) >= unit[0]:
            size, letter = unit
            break
    number = value / size
    return f"{number:.2g}{letter}" if abs(number) < 100 else f"{number:.0f}{letter}"

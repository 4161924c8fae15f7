"""One panel of effects: thin lines, thick lines, points, and bars for the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.display.figures import tidy
from granite_xai.display.lines import Line
from granite_xai.display.places import MISSING
from granite_xai.display.style import BLACK, GREY, PALE, SIDES, SMALL
from granite_xai.display.words import familiar, percent, rows_of, safe, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEANING = {"curve": "{}: one line a row", "line": "{}", "points": "{}: one point a row; line: their mean"}
AVERAGE = {
    "pdp": "PDP: average over the rows",
    "mplot": "M-plot: average over rows with a similar value",
    "ale": "ALE: average changes, added up",
    "local-change": "local changes: one row across its interval",
}


def draw_panel(ax: Axes, panel: Any, names: Sequence[str]) -> None:
    """Draw what a panel holds."""
    tidy(ax)
    ax.axhline(0.0, color=PALE, linewidth=0.8, zorder=0)
    for line in panel.lines:
        if line.shape == "bars":
            _bars(ax, line)
        else:
            _line(ax, line, color_of(names, line.explanation))
    panel.places.dress(ax)
    if not any(line.shape != "bars" for line in panel.lines):
        ax.text(
            0.5, 0.5, "nominal: no order to move along", transform=ax.transAxes, ha="center", color=GREY, fontsize=SMALL
        )
    ax.set_title(panel_title(panel.area), fontsize=8.5, loc="left")
    if panel.disagreement == panel.disagreement:
        text = f"disagreement per row {percent(panel.disagreement)}"
        ax.text(0.98, 0.985, text, transform=ax.transAxes, ha="right", va="top", fontsize=SMALL, color=BLACK)


def panel_title(area: Any, width: int = 36) -> str:
    """What a panel is about: all rows, or a region's number, rows and rule (the frame has it in full)."""
    if area.region is None:
        return f"All rows · {rows_of(len(area.rows))}"
    return f"Region {area.region} · {rows_of(len(area.rows))}\n{wrapped(safe(area.rule), width, 3)}"


def color_of(names: Sequence[str], name: str) -> str:
    """Color of an explanation: the first is blue, the second orange."""
    return SIDES[list(names).index(name) % len(SIDES)]


def _bars(ax: Axes, line: Line) -> None:
    """Shares of rows as bars along the lower edge; the tallest of a panel takes an eighth of its height."""
    heights = line.y / max(float(line.y.max(initial=0.0)), 1e-300) * 0.12
    ends = line.x if line.end is None else line.end
    ax.bar(
        line.x,
        heights,
        width=ends - line.x,
        align="edge",
        color=PALE,
        edgecolor="white",
        linewidth=0.4,
        transform=ax.get_xaxis_transform(),
        zorder=1,
        label="_rows",
    )


def _line(ax: Axes, line: Line, color: str) -> None:
    gone = np.array([level == MISSING for level in line.levels], dtype=bool)
    for part, alone in ((~gone, not line.joined), (gone, True)):
        if part.any():
            ax.plot(line.x[part], line.y[part], **_look(line, color, alone or part.sum() == 1))


def _look(line: Line, color: str, alone: bool) -> dict[str, Any]:
    common: dict[str, Any] = {"color": color, "label": f"_{line.shape} {line.explanation}"}
    if line.shape == "points":
        return {**common, "linestyle": "none", "marker": "o", "markersize": 2.6, "alpha": 0.45, "zorder": 2}
    if line.shape == "curve":
        style = {"linestyle": "none", "marker": "_", "markersize": 9} if alone else {"linestyle": "-"}
        return {**common, **style, "linewidth": 0.6, "alpha": 0.35, "zorder": 2}
    style = {"linestyle": "none", "marker": "o", "markersize": 6.5} if alone else {"linestyle": "-"}
    return {**common, **style, "linewidth": 2.6, "zorder": 3, "markeredgecolor": "white", "markeredgewidth": 0.8}


def handles(names: Sequence[str], lines: Sequence[Line]) -> list[Any]:
    """What the legend shows: every explanation once, and the bars."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found: list[Any] = []
    look: dict[str, Any]
    for name in names:
        shapes = [line.shape for line in lines if line.explanation == name] or ["line"]
        line = next((line for line in lines if line.explanation == name), None)
        look = _look(line, color_of(names, name), False) if line is not None else {"color": color_of(names, name)}
        look.update(label=AVERAGE.get(name) or MEANING[shapes[0]].format(familiar(name)), alpha=0.8)
        found.append(Line2D([], [], **{**look, "linewidth": 1.2 if shapes[0] == "curve" else 2.6}))
    return [*found, Patch(color=PALE, label="where the rows lie")]

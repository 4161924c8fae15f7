"""Where panels are drawn (a new figure, the place of one given Axes, or one Axes a panel), and what they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.wording import drawable, rows_of, wrapped
from granite_xai.display.style import LARGE, SMALL
from granite_xai.tables import frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from granite_xai.scopes import Scope
    from granite_xai.tables import Table

MEASURES = {"local": "mean size of the effect", "sensitivity": "variance of the prediction", "risk": "loss saved"}
"""What an influence is measured in, by behavior."""
MOST_COLUMNS = 5
"""Panels side by side; further ones go to the next line."""


@dataclass(eq=False)
class Drawn:
    """What every display keeps once it is drawn.

    Attributes
    ----------
    figure_ : Figure
    axes_ : array of Axes
    ax_ : Axes
        The one that was given, otherwise the first.
    """

    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    def _keep(self, drawn: Sheet, ax: Any, shape: tuple[int, ...] = (-1,)) -> None:
        """Remember where it was drawn, with names kept away from TeX."""
        drawn.settle()
        self.figure_, self.axes_ = drawn.figure, np.array(drawn.axes, dtype=object).reshape(shape)
        self.ax_ = drawn.axes[0] if ax is None or not hasattr(ax, "figure") else ax


@dataclass(frozen=True, slots=True)
class Sheet:
    """The Axes of some panels.

    Parameters
    ----------
    figure : Figure
    axes : Axes in the order of the panels
    lines, columns : the grid they form
    own : bool
        Whether the figure is ours, with room around the panels for a title and a legend.
    """

    figure: Figure | SubFigure
    axes: tuple[Axes, ...]
    lines: int
    columns: int
    own: bool

    def first_of_line(self, panel: int) -> bool:
        """Whether nothing stands to the left of a panel."""
        return panel % self.columns == 0

    def last_of_column(self, panel: int) -> bool:
        """Whether nothing stands below a panel."""
        return panel + self.columns >= len(self.axes)

    def headline(self, text: str) -> None:
        """One sentence above all panels; a figure that was given keeps the user's own."""
        if self.own:
            self.figure.suptitle(text, fontsize=LARGE, x=0.01, ha="left", wrap=True)

    def legend(self, handles: Sequence[Any]) -> None:
        """Explain colors below the panels, or inside the first one where the figure is the user's."""
        if not handles:
            return
        if self.own:
            longest = max(len(line) for handle in handles for line in str(handle.get_label()).split("\n"))
            inches = 0.075 * longest + 0.7
            columns = min(len(handles), max(1, int(self.figure.get_figwidth() / inches)))  # type: ignore[union-attr]
            self.figure.legend(
                handles=handles, loc="outside lower center", ncols=columns, fontsize=SMALL + 1, frameon=False
            )
        else:
            _legend_below(self.axes[0], handles)

    def settle(self) -> None:
        """Keep names away from TeX, where an underscore would end the drawing (S05)."""
        from matplotlib import rcParams
        from matplotlib.text import Text

        if not rcParams["text.usetex"]:
            return
        owners = [self.figure] if self.own else list(self.axes)
        for text in (text for owner in owners for text in owner.findobj(Text)):
            text.set_usetex(False)


def _legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """Under the panel and the names on its axis, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    turned = any(label.get_rotation() for label in ax.get_xticklabels())
    down = ScaledTranslation(0, -(80 if turned else 30) / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles=handles,
        fontsize=SMALL,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=ax.transAxes + down,
        borderaxespad=0.0,
        frameon=False,
    )


def grid_of(count: int, most: int = MOST_COLUMNS) -> tuple[int, int]:
    """Lines and columns for some panels, as even as can be.

    >>> grid_of(3), grid_of(9)
    ((1, 3), (2, 5))
    """
    lines = math.ceil(count / most)
    return lines, math.ceil(count / lines)


def sheet(ax: Any, count: int, grid: tuple[int, int], size: tuple[float, float], places: Sequence[int]) -> Sheet:
    """Make or take the Axes of some panels.

    Parameters
    ----------
    ax : None, Axes or array of Axes
        None: a new figure with constrained layout. One Axes: drawn on if there is one panel, otherwise its place is
        divided. Several: one a panel.
    count : int
        Panels.
    grid : (lines, columns)
    size : (width, height) in inches of a new figure
    places : (count,) int
        Place of each panel in the grid, line by line.
    """
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)  # type: ignore[union-attr, call-arg]
        spec = figure.add_gridspec(*grid)
        return Sheet(figure, _filled(figure, spec, grid, places), *grid, own=True)
    if isinstance(ax, Axes):
        if count == 1:
            return Sheet(ax.figure, (ax,), 1, 1, own=False)
        return Sheet(ax.figure, _filled(ax.figure, _place(ax, grid), grid, places), *grid, own=False)
    return _given(ax, count, grid)


def _given(ax: Any, count: int, grid: tuple[int, int]) -> Sheet:
    from matplotlib.axes import Axes

    axes = np.asarray(ax, dtype=object).ravel().tolist()
    if len(axes) != count or not all(isinstance(one, Axes) for one in axes):
        raise InputError(
            f"ax holds {len(axes)} Axes; there are {count} panels.",
            code="P02",
            argument="ax",
            hint="Pass None, one Axes, or one Axes a panel.",
        )
    return Sheet(axes[0].figure, tuple(axes), *grid, own=False)


def _place(ax: Axes, grid: tuple[int, int]) -> Any:
    """The place of an Axes, divided; the Axes itself stays as an empty frame of it."""
    ax.set_axis_off()
    spec = ax.get_subplotspec()
    if spec is not None:
        arranged = ax.figure.get_layout_engine() is not None
        return spec.subgridspec(*grid) if arranged else spec.subgridspec(*grid, wspace=0.12, hspace=0.8)
    box = ax.get_position()
    return ax.figure.add_gridspec(*grid, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1, wspace=0.12, hspace=0.8)


def _filled(figure: Any, spec: Any, grid: tuple[int, int], places: Sequence[int]) -> tuple[Axes, ...]:
    return tuple(figure.add_subplot(spec[divmod(place, grid[1])]) for place in places)


def tidy(ax: Axes) -> None:
    """Only the axes that carry numbers."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=SMALL)


def panel_title(scope: Scope, width: int = 36) -> str:
    """What a panel is about: all rows, or a region's number, rows and rule (the frame has it in full)."""
    if scope.region is None:
        return f"All rows · {rows_of(len(scope.rows))}"
    return f"Region {scope.region} · {rows_of(len(scope.rows))}\n{wrapped(drawable(scope.rule), width, 3)}"


def frame_of(keys: Sequence[str], lines: Iterable[Sequence[Any]], like: Table) -> Any:
    """Lines of cells as a table, in the library of X."""
    every = list(lines)
    return frame({key: [line[i] for line in every] for i, key in enumerate(keys)}, like=like)

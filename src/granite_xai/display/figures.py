"""Where panels are drawn (a new figure, the place of one given Axes, or one Axes a panel), and what they share.

Color is the region, and nothing else: the rest is ink, grey, or another dash. Pictures and pages share the palette; its
colors stay apart, from each other and from the grey of all rows, for readers of any color vision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import drawable, wrapped
from granite_xai.base.wording import rows_of
from granite_xai.results.scopes import Scope
from granite_xai.tables import Table, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure, SubFigure
else:
    Axes = Any

BLUE, ORANGE, BLACK, GREY, PALE = "#0072B2", "#D55E00", "#222222", "#8C8C8C", "#D9D9D9"
_LIGHT = ("#2a83ee", "#8f4200", "#35835a", "#ad3fa9", "#bd8600", "#265267", "#371a7d", "#670325")
_DARK = ("#3f9bff", "#f9761f", "#9df3df", "#d9a3b8", "#ebe02a", "#35d0fb", "#a056cc", "#bb5438")
REGIONS = tuple(
    zip(_LIGHT, _DARK, strict=True)
)  # colors of the regions by number, on white and on dark paper
EVERYONE = ("#8d9298", "#7d848b")  # the same of all rows, and of regions beyond the palette
PATTERNS = (
    "",
    "///",
    "...",
    "xxx",
)  # where areas have more regions than colors, these repeat with a pattern
SIDES = (BLACK, GREY)  # first and second explanation of a question, where no region is drawn
SMALL, LARGE = 7.5, 11.0  # sizes of text, in points
MOST_COLUMNS = 5  # panels side by side; further ones go to the next line


@dataclass(eq=False)
class Drawn:
    """What every display keeps once it is drawn: its figure, its Axes, and the one given (otherwise the first)."""

    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    def _keep(
        self, drawn: Sheet, ax: Any, headline: str, legend: Sequence[Any] = (), shape: Any = -1
    ) -> Self:
        """Write headline and legend, remember where it was drawn, and return the display."""
        drawn.finish(headline, legend)
        self.figure_, self.axes_ = drawn.figure, np.array(drawn.axes, dtype=object).reshape(shape)
        self.ax_ = drawn.axes[0] if ax is None or not hasattr(ax, "figure") else ax
        return self


@dataclass(frozen=True, slots=True)
class Sheet:
    """The Axes of some panels; ``own``: the figure is ours, with room around the panels for a title and a legend."""

    figure: Figure | SubFigure
    axes: tuple[Axes, ...]
    columns: int
    own: bool

    def finish(self, headline: str, handles: Sequence[Any]) -> None:
        """A sentence above all panels, unless the figure is the user's, and what explains the colors below them."""
        from matplotlib import rcParams
        from matplotlib.text import Text
        from matplotlib.transforms import ScaledTranslation

        if self.own:
            self.figure.suptitle(headline, fontsize=LARGE, x=0.01, ha="left", wrap=True)
        if handles and self.own:
            longest = max(
                len(line) for handle in handles for line in str(handle.get_label()).split("\n")
            )
            inches = 0.075 * longest + 0.7
            columns = min(len(handles), max(1, int(self.figure.get_figwidth() / inches)))  # type: ignore[union-attr]
            place: dict[str, Any] = {
                "loc": "outside lower center",
                "fontsize": SMALL + 1,
                "frameon": False,
            }
            self.figure.legend(handles=handles, ncols=columns, **place)
        elif handles:  # under the panel and the names on its axis, where it hides nothing
            ax = self.axes[0]
            turned = any(label.get_rotation() for label in ax.get_xticklabels())
            down = ScaledTranslation(0, -(80 if turned else 30) / 72, ax.figure.dpi_scale_trans)
            place = {
                "loc": "upper left",
                "bbox_to_anchor": (0.0, 0.0),
                "bbox_transform": ax.transAxes + down,
            }
            ax.legend(handles=handles, fontsize=SMALL, borderaxespad=0.0, frameon=False, **place)
        if rcParams["text.usetex"]:  # where an underscore in a name would end the drawing (S05)
            for owner in [self.figure] if self.own else self.axes:
                for text in owner.findobj(Text):
                    text.set_usetex(False)


def region_color(region: int | None) -> str:
    """Color of a region on white paper; None: all rows."""
    return EVERYONE[0] if region is None or region >= len(REGIONS) else REGIONS[region][0]


def region_style(number: int) -> dict[str, Any]:
    """Color and pattern of a region in an area."""
    turn, place = divmod(number, len(REGIONS))
    return {"facecolor": REGIONS[place][0], "hatch": PATTERNS[turn % len(PATTERNS)]}


def grid_of(count: int, most: int = MOST_COLUMNS) -> tuple[int, int]:
    """Lines and columns for some panels, as even as can be."""
    lines = math.ceil(count / most)
    return lines, math.ceil(count / lines)


def sheet(
    ax: Any, places: Sequence[int], grid: tuple[int, int], size: tuple[float, float]
) -> Sheet:
    """Make or take the Axes of panels at some places of a grid of (lines, columns), counted line by line."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        axes = np.asarray(ax, dtype=object).ravel().tolist()
        if len(axes) == len(places) and all(isinstance(one, Axes) for one in axes):
            return Sheet(axes[0].figure, tuple(axes), grid[1], own=False)
        text = f"ax holds {len(axes)} Axes; there are {len(places)} panels."
        raise InputError(
            text, code="P02", argument="ax", hint="Pass None, one Axes, or one Axes a panel."
        )
    if ax is not None and len(places) == 1:  # otherwise its place is divided
        return Sheet(ax.figure, (ax,), 1, own=False)
    if ax is None:
        import matplotlib.pyplot as plt

        figure: Any = plt.figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)
        spec = figure.add_gridspec(*grid)
    else:  # the place of the Axes is divided; it stays as an empty frame of it
        ax.set_axis_off()
        figure, spec, box = ax.figure, ax.get_subplotspec(), ax.get_position()
        gaps: dict[str, Any] = {"wspace": 0.12, "hspace": 0.8}
        if spec is None:
            spec = figure.add_gridspec(
                *grid, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1, **gaps
            )
        else:
            spec = spec.subgridspec(
                *grid, **({} if figure.get_layout_engine() is not None else gaps)
            )
    panels = tuple(figure.add_subplot(spec[divmod(place, grid[1])]) for place in places)
    return Sheet(figure, panels, grid[1], own=ax is None)


def tidy(ax: Axes) -> None:
    """Only the axes that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)


def set_title(ax: Axes, scope: Scope, width: int = 36) -> None:
    """What a panel is about: all rows, or a region's number, rows and rule (the frame has it in full)."""
    rows, rule = rows_of(len(scope.rows)), wrapped(drawable(scope.rule), width, 3)
    text = (
        f"All rows · {rows}" if scope.region is None else f"Region {scope.region} · {rows}\n{rule}"
    )
    ax.set_title(text, fontsize=SMALL + 1, loc="left")


def framed(keys: str, lines: Iterable[Sequence[Any]], like: Table) -> Any:
    """Lines of cells below some headings as a table, in the library of X."""
    every = list(lines)
    return frame(
        {key: [line[i] for line in every] for i, key in enumerate(keys.split())}, like=like
    )

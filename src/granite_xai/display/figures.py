"""Where panels are drawn: in a new figure, in the place of one given Axes, or one Axes a panel."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.numbers import rows_of
from granite_xai.base.text import distinct_labels, drawable, wrapped
from granite_xai.results.values import Scope
from granite_xai.tables import Table, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure, SubFigure
else:
    Axes = Any

SMALL = 7.5  # points, of the texts inside a figure
LARGE = 11.0  # points, of its headline
MOST_COLUMNS = 5  # panels side by side; further ones go to the next line
LETTER_INCHES = 0.075  # width of a letter of a legend
SHOWN_ALREADY = "<!-- The figure is shown by the plotting backend. -->"


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
    headline_: str = field(default="", init=False, repr=False)

    def _keep(
        self,
        drawn: Sheet,
        ax: Any,
        headline: str,
        legend: Sequence[Any] = (),
        shape: Any = -1,
    ) -> Self:
        """Write headline and legend, remember where it was drawn, and return the display."""
        drawn.finish(headline, legend)
        self.headline_ = headline
        self.figure_ = drawn.figure
        self.axes_ = np.array(drawn.axes, dtype=object).reshape(shape)
        is_one_axes = hasattr(ax, "figure")
        self.ax_ = ax if is_one_axes else drawn.axes[0]
        return self

    def _repr_html_(self) -> str:
        """The figure with a text for those who do not see it, instead of a line with the class.

        A notebook shows open figures by itself, without such a text: there this picture takes
        the figure's place. Where another backend holds the figure, nothing is added to it.
        """
        import matplotlib.pyplot as plt

        display: Any = self  # every display draws itself in its own way
        if self.figure_ is None:
            display.plot()
        number = getattr(self.figure_, "number", None)
        is_open = number is not None and plt.fignum_exists(number)
        if is_open and "inline" not in plt.get_backend().lower():
            return SHOWN_ALREADY
        picture = BytesIO()
        self.figure_.savefig(picture, format="png", dpi=100, bbox_inches="tight")
        if is_open:
            plt.close(self.figure_)
        data = base64.b64encode(picture.getvalue()).decode()
        alt = html.escape(self.headline_.replace("\n", " ").replace(r"\$", "$"), quote=True)
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/png;base64,{data}">'


@dataclass(frozen=True, slots=True)
class Sheet:
    """The Axes of some panels."""

    figure: Figure | SubFigure
    axes: tuple[Axes, ...]
    columns: int
    is_ours: bool  # with room around the panels for a headline and a legend

    def finish(self, headline: str, handles: Sequence[Any]) -> None:
        """Write the headline, unless the figure is the user's, and explain the colours."""
        if self.is_ours:
            self.figure.suptitle(headline, fontsize=LARGE, x=0.01, ha="left", wrap=True)
        if handles and self.is_ours:
            self._legend_below_all(handles)
        elif handles:
            self._legend_below_first(handles)
        self._write_plainly()

    def _legend_below_all(self, handles: Sequence[Any]) -> None:
        labels = "\n".join(str(handle.get_label()) for handle in handles)
        n_letters = max(map(len, labels.split("\n")))
        inches = LETTER_INCHES * n_letters + 0.7
        fitting = max(1, int(self.figure.get_figwidth() / inches))  # type: ignore[union-attr]
        self.figure.legend(
            handles=handles,
            ncols=min(len(handles), fitting),
            loc="outside lower center",
            fontsize=SMALL + 1,
            frameon=False,
        )

    def _legend_below_first(self, handles: Sequence[Any]) -> None:
        """Under the first panel and the names on its axis, where it hides nothing."""
        from matplotlib.transforms import ScaledTranslation

        ax = self.axes[0]
        turned = any(label.get_rotation() for label in ax.get_xticklabels())
        points_down = 80 if turned else 30
        down = ScaledTranslation(0, -points_down / 72, ax.figure.dpi_scale_trans)
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0.0, 0.0),
            bbox_transform=ax.transAxes + down,
            borderaxespad=0.0,
            fontsize=SMALL,
            frameon=False,
        )

    def _write_plainly(self) -> None:
        """Without TeX, in which an underscore in a name would end the drawing (S05)."""
        from matplotlib import rcParams
        from matplotlib.text import Text

        if not rcParams["text.usetex"]:
            return
        owners: Sequence[Any] = [self.figure] if self.is_ours else self.axes
        for owner in owners:
            for text in owner.findobj(Text):
                text.set_usetex(False)


def drawn_labels(names: Sequence[str], width: int = 60) -> list[str]:
    """Names cut where they are alike, so that matplotlib shows them as they are."""
    return [drawable(label) for label in distinct_labels(names, width)]


def grid_of(count: int, most_columns: int = MOST_COLUMNS) -> tuple[int, int]:
    """Lines and columns for some panels, as even as can be."""
    lines = math.ceil(count / most_columns)
    return lines, math.ceil(count / lines)


def sheet(
    ax: Any, places: Sequence[int], grid: tuple[int, int], size: tuple[float, float]
) -> Sheet:
    """Make or take the Axes of some panels.

    Parameters
    ----------
    ax : None, Axes or array of Axes
        None: a new figure. One Axes: its place is divided. Several: one a panel.
    places : sequence of int
        Places of the panels in the grid, counted line by line.
    grid : (int, int)
        Lines and columns.
    size : (float, float)
        Inches of a new figure.

    Raises
    ------
    InputError
        P02: not one Axes a panel.
    """
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        return _given_axes(ax, len(places), grid[1])
    if ax is not None and len(places) == 1:
        return Sheet(ax.figure, (ax,), 1, is_ours=False)
    if ax is None:
        figure, spec = _new_figure(grid, size)
    else:
        figure, spec = _divided(ax, grid)
    panels = [figure.add_subplot(spec[divmod(place, grid[1])]) for place in places]
    return Sheet(figure, tuple(panels), grid[1], is_ours=ax is None)


def _given_axes(ax: Any, panels: int, columns: int) -> Sheet:
    from matplotlib.axes import Axes

    axes = np.asarray(ax, dtype=object).ravel().tolist()
    if len(axes) == panels and all(isinstance(panel_axes, Axes) for panel_axes in axes):
        return Sheet(axes[0].figure, tuple(axes), columns, is_ours=False)
    raise InputError(
        f"ax holds {len(axes)} Axes; there are {panels} panels.",
        code="P02",
        argument="ax",
        hint="Pass None, one Axes, or one Axes a panel.",
    )


def _new_figure(grid: tuple[int, int], size: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    figure: Any = plt.figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)
    return figure, figure.add_gridspec(*grid)


def _divided(ax: Any, grid: tuple[int, int]) -> tuple[Any, Any]:
    """The place of an Axes, which stays as an empty frame of it."""
    ax.set_axis_off()
    figure = ax.figure
    spec = ax.get_subplotspec()
    gaps: dict[str, Any] = {"wspace": 0.12, "hspace": 0.8}
    if spec is None:
        box = ax.get_position()
        edges = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
        return figure, figure.add_gridspec(*grid, **edges, **gaps)
    if figure.get_layout_engine() is not None:
        gaps = {}
    return figure, spec.subgridspec(*grid, **gaps)


def tidy(ax: Axes) -> None:
    """Only the axes that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)


def scope_label(scope: Scope) -> str:
    """All rows, or the number and rule of a region, in a line that can be drawn."""
    if scope.region is None:
        return "All rows"
    return f"region {scope.region}: {drawable(scope.label or scope.rule)}"


def set_title(ax: Axes, scope: Scope, width: int = 36) -> None:
    """What a panel is about: all rows, or a region's number, rows and rule (the frame has all)."""
    rows = rows_of(len(scope.rows))
    if scope.region is None:
        text = f"All rows · {rows}"
    else:
        label = wrapped(drawable(scope.label or scope.rule), width, 3)
        text = f"Region {scope.region} · {rows}\n{label}"
    ax.set_title(text, fontsize=SMALL + 1, loc="left")


def framed(keys: str, lines: Iterable[Sequence[Any]], like: Table) -> Any:
    """Lines of cells as a table in the library of X; ``keys`` are its headings, parted by blanks."""
    all_lines = list(lines)
    columns = {}
    for number, key in enumerate(keys.split()):
        columns[key] = [line[number] for line in all_lines]
    return frame(columns, like=like)

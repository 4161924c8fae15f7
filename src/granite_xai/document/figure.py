"""Painter of charts for matplotlib: in a new figure, in the place of one given Axes, or one Axes a panel.

Nothing global is changed. Ink, paper and the colours of regions follow the background of the Axes, so that a dark
style has light lines.
"""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from granite_xai.base.document import ON_DARK, ON_WHITE
from granite_xai.base.errors import InputError
from granite_xai.base.text import MISSING, distinct_labels, drawable, wrapped
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.document.chart import (
    BLACK,
    EVERYONE,
    GREY,
    PALE,
    Chart,
    FeatureAxis,
    Mark,
    limits_of,
)
from granite_xai.tables import Table, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure, SubFigure
else:
    Axes = Any

SMALL = 7.5  # points, of the texts inside a figure
LARGE = 11.0  # points, of its headline
MOST_COLUMNS = 5  # panels side by side; further ones go to the next line
LETTER = 0.075  # inches of a letter of a legend
TITLE_LETTER = 0.068  # of a letter of a title
TICK_LETTER = 0.062  # of a letter below an axis
BARS_HEIGHT = 0.12  # share of a panel that the tallest bar of rows takes
PATTERNS = ("", "///", "...", "xxx")  # of areas: they repeat the colours with a pattern
SHOWN_ALREADY = "<!-- The figure is shown by the plotting backend. -->"


class Palette(NamedTuple):
    """Colours on the background of some Axes."""

    ink: str
    pale: str
    paper: Any
    regions: tuple[str, ...]
    everyone: str

    @classmethod
    def of(cls, ax: Axes) -> Palette:
        """Those that can be seen on the background of an Axes."""
        from matplotlib.colors import to_rgba

        paper = to_rgba(ax.get_facecolor())
        if paper[3] < 0.5:
            paper = to_rgba(ax.figure.get_facecolor())
        if paper[3] >= 0.5 and sum(paper[:3]) < 1.5:
            return cls("#E8E8E8", "#4A4F55", paper, ON_DARK, EVERYONE[1])
        return cls(BLACK, PALE, paper, ON_WHITE, EVERYONE[0])

    def region(self, region: int | None) -> str:
        """Colour of a region; None: all rows."""
        if region is None or region >= len(self.regions):
            return self.everyone
        return self.regions[region]

    def area(self, region: int) -> dict[str, Any]:
        """Colour and pattern of a region that is drawn as an area."""
        turn, place = divmod(region, len(self.regions))
        return {"facecolor": self.regions[place], "hatch": PATTERNS[turn % len(PATTERNS)]}


# Where panels are drawn --------------------------------------------------------------------------------


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
        self, drawn: Sheet, ax: Any, headline: str, legend: Sequence[Any] = (), shape: Any = -1
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
        picture = self.as_png()
        if is_open:
            plt.close(self.figure_)
        alt = html.escape(self.text_for_blind_readers, quote=True)
        return f'<img alt="{alt}" style="max-width:100%" src="{picture}">'

    def as_png(self) -> str:
        """The figure that was drawn, as the address of an image."""
        picture = BytesIO()
        self.figure_.savefig(picture, format="png", dpi=100, bbox_inches="tight")
        return f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"

    @property
    def text_for_blind_readers(self) -> str:
        """What the figure shows."""
        return self.headline_.replace("\n", " ").replace(r"\$", "$")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The Axes of some panels."""

    figure: Figure | SubFigure
    axes: tuple[Axes, ...]
    columns: int
    is_ours: bool  # with room around the panels for a headline and a legend

    @property
    def palette(self) -> Palette:
        """Colours on their background."""
        return Palette.of(self.axes[0])

    def finish(self, headline: str, handles: Sequence[Any]) -> None:
        """Write the headline, unless the figure is the user's, and explain the colours."""
        if self.is_ours:
            width = int(self.figure.get_figwidth() / 0.088)  # type: ignore[union-attr]
            text = wrapped(headline, width, 4)
            self.figure.suptitle(text, fontsize=LARGE, x=0.01, ha="left")
        if handles and self.is_ours:
            labels = "\n".join(str(handle.get_label()) for handle in handles)
            inches = LETTER * max(map(len, labels.split("\n"))) + 0.7
            fitting = max(1, int(self.figure.get_figwidth() / inches))  # type: ignore[union-attr]
            self.figure.legend(
                handles=handles,
                ncols=min(len(handles), fitting),
                loc="outside lower center",
                fontsize=SMALL + 1,
                frameon=False,
            )
        elif handles:
            self._legend_below_first(handles)
        self._write_plainly()

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


def grid_of(ax: Any, count: int, inches: float, most: int = MOST_COLUMNS) -> tuple[int, int]:
    """Lines and columns for some panels, as even as can be.

    Parameters
    ----------
    ax : None, Axes or array of Axes
        None: a new figure. One Axes: its place is divided.
    count : int
    inches : float
        Width of a panel, of which as many stand side by side as there is room for in the place of an Axes.
    most : int
        Columns, at most.

    Examples
    --------
    >>> grid_of(None, 3, 2.0), grid_of(None, 9, 2.0)
    ((1, 3), (2, 5))
    """
    if hasattr(ax, "get_window_extent"):
        most = min(max(int(inches_of(ax)[0] / inches), 1), most)
    lines = math.ceil(count / most)
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
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        axes = np.asarray(ax, dtype=object).ravel().tolist()
        if len(axes) == len(places) and all(isinstance(panel, Axes) for panel in axes):
            return Sheet(axes[0].figure, tuple(axes), grid[1], is_ours=False)
        raise InputError(
            f"ax holds {len(axes)} Axes; there are {len(places)} panels.",
            code="P02",
            argument="ax",
            hint="Pass None, one Axes, or one Axes a panel.",
        )
    if ax is not None and len(places) == 1:
        return Sheet(ax.figure, (ax,), 1, is_ours=False)
    if ax is None:
        figure: Any = plt.figure(figsize=size, layout="constrained")
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.06)
        spec = figure.add_gridspec(*grid)
    else:
        figure, spec = ax.figure, _divided(ax, grid)
    panels = [figure.add_subplot(spec[divmod(place, grid[1])]) for place in places]
    return Sheet(figure, tuple(panels), grid[1], is_ours=ax is None)


def _divided(ax: Any, grid: tuple[int, int]) -> Any:
    """The place of an Axes, which stays as an empty frame of it."""
    ax.set_axis_off()
    spec = ax.get_subplotspec()
    gaps: dict[str, Any] = {"wspace": 0.12, "hspace": 0.8}
    if spec is None:
        box = ax.get_position()
        edges = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
        return ax.figure.add_gridspec(*grid, **edges, **gaps)
    if ax.figure.get_layout_engine() is not None:
        gaps = {}
    return spec.subgridspec(*grid, **gaps)


# Axes and marks ----------------------------------------------------------------------------------------


def tidy(ax: Axes) -> None:
    """Only the axes that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)


def drawn_labels(names: Sequence[str], width: int = 60) -> list[str]:
    """Names cut where they are alike, so that matplotlib shows them as they are."""
    return [drawable(label) for label in distinct_labels(names, width)]


def set_title(ax: Axes, text: str) -> None:
    """What a panel is about, on lines that fit above it."""
    letters = max(int(inches_of(ax)[0] / TITLE_LETTER), 14)
    lines = [wrapped(line, letters, 3) for line in text.split("\n")]
    ax.set_title("\n".join(lines), fontsize=SMALL + 1, loc="left", wrap=True)


def inches_of(ax: Axes) -> tuple[float, float]:
    """Width and height of an Axes."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return box.width, box.height


def dress(ax: Axes, axis: FeatureAxis, *, upright: bool = False) -> None:
    """Ticks, limits and label of a feature on the horizontal axis, or (``upright``) on the vertical one."""
    along: Any = ax.yaxis if upright else ax.xaxis
    low, end = axis.drawn_limits
    first, last = axis.scaled(low), axis.scaled(end)
    pad = 0.0 if axis.labelled or upright else 0.03 * (last - first)
    if axis.log:
        (ax.set_yscale if upright else ax.set_xscale)("log")
        along.minorticks_off()
    set_limits = ax.set_ylim if upright else ax.set_xlim
    set_limits(axis.unscaled(first - pad), axis.unscaled(last + pad))
    letters = inches_of(ax)[upright] / TICK_LETTER
    if axis.labelled:
        names = drawn_labels([*axis.texts[: axis.n_present]], 16)
        along.set_ticks(axis.x, [*names, *[MISSING] * axis.has_missing])
        if not upright:
            _turn_names(ax, names, letters)
    else:
        ticks = axis.ticks(letters)
        along.set_ticks([tick.place for tick in ticks], [tick.text for tick in ticks])
        if axis.has_missing and not upright:
            border = axis.unscaled((axis.scaled(axis.limits[1]) + axis.scaled(axis.x[-1])) / 2)
            ax.axvline(border, color=GREY, linewidth=0.6, linestyle=":")
    note = f" ({axis.note})" if axis.note else ""
    along.set_label_text(wrapped(drawable(axis.name) + note, 34, 4), fontsize=SMALL + 1)


def _turn_names(ax: Axes, names: Sequence[str], letters: float) -> None:
    """Names of levels are turned where they would not fit side by side."""
    n_letters = sum(map(len, names)) + 2 * len(names)
    degrees = 0
    if len(names) > 8:
        degrees = 90
    elif n_letters > letters or max(map(len, names), default=0) * len(names) > letters:
        degrees = 45
    for tick in ax.get_xticklabels():
        tick.set(rotation=degrees, ha="right" if degrees == 45 else "center", fontsize=SMALL)
        tick.set_rotation_mode("anchor" if degrees == 45 else "default")


def paint(ax: Axes, chart: Chart) -> None:
    """Draw a chart: its marks, axis, title, and the note in its corner."""
    palette = Palette.of(ax)
    tidy(ax)
    ax.axhline(0.0, color=palette.pale, linewidth=0.8, zorder=0)
    for mark in chart.marks:
        color = mark.color or palette.region(mark.regions[0] if mark.regions else None)
        if mark.end is not None:
            _paint_bars(ax, mark, mark.end, palette)
            continue
        missing = np.zeros(len(mark.x), dtype=bool)
        if len(mark.texts):
            missing = np.array([text == MISSING for text in mark.texts], dtype=bool)
        _paint_part(ax, mark, ~missing, color, palette, joined=mark.joined)
        _paint_part(ax, mark, missing, color, palette, joined=False)
    dress(ax, chart.axis)
    set_title(ax, chart.title)
    if chart.note:
        look: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": SMALL, "color": palette.ink}
        ax.text(0.98, 0.985, chart.note, transform=ax.transAxes, **look)


def paint_line(
    axes: Sequence[Axes],
    charts: Sequence[Chart],
    columns: int,
    pads: tuple[float, float] = (0.05, 0.05),
) -> None:
    """Draw charts side by side on one scale, whose numbers stand at the first of each line of panels.

    Parameters
    ----------
    axes : sequence of Axes
    charts : sequence of Chart
        One for each.
    columns : int
        Panels of a line.
    pads : (float, float)
        Room below and above what is drawn, as a share of it.
    """
    low, high = limits_of(charts)
    span = high - low or 1.0
    for place, (ax, chart) in enumerate(zip(axes, charts, strict=True)):
        paint(ax, chart)
        ax.set_ylim(low - pads[0] * span, high + pads[1] * span)
        ax.tick_params(labelleft=place % columns == 0)


def _paint_bars(ax: Axes, mark: Mark, right: FloatArray, palette: Palette) -> None:
    """Shares of rows along the lower edge."""
    tallest = max(float(mark.y.max(initial=0.0)), 1e-300)
    ax.bar(
        mark.x,
        mark.y / tallest * BARS_HEIGHT,
        width=right - mark.x,
        align="edge",
        color=palette.pale,
        edgecolor=palette.paper,
        linewidth=0.4,
        zorder=1,
        label="_rows",
        transform=ax.get_xaxis_transform(),
    )


def _paint_part(
    ax: Axes, mark: Mark, part: BoolArray, color: str, palette: Palette, *, joined: bool
) -> None:
    """The places of a mark that are joined, or those that stand alone, with their intervals."""
    if not part.any():
        return
    joined = joined and bool(part.sum() > 1)
    x = mark.x[part]
    low, high = mark.interval
    if low is not None and high is not None and (high > low).any():
        if joined:
            ax.fill_between(
                x, low[part], high[part], color=color, alpha=0.18, linewidth=0, zorder=2
            )
        else:
            ax.vlines(x, low[part], high[part], color=color, zorder=2, alpha=0.5)
    look = {**look_of(mark, palette, joined=joined), "color": color}
    ax.plot(x, mark.y[part], label=f"_{mark.shape} {mark.name}", **look)


LOOKS: dict[str, dict[str, Any]] = {
    "points": {"marker": "o", "markersize": 2.6, "alpha": 0.45, "zorder": 2},
    "curve": {"linewidth": 0.6, "alpha": 0.35, "zorder": 2},
    "line": {"linewidth": 2.6, "zorder": 3, "markeredgewidth": 0.8},
}
"""Of marks, by their shape."""

ALONE = {
    "points": {},
    "curve": {"marker": "_", "markersize": 9},
    "line": {"marker": "o", "markersize": 6.5},
}
"""Of their places where no line joins them."""


def look_of(mark: Mark, palette: Palette, *, joined: bool) -> dict[str, Any]:
    """Arguments of ``ax.plot`` for a mark; places that are not joined are marked."""
    look: dict[str, Any] = {"color": palette.ink, "linestyle": "none", **LOOKS[mark.shape]}
    if mark.shape == "line":
        look["markeredgecolor"] = palette.paper
    if not joined:
        look |= ALONE[mark.shape]
    elif mark.shape != "points":
        look["linestyle"] = "--" if mark.dashed else "-"
    return look


def key(label: str, **look: Any) -> Any:
    """An entry of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def framed(keys: str, lines: Iterable[Sequence[Any]], like: Table) -> Any:
    """Lines of cells as a table in the library of X; ``keys`` are its headings, parted by blanks."""
    all_lines = list(lines)
    columns = {}
    for number, name in enumerate(keys.split()):
        columns[name] = [line[number] for line in all_lines]
    return frame(columns, like=like)

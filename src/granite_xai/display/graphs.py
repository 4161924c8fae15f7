"""What columns do together: a network, a heat map, and the surface of one pair.

Delta(g, h) = F_ij(g, h) - F_i(g) - F_j(h) + mean F,   each F_T the mean over the rows of the scope
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.base.wording import told_apart, wrapped
from granite_xai.compute import require_evaluations
from granite_xai.curves import ice_curves
from granite_xai.display.axis import Axis, shown_levels
from granite_xai.display.figures import BLACK, BLUE, GREY, ORANGE, SMALL
from granite_xai.scopes import RowsToShow, Scope
from granite_xai.tables import read_table, recombine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAT_LABEL = 20  # characters of a name beside a heat map
WIDEST, LARGEST = 9.0, 900.0  # points of the strongest edge, square points of the strongest node


def positions(count: int) -> FloatArray:
    """Places on a circle, from the top clockwise.

    >>> positions(2).round(3).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    angles = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def draw_network(ax: Axes, names: Sequence[str], matrix: FloatArray, tops: tuple[float, float]) -> None:
    """Columns as discs of an area, pairs as edges of a width that is proportional to the influence."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    places, colors = positions(len(names)), np.where(matrix >= 0, BLUE, ORANGE)
    for i, j in combinations(range(len(names)), 2):
        look = {"color": str(colors[i, j]), "linewidth": WIDEST * abs(matrix[i, j]) / tops[1]}
        ax.plot(*places[[i, j]].T, alpha=0.55, solid_capstyle="round", zorder=1, **look)
    areas, (across, up) = LARGEST * np.abs(np.diag(matrix)) / tops[0], places.T
    ax.scatter(across, up, s=areas, color=np.diag(colors).tolist(), edgecolor="white", linewidth=0.8, zorder=2)
    ax.scatter(across, up, s=8, color=BLACK, zorder=3)
    labels = [wrapped(name, 14, 4) for name in told_apart(list(names), 32)]
    for (x, y), radius, name in zip(places, np.sqrt(areas / np.pi) + 4.0, labels, strict=True):
        side = "center" if abs(x) < 0.25 else "left" if x > 0 else "right"
        level = "bottom" if y > 0.9 else "top" if y < -0.9 else "center"
        place: dict[str, Any] = {"xytext": (radius * x, radius * y), "textcoords": "offset points"}
        ax.annotate(name, (x, y), **place, ha=side, va=level, fontsize=SMALL, zorder=4)
    across = 1.3 + 0.08 * max(len(line) for name in labels for line in name.split("\n"))
    up = 1.45 + 0.22 * max(name.count("\n") for name in labels)
    ax.set(xlim=(-across, across), ylim=(-up, up))


def network_handles(tops: tuple[float, float], negative: bool) -> list[Any]:
    """What the legend says: the largest disc, the widest edge, and the signs."""
    from matplotlib.lines import Line2D

    alone, together = (f"{top:,.0f}" if top >= 1000 else f"{top:.3g}" for top in tops)
    disc: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 11, "color": BLUE}
    found = [Line2D([], [], label=f"column alone: up to {alone}", **disc)]
    looks = [(f"pair together: up to {together}", 0.55, BLUE), ("negative: they overlap", 0.7, ORANGE)][: 1 + negative]
    return found + [Line2D([], [], linewidth=WIDEST / 2, label=text, alpha=a, color=c) for text, a, c in looks]


def draw_heatmap(ax: Axes, names: Sequence[str], matrix: FloatArray, top: float, signed: bool) -> None:
    """First-order influences on the diagonal, pairs below it."""
    from matplotlib.colors import FuncNorm

    # Pairs are mostly much weaker than columns alone: color grows with the root, the numbers say how much it is.
    root, square = (lambda v: np.sign(v) * np.sqrt(np.abs(v))), (lambda v: np.sign(v) * np.square(v))
    norm = FuncNorm((root, square), vmin=-top if signed else 0.0, vmax=top)
    lower = np.where(np.tri(len(matrix), dtype=bool), matrix, np.nan)
    ax.imshow(lower, cmap="PuOr" if signed else "Blues", norm=norm, aspect="equal")
    labels = told_apart(list(names), HEAT_LABEL)
    ax.set_xticks(range(len(names)), labels, rotation=90, fontsize=SMALL)
    ax.set_yticks(range(len(names)), labels, fontsize=SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if len(names) <= 10:
        for i, j in np.argwhere(np.tri(len(names), dtype=bool)).tolist():
            color = "white" if abs(matrix[i, j]) > 0.4 * top else BLACK
            ax.text(j, i, cell_text(matrix[i, j], top), ha="center", va="center", fontsize=5.5, color=color)


def cell_text(value: float, top: float) -> str:
    """A number short enough for a cell; nothing where it is too small to matter.

    >>> cell_text(1234.0, 2000.0), cell_text(0.001, 1.0), cell_text(0.123, 1.0)
    ('1.2k', '', '0.12')
    """
    if abs(value) < 0.01 * top:
        return ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.2g}{letter}" if abs(value) < 100 * size else f"{value / size:.0f}{letter}"
    return f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"


class Surface(NamedTuple):
    """The pure interaction of two columns in one scope, (y, x): places of the grid, and names where they have some."""

    x: FloatArray
    y: FloatArray
    x_levels: list[str | None]
    y_levels: list[str | None]
    values: FloatArray

    def cells(self) -> list[tuple[Any, ...]]:
        """Place and name across and up, and the value."""
        both = ((self.x, self.x_levels), (self.y, self.y_levels))
        across, up = (list(zip(places.tolist(), names, strict=True)) for places, names in both)
        return [(*across[i], *up[j], value) for (j, i), value in np.ndenumerate(self.values)]


def surface(shown: RowsToShow, scope: Scope, across: Axis, up: Axis, points: int) -> Surface:
    """Evaluate the pair on a grid of the scope's own values, averaged over its rows."""
    table = shown.table.take(scope.rows)
    predictor = shown.fitted.predictor
    one, two = (shown_levels(axis, table, points) for axis in (across, up))
    x, y = one.x, two.x
    require_evaluations(shown.rows.resources, table.n_rows * (len(x) * len(y) + len(x) + len(y)))
    first, second = (ice_curves(predictor, table, levels.grid).mean(axis=0) for levels in (one, two))
    # Rows that carry every pair of values, the first column fastest.
    pairs = np.tile(np.arange(len(x)), len(y)), np.repeat(np.arange(len(y)), len(x))
    native = recombine(one.grid.rows, pairs[0], two.grid.rows, pairs[1], [up.column.position])
    both = read_table(native, kinds=dict(zip(table.names, table.kinds, strict=True)), missing="allow")
    rows = np.repeat(np.arange(table.n_rows), both.n_rows)
    donors = np.tile(np.arange(both.n_rows), table.n_rows)
    columns = [across.column.position, up.column.position]
    joint = predictor.recombined(table, rows, both, donors, columns).reshape(table.n_rows, len(y), len(x)).mean(axis=0)
    mean = float(predictor.on_rows(table).mean())
    return Surface(x, y, one.texts, two.texts, joint - first[None, :] - second[:, None] + mean)


def draw_surface(ax: Axes, shown: Surface, across: Axis, up: Axis, top: float) -> None:
    """Colored cells around each pair of values; the same colors in every panel."""
    x, y = cell_edges(shown.x, across.labelled), cell_edges(shown.y, up.labelled)
    ax.pcolormesh(x, y, shown.values, cmap="PuOr", vmin=-top, vmax=top, rasterized=True)
    across.dress(ax)
    up.dress(ax, upright=True)
    ax.set_facecolor("#F4F4F4")
    ax.tick_params(labelsize=SMALL)
    ax.spines[:].set_color(GREY)


def cell_edges(places: FloatArray, labelled: bool) -> FloatArray:
    """Edges of the cells around some places: half way to the neighbours.

    >>> cell_edges(np.array([0.0, 1.0, 3.0]), False)
    array([-0.5,  0.5,  2. ,  4. ])
    """
    if labelled or len(places) == 1:  # levels that a scope lacks leave a gap; a cell never reaches over it
        return np.append(places - 0.5, places[-1] + 0.5)
    middles = (places[:-1] + places[1:]) / 2
    return np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])

"""The interaction of one pair of columns as a surface over both.

Delta(g, h) = F_ij(g, h) - F_i(g) - F_j(h) + mean F,   each F_T the mean over the area's rows
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.compute import require_evaluations
from granite_xai.curves import ice_curves
from granite_xai.display.places import Places, grid_in
from granite_xai.display.rows import Area, Seen
from granite_xai.display.style import GREY, SMALL
from granite_xai.tables import read_table, recombine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """The pure interaction of two columns in one area.

    Parameters
    ----------
    area : all rows, or a region
    x, y : places of the grid
    x_levels, y_levels : their names; None for numbers
    values : (y, x) float
    """

    area: Area
    x: FloatArray
    y: FloatArray
    x_levels: list[str | None]
    y_levels: list[str | None]
    values: FloatArray


def surface(seen: Seen, area: Area, across: Places, up: Places, points: int) -> Surface:
    """Evaluate the pair on a grid of the area's own values, averaged over the area's rows."""
    table = seen.table.take(area.rows)
    predictor = seen.fitted.predictor
    grids = [grid_in(places, table, points) for places in (across, up)]
    (one, x, x_levels), (two, y, y_levels) = grids
    require_evaluations(seen.resources, table.n_rows * (len(x) * len(y) + len(x) + len(y)))
    first, second = (ice_curves(predictor, table, grid).mean(axis=0) for grid in (one, two))
    both = _corners(one.rows, two.rows, up.column.position)
    rows = np.repeat(np.arange(table.n_rows), both.n_rows)
    donors = np.tile(np.arange(both.n_rows), table.n_rows)
    columns = [across.column.position, up.column.position]
    joint = predictor.recombined(table, rows, both, donors, columns).reshape(table.n_rows, len(y), len(x)).mean(axis=0)
    mean = float(predictor.on_rows(table).mean())
    return Surface(area, x, y, x_levels, y_levels, joint - first[None, :] - second[:, None] + mean)


def _corners(across: Table, up: Table, position: int) -> Table:
    """Rows that carry every pair of values, the first column fastest."""
    base = np.tile(np.arange(across.n_rows), up.n_rows)
    donors = np.repeat(np.arange(up.n_rows), across.n_rows)
    native = recombine(across, base, up, donors, [position])
    return read_table(native, kinds=dict(zip(across.names, across.kinds, strict=True)), missing="allow")


def draw_surface(ax: Axes, shown: Surface, across: Places, up: Places, top: float) -> object:
    """Colored cells around each pair of values; the same colors in every panel."""
    mesh = ax.pcolormesh(
        cell_edges(shown.x, across.labelled),
        cell_edges(shown.y, up.labelled),
        shown.values,
        cmap="PuOr",
        vmin=-top,
        vmax=top,
        rasterized=True,
    )
    across.dress(ax)
    up.dress_upright(ax)
    ax.set_facecolor("#F4F4F4")
    ax.tick_params(labelsize=SMALL)
    for spine in ax.spines.values():
        spine.set_color(GREY)
    return mesh


def cell_edges(places: FloatArray, labelled: bool) -> FloatArray:
    """Edges of the cells around some places: half way to the neighbours.

    Examples
    --------
    >>> cell_edges(np.array([0.0, 1.0, 3.0]), False)
    array([-0.5,  0.5,  2. ,  4. ])
    """
    if labelled or len(places) == 1:
        # Levels that an area lacks leave a gap; a cell never reaches over it.
        return np.append(places - 0.5, places[-1] + 0.5)
    middles = (places[:-1] + places[1:]) / 2
    return np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])

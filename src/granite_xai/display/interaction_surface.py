"""The surface of a pair of features: what both do to the prediction only together.

Delta(g, h) = F_ij(g, h) - F_i(g) - F_j(h) + mean F,   each F_T the mean over the rows of the scope
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granite_xai.base.limits import require_evaluations
from granite_xai.base.typing import FloatArray
from granite_xai.curves.grids import ice_curves
from granite_xai.display.axis import Axis, ShownLevels, shown_levels
from granite_xai.display.figures import SMALL
from granite_xai.document.chart import GREY
from granite_xai.models import Predictor
from granite_xai.results.values import Scope, Values
from granite_xai.tables import Table, read_table, recombine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_CELL = "#F4F4F4"
"""Colour behind the cells."""


class Surface(NamedTuple):
    """The pure interaction of two features in one scope, on a grid of the values that occur there.

    Parameters
    ----------
    across, up : ShownLevels
        Values of the first and of the second feature.
    values : array of shape (values up, values across)
    """

    across: ShownLevels
    up: ShownLevels
    values: FloatArray

    def cells(self) -> list[tuple[Any, ...]]:
        """Place and name across, place and name up, and the value of each cell."""
        across = list(zip(self.across.x.tolist(), self.across.texts, strict=True))
        up = list(zip(self.up.x.tolist(), self.up.texts, strict=True))
        return [
            (*across[column], *up[line], value)
            for (line, column), value in np.ndenumerate(self.values)
        ]


def surface_of(rows: Values, scope: Scope, across: Axis, up: Axis, points: int) -> Surface:
    """Ask the model for the surface of two features, averaged over the rows of a scope.

    Parameters
    ----------
    rows : Values
    scope : Scope
    across, up : Axis
        The two features.
    points : int
        Values of each, at most.
    """
    table = rows.table.take(scope.rows)
    predictor = rows.fitted.model
    levels_across = shown_levels(across, table, points)
    levels_up = shown_levels(up, table, points)
    n_across = len(levels_across.x)
    n_up = len(levels_up.x)
    n_asked_of_row = n_across * n_up + n_across + n_up
    require_evaluations(rows.fitted.settings.resources, table.n_rows * n_asked_of_row)
    effect_across = ice_curves(predictor, table, levels_across.grid).mean(axis=0)  # F_i
    effect_up = ice_curves(predictor, table, levels_up.grid).mean(axis=0)  # F_j
    joint = _joint_effect(predictor, table, levels_across, levels_up)  # F_ij
    mean = float(predictor.on_rows(table).mean())
    return Surface(
        across=levels_across,
        up=levels_up,
        values=joint - effect_across[None, :] - effect_up[:, None] + mean,
    )


def _joint_effect(
    predictor: Predictor, table: Table, across: ShownLevels, up: ShownLevels
) -> FloatArray:
    """Mean prediction with both features at each pair of values, (values up, values across)."""
    n_across = len(across.x)
    n_up = len(up.x)
    column_across = across.grid.column
    column_up = up.grid.column
    # Rows that carry every pair of values, those of the first feature fastest.
    carriers = recombine(
        across.grid.rows,
        np.tile(np.arange(n_across), n_up),
        up.grid.rows,
        np.repeat(np.arange(n_up), n_across),
        [column_up],
    )
    pairs = read_table(carriers, kinds=table.kinds, missing="allow")
    rows = np.repeat(np.arange(table.n_rows), pairs.n_rows)
    donors = np.tile(np.arange(pairs.n_rows), table.n_rows)
    predictions = predictor.recombined(table, rows, pairs, donors, [column_across, column_up])
    return np.asarray(predictions.reshape(table.n_rows, n_up, n_across).mean(axis=0))


def draw_surfaces(
    axes: Sequence[Axes], surfaces: Sequence[Surface], pair: Sequence[Axis], columns: int
) -> Any:
    """Draw coloured cells around each pair of values, with the same colours in every panel.

    Parameters
    ----------
    axes : sequence of Axes
    surfaces : sequence of Surface
        One for each.
    pair : two Axis
    columns : int
        Panels side by side: only the first of a line names its values.

    Returns
    -------
    object
        What a colour bar explains.
    """
    sizes = [float(np.abs(surface.values).max(initial=0.0)) for surface in surfaces]
    largest = max(sizes) or 1.0
    across, up = pair
    for place, (ax, surface) in enumerate(zip(axes, surfaces, strict=True)):
        mesh = cell_mesh(surface, across.labelled, up.labelled)
        ax.pcolormesh(
            mesh.x, mesh.y, mesh.values, cmap="PuOr", vmin=-largest, vmax=largest, rasterized=True
        )
        across.dress(ax)
        up.dress(ax, upright=True)
        ax.set_facecolor(NO_CELL)
        is_first_of_line = place % columns == 0
        ax.tick_params(labelsize=SMALL, labelleft=is_first_of_line)
        ax.spines[:].set_color(GREY)
        if not is_first_of_line:
            ax.set_ylabel("")
    return axes[0].collections[0]


class CellMesh(NamedTuple):
    """Coloured cells.

    Parameters
    ----------
    x, y : arrays of shape (cells across + 1,) and (cells up + 1,)
        Their edges.
    values : array of shape (cells up, cells across)
        NaN for a label that the scope lacks: it has an empty cell.
    """

    x: FloatArray
    y: FloatArray
    values: FloatArray


def cell_mesh(surface: Surface, across_labelled: bool, up_labelled: bool) -> CellMesh:
    """The cells of a surface, one around each pair of values.

    Parameters
    ----------
    surface : Surface
    across_labelled, up_labelled : bool
        Whether places are numbers of labels. A scope may lack some; no cell reaches over the gap.
    """
    places_across = surface.across.x
    places_up = surface.up.x
    if across_labelled:
        places_across = _without_gaps(places_across)
    if up_labelled:
        places_up = _without_gaps(places_up)
    values = np.full((len(places_up), len(places_across)), np.nan)
    lines = np.searchsorted(places_up, surface.up.x)
    columns = np.searchsorted(places_across, surface.across.x)
    values[np.ix_(lines, columns)] = surface.values
    return CellMesh(x=cell_edges(places_across), y=cell_edges(places_up), values=values)


def _without_gaps(places: FloatArray) -> FloatArray:
    """All whole numbers from the first place to the last."""
    return np.arange(places[0], places[-1] + 1.0)


def cell_edges(places: FloatArray) -> FloatArray:
    """Edges of the cells around some places: half way to the neighbours.

    Parameters
    ----------
    places : array of shape (n,)

    Returns
    -------
    array of shape (n + 1,)
    """
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    middles = (places[:-1] + places[1:]) / 2
    first = 2 * places[0] - middles[0]
    last = 2 * places[-1] - middles[-1]
    return np.concatenate([[first], middles, [last]])

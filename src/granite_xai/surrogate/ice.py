"""ICE curves: the prediction of each row along one column, whose mean over rows is the PDP."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from granite_xai.base.options import choose, whole_number
from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources, require_evaluations
from granite_xai.evaluations.vectors import centred
from granite_xai.models import Predictor
from granite_xai.surrogate.grids import GRIDS, Grid, make_grid
from granite_xai.tables import Table


def ice_curves(
    predictor: Predictor, table: Table, grid: Grid, resources: Resources | None = None
) -> FloatArray:
    """``F(g on the column, row n elsewhere)`` for every row n and place g.

    Parameters
    ----------
    predictor : Predictor
    table : Table
        The rows.
    grid : Grid
        Places along the column.
    resources : Resources, optional
        Limits, checked before the model is asked.

    Returns
    -------
    array of shape (n, G)
    """
    n_places = len(grid)
    if resources is not None:
        require_evaluations(resources, table.n_rows * n_places)
    rows = np.repeat(np.arange(table.n_rows), n_places)
    places = np.tile(np.arange(n_places), table.n_rows)
    predictions = predictor.recombined(table, rows, grid.rows, places, [grid.column])
    return predictions.reshape(table.n_rows, n_places)


@dataclass(frozen=True, slots=True)
class Ice:
    """How ICE curves of one column are read, as vectors for a partitioner.

    Parameters
    ----------
    feature : label
        The column.
    points : int
        Places on the grid, at most.
    grid : "quantile" or "equidistant"
    center : bool
        Whether each curve is centred by its own mean.
    differences : bool
        Whether first differences along the grid are read instead of the curve (d-ICE, not divided by the spacing).

    Examples
    --------
    >>> Ice("temp", differences=True).points
    20
    """

    feature: Hashable
    points: int = 20
    grid: str = "quantile"
    center: bool = True
    differences: bool = False

    def __post_init__(self) -> None:
        whole_number("points", self.points, at_least=2)
        choose("grid", self.grid, GRIDS)

    def vectors(
        self, predictor: Predictor, table: Table, resources: Resources | None = None
    ) -> FloatArray:
        """One curve a row, shape (n, G)."""
        position = table.resolve(self.feature, "feature")
        grid = make_grid(table, position, self.points, self.grid)
        curves = ice_curves(predictor, table, grid, resources)
        if self.center:
            curves = centred(curves)
        if self.differences and curves.shape[1] > 1:
            return np.diff(curves, axis=1)
        return curves

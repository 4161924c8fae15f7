"""ICE curves: the prediction of each row along one column, whose mean over rows is the PDP."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources, require_evaluations
from granite_xai.models import Predictor
from granite_xai.surrogate.grids import Grid
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

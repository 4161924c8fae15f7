"""Places along a column at which curves are drawn, and the predictions of every row there (ICE)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.algebra.conditional import interval_edges
from granite_xai.base.errors import InputError
from granite_xai.base.limits import Resources, require_evaluations
from granite_xai.base.options import choose, whole_number
from granite_xai.base.text import column_text
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models import Predictor
from granite_xai.tables import Column, Table

GRIDS = {"quantile": "quantile", "equidistant": "equidistant"}


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Places along a column.

    Parameters
    ----------
    column : int
        Position of the column.
    values : array of shape (G,)
        Ascending values, or levels in their order.
    rows : Table
        A row that carries each value.
    """

    column: int
    values: NDArray[Any]
    rows: Table

    def __len__(self) -> int:
        return len(self.values)


def make_grid(table: Table, position: int, points: int = 20, kind: str = "quantile") -> Grid:
    """Choose places along a column.

    Parameters
    ----------
    table : Table
    position : int
        Of the column.
    points : int
        Places, at most.
    kind : "quantile" or "equidistant"
        Observed quantiles (all values, where they are few), or numbers at equal distances.
    """
    whole_number("points", points, at_least=2)
    column = table.columns[position]
    if len(column.levels) == 0:
        raise InputError(
            f"X {column_text(column.name, column.position)} has no value to draw a curve along.",
            code="D18",
            columns=[column.name],
        )
    if choose("grid", kind, GRIDS) == "equidistant":
        return _equidistant_grid(table, column, points)
    codes = grid_codes(column, points)
    return Grid(position, column.levels[codes], table.take(carriers(column, codes)))


def _equidistant_grid(table: Table, column: Column, points: int) -> Grid:
    """Numbers at equal distances, with rows that carry them though no fitting row does."""
    require_numeric([column], "an equidistant grid")
    values = np.array(column.levels)
    if len(column.levels) > 1:
        values = np.linspace(column.levels[0], column.levels[-1], points)
    first_rows = np.zeros(len(values), dtype=np.intp)
    columns = [other.take(first_rows) for other in table.columns]
    columns[column.position] = replace(column, values=values.copy(), integer=False)
    rows = Table(tuple(columns), table.container.adopt([column.values for column in columns]))
    return Grid(column.position, values, rows)


def require_numeric(columns: Iterable[Column], what: str) -> None:
    """Refuse columns without numbers, and missing values; ``what`` needs numbers."""
    for column in columns:
        has_missing = column.missing.any()
        if not has_missing and column.kind == "numeric":
            continue
        with_missing = " with missing values" if has_missing else ""
        where = column_text(column.name, column.position)
        raise InputError(
            f"X {where} is {column.kind}{with_missing}; {what} needs numbers.",
            code="P03",
            argument="X",
            columns=[column.name],
            hint="Leave the column out, or use the form without exact=True.",
        )


def grid_codes(column: Column, points: int) -> IntArray:
    """Levels at which a column is read: all of a nominal one, otherwise observed quantiles at k / (points - 1)."""
    n_levels = len(column.levels)
    if n_levels <= points or not column.is_ordered:
        return np.arange(n_levels, dtype=np.intp)
    n_up_to_level = np.cumsum(np.bincount(column.codes[column.codes >= 0], minlength=n_levels))
    # In whole numbers: the first level with at least k / (points - 1) of the rows up to it, and one row.
    ranks = np.maximum(np.arange(points) * n_up_to_level[-1], 1)
    levels = np.searchsorted(n_up_to_level * (points - 1), ranks, side="left")
    return np.unique(levels).astype(np.intp)


def carriers(column: Column, codes: IntArray) -> IntArray:
    """The first row that carries each of some levels, which are given by their positions."""
    return np.array([np.flatnonzero(column.codes == code)[0] for code in codes], dtype=np.intp)


def dependence_bins(column: Column) -> IntArray:
    """Bin of each row along a column, (n,), within which effects are averaged to see how they depend on it.

    Tenths of the rows of an ordered column, levels of others; missing values have bin 0.
    """
    if not column.is_ordered:
        return column.codes + 1
    edges = interval_edges(column)
    intervals = np.minimum(np.searchsorted(edges, column.codes, side="left"), len(edges) - 1)
    return np.where(column.codes < 0, 0, intervals + 1).astype(np.intp)


def ice_curves(
    model: Predictor, table: Table, grid: Grid, resources: Resources | None = None
) -> FloatArray:
    """``F(g on the column, row n elsewhere)`` for every row n and place g, (n, G); its mean over rows is the PDP.

    Parameters
    ----------
    model : Predictor
    table : Table
        The rows.
    grid : Grid
        Places along the column.
    resources : Resources, optional
        Limits, checked before the model is asked.
    """
    n_places = len(grid)
    if resources is not None:
        require_evaluations(resources, table.n_rows * n_places)
    rows = np.repeat(np.arange(table.n_rows), n_places)
    places = np.tile(np.arange(n_places), table.n_rows)
    predictions = model.recombined(table, rows, grid.rows, places, [grid.column])
    return predictions.reshape(table.n_rows, n_places)

"""Curves along one column on a grid: ICE, ``g -> F(g on column j, row n elsewhere)``; its mean over rows is the PDP."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, column_text
from granite_xai.base.options import choose, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, require_evaluations
from granite_xai.evaluations.steps import centred
from granite_xai.masking.bins import carriers as carriers, interval_edges
from granite_xai.models import Predictor
from granite_xai.tables import Column, Table

GRIDS = {name: name for name in ("quantile", "equidistant")}


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Places along a column (its position): ascending values, or levels in their order, and a row that carries each."""

    column: int
    values: NDArray[Any]
    rows: Table

    def __len__(self) -> int:
        return len(self.values)


def make_grid(table: Table, position: int, points: int = 20, kind: str = "quantile") -> Grid:
    """Places along a column: observed quantiles (all values, where they are few), or numbers at equal distances."""
    whole_number("points", points, at_least=2)
    column = table.columns[position]
    if len(column.levels) == 0:
        where = column_text(column.name, column.position)
        raise InputError(f"X {where} has no value to draw a curve along.", code="D18", columns=[column.name])
    if choose("grid", kind, GRIDS) == "equidistant":
        require_numeric([column], "an equidistant grid")
        many = len(column.levels) > 1
        values = np.array(np.linspace(column.levels[0], column.levels[-1], points) if many else column.levels)
        # Rows that carry numbers which no fitting row has.
        columns = [other.take(np.zeros(len(values), dtype=np.intp)) for other in table.columns]
        columns[position] = replace(column, values=values.copy(), integer=False)
        return Grid(position, values, Table(tuple(columns), table.container.adopt(columns)))
    codes = grid_codes(column, points)
    return Grid(position, column.levels[codes], table.take(carriers(column, codes)))


def require_numeric(columns: Iterable[Column], what: str) -> None:
    """Refuse columns without numbers, and missing ones."""
    for column in columns:
        gaps = " with missing values" if column.missing.any() else ""
        if gaps or column.kind != "numeric":
            words = f"X {column_text(column.name, column.position)} is {column.kind}{gaps}; {what} needs numbers."
            hint = "Leave the column out, or use the form without exact=True."
            raise InputError(words, code="P03", argument="X", columns=[column.name], hint=hint)


def grid_codes(column: Column, points: int) -> IntArray:
    """Levels at which a column is read: all of a nominal one, otherwise observed quantiles at k / (points - 1)."""
    below = np.cumsum(np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels)))
    if len(below) <= points or column.kind in ("nominal", "boolean"):
        return np.arange(len(below), dtype=np.intp)
    places = np.maximum(np.arange(points) * below[-1], 1)
    return np.unique(np.searchsorted(below * (points - 1), places, side="left")).astype(np.intp)


def ice_curves(predictor: Predictor, table: Table, grid: Grid, resources: Resources | None = None) -> FloatArray:
    """``F(g on the column, row n elsewhere)`` for every row n and place g, shape (n, G)."""
    if resources is not None:
        require_evaluations(resources, table.n_rows * len(grid))
    rows, donors = np.repeat(np.arange(table.n_rows), len(grid)), np.tile(np.arange(len(grid)), table.n_rows)
    return predictor.recombined(table, rows, grid.rows, donors, [grid.column]).reshape(table.n_rows, len(grid))


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

    def vectors(self, predictor: Predictor, table: Table, resources: Resources | None = None) -> FloatArray:
        """One curve a row, shape (n, G)."""
        grid = make_grid(table, table.resolve(self.feature, "feature"), self.points, self.grid)
        curves = ice_curves(predictor, table, grid, resources)
        curves = centred(curves) if self.center else curves
        return np.diff(curves, axis=1) if self.differences and curves.shape[1] > 1 else curves


def dependence_bins(column: Column) -> IntArray:
    """Bin of each row along a column: tenths of ordered columns, levels of others; missing values apart."""
    if column.kind in ("nominal", "boolean"):
        return column.codes + 1
    edges = interval_edges(column)
    bins = np.minimum(np.searchsorted(edges, column.codes, side="left"), len(edges) - 1) + 1
    return np.where(column.codes < 0, 0, bins).astype(np.intp)

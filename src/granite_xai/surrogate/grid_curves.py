"""Curves of a column that was evaluated at a few of its values, at all of them (C22)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Terms
from granite_xai.evaluations.evaluations import Evaluations, GridColumn
from granite_xai.evaluations.matrix import Matrix
from granite_xai.explanation.masking.levels import sortable
from granite_xai.tables import Column, Table


class _CurvePoints(NamedTuple):
    """Levels at which a curve is known, and its values there."""

    levels: IntArray  # (points,), ascending
    values: FloatArray  # (points,)


def as_numbers(values: Any, column: Column) -> FloatArray:
    """Ordered values as numbers; dates as seconds since the first fitting date, so that none is rounded away."""
    if column.kind != "date":
        return np.asarray(values, dtype=np.float64)
    one_second = np.ones(1, dtype="m8[s]")[0]
    return np.asarray((values - column.levels[0]) / one_second, dtype=np.float64)


def grid_curve(column: Column, evaluations: Evaluations, shares: FloatArray) -> FloatArray:
    """``F_S`` of a column for missing values (entry 0) and every level, from the values of its grid.

    Between the values of a grid of quantiles it is interpolated; where a pilot chose the values it
    runs between them as the curves of the pilot rows do.

    Parameters
    ----------
    column : Column
        Of the fitting rows; it is on a grid.
    evaluations : Evaluations
        Of all fitting rows.
    shares : array of shape (n,)
        Of the rows whose mean curve is read.

    Returns
    -------
    array of shape (1 + levels,)
    """
    columns = frozenset({column.position})
    matrix = evaluations.matrices[columns]
    if matrix.levels is None:
        raise ValueError(f"column {column.name!r} is not on a grid")
    by_line = matrix.values @ shares  # (lines,)
    has_missing = not np.all(matrix.levels >= 0)  # then their line comes first
    # Without missing values it is the mean prediction, so that their effect is 0.
    at_missing = by_line[0] if has_missing else evaluations.predictions @ shares
    points = _known_points(column, matrix, evaluations.snapped[columns], by_line, shares)
    if column.is_ordered:
        places = as_numbers(sortable(column, column)[0], column)
        curve = np.interp(places, places[points.levels], points.values)
    else:
        curve = np.full(len(column.levels), at_missing)
        curve[points.levels] = points.values
        # A label that nobody asked about has the value that stands for it.
        present = column.codes >= 0
        line_of_level = np.zeros(len(column.levels), dtype=np.intp)
        line_of_level[column.codes[present]] = matrix.codes[present]
        not_asked = ~np.isin(np.arange(len(column.levels)), points.levels)
        curve[not_asked] = by_line[line_of_level[not_asked]]
    return np.append(at_missing, curve)


def _known_points(
    column: Column, matrix: Matrix, grid: GridColumn, by_line: FloatArray, shares: FloatArray
) -> _CurvePoints:
    """Where the curve is known: at the pilot's values, or on a grid of quantiles and at its ends."""
    if matrix.levels is None:
        raise ValueError(f"column {column.name!r} is not on a grid")
    if grid.fine is not None:
        lines = np.searchsorted(matrix.levels, grid.fine.standing)
        return _CurvePoints(grid.fine.levels, grid.fine.at_levels(by_line[lines]))
    is_level = matrix.levels >= 0
    levels = matrix.levels[is_level]
    values = by_line[is_level]
    if grid.ends is not None:
        levels = np.append(levels, [0, len(column.levels) - 1])
        values = np.append(values, grid.ends @ shares)
    distinct, first = np.unique(levels.astype(np.intp), return_index=True)
    return _CurvePoints(distinct, values[first])


def grid_residuals(
    table: Table, evaluations: Evaluations, columns: Coalition, shares: FloatArray
) -> FloatArray:
    """The curve of a column at each row, less its value on the grid that stands there.

    Parameters
    ----------
    table, evaluations
        All rows and their evaluations.
    columns : set of one column
        It is on a grid.
    shares : array of shape (n_regions, n_rows)
        Of the rows in each region, whose mean curve is read.

    Returns
    -------
    array of shape (n_regions, n_rows)
    """
    column = table.columns[min(columns)]
    matrix = evaluations.matrix(columns)  # on the host, wherever it was evaluated
    on_grid = shares @ matrix.values.T  # (regions, values)
    curves = np.stack([grid_curve(column, evaluations, share) for share in shares])
    at_rows = curves[:, column.codes + 1]  # curves: (regions, 1 + levels)
    return np.asarray(at_rows - on_grid[:, matrix.codes])


def cell_residuals(
    table: Table, evaluations: Evaluations, columns: Coalition, terms: Terms, shares: FloatArray
) -> FloatArray:
    """What cells that a pilot chose leave out of the local effect of a column, row by row.

    The search reads a column at the values that stand for its cells. An effect that a user sees is that
    of the row at its own value: a pure effect reads the curve there instead of at the standing value, a
    full effect the prediction of the row.

    Parameters
    ----------
    table, evaluations, columns, shares
        As in `grid_residuals`; a column may have no cells.
    terms : mapping
        Of the effect under marginal masking.

    Returns
    -------
    array of shape (n_regions, n_rows)
    """
    grid = evaluations.snapped.get(columns)
    if grid is None or grid.fine is None:
        return np.zeros(shares.shape)
    factor_of_prediction = terms.get(evaluations.everything, 0.0)
    of_prediction = factor_of_prediction * (evaluations.predictions - grid.predictions)
    residuals = np.broadcast_to(of_prediction, shares.shape)
    factor_of_curve = terms.get(columns, 0.0)
    if factor_of_curve:
        of_curve = factor_of_curve * grid_residuals(table, evaluations, columns, shares)
        residuals = residuals + of_curve
    return np.asarray(residuals)

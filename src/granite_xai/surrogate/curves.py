"""Curves: the pure effect of one column in one region, at every value of the fitting rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, Terms
from granite_xai.compute.primitives import NUMPY
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.masking.levels import sortable
from granite_xai.tables import Column, Table


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The pure effect of one column in one region.

    Parameters
    ----------
    column : Column
        Of the fitting rows.
    effects : array of shape (1 + levels,)
        For missing values (0 where there were none), then for each level.
    """

    column: Column
    effects: FloatArray

    def at(self, column: Column) -> FloatArray:
        """Effect of each row of another table: interpolated, constant beyond the ends, 0 for levels never seen."""
        if not self.column.is_ordered or len(self.column.levels) == 0:
            effect_of = dict(
                zip(self.column.levels.tolist(), self.effects[1:].tolist(), strict=True)
            )
            by_level = np.array([effect_of.get(level, 0.0) for level in column.levels.tolist()])
        else:
            fitted_levels, levels = sortable(column, self.column)
            by_level = np.interp(
                as_numbers(levels, self.column),
                as_numbers(fitted_levels, self.column),
                self.effects[1:],
            )
        return np.append(by_level, self.effects[0])[column.codes]


def as_numbers(values: Any, column: Column) -> FloatArray:
    """Ordered values as numbers; dates as seconds since the first fitting date, so that none is rounded away."""
    if column.kind != "date":
        return np.asarray(values, dtype=np.float64)
    one_second = np.ones(1, dtype="m8[s]")[0]
    return np.asarray((values - column.levels[0]) / one_second, dtype=np.float64)


def region_curves(
    column: Column, evaluations: Evaluations, shares: FloatArray, means: FloatArray
) -> FloatArray:
    """Effects of a column in some regions.

    Parameters
    ----------
    column : Column
    evaluations : Evaluations
        Of all fitting rows.
    shares : array of shape (K, n)
        Of the rows in each region; 0 for rows of other regions.
    means : array of shape (K,)
        Mean prediction of each region.

    Returns
    -------
    array of shape (K, 1 + levels)
        For missing values, then for each level.
    """
    if len(evaluations.everything) == 1:  # the only column: its curve is the model
        by_row = np.broadcast_to(evaluations.predictions, shares.shape)
        return _by_level(column, by_row, means)
    matrix, shown = evaluations.stored(frozenset({column.position}))
    P = evaluations.primitives or NUMPY
    if not shown:
        n_values = matrix.values.shape[0]
        by_value = [np.bincount(matrix.codes, weights=own, minlength=n_values) for own in shares]
        by_row = P.host(P.product(P.array(np.stack(by_value)), matrix.values))
        return _by_level(column, by_row, means)
    if matrix.levels is not None:
        curves = [grid_curve(column, evaluations, own) for own in shares]
        return np.stack(curves) - means[:, None]
    by_row = P.host(P.product(matrix.values, P.array(shares.T))).T[:, matrix.codes]
    return _by_level(column, by_row, means)


def _by_level(column: Column, by_row: FloatArray, means: FloatArray) -> FloatArray:
    """Effects of each level from the masked model of each row, (K, 1 + levels)."""
    effects = np.zeros((len(means), len(column.levels) + 1))
    effects[:, column.codes + 1] = by_row - means[:, None]
    return effects


def grid_curve(column: Column, evaluations: Evaluations, shares: FloatArray) -> FloatArray:
    """``F_S`` of a column for missing values (entry 0) and every level, from the values of its grid.

    Between the values of a grid of quantiles it is interpolated; where a pilot chose the values it
    runs between them as the curves of the pilot rows do.
    """
    own = frozenset({column.position})
    matrix = evaluations.matrices[own]
    snapped = evaluations.snapped[own]
    if matrix.levels is None:
        raise ValueError(f"column {column.name!r} is not on a grid")
    P = evaluations.primitives or NUMPY
    by_line = P.host(P.product(matrix.values, P.array(shares)))
    present = matrix.levels >= 0
    at_missing = evaluations.predictions @ shares if present.all() else by_line[0]
    if snapped.fine is not None:
        known = snapped.fine.levels
        lines = np.searchsorted(matrix.levels, snapped.fine.standing)
        values = snapped.fine.at_levels(by_line[lines])
    else:
        ends = np.zeros(0)
        outermost = np.zeros(0, dtype=np.intp)
        if snapped.ends is not None:
            ends = snapped.ends @ shares
            outermost = np.array([0, len(column.levels) - 1])
        known, first = np.unique(
            np.append(matrix.levels[present], outermost).astype(np.intp), return_index=True
        )
        values = np.append(by_line[present], ends)[first]
    if column.is_ordered:
        places = as_numbers(sortable(column, column)[0], column)
        curve = np.interp(places, places[known], values)
    else:
        curve = np.full(len(column.levels), at_missing)
        curve[known] = values
        # A label that nobody asked about has the value that stands for it.
        lines = np.zeros(len(column.levels), dtype=np.intp)
        lines[column.codes[column.codes >= 0]] = matrix.codes[column.codes >= 0]
        unknown = ~np.isin(np.arange(len(column.levels)), known)
        curve[unknown] = by_line[lines[unknown]]
    return np.append(at_missing, curve)


def between_values(
    table: Table, known: Evaluations, columns: Coalition, shares: FloatArray
) -> FloatArray:
    """How far the curve of a column is at each row from the value of the grid that stands there.

    Parameters
    ----------
    table, known
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
    matrix = known.matrix(columns)  # on the host, wherever it was evaluated
    on_grid = shares @ matrix.values.T  # (regions, values)
    curves = np.stack([grid_curve(column, known, own) for own in shares])  # (regions, 1 + levels)
    return np.asarray(curves[:, column.codes + 1] - on_grid[:, matrix.codes])


def between_cells(
    table: Table, known: Evaluations, columns: Coalition, terms: Terms, shares: FloatArray
) -> FloatArray:
    """What cells that a pilot chose leave out of the local effect of a column, row by row.

    A gap reads a column at the values that stand for its cells; an effect that is shown is that of
    the row itself. Pure effects have the curve there, full effects the prediction.

    Parameters
    ----------
    table, known, columns, shares
        As in `between_values`; a column may have no cells.
    terms : mapping
        Of the effect under marginal masking.
    """
    snapped = known.snapped.get(columns)
    if snapped is None or snapped.fine is None:
        return np.zeros(shares.shape)
    of_prediction = terms.get(known.everything, 0.0) * (known.predictions - snapped.predictions)
    left_out = np.broadcast_to(of_prediction, shares.shape)
    if of_curve := terms.get(columns, 0.0):
        left_out = left_out + of_curve * between_values(table, known, columns, shares)
    return np.asarray(left_out)

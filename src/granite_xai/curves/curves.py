"""Places along a column, its curve over some rows, and how single rows run around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from granite_xai.evaluations.asking import Ends
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.evaluations.values import Cells
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
    if choose("grid", kind, GRIDS) == "quantile":
        codes = grid_codes(column, points)
        return Grid(position, column.levels[codes], table.take(carriers(column, codes)))
    require_numeric([column], "an equidistant grid")
    values = np.array(column.levels)
    if len(values) > 1:
        values = np.linspace(values[0], values[-1], points)
    # Rows that carry these numbers, though no fitting row does.
    first_rows = np.zeros(len(values), dtype=np.intp)
    columns = [other.take(first_rows) for other in table.columns]
    columns[position] = replace(column, values=values.copy(), integer=False)
    rows = Table(tuple(columns), table.container.adopt([column.values for column in columns]))
    return Grid(position, values, rows)


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


ROUNDING = 1e-12  # share of the largest prediction, or of a mass, that is rounding
BAND = (0.05, 0.95)  # nine rows in ten

# Curves ----------------------------------------------------------------------------------------------


def ascending(levels: Any, fitted: Column) -> Any:
    """Levels of a column on the scale on which those of the fit ascend.

    That of an ordinal column is the place in its declared order, behind all of which an unseen label stands.

    Parameters
    ----------
    levels : array
        Of the column on any rows.
    fitted : Column
        On the fitting rows.
    """
    if fitted.order is None:
        return levels
    place_of_label = {label: place for place, label in enumerate(fitted.order)}
    behind_all = len(place_of_label)
    return np.array([place_of_label.get(level, behind_all) for level in levels], dtype=np.intp)


def as_numbers(values: Any, column: Column) -> FloatArray:
    """Ordered values as numbers; dates as seconds since the first fitting date, so that none is rounded away."""
    if column.kind != "date":
        return np.asarray(values, dtype=np.float64)
    one_second = np.ones(1, dtype="m8[s]")[0]
    return np.asarray((values - column.levels[0]) / one_second, dtype=np.float64)


def pdp_of_regions(
    column: Column, evaluations: Evaluations, shares: FloatArray, cells: Cells | None, output: int
) -> FloatArray:
    """``F_S`` of a column in some regions, for missing values and every level.

    Between the values that stand for a column it is interpolated; where a pilot chose them it runs
    between them as the curves of the pilot rows do.

    Parameters
    ----------
    column : Column
        Of the fitting rows.
    evaluations : Evaluations
        Of all fitting rows.
    shares : array of shape (K, n)
        Of the rows in each region; 0 for rows of other regions.
    cells : Cells, optional
        The values that a pilot chose for the column.
    output : int
        Of the model, which these evaluations are about.

    Returns
    -------
    array of shape (K, 1 + levels)
    """
    means = shares @ evaluations.f
    if evaluations.n_columns == 1:  # the only column: its curve is the model
        masked = np.broadcast_to(evaluations.f, shares.shape)
        return _by_level(column, masked, means)
    members = frozenset({column.position})
    matrix, is_shown = evaluations.reading(members)
    if not is_shown:
        n_values = matrix.values.shape[1]
        share_of_value = np.stack(
            [np.bincount(matrix.codes, weights=share, minlength=n_values) for share in shares]
        )
        return _by_level(column, share_of_value @ matrix.values.T, means)
    by_value = shares @ matrix.values  # (K, U)
    ends = evaluations.facts.get(Ends(members))
    if cells is None and ends is None:  # every row is read at its own value
        return _by_level(column, by_value[:, matrix.codes], means)
    curves = []
    for number, share in enumerate(shares):
        of_ends = None if ends is None else share @ ends.values
        fine = None if cells is None or not cells.curves else cells.curves[output]
        curves.append(
            _between_values(column, matrix, by_value[number], of_ends, fine, means[number])
        )
    return np.stack(curves)


def _by_level(column: Column, masked: FloatArray, means: FloatArray) -> FloatArray:
    """Of each level, (K, 1 + levels), from the masked model at each row, (K, n); the mean where no row is."""
    curves = np.repeat(means[:, None], len(column.levels) + 1, axis=1)
    curves[:, column.codes + 1] = masked
    return curves


def _between_values(
    column: Column,
    matrix: Matrix,
    by_value: FloatArray,
    of_ends: FloatArray | None,
    fine: Any,
    mean: float,
) -> FloatArray:
    """The curve of one region, (1 + levels,), from the values that stand for the column."""
    levels = matrix.levels
    if levels is None:
        raise ValueError(f"column {column.name!r} is asked at all its values")
    is_level = levels >= 0
    # Without missing values theirs is the mean prediction, so that their effect is 0.
    at_missing = mean if is_level.all() else float(by_value[~is_level][0])
    if fine is not None:
        at_standing = by_value[np.searchsorted(levels, fine.standing)]
        places, values = fine.levels, fine.at_levels(at_standing)
    else:
        places, values = levels[is_level], by_value[is_level]
        if of_ends is not None:
            places = np.append(places, [0, len(column.levels) - 1])
            values = np.append(values, of_ends)
        places, first = np.unique(places.astype(np.intp), return_index=True)
        values = values[first]
    if column.is_ordered:
        numbers = as_numbers(ascending(column.levels, column), column)
        curve = np.interp(numbers, numbers[places], values)
    else:
        # A label that nobody asked about has the value that stands for it.
        value_of_level = np.zeros(len(column.levels), dtype=np.intp)
        is_present = column.codes >= 0
        value_of_level[column.codes[is_present]] = matrix.codes[is_present]
        curve = by_value[value_of_level]
        curve[places] = values
    return np.append(at_missing, curve)


# Curves of single rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RowCurves:
    """How the curves of single rows run around their mean curve; arrays of shape (1 + levels,).

    Attributes
    ----------
    errors : array
        Standard error of each effect, over rows or clusters of rows.
    low, high : arrays
        Where the curves of nine rows in ten lie, each less its own mean.
    spread : float
        How far single rows move along the curve: root mean square of their own effects at their own values.
    """

    errors: FloatArray
    low: FloatArray
    high: FloatArray
    spread: float


def row_curves(
    column: Column,
    evaluations: Evaluations,
    rows: IntArray,
    clusters: IntArray,
    effects: FloatArray,
) -> RowCurves:
    """How the curves of single rows run around their mean curve.

    They are known at the values that stand for the column; between these, what surrounds the mean curve is
    interpolated.

    Parameters
    ----------
    column : Column
    evaluations : Evaluations
        Of all search rows.
    rows : array of int
        Those of a node.
    clusters : array of shape (n_inside,)
        Number of the cluster of each of them.
    effects : array of shape (1 + levels,)
        Their mean curve.
    """
    if len(rows) == 0:
        unknown = np.full(len(effects), np.nan)
        return RowCurves(errors=unknown, low=unknown, high=unknown, spread=np.nan)
    matrix = _shown_matrix(evaluations, column)
    codes = matrix.codes[rows]
    predictions = matrix.values[rows]
    shares = evaluations.weights[rows] / evaluations.weights[rows].sum()
    of_values = np.bincount(codes, weights=shares, minlength=predictions.shape[1])
    curves = predictions - (predictions @ of_values)[:, None]
    curves[np.abs(curves) < ROUNDING * np.abs(evaluations.f).max()] = 0.0
    mean = shares @ curves
    numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    by_cluster = np.zeros((int(numbers.max()) + 1, len(mean)))
    np.add.at(by_cluster, numbers, (curves - mean) * shares[:, None])
    low, high = weighted_quantiles(curves, shares, BAND)
    own = curves[np.arange(len(rows)), codes]
    errors = np.sqrt(np.square(by_cluster).sum(axis=0))
    if len(by_cluster) == 1:  # which does not tell how clusters vary
        errors[:] = np.nan
    return RowCurves(
        errors=_at_levels(column, matrix, errors),
        low=effects + _at_levels(column, matrix, low - mean),
        high=effects + _at_levels(column, matrix, high - mean),
        spread=float(np.sqrt(shares @ np.square(own))),
    )


def _shown_matrix(evaluations: Evaluations, column: Column) -> Matrix:
    """``E`` of a column, also where the evaluations hold that of the others, or none as it is the only one."""
    if evaluations.n_columns == 1:
        _, carriers, codes = np.unique(column.codes, return_index=True, return_inverse=True)
        return Matrix(np.tile(evaluations.f[carriers], (len(evaluations), 1)), codes.reshape(-1))
    matrix, is_shown = evaluations.reading(frozenset({column.position}))
    return matrix if is_shown else matrix.turned()


def weighted_quantiles(
    lines: FloatArray, shares: FloatArray, bounds: Sequence[float]
) -> FloatArray:
    """For each bound the smallest value of each column of lines that such a share of the rows does not exceed."""
    order = np.argsort(lines, axis=0, kind="stable")
    up_to = np.cumsum(shares[order], axis=0)
    ranked = np.take_along_axis(lines, order, axis=0)
    quantiles = []
    for bound in bounds:
        places = (up_to < bound * (1.0 - ROUNDING)).sum(axis=0)
        quantiles.append(ranked[places, np.arange(lines.shape[1])])
    return np.stack(quantiles)


def _at_levels(column: Column, matrix: Matrix, at_values: FloatArray) -> FloatArray:
    """Something known at the values that stand for a column, of a missing value and every level, (1 + levels,)."""
    at_levels = np.zeros(len(column.levels) + 1)
    at_levels[column.codes + 1] = at_values[matrix.codes]
    if column.is_ordered and matrix.levels is not None:
        is_level = matrix.levels >= 0
        numbers = as_numbers(ascending(column.levels, column), column)
        at_levels[1:] = np.interp(numbers, numbers[matrix.levels[is_level]], at_values[is_level])
    return at_levels

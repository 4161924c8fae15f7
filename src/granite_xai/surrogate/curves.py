"""Curves along one column on a grid (ICE; their mean over rows is the PDP), and the additive surrogate they make."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.coalitions import subsets, union
from granite_xai.base.errors import InputError
from granite_xai.base.files import BY_ROW
from granite_xai.base.text import column_text
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Terms
from granite_xai.base.validation import choose, whole_number
from granite_xai.compute import Resources, one_blas_thread, require_evaluations
from granite_xai.compute.primitives import NUMPY
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.vectors import centred
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.interaction import Additive, Players
from granite_xai.explanation.masking import Marginal
from granite_xai.explanation.masking.bins import carriers as carriers, interval_edges, sortable
from granite_xai.models import Predictor
from granite_xai.tables import Column, Outline, Table, require_rows

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
        raise InputError(
            f"X {where} has no value to draw a curve along.", code="D18", columns=[column.name]
        )
    if choose("grid", kind, GRIDS) == "equidistant":
        require_numeric([column], "an equidistant grid")
        many = len(column.levels) > 1
        values = np.array(
            np.linspace(column.levels[0], column.levels[-1], points) if many else column.levels
        )
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


def ice_curves(
    predictor: Predictor, table: Table, grid: Grid, resources: Resources | None = None
) -> FloatArray:
    """``F(g on the column, row n elsewhere)`` for every row n and place g, shape (n, G)."""
    if resources is not None:
        require_evaluations(resources, table.n_rows * len(grid))
    rows, donors = (
        np.repeat(np.arange(table.n_rows), len(grid)),
        np.tile(np.arange(len(grid)), table.n_rows),
    )
    return predictor.recombined(table, rows, grid.rows, donors, [grid.column]).reshape(
        table.n_rows, len(grid)
    )


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


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The pure effect of one column in one region, at every value of the fitting rows."""

    column: Column
    effects: (
        FloatArray  # entry 0 for missing values (0 where there were none), then one for each level
    )

    def at(self, column: Column) -> FloatArray:
        """Effect of each row of another table: interpolated, constant beyond the ends, 0 for levels never seen."""
        if self.column.kind in ("nominal", "boolean") or len(self.column.levels) == 0:
            known = dict(zip(self.column.levels.tolist(), self.effects[1:].tolist(), strict=True))
            by_level = np.array([known.get(level, 0.0) for level in column.levels.tolist()])
        else:
            grid, places = (_scale(part, self.column) for part in sortable(column, self.column))
            by_level = np.interp(places, grid, self.effects[1:])
        return np.append(by_level, self.effects[0])[column.codes]


def _scale(values: Any, column: Column) -> FloatArray:
    """Ordered values as numbers; dates as ticks since the first fitting date, so that none is rounded away."""
    if column.kind != "date":
        return np.asarray(values, dtype=np.float64)
    return np.asarray((values - column.levels[0]) / np.ones(1, dtype="m8[s]")[0], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RegionSurrogate:
    """G in one region: the mean prediction, and a curve for each column that is a player of its own."""

    mean: float
    curves: tuple[Curve, ...]
    rows: IntArray = field(
        metadata=BY_ROW
    )  # the region's fitting rows, the reference of effects of several columns


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """G in every region of a partition, with the fitting rows."""

    effects: tuple[
        tuple[Coalition, ...], ...
    ]  # sets L whose pure effects ``Delta(L, nothing)`` are added up
    regions: tuple[RegionSurrogate, ...]
    table: Table
    weights: FloatArray = field(metadata=BY_ROW)

    @property
    def needs_model(self) -> bool:
        """Whether some effects are of several columns, which no curve tells."""
        return any(len(frozenset().union(*members)) > 1 for members in self.effects)

    @property
    def lacks_rows(self) -> bool:
        """Whether it cannot predict, because effects of several columns need rows that a file did not hold."""
        return self.needs_model and isinstance(self.table.container, Outline)

    def predict(
        self,
        table: Table,
        regions: IntArray,
        predictor: Predictor | None = None,
        exact: bool = False,
    ) -> FloatArray:
        """G at the rows of a table, given their regions; `exact`, and effects of several columns, ask the model."""
        if exact:
            require_rows(self.table, "predict(exact=True)")
        elif self.needs_model:
            require_rows(self.table, "a prediction from effects of several features")
        result = np.empty(table.n_rows)
        for k, region in enumerate(self.regions):
            rows = np.flatnonzero(regions == k)
            if len(rows):
                result[rows] = self._region(region, table.take(rows), predictor, exact)
        return result

    def _region(
        self, region: RegionSurrogate, table: Table, predictor: Predictor | None, exact: bool
    ) -> FloatArray:
        curves = (
            {} if exact else {frozenset({curve.column.position}): curve for curve in region.curves}
        )
        total = np.full(table.n_rows, region.mean)
        masked: dict[Coalition, FloatArray] = {frozenset(): total.copy()}
        for members in self.effects:
            columns = union(members)
            if columns in curves:
                total += curves[columns].at(table.columns[next(iter(columns))])
                continue
            for part in subsets(members):
                coalition, sign = union(part), (-1.0) ** (len(members) - len(part))
                if coalition not in masked:
                    masked[coalition] = self._masked(region.rows, table, coalition, predictor)
                total += sign * masked[coalition]
        return total

    def _masked(
        self, rows: IntArray, table: Table, visible: Coalition, predictor: Predictor | None
    ) -> FloatArray:
        """``F_T`` at new rows: the model's mean over the region's fitting rows with the visible columns replaced."""
        if predictor is None:
            raise ValueError("effects of several columns need the model")
        codes, donors = table.distinct(visible)
        shares, same = (
            self.weights[rows] / self.weights[rows].sum(),
            np.ones(len(rows), dtype=np.intp),
        )
        asked = (
            predictor.recombined(self.table, rows, table, donor * same, sorted(visible))
            for donor in donors
        )
        return np.array([values @ shares for values in asked])[codes]


@dataclass(frozen=True, slots=True, eq=False)
class SurrogateFit:
    """G with regions and without, and the share of the prediction's variance that each explains."""

    surrogate: Surrogate
    fidelity: float
    global_fidelity: float
    everywhere: RegionSurrogate | None = None  # curves of all rows; in older files not known


def in_unit_interval(values: FloatArray, offset: float = 0.0) -> FloatArray:
    """Probabilities that curves add up to, counted from an offset: a sum may leave [0, 1], a probability does not."""
    return np.clip(values, 0.0 - offset, 1.0 - offset)


def described(
    table: Table,
    evaluations: Evaluations,
    players: Players,
    order: int,
    regions: Sequence[IntArray],
    *,
    probability: bool,
) -> SurrogateFit:
    """G of some regions and of all rows, from the evaluations of the fitting rows.

    Parameters
    ----------
    probability : bool
        Whether the explained output is a probability: G is then judged as it predicts, inside [0, 1].
    """
    known, scopes = (table, evaluations, players, order), [*regions, np.arange(table.n_rows)]
    with one_blas_thread():
        found, fits = fit_surrogate(*known, scopes), additive(*known, *scopes)
        if probability:
            fits = [in_unit_interval(fit, evaluations.offset) for fit in fits]
        by_region, overall = (
            _fidelity(evaluations, scopes[at], fits[at]) for at in (slice(-1), slice(-1, None))
        )
        return SurrogateFit(
            replace(found, regions=found.regions[:-1]), by_region, overall, found.regions[-1]
        )


def fit_surrogate(
    table: Table,
    evaluations: Evaluations,
    players: Players,
    order: int,
    regions: Sequence[IntArray],
) -> Surrogate:
    """Learn G from the evaluations of the fitting rows: the pure effects of all sets of up to ``order`` players."""
    effects = tuple(
        members for size in range(1, order + 1) for members in combinations(players, size)
    )
    columns = [
        table.columns[next(iter(own[0]))] for own in effects if len(own) == 1 and len(own[0]) == 1
    ]
    shares = np.zeros(
        (len(regions), evaluations.n_rows)
    )  # rows of others count nothing: no matrix has to be cut out
    for own, rows in zip(shares, regions, strict=True):
        own[rows] = evaluations.weights[rows] / evaluations.weights[rows].sum()
    means = shares @ evaluations.predictions
    found = [(column, _curves(column, evaluations, shares, means)) for column in columns]
    told = (means + evaluations.offset).tolist()
    curves = [
        tuple(Curve(column, by_region[k]) for column, by_region in found)
        for k in range(len(regions))
    ]
    parts = tuple(RegionSurrogate(*each) for each in zip(told, curves, regions, strict=True))
    return Surrogate(effects, parts, table, evaluations.weights)


def _curves(
    column: Column, evaluations: Evaluations, shares: FloatArray, means: FloatArray
) -> FloatArray:
    """Effects of a column in every region, given by the shares of their rows (K, n): missing, then every level."""
    if len(evaluations.everything) == 1:  # the only column: its curve is the model
        by_row = np.broadcast_to(evaluations.predictions, shares.shape)
    else:
        (matrix, shown), P = (
            evaluations.stored(frozenset({column.position})),
            evaluations.primitives or NUMPY,
        )
        if not shown:
            lines = [
                np.bincount(matrix.codes, weights=own, minlength=matrix.values.shape[0])
                for own in shares
            ]
            by_row = P.host(P.product(P.array(np.stack(lines)), matrix.values))
        elif matrix.levels is not None:
            return (
                np.stack([grid_curve(column, evaluations, own) for own in shares]) - means[:, None]
            )
        else:
            by_row = P.host(P.product(matrix.values, P.array(shares.T))).T[:, matrix.codes]
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
        places = _scale(sortable(column, column)[0], column)
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


def _fidelity(known: Evaluations, regions: Sequence[IntArray], fits: Sequence[FloatArray]) -> float:
    """``1 - mean (F - G)^2 / Var F`` on the fitting rows, given G in each region; 1 for a constant model."""
    whole = Splits.whole(known.weights)
    variance = float(whole.variances(known.predictions[None])[0, 0])
    if variance == 0.0:
        return 1.0
    found = zip(regions, fits, strict=True)
    total = sum(
        float(known.weights[rows] @ np.square(known.predictions[rows] - own)) for rows, own in found
    )
    return 1.0 - total / float(whole.mass[0, 0]) / variance


def additive(
    table: Table, known: Evaluations, players: Players, order: int, *regions: IntArray
) -> list[FloatArray]:
    """G at the rows of each region, centred as the predictions are; all regions at once."""
    inside = np.array(
        [np.bincount(rows, minlength=known.n_rows) for rows in regions], dtype=np.bool_
    )
    splits = Splits.of(inside, known.weights, known.primitives)
    values = Game.of(Local(), Marginal(), known, splits).values(Additive(order).terms(players, ()))
    for columns in known.snapped.keys() & set(players):
        values = values + between_values(table, known, columns, splits.left / splits.mass[:, :1])
    return [values[k, rows] for k, rows in enumerate(regions)]


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

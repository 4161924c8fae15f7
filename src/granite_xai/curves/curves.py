"""What describes a model: in every region the sum of one curve per column (docs/method.rst, "What a description is").

A description starts from the mean prediction of the region and adds every effect less its own mean there:

    G(x) = mean F + sum over L of (effect_L(x) - mean effect_L)

so that curves and model agree in the mean, also where columns depend on each other. The paper's surrogate adds the
effects as they are: its centres are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from granite_xai.algebra.effects import Terms
from granite_xai.algebra.masked_model import averaged
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players, subsets, union
from granite_xai.evaluations.asking import Ends
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.evaluations.values import Cells
from granite_xai.models import Predictor
from granite_xai.tables import Column, Outline, Table, require_rows

ROUNDING = 1e-12  # share of the largest prediction, or of a mass, that is rounding
BAND = (0.05, 0.95)  # nine rows in ten

# Curves ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The pure effect of one column in one region.

    Parameters
    ----------
    column : Column
        Of the fitting rows.
    effects : array of shape (1 + levels,)
        For missing values (0 where there were none), then for each level.
    centre : float
        Mean of the effects over the rows of the region, from which a description counts them; 0 in the paper's
        surrogate.
    level_shares : array of shape (levels,)
        Share of the region's rows with a value that have each level.
    """

    column: Column
    effects: FloatArray
    centre: float = 0.0
    level_shares: FloatArray = field(default_factory=lambda: np.zeros(0))

    def centred(self, shares: FloatArray) -> Curve:
        """The curve counted from its mean over rows; a missing value adds 0 where none was seen.

        Parameters
        ----------
        shares : array of shape (n,)
            Of the fitting rows in the region; 0 for rows of other regions.
        """
        centre = float(shares @ self.effects[self.column.codes + 1])
        effects = self.effects
        if not np.any(self.column.codes < 0):
            effects = np.append(centre, effects[1:])
        return replace(self, effects=effects, centre=centre)

    def at(self, column: Column) -> FloatArray:
        """What the curve adds at each row of another table, counted from its centre.

        Interpolated, constant beyond the ends; levels never seen add 0.

        Parameters
        ----------
        column : Column
            The same column in the other table.
        """
        centred_effects = self.effects - self.centre
        of_missing = centred_effects[0]
        of_levels = centred_effects[1:]
        if not self.column.is_ordered or len(self.column.levels) == 0:
            effect_of = dict(zip(self.column.levels.tolist(), of_levels.tolist(), strict=True))
            by_level = np.array([effect_of.get(level, 0.0) for level in column.levels.tolist()])
        else:
            known, asked = sortable_levels(column, self.column)
            by_level = np.interp(
                as_numbers(asked, self.column), as_numbers(known, self.column), of_levels
            )
        # A missing value has the code -1, which reads the last entry.
        return np.append(by_level, of_missing)[column.codes]


def sortable_levels(column: Column, fitted: Column) -> tuple[Any, Any]:
    """Levels of the fit, and those of the same column on other rows, on one scale that ascends.

    The scale of an ordinal column is the place in its declared order, behind all of which an unseen label stands.
    """
    if fitted.order is None:
        return fitted.levels, column.levels
    place_of_label = {label: place for place, label in enumerate(fitted.order)}
    behind_all = len(place_of_label)
    known = [place_of_label[level] for level in fitted.levels]
    return known, [place_of_label.get(level, behind_all) for level in column.levels]


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
        numbers = as_numbers(sortable_levels(column, column)[0], column)
        curve = np.interp(numbers, numbers[places], values)
    else:
        # A label that nobody asked about has the value that stands for it.
        value_of_level = np.zeros(len(column.levels), dtype=np.intp)
        is_present = column.codes >= 0
        value_of_level[column.codes[is_present]] = matrix.codes[is_present]
        curve = by_value[value_of_level]
        curve[places] = values
    return np.append(at_missing, curve)


def _shares_of_levels(column: Column, shares: FloatArray) -> FloatArray:
    """Share of the rows with a value that have each level, (n_levels,); 0 where no row has one."""
    by_level = np.bincount(column.codes + 1, weights=shares, minlength=len(column.levels) + 1)[1:]
    total = float(by_level.sum())
    return np.asarray(by_level / total if total > 0 else by_level)


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
    predictions, codes = matrix.values[rows], matrix.codes[rows]
    shares = evaluations.weights[rows] / evaluations.weights[rows].sum()
    of_values = np.bincount(codes, weights=shares, minlength=predictions.shape[1])
    curves = predictions - (predictions @ of_values)[:, None]
    curves[np.abs(curves) < ROUNDING * np.abs(evaluations.f).max()] = 0.0
    mean = shares @ curves
    numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    by_cluster = np.zeros((int(numbers.max()) + 1, len(mean)))
    np.add.at(by_cluster, numbers, (curves - mean) * shares[:, None])
    low, high = _weighted_quantiles(curves, shares, BAND)
    own = curves[np.arange(len(rows)), codes]
    return RowCurves(
        errors=_at_levels(column, matrix, np.sqrt(np.square(by_cluster).sum(axis=0))),
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


def _weighted_quantiles(
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
        numbers = as_numbers(sortable_levels(column, column)[0], column)
        at_levels[1:] = np.interp(numbers, numbers[matrix.levels[is_level]], at_values[is_level])
    return at_levels


# Descriptions ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RegionSurrogate:
    """G in one region.

    Parameters
    ----------
    mean : float
        Mean prediction.
    curves : tuple of Curve
        For each column that is a player of its own.
    rows : array of int
        The region's fitting rows, the reference of effects of several columns.
    joint_centres : tuple of float
        Mean over these rows of each effect of several columns, in the order of the surrogate's effects; 0 in the
        paper's surrogate.
    """

    mean: float
    curves: tuple[Curve, ...]
    rows: IntArray
    joint_centres: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """G in every region of a partition.

    Parameters
    ----------
    effects : tuple of tuples of coalitions
        Sets L of players whose pure effects ``Delta(L, nothing)`` are added up.
    regions : tuple of RegionSurrogate
    table : Table
        The fitting rows.
    weights : array of shape (n,)
        Of the fitting rows.
    """

    effects: tuple[tuple[Coalition, ...], ...]
    regions: tuple[RegionSurrogate, ...]
    table: Table
    weights: FloatArray

    @property
    def joint_effects(self) -> tuple[tuple[Coalition, ...], ...]:
        """The effects of several columns, which no curve tells."""
        return tuple(members for members in self.effects if len(union(members)) > 1)

    @property
    def needs_model(self) -> bool:
        """Whether some effects are of several columns."""
        return len(self.joint_effects) > 0

    @property
    def lacks_rows(self) -> bool:
        """Whether it cannot predict, because effects of several columns need rows that a file did not hold."""
        return self.needs_model and isinstance(self.table.container, Outline)

    def predict(
        self, table: Table, regions: IntArray, predictor: Predictor | None = None
    ) -> FloatArray:
        """G at the rows of a table.

        Parameters
        ----------
        table : Table
        regions : array of shape (n,)
            Number of the region of each row.
        predictor : Predictor, optional
            The model, which effects of several columns need.
        """
        if self.needs_model:
            require_rows(self.table, "a prediction from effects of several features")
        result = np.empty(table.n_rows)
        for k, region in enumerate(self.regions):
            rows = np.flatnonzero(regions == k)
            if len(rows):
                result[rows] = self._predict_in_region(region, table.take(rows), predictor)
        return result

    def _predict_in_region(
        self, region: RegionSurrogate, table: Table, predictor: Predictor | None
    ) -> FloatArray:
        curve_of = {frozenset({curve.column.position}): curve for curve in region.curves}
        total = np.full(table.n_rows, region.mean)
        masked: dict[Coalition, FloatArray] = {frozenset(): total.copy()}
        total -= sum(region.joint_centres)
        for members in self.effects:
            columns = union(members)
            if columns in curve_of:
                total += curve_of[columns].at(table.columns[min(columns)])
                continue
            # Delta(L, nothing) = sum over T in L of (-1)^(|L| - |T|) F_T
            for part in subsets(members):
                coalition = union(part)
                sign = (-1.0) ** (len(members) - len(part))
                if coalition not in masked:
                    masked[coalition] = self._masked(region.rows, table, coalition, predictor)
                total += sign * masked[coalition]
        return total

    def _masked(
        self, rows: IntArray, table: Table, visible: Coalition, predictor: Predictor | None
    ) -> FloatArray:
        """``F_T`` at new rows: the model's mean over the region's fitting rows with the visible columns replaced."""
        if predictor is None:
            raise ValueError("effects of several features need the model")
        codes, donors = table.distinct(visible)
        shares = self.weights[rows] / self.weights[rows].sum()
        means = []
        for donor in donors:
            donor_of_row = np.full(len(rows), donor, dtype=np.intp)
            predictions = predictor.recombined(
                self.table, rows, table, donor_of_row, sorted(visible)
            )
            means.append(predictions @ shares)
        return np.array(means)[codes]


@dataclass(frozen=True, slots=True, eq=False)
class SurrogateFit:
    """G with regions and without.

    Parameters
    ----------
    surrogate : Surrogate
        With regions.
    everywhere : RegionSurrogate
        G without regions.
    fidelity, global_fidelity : float
        Share of the prediction's variance that G explains, with regions and without.
    """

    surrogate: Surrogate
    everywhere: RegionSurrogate
    fidelity: float
    global_fidelity: float


def in_unit_interval(values: FloatArray) -> FloatArray:
    """Probabilities that curves add up to: a sum may leave [0, 1], a probability does not."""
    return np.clip(values, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class CurveMaker:
    """What curves of one output are made of.

    Parameters
    ----------
    table : Table
        The fitting rows.
    evaluations : Evaluations
        Of these, with all that curves read.
    players : sequence of coalitions
    order : int
        Effects of all sets of up to so many players are added up.
    cells : mapping of position to Cells
        Values that a pilot chose for columns.
    is_centred : bool
        Whether each effect is counted from its own mean over the rows of the region; otherwise G is the paper's
        surrogate.
    is_probability : bool
        Whether the explained output is a probability: G is then judged as it predicts, inside [0, 1].
    output : int
        Number of the output.
    """

    table: Table
    evaluations: Evaluations
    players: Players
    order: int
    cells: Mapping[int, Cells] = field(default_factory=dict)
    is_centred: bool = True
    is_probability: bool = False
    output: int = 0

    @property
    def effects(self) -> tuple[tuple[Coalition, ...], ...]:
        """The sets of players whose effects are added up."""
        sizes = range(1, self.order + 1)
        return tuple(members for size in sizes for members in combinations(self.players, size))

    def surrogate(self, regions: Sequence[IntArray]) -> Surrogate:
        """G in some regions, given by their rows; they may overlap."""
        evaluations = self.evaluations
        # Rows of other regions count nothing: no matrix has to be cut out.
        shares = np.zeros((len(regions), len(evaluations)))
        for share, rows in zip(shares, regions, strict=True):
            share[rows] = evaluations.weights[rows] / evaluations.weights[rows].sum()
        means = shares @ evaluations.f
        curves_of_region: list[list[Curve]] = [[] for _ in regions]
        for position in (min(player) for player in self.players if len(player) == 1):
            column = self.table.columns[position]
            of_regions = pdp_of_regions(
                column, evaluations, shares, self.cells.get(position), self.output
            )
            effects_by_region = of_regions - means[:, None]
            for curves, effects, share in zip(
                curves_of_region, effects_by_region, shares, strict=True
            ):
                curve = Curve(column, effects, level_shares=_shares_of_levels(column, share))
                curves.append(curve.centred(share) if self.is_centred else curve)
        surrogate = Surrogate(self.effects, (), self.table, evaluations.weights)
        joint_centres = np.zeros((len(regions), len(surrogate.joint_effects)))
        if self.is_centred and surrogate.joint_effects:
            joint_centres = self._means_of_joint_effects(surrogate.joint_effects, shares)
        surrogates = [
            RegionSurrogate(
                mean=float(means[k] + evaluations.offset),
                curves=tuple(curves_of_region[k]),
                rows=rows,
                joint_centres=tuple(joint_centres[k].tolist()),
            )
            for k, rows in enumerate(regions)
        ]
        return replace(surrogate, regions=tuple(surrogates))

    def fit(self, regions: Sequence[IntArray]) -> SurrogateFit:
        """G of some disjoint regions and of all rows, and how much of the model it explains."""
        everywhere = np.arange(len(self.evaluations))
        surrogate = self.surrogate([*regions, everywhere])
        by_region = self.predictions(surrogate, [*regions, everywhere])
        return SurrogateFit(
            surrogate=replace(surrogate, regions=surrogate.regions[:-1]),
            everywhere=surrogate.regions[-1],
            fidelity=self._fidelity(regions, by_region[:-1]),
            global_fidelity=self._fidelity([everywhere], by_region[-1:]),
        )

    def predictions(self, surrogate: Surrogate, regions: Sequence[IntArray]) -> list[FloatArray]:
        """G at the rows of each region, as it predicts there; effects of several columns are read, not asked."""
        joint = surrogate.joint_effects
        effects_of_regions = np.zeros((len(self.evaluations), len(regions)))
        if joint:
            inside = np.zeros((len(self.evaluations), len(regions)))
            for number, rows in enumerate(regions):
                inside[rows, number] = self.evaluations.weights[rows]
            lines = RegionWeights.lines(inside)
            for members in joint:
                effects_of_regions += self._joint_effect(members, lines)
        predictions = []
        for number, (region, rows) in enumerate(zip(surrogate.regions, regions, strict=True)):
            total = region.mean - sum(region.joint_centres) + effects_of_regions[rows, number]
            for curve in region.curves:
                total = total + (curve.effects - curve.centre)[curve.column.codes[rows] + 1]
            predictions.append(in_unit_interval(total) if self.is_probability else total)
        return predictions

    def cell_residuals(self, columns: Coalition, terms: Terms, shares: FloatArray) -> FloatArray:
        """What the values that a pilot chose leave out of the local effect of a column, row by row.

        The search reads a column at the values that stand for its cells (C22). An effect that a user sees is
        that of the row at its own value: a pure effect reads the curve there instead of at the standing value, a
        full effect the prediction of the row.

        Parameters
        ----------
        columns : coalition
            The set that the effect is about; 0 unless it is a column with cells.
        terms : mapping
            Of the effect under marginal masking.
        shares : array of shape (K, n)
            Of the rows in each region, whose mean curve is read.

        Returns
        -------
        array of shape (K, n)
        """
        evaluations = self.evaluations
        cells = self.cells.get(min(columns)) if len(columns) == 1 else None
        if cells is None or columns not in evaluations.matrices:
            return np.zeros(shares.shape)
        of_prediction = of_curve = 0.0
        for term, coefficient in terms.items():
            of_prediction += coefficient * (term.visible == evaluations.everything)
            of_curve += coefficient * (term.visible == columns)
        matrix = evaluations.matrices[columns]
        residuals = np.broadcast_to(of_prediction * (evaluations.f - matrix.own()), shares.shape)
        if of_curve:
            column = self.table.columns[min(columns)]
            curves = pdp_of_regions(column, evaluations, shares, cells, self.output)
            at_standing = (shares @ matrix.values)[:, matrix.codes]
            residuals = residuals + of_curve * (curves[:, column.codes + 1] - at_standing)
        return np.asarray(residuals)

    def _joint_effect(self, members: tuple[Coalition, ...], lines: RegionWeights) -> FloatArray:
        """``Delta(L, nothing)`` at each row in each of some regions, (n, K)."""
        # All of it at the same values, where a few stand for the others.
        evaluations = self.evaluations.in_gap_of(union(members))
        total = np.zeros(lines.weights.shape)
        for part in subsets(members):
            sign = (-1.0) ** (len(members) - len(part))
            visible = union(part)
            if visible == evaluations.everything:
                total += sign * evaluations.f[:, None]
            else:
                total += sign * averaged(evaluations, visible).values(lines)
        return total

    def _means_of_joint_effects(
        self, effects: Sequence[tuple[Coalition, ...]], shares: FloatArray
    ) -> FloatArray:
        """Mean of effects of several columns over the rows of each region, (K, n_effects)."""
        lines = RegionWeights.lines(np.ascontiguousarray(shares.T))
        means = [
            np.sum(shares.T * self._joint_effect(members, lines), axis=0) for members in effects
        ]
        return np.stack(means, axis=1)

    def _fidelity(self, regions: Sequence[IntArray], predictions: Sequence[FloatArray]) -> float:
        """``1 - mean (F - G)² / Var F`` on the fitting rows, given G in each region; 1 for a constant model."""
        evaluations = self.evaluations
        shares = evaluations.weights / evaluations.weights.sum()
        model = evaluations.f + evaluations.offset
        variance = float(shares @ np.square(evaluations.f - shares @ evaluations.f))
        if variance == 0.0:
            return 1.0
        missed = 0.0
        for rows, values in zip(regions, predictions, strict=True):
            missed += float(shares[rows] @ np.square(model[rows] - values))
        return 1.0 - missed / variance

"""What describes a model: in every region the sum of one curve per column (docs/method.rst, "What a description is").

A description starts from the mean prediction of the region and adds every effect less its own mean there:

    G(x) = mean F + sum over L of (effect_L(x) - mean effect_L)

so that curves and model agree in the mean, also where columns depend on each other. The paper's surrogate adds the
effects as they are: its centres are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from granite_xai.base.coalitions import subsets, union
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players
from granite_xai.compute import one_blas_thread
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.interaction import Additive, Pure
from granite_xai.explanation.masking import Marginal
from granite_xai.models import Predictor
from granite_xai.surrogate.curves import Curve, effects_by_region
from granite_xai.surrogate.grid_curves import grid_residuals
from granite_xai.tables import Column, Outline, Table, require_rows


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
        self,
        table: Table,
        regions: IntArray,
        predictor: Predictor | None = None,
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
    fidelity, global_fidelity : float
        Share of the prediction's variance that G explains, with regions and without.
    everywhere : RegionSurrogate, optional
        G without regions; in older files not known.
    """

    surrogate: Surrogate
    fidelity: float
    global_fidelity: float
    everywhere: RegionSurrogate | None = None


def in_unit_interval(values: FloatArray, offset: float = 0.0) -> FloatArray:
    """Probabilities that curves add up to, counted from an offset: a sum may leave [0, 1], a probability does not."""
    return np.clip(values, 0.0 - offset, 1.0 - offset)


def fit_with_fidelity(
    table: Table,
    evaluations: Evaluations,
    players: Players,
    order: int,
    regions: Sequence[IntArray],
    *,
    probability: bool,
    centred: bool,
) -> SurrogateFit:
    """G of some regions and of all rows, and how much of the model it explains.

    Parameters
    ----------
    table, evaluations, players, order, regions, centred
        As in `fit_surrogate`.
    probability : bool
        Whether the explained output is a probability: G is then judged as it predicts, inside [0, 1].
    """
    scopes = [*regions, np.arange(table.n_rows)]
    with one_blas_thread():
        surrogate = fit_surrogate(table, evaluations, players, order, scopes, centred=centred)
        predictions = additive_predictions(table, evaluations, players, order, scopes)
        if centred:
            predictions = centred_predictions(evaluations, scopes, predictions)
        if probability:
            predictions = [in_unit_interval(values, evaluations.offset) for values in predictions]
        return SurrogateFit(
            surrogate=replace(surrogate, regions=surrogate.regions[:-1]),
            fidelity=_fidelity(evaluations, scopes[:-1], predictions[:-1]),
            global_fidelity=_fidelity(evaluations, scopes[-1:], predictions[-1:]),
            everywhere=surrogate.regions[-1],
        )


def fit_surrogate(
    table: Table,
    evaluations: Evaluations,
    players: Players,
    order: int,
    regions: Sequence[IntArray],
    *,
    centred: bool,
) -> Surrogate:
    """Learn G from the evaluations of the fitting rows.

    Parameters
    ----------
    table : Table
        The fitting rows.
    evaluations : Evaluations
    players : sequence of coalitions
    order : int
        Effects of all sets of up to so many players are added up.
    regions : sequence of arrays of int
        Rows of each region.
    centred : bool
        Whether each effect is counted from its own mean over the rows of the region; otherwise G is the paper's
        surrogate.
    """
    effects: list[tuple[Coalition, ...]] = []
    for size in range(1, order + 1):
        effects += combinations(players, size)
    single_columns = [min(player) for player in players if len(player) == 1]
    # Rows of other regions count nothing: no matrix has to be cut out.
    shares = np.zeros((len(regions), evaluations.n_rows))
    for share, rows in zip(shares, regions, strict=True):
        share[rows] = evaluations.weights[rows] / evaluations.weights[rows].sum()
    means = shares @ evaluations.predictions
    curves_of_region: list[list[Curve]] = [[] for _ in regions]
    for position in single_columns:
        column = table.columns[position]
        by_region = effects_by_region(column, evaluations, shares, means)  # (K, 1 + levels)
        for curves, column_effects, share in zip(curves_of_region, by_region, shares, strict=True):
            curve = Curve(
                column=column,
                effects=column_effects,
                level_shares=_shares_of_levels(column, share),
            )
            if centred:
                curve = curve.centred(share)
            curves.append(curve)
    surrogate = Surrogate(
        effects=tuple(effects), regions=(), table=table, weights=evaluations.weights
    )
    joint_centres = np.zeros((len(regions), len(surrogate.joint_effects)))
    if centred and surrogate.joint_effects:
        joint_centres = _means_of_joint_effects(evaluations, surrogate.joint_effects, shares)
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


def _shares_of_levels(column: Column, shares: FloatArray) -> FloatArray:
    """Share of the rows with a value that have each level, (n_levels,); 0 where no row has one.

    Parameters
    ----------
    column : Column
    shares : array of shape (n,)
        Of the rows in a region.
    """
    with_missing = np.bincount(column.codes + 1, weights=shares, minlength=len(column.levels) + 1)
    by_level = with_missing[1:]
    if by_level.sum() > 0:
        return np.asarray(by_level / by_level.sum())
    return np.asarray(by_level, dtype=np.float64)


def _means_of_joint_effects(
    evaluations: Evaluations, effects: Sequence[tuple[Coalition, ...]], shares: FloatArray
) -> FloatArray:
    """Mean of effects of several columns over the rows of each region, (K, n_effects).

    Parameters
    ----------
    evaluations : Evaluations
    effects : sequence of tuples of coalitions
        The sets L.
    shares : array of shape (K, n)
        Of the rows in each region; 0 for rows of other regions.
    """
    splits = Splits.of(shares > 0, evaluations.weights)
    game = Game.of(Local(), Marginal(), evaluations, splits)
    means = [np.sum(shares * game.values(Pure().terms((), members)), axis=1) for members in effects]
    return np.stack(means, axis=1)


def centred_predictions(
    evaluations: Evaluations, regions: Sequence[IntArray], predictions: Sequence[FloatArray]
) -> list[FloatArray]:
    """G with every effect counted from its own mean: in each region it has the mean of the model.

    Parameters
    ----------
    evaluations : Evaluations
    regions : sequence of arrays of int
        Rows of each region.
    predictions : sequence of arrays
        The paper's G at the rows of each region.
    """
    centred = []
    for rows, values in zip(regions, predictions, strict=True):
        shares = evaluations.weights[rows] / evaluations.weights[rows].sum()
        centred.append(values + shares @ (evaluations.predictions[rows] - values))
    return centred


def _fidelity(
    evaluations: Evaluations, regions: Sequence[IntArray], predictions: Sequence[FloatArray]
) -> float:
    """``1 - mean (F - G)^2 / Var F`` on the fitting rows, given G in each region; 1 for a constant model."""
    whole = Splits.whole(evaluations.weights)
    variance = float(whole.variances(evaluations.predictions[None])[0, 0])
    if variance == 0.0:
        return 1.0
    total = 0.0
    for rows, values in zip(regions, predictions, strict=True):
        gaps = evaluations.predictions[rows] - values
        total += float(evaluations.weights[rows] @ np.square(gaps))
    return 1.0 - total / float(whole.mass[0, 0]) / variance


def additive_predictions(
    table: Table,
    evaluations: Evaluations,
    players: Players,
    order: int,
    regions: Sequence[IntArray],
) -> list[FloatArray]:
    """G at the rows of each region, centred as the predictions are.

    Parameters
    ----------
    table, evaluations, players, order, regions
        As in `fit_surrogate`.

    Returns
    -------
    list of arrays
        For each region, G at its rows.
    """
    # Regions may overlap: each is the left side of a split of its own, whose right side is not read.
    inside = np.zeros((len(regions), evaluations.n_rows), dtype=np.bool_)
    for members, rows in zip(inside, regions, strict=True):
        members[rows] = True
    splits = Splits.of(inside, evaluations.weights)
    game = Game.of(Local(), Marginal(), evaluations, splits)
    values = game.values(Additive(order).terms(players, ()))
    shares = splits.left_weights / splits.mass[:, :1]
    for columns in evaluations.snapped.keys() & set(players):
        values = values + grid_residuals(table, evaluations, columns, shares)
    return [values[k, rows] for k, rows in enumerate(regions)]

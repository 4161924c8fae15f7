"""Bins or a copula: which of the two describes better how the columns of a table depend on each other.

A way to condition gives every row weights over other rows: those of its bin, or all of them by density ratios. With
these weights each hidden column, and its square, is predicted for rows that neither way has seen. The errors of the
two ways, and of no conditioning at all, decide; the model is not asked. (Columns are normal scores of their ranks, so
that units and monotone transforms do not matter; squares tell where the spread depends on the visible columns.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.engine.weighted import weights_of_rows
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.explanation.masking.bin_fitting import fit_bins
from granite_xai.explanation.masking.bins import common_bins
from granite_xai.explanation.masking.copula import Copula, fit_copula, why_no_copula
from granite_xai.tables import Table, row_order_by_ranks

WAYS = ("unconditional", "bins", "copula")  # in the order of the errors
FOLDS = 4  # parts of the rows, each predicted from the others
MOST_ROWS = 1000  # that are compared
FEWEST_ROWS = 100
MOST_COALITIONS = 20  # that are compared
# Sum over coalitions of the logarithm of two errors from which they differ: as if one error were 5% smaller. The
# errors are conditional variances, and importances of hidden columns are overstated by as much.
MATERIAL = 0.05
LEAST_ERROR = 1e-12  # errors below it count as it: their logarithm stays finite
# Bins are too wide where they leave a hidden feature at least this many times the variance that a copula leaves it.
# Two normal columns: 1.1 at a correlation of .8, 1.2 at .9, 3 at .99.
TOO_WIDE = 1.1


@dataclass(frozen=True, slots=True)
class SamplerChoice:
    """Which way conditional masking takes, and why.

    Parameters
    ----------
    sampler : "bins" or "copula"
    reason : str
        A sentence for people.
    errors : dict
        Mean squared error of hidden columns by way, as a share of their variance; empty where nothing was compared.
    """

    sampler: str
    reason: str
    errors: dict[str, float]


@dataclass(frozen=True, slots=True)
class WideBins:
    """Bins of some visible columns that leave a hidden one more variance than there is.

    Parameters
    ----------
    visible : coalition
    hidden : int
        Position of the column.
    by_bins, by_copula : float
        Share of its variance that is left beside the visible ones.
    """

    visible: Coalition
    hidden: int
    by_bins: float
    by_copula: float


def choose_sampler(
    table: Table, coalitions: Iterable[Coalition], weights: FloatArray, seed: int
) -> SamplerChoice:
    """Choose between bins and a copula.

    Parameters
    ----------
    table : Table
        The fitting rows.
    coalitions : iterable of coalitions
        Sets of visible columns that are read; nothing and everything need no choice.
    weights : array of shape (n,)
        Of the rows.
    seed : int
        For the trees that make bins.

    Returns
    -------
    SamplerChoice
    """
    everything = frozenset(range(table.n_columns))
    conditioned = [visible for visible in coalitions if visible and visible != everything]
    conditioned.sort(key=sorted)
    obstacle = _obstacle(table, conditioned)
    if obstacle is not None:
        return SamplerChoice(sampler="bins", reason=obstacle, errors={})
    compared = [conditioned[i] for i in _evenly_spread(len(conditioned), MOST_COALITIONS)]
    # (coalitions, ways)
    errors = np.nanmean(_errors(table, compared, weights, seed), axis=(2, 3))
    error_by_way = dict(zip(WAYS, errors.mean(axis=0).tolist(), strict=True))
    unconditional, bins, copula = np.log(np.maximum(errors, LEAST_ERROR)).sum(axis=0)
    if unconditional - min(bins, copula) < MATERIAL:
        return SamplerChoice("bins", "features hardly depend on each other", error_by_way)
    if bins - copula < MATERIAL:
        return SamplerChoice("bins", "a copula predicts features no better", error_by_way)
    return SamplerChoice("copula", "it predicts features better than bins", error_by_way)


def wide_bins(
    table: Table, coalitions: Iterable[Coalition], weights: FloatArray, seed: int
) -> WideBins | None:
    """Where bins are known to be too wide, and most so; None: nowhere.

    Coalitions are compared for which a copula can weigh rows. Where there are none (pairs, groups), every column is
    hidden alone, beside all others.

    Parameters
    ----------
    table, coalitions, weights, seed
        As in `choose_sampler`.
    """
    everything = frozenset(range(table.n_columns))
    weighed = [visible for visible in coalitions if len(visible) in (1, table.n_columns - 1)]
    if not weighed:
        weighed = [everything - {column} for column in everything]
    weighed.sort(key=sorted)
    if choose_sampler(table, weighed, weights, seed).sampler == "bins":
        return None
    compared = [weighed[i] for i in _evenly_spread(len(weighed), MOST_COALITIONS)]
    errors = np.maximum(_errors(table, compared, weights, seed), LEAST_ERROR)
    _, bins, copula = np.moveaxis(errors[..., 0], 1, 0)  # each (coalitions, columns)
    excess = bins / copula
    place, hidden = np.unravel_index(np.nanargmax(excess), excess.shape)
    if excess[place, hidden] < TOO_WIDE:
        return None
    return WideBins(
        visible=compared[place],
        hidden=int(hidden),
        by_bins=float(bins[place, hidden]),
        by_copula=float(copula[place, hidden]),
    )


def _evenly_spread(n: int, at_most: int) -> IntArray:
    """Numbers below ``n``: all of them, or so many at equal distances."""
    places = np.linspace(0, n - 1, min(n, at_most))
    return np.unique(places.astype(np.intp))


def _obstacle(table: Table, coalitions: list[Coalition]) -> str | None:
    """Why there is nothing to choose; None: there is."""
    if not coalitions:
        return "nothing is conditioned on"
    if table.passing:
        return "some features are not explained"
    if any(1 < len(visible) < table.n_columns - 1 for visible in coalitions):
        return "several features are shown and several hidden at once"
    if table.n_rows < FEWEST_ROWS:
        return f"fewer than {FEWEST_ROWS} rows"
    fault = why_no_copula(table)
    if fault is not None:
        column, reason = fault
        return f"feature {column.name} {reason}"
    return None


def _errors(
    table: Table, coalitions: list[Coalition], weights: FloatArray, seed: int
) -> FloatArray:
    """Error of each hidden column, and of its square, in rows that were left out, (coalitions, ways, columns, 2).

    NaN for visible columns.
    """
    remembered = _remembered_errors.setdefault(table, {}).setdefault((seed, weights.tobytes()), {})
    new = [visible for visible in coalitions if visible not in remembered]
    if new:
        remembered.update(zip(new, _measure_errors(table, new, weights, seed), strict=True))
    return np.stack([remembered[visible] for visible in coalitions])


# Errors by table, by seed and weights, and by visible columns, as long as the table lives: several questions about a
# table condition on the same columns.
_remembered_errors: WeakKeyDictionary[
    Table, dict[tuple[int, bytes], dict[Coalition, FloatArray]]
] = WeakKeyDictionary()


def _measure_errors(
    table: Table, coalitions: list[Coalition], weights: FloatArray, seed: int
) -> FloatArray:
    """The same, measured."""
    # Which rows are compared, and in which part, depends neither on where they stand nor on units.
    compared_rows = row_order_by_ranks(table, weights)[_evenly_spread(table.n_rows, MOST_ROWS)]
    table = table.take(compared_rows)
    weights = weights[compared_rows]
    scores = fit_copula(table, weights).scores(table)
    fold_of_row = np.arange(table.n_rows) % FOLDS
    errors = np.zeros((len(coalitions), len(WAYS), table.n_columns, 2))
    for fold in range(FOLDS):
        comparison = _Fold(
            train=np.flatnonzero(fold_of_row != fold),
            test=np.flatnonzero(fold_of_row == fold),
            table=table,
            weights=weights,
            scores=scores,
            seed=seed,
        )
        for number, visible in enumerate(coalitions):
            errors[number] += comparison.errors(visible) * comparison.test.n_rows / table.n_rows
    return errors


class _Fold:
    """Rows that are left out, and those that predict them.

    Parameters
    ----------
    train, test : arrays of int
        Rows that predict, and rows that are predicted.
    table : Table
    weights : array of shape (n,)
    scores : array of shape (n, columns)
        Normal scores of all rows.
    seed : int
        For the trees that make bins.
    """

    def __init__(
        self,
        train: IntArray,
        test: IntArray,
        table: Table,
        weights: FloatArray,
        scores: FloatArray,
        seed: int,
    ) -> None:
        self.train = table.take(train)
        self.test = table.take(test)
        self.weights = weights[train]
        self.test_weights = weights[test]
        self.seed = seed
        self.copula: Copula = fit_copula(self.train, self.weights)
        targets = np.stack([scores, np.square(scores)], axis=2)  # (rows, columns, 2)
        centred = targets - np.average(targets, axis=0, weights=weights)
        variance = np.average(np.square(centred), axis=0, weights=weights)
        targets = centred / np.sqrt(np.where(variance > 0.0, variance, 1.0))
        self.train_targets = targets[train]
        self.test_targets = targets[test]
        self._ratios: dict[int, tuple[DensityRatios, DensityRatios]] = {}

    def errors(self, visible: Coalition) -> FloatArray:
        """Squared error of each hidden column and of its square, (ways, columns, 2); NaN for visible columns."""
        hidden = [j for j in range(self.test.n_columns) if j not in visible]
        targets = self.test_targets[:, hidden]  # (test rows, hidden, 2)
        anywhere = np.ones((len(targets), len(self.train_targets)))
        ways = (anywhere, self._same_bin(visible), self._by_density(visible))
        errors = np.full((len(ways), self.test.n_columns, 2), np.nan)
        for way, row_weights in enumerate(ways):
            weighted = row_weights * self.weights  # (test rows, train rows)
            weighted /= weighted.sum(axis=1, keepdims=True)
            predicted = np.tensordot(weighted, self.train_targets[:, hidden], axes=1)
            squares = np.square(predicted - targets)
            errors[way, hidden] = np.average(squares, axis=0, weights=self.test_weights)
        return errors

    def _same_bin(self, visible: Coalition) -> FloatArray:
        """1 for rows of the same bin, as conditional masking makes it; all rows where a bin is empty."""
        bins = fit_bins("tree", self.train, visible, self.seed, self.weights, guarded=True)
        test_bins, train_bins = common_bins(bins, self.test, self.train)
        is_same = test_bins[:, None] == train_bins
        is_empty = ~is_same.any(axis=1, keepdims=True)
        return np.asarray(is_same | is_empty, dtype=np.float64)

    def _by_density(self, visible: Coalition) -> FloatArray:
        """Density ratios of the one column that is visible, or else of the one that is hidden."""
        hidden = frozenset(range(self.test.n_columns)) - visible
        is_visible = len(visible) == 1
        column = min(visible if is_visible else hidden)
        if column not in self._ratios:  # a column is visible in one coalition and hidden in another
            self._ratios[column] = (
                self.copula.density_ratios(self.test, column),
                self.copula.density_ratios(self.train, column),
            )
        return weights_of_rows(is_visible, *self._ratios[column])

"""A Gaussian copula of the ranks: rows weighed by how likely they are, where bins are too coarse.

Every column becomes normal scores of its ranks, and the scores are taken for jointly normal. Given the
other scores, that of one column is then a linear prediction plus normal noise, which tells how much
likelier each of its values is beside the other columns of a row than anywhere (docs/method.rst, "Bins
or a copula"). Such density ratios weigh the rows that the model was asked about anyway:

    shown i    F_i(x_n)      = sum_m W[m, q(n)] E_i[m, code(n)] / sum_m W[m, q(n)]
    hidden i   F_{D-i}(x_n)  = sum_m W[n, q(m)] E_i[n, code(m)] / sum_m W[n, q(m)]

with W[n, q] = p(x_i in interval q | other columns of row n) / p(x_i in q). Whether bins or the copula
describe better how the columns of a table depend on each other, the rows choose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import ndtr, ndtri

from granite_xai.algebra.conditional import common_bins, fit_bins, level_codes, ranks_among
from granite_xai.algebra.masked_model import MaskedModel
from granite_xai.base.errors import BinWarning, Diagnostics, InputError
from granite_xai.base.text import column_text
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.tables import Column, Rows, Table, row_order_by_ranks

SINGULAR = 1e-10  # singular values of correlations below this share of the largest count as 0
ROUNDING = 1e-12  # of shares, which are sums of rounded numbers
# Of a column, at most, within which density ratios are constant: as exact as 128 with equal numbers of rows. At a
# correlation of .99 the importance of experiments/conditional.py is .044 either way (true: .040).
INTERVALS = 48
OUTERMOST = 4.0  # normal score beyond which a column is not divided further
LEAST_SPREAD = 0.01  # standard deviation of a score that others determine: ratios stay finite
MARGINAL_SHARE = 1e-4  # of the marginal density in the conditional one: no ratio is 0


@dataclass(frozen=True, slots=True, eq=False)
class DensityRatios:
    """How likely values of one column are beside the other columns of each row.

    Parameters
    ----------
    column : int
        Position of the column.
    intervals : array of shape (n,)
        Interval of the column's value in each row.
    ratios : array of shape (n, n_intervals)
        ``p(x_i in interval | other columns of the row) / p(x_i in interval)``: 1 where the column does not
        depend on the others, always positive.
    """

    column: int
    intervals: IntArray
    ratios: FloatArray

    def take(self, places: IntArray) -> DensityRatios:
        """The same of some of the rows."""
        return DensityRatios(self.column, self.intervals[places], self.ratios[places])


def weighed(evaluations: Evaluations, visible: Coalition, densities: DensityRatios) -> MaskedModel:
    """``F_T`` as a mean over the rows of the region that weighs them by density ratios.

    Parameters
    ----------
    evaluations : Evaluations
    visible : coalition
        The column of the ratios, or all others.
    densities : DensityRatios
    """
    single = Coalition([densities.column])
    matrix, is_read_shown = evaluations.reading(single)
    if not is_read_shown:
        matrix = matrix.turned()
    # Rows with the same value in the same interval are one entry.
    keys = matrix.codes * densities.ratios.shape[1] + densities.intervals
    _, carriers, entries = np.unique(keys, return_index=True, return_inverse=True)
    own_entry = np.zeros((len(keys), len(carriers)))
    own_entry[np.arange(len(keys)), entries.reshape(-1)] = 1.0
    predictions = matrix.values[:, matrix.codes[carriers]]  # (n, entries)
    ratios = densities.ratios[:, densities.intervals[carriers]]
    if visible == single:
        return MaskedModel(own_entry, predictions, ratios=ratios, is_shown=True)
    return MaskedModel(predictions, own_entry, ratios=ratios)


@dataclass(frozen=True, eq=False)
class Margin:
    """The distribution of one column on the fitting rows.

    Parameters
    ----------
    fitted : Column
        On the fitting rows.
    shares : array of shape (levels,)
        Share of the rows at or below each level.
    """

    fitted: Column
    shares: FloatArray

    @cached_property
    def middles(self) -> FloatArray:
        """Normal score of the middle of each level's ranks, (levels,)."""
        below = np.append(0.0, self.shares[:-1])
        return np.asarray(ndtri((below + self.shares) / 2))

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the scores of the fitting rows; 1 for a constant."""
        share_of_level = np.diff(self.shares, prepend=0.0)
        mean = share_of_level @ self.middles
        variance = float(share_of_level @ np.square(self.middles - mean))
        return variance**0.5 if variance > 0.0 else 1.0

    @cached_property
    def interval_ends(self) -> IntArray:
        """The last level of each interval; at most `INTERVALS`, at equal steps of the normal score.

        Intervals with as many rows each would be widest in the tails, where conditional means are
        furthest from the marginal one.
        """
        if len(self.shares) <= INTERVALS:
            return np.arange(len(self.shares), dtype=np.intp)
        # From the first level to the last but one: the last has the share 1, which has no finite normal score.
        lowest, highest = np.clip(ndtri(self.shares[[0, -2]]), -OUTERMOST, OUTERMOST)
        inner_ends = np.linspace(lowest, highest, INTERVALS)[:-1]  # normal scores
        shares_at_ends = np.append(ndtr(inner_ends), 1.0)
        ends = np.searchsorted(self.shares, shares_at_ends - ROUNDING)
        return np.unique(np.minimum(ends, len(self.shares) - 1)).astype(np.intp)

    def levels_of(self, column: Column) -> IntArray:
        """Number of the fitting level of each row: the largest at or below its value."""
        if self.fitted.kind == "boolean":
            numbers = level_codes(column, self.fitted)
        else:
            numbers = ranks_among(column, self.fitted, side="right")
        return np.clip(numbers, 0, len(self.shares) - 1)

    def scores(self, column: Column) -> FloatArray:
        """Normal score of each row, (n,)."""
        return np.asarray(self.middles[self.levels_of(column)])


@dataclass(frozen=True, slots=True, eq=False)
class Copula:
    """The dependence of all columns of a table.

    Parameters
    ----------
    margins : tuple of Margin
        Of each column.
    correlations : array of shape (columns, columns)
        Of the normal scores.
    """

    margins: tuple[Margin, ...]
    correlations: FloatArray

    @classmethod
    def of(cls, table: Table, weights: FloatArray) -> Copula:
        """Learn margins and correlations; columns without order, and missing values, are refused (P03)."""
        fault = why_no_copula(table)
        if fault is not None:
            column, reason = fault
            raise InputError(
                f"X {column_text(column.name, column.position)} {reason}; a copula needs ranks.",
                code="P03",
                argument="masking",
                columns=[column.name],
                hint='Use Conditional(sampler="bins"), which takes any column.',
            )
        margins = []
        for column in table.columns:
            mass_of_level = np.bincount(column.codes, weights=weights)
            margins.append(Margin(column, np.cumsum(mass_of_level) / weights.sum()))
        scores = scores_of(margins, table)
        centred = scores - np.average(scores, axis=0, weights=weights)
        spread = np.sqrt(np.average(np.square(centred), axis=0, weights=weights))
        scaled = centred / np.where(spread > 0, spread, 1.0)
        correlations = (scaled * weights[:, None]).T @ scaled / weights.sum()
        return cls(tuple(margins), correlations)

    def density_ratios(self, table: Table, position: int) -> DensityRatios:
        """How much likelier the values of a column are beside the other columns of each row than anywhere.

        Beside the others the score of the column is normal with mean ``mu`` and standard deviation ``sigma``; an
        interval (a, b) of scores has the probability ``Phi((b - mu) / sigma) - Phi((a - mu) / sigma)``.

        Parameters
        ----------
        table : Table
            Rows whose columns were those of the fit. A missing value, which the fitting rows did not have, counts as
            a score of 0.
        position : int
            Of the column.
        """
        others = [j for j in range(len(self.margins)) if j != position]
        among_others = self.correlations[np.ix_(others, others)]
        inverse = np.linalg.pinv(among_others, rcond=SINGULAR, hermitian=True)
        slopes = inverse @ self.correlations[others, position]
        mu = np.zeros(table.n_rows)
        for j, slope in zip(others, slopes, strict=True):
            codes = table.columns[j].codes
            standardized = self.margins[j].scores(table.columns[j]) / self.margins[j].spread
            mu += slope * np.where(codes < 0, 0.0, standardized)
        explained = float(self.correlations[position, others] @ slopes)
        sigma = max(1.0 - explained, LEAST_SPREAD**2) ** 0.5

        margin = self.margins[position]
        ends = margin.interval_ends
        share_at_end = margin.shares[ends]
        share_at_end[-1] = 1.0
        bounds = ndtri(np.append(0.0, share_at_end))
        conditional = np.diff(ndtr((bounds - mu[:, None]) / sigma), axis=1)  # (rows, intervals)
        marginal = np.diff(share_at_end, prepend=0.0)  # (intervals,)
        column = table.columns[position]
        middle = int(np.searchsorted(margin.shares, 0.5))
        levels = np.where(column.codes < 0, middle, margin.levels_of(column))
        return DensityRatios(
            column=position,
            intervals=np.searchsorted(ends, levels).astype(np.intp),
            ratios=(1.0 - MARGINAL_SHARE) * conditional / marginal + MARGINAL_SHARE,
        )


def scores_of(margins: Sequence[Margin], table: Table) -> FloatArray:
    """Normal scores of all cells, (n, d)."""
    pairs = zip(margins, table.columns, strict=True)
    return np.column_stack([margin.scores(column) for margin, column in pairs])


def why_no_copula(table: Table) -> tuple[Column, str] | None:
    """The first column that has no ranks, and why; None: all have them."""
    for column in table.columns:
        if column.missing.any():
            return column, "has missing values"
        if column.kind == "nominal":
            return column, "has no order"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class LearnedRatios:
    """What conditional masking learned where it weighs rows: a copula, and whose density ratios are read."""

    copula: Copula
    column: int
    follows_values: ClassVar[bool] = False

    def asks(self, table: Table) -> None:
        """Nothing of the model."""

    def fact(self, table: Table, predictions: FloatArray | None) -> DensityRatios:
        """Density ratios of the rows."""
        return self.copula.density_ratios(table, self.column)


def learn_copula(rows: Rows, coalitions: Collection[Coalition]) -> dict[Coalition, LearnedRatios]:
    """The density ratios for some sets of visible columns, of which each shows or hides one column alone.

    Raises
    ------
    InputError
        P03 where several columns are visible and several hidden.
    """
    copula = Copula.of(rows.table, rows.weights)
    everything = Coalition(range(rows.table.n_columns))
    learned = {}
    for visible in coalitions:
        if not visible or visible == everything:
            continue
        alone = [side for side in (visible, everything - visible) if len(side) == 1]
        if not alone:
            names = ", ".join(rows.table.names[j] for j in sorted(visible))
            raise InputError(
                "Conditional(sampler='copula') weighs rows by one column beside all others; here several features are "
                f"shown ({names}) and several hidden.",
                code="P03",
                argument="sampler",
                hint="Use Conditional(sampler='bins') for partial effects, groups and interactions.",
            )
        learned[visible] = LearnedRatios(copula, min(alone[0]))
    return learned


# Bins or a copula -------------------------------------------------------------------------------
#
# A way to condition gives every row weights over other rows: those of its bin, or all of them by density
# ratios. With these weights each hidden column, and its square, is predicted for rows that neither way has
# seen. The errors of the two ways, and of no conditioning at all, decide. (Columns are normal scores of their
# ranks, so that units and monotone transforms do not matter; squares tell where the spread depends on the
# visible columns.)

WAYS = ("unconditional", "bins", "copula")  # in the order of the errors
UNCONDITIONAL, BINS, COPULA = range(len(WAYS))
FOLDS = 4  # parts of the rows, each predicted from the others
MOST_ROWS = 1000  # that are compared
FEWEST_ROWS = 100
MOST_COALITIONS = 20  # that are compared
# Sum over coalitions of the logarithm of two errors from which they differ: as if one error were 5% smaller. The
# errors are conditional variances, and importances of hidden columns are overstated by as much.
MATERIAL = 0.05
# That features depend on each other at all must show by so many standard errors: few rows show as much by chance, and a
# copula that learned it from them would be taken for known.
FEWEST_STANDARD_ERRORS = 3.0
LEAST_ERROR = 1e-12  # errors below it count as it: their logarithm stays finite
# Bins are too wide where they leave a hidden feature at least this many times the variance that a copula leaves it.
# Two normal columns: 1.1 at a correlation of .8, 1.2 at .9, 3 at .99.
TOO_WIDE = 1.1


class SamplerChoice(NamedTuple):
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
    errors: Mapping[str, float]


def choose_sampler(rows: Rows, coalitions: Collection[Coalition], seed: int) -> SamplerChoice:
    """Choose between bins and a copula.

    That features depend on each other at all must show beyond chance. What an observation does to the
    logarithm of an error is its part of the error, as a share of all.

    Parameters
    ----------
    rows : Rows
        The fitting rows.
    coalitions : collection of coalitions
        Sets of visible columns that are read; nothing and everything need no choice.
    seed : int
        For the trees that make bins.
    """
    everything = Coalition(range(rows.table.n_columns))
    conditioned = [visible for visible in coalitions if visible and visible != everything]
    obstacle = _obstacle(rows.table, conditioned)
    if obstacle is not None:
        return SamplerChoice(sampler="bins", reason=obstacle, errors={})
    _, by_observation = _errors(rows, _compared(conditioned), seed)  # (sets, ways, observations)
    by_set = by_observation.sum(axis=2)
    error_by_way = dict(zip(WAYS, by_set.mean(axis=0).tolist(), strict=True))
    by_set = np.maximum(by_set, LEAST_ERROR)
    log_errors = np.log(by_set).sum(axis=0)  # (ways,)
    gains = log_errors[UNCONDITIONAL] - log_errors
    shares = by_observation / by_set[:, :, None]
    influences = (shares[:, [UNCONDITIONAL]] - shares).sum(axis=0)  # (ways, observations)
    standard_errors = np.sqrt(np.square(influences).sum(axis=1))
    if not np.any(gains >= np.maximum(MATERIAL, FEWEST_STANDARD_ERRORS * standard_errors)):
        return SamplerChoice("bins", "features hardly depend on each other", error_by_way)
    if log_errors[BINS] - log_errors[COPULA] < MATERIAL:
        return SamplerChoice("bins", "a copula predicts features no better", error_by_way)
    return SamplerChoice("copula", "it predicts features better than bins", error_by_way)


def note_choice(choice: SamplerChoice, record: Diagnostics) -> None:
    """Note which way conditional masking took, and why."""
    record.note(
        "conditional",
        {"sampler": choice.sampler, "reason": choice.reason, "errors": dict(choice.errors)},
    )
    if choice.sampler == "copula":
        excess = choice.errors["bins"] / choice.errors["copula"] - 1.0
        record.remember(
            "Conditional masking weighs rows by a Gaussian copula: the error of bins in predicting a feature from the "
            f"others is {excess:.0%} larger. Conditional(sampler='bins') keeps bins."
        )


def warn_of_wide_bins(
    rows: Rows, coalitions: Collection[Coalition], seed: int, record: Diagnostics
) -> None:
    """Warn (D49) where bins leave a hidden column clearly more variance than there is, and most so.

    Coalitions are compared for which a copula can weigh rows. Where there are none (pairs, groups), every
    column is hidden alone, beside all others.
    """
    table = rows.table
    everything = Coalition(range(table.n_columns))
    weighed_ones = [visible for visible in coalitions if len(visible) in (1, table.n_columns - 1)]
    weighed_ones = weighed_ones or [everything - {column} for column in everything]
    if choose_sampler(rows, weighed_ones, seed).sampler == "bins":
        return
    compared = _compared(weighed_ones)
    by_column, _ = _errors(rows, compared, seed)
    _, bins, copula = np.moveaxis(np.maximum(by_column, LEAST_ERROR), 1, 0)  # (sets, columns) each
    excess = bins / copula
    place, worst = np.unravel_index(np.nanargmax(excess), excess.shape)
    if excess[place, worst] < TOO_WIDE:
        return
    hidden = table.names[int(worst)]
    if len(compared[place]) == table.n_columns - 1:
        beside = "the other features"
        meaning = f"its conditional importance comes out about {excess[place, worst]:.1f} times as large as it is"
    else:
        beside = table.names[min(compared[place])]
        meaning = f"effects given {beside} are averaged over too wide a range of {hidden}"
    record.warn(
        f"D49: the bins of conditional masking are too wide for these features: beside {beside} they leave {hidden} "
        f"{bins[place, worst]:.1%} of its variance, a Gaussian copula leaves {copula[place, worst]:.1%}, so that "
        f"{meaning}. gx.Conditional(sampler='copula') does without bins.",
        BinWarning,
    )


def _obstacle(table: Table, coalitions: Collection[Coalition]) -> str | None:
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


def _compared(coalitions: Collection[Coalition]) -> list[Coalition]:
    """The sets of visible columns that are compared: all, or some of them evenly."""
    ordered = sorted(coalitions, key=sorted)
    return [ordered[i] for i in _evenly_spread(len(ordered), MOST_COALITIONS)]


def _evenly_spread(n: int, at_most: int) -> IntArray:
    """Numbers below ``n``: all of them, or so many at equal distances."""
    places = np.linspace(0, n - 1, min(n, at_most))
    return np.unique(places.astype(np.intp))


# Errors by table, by seed and weights, and by visible columns, as long as the table lives: several questions about a
# table condition on the same columns.
_remembered_errors: WeakKeyDictionary[
    Table, dict[tuple[int, bytes], dict[Coalition, tuple[FloatArray, FloatArray]]]
] = WeakKeyDictionary()


def _errors(
    rows: Rows, coalitions: Sequence[Coalition], seed: int
) -> tuple[FloatArray, FloatArray]:
    """How well each way predicts what is hidden beside some sets, in rows that were left out.

    Returns
    -------
    by_column : array of shape (sets, ways, columns)
        Mean squared error of each hidden column; NaN for visible columns.
    by_observation : array of shape (sets, ways, rows or clusters)
        What each adds to the error of the way, the mean over hidden columns and their squares.
    """
    of_table = _remembered_errors.setdefault(rows.table, {})
    remembered = of_table.setdefault((seed, rows.weights.tobytes()), {})
    new = [visible for visible in coalitions if visible not in remembered]
    if new:
        remembered.update(
            zip(new, zip(*_measured_errors(rows, new, seed), strict=True), strict=True)
        )
    by_column, by_observation = zip(*(remembered[visible] for visible in coalitions), strict=True)
    return np.stack(by_column), np.stack(by_observation)


def _measured_errors(
    rows: Rows, coalitions: Sequence[Coalition], seed: int
) -> tuple[FloatArray, FloatArray]:
    """The same, measured: rows of each fold are predicted from those of the others."""
    # Which rows are compared, and in which part, depends neither on where they stand nor on units.
    order = row_order_by_ranks(rows.table, rows.weights)
    rows = rows.take(order[_evenly_spread(len(rows), MOST_ROWS)])
    scores = scores_of(Copula.of(rows.table, rows.weights).margins, rows.table)
    targets = np.stack([scores, np.square(scores)], axis=2)  # (rows, columns, 2)
    centred = targets - np.average(targets, axis=0, weights=rows.weights)
    variance = np.average(np.square(centred), axis=0, weights=rows.weights)
    targets = centred / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    _, first, of_row = np.unique(rows.clusters, return_index=True, return_inverse=True)
    observations = np.argsort(np.argsort(first))[of_row]  # numbered as they first appear
    fold_of_row = observations % FOLDS
    n_columns = rows.table.n_columns
    by_column = np.zeros((len(coalitions), len(WAYS), n_columns))
    by_observation = np.zeros((len(coalitions), len(WAYS), int(observations.max()) + 1))
    for fold in range(FOLDS):
        train = np.flatnonzero(fold_of_row != fold)
        test = np.flatnonzero(fold_of_row == fold)
        weights_of_ways = _weights_of_ways(rows.take(train), rows.take(test), seed)
        shares = rows.weights[test] / rows.weights[test].sum() * len(test) / len(rows)
        for number, visible in enumerate(coalitions):
            hidden = np.array([j for j in range(n_columns) if j not in visible])
            by_column[number, :, sorted(visible)] = np.nan
            for way, row_weights in enumerate(weights_of_ways(visible)):
                weighted = row_weights * rows.weights[train]  # (test rows, train rows)
                weighted /= weighted.sum(axis=1, keepdims=True)
                predicted = np.tensordot(weighted, targets[train][:, hidden], axes=1)
                squares = np.square(predicted - targets[test][:, hidden])  # (test rows, hidden, 2)
                by_column[number, way, hidden] += shares @ squares[:, :, 0]
                by_row = shares * squares.mean(axis=(1, 2))
                np.add.at(by_observation[number, way], observations[test], by_row)
    return by_column, by_observation


def _weights_of_ways(
    train: Rows, test: Rows, seed: int
) -> Callable[[Coalition], tuple[FloatArray, FloatArray, FloatArray]]:
    """What each of `WAYS` weighs some rows by in the means at others, (test rows, train rows), by visible columns."""
    copula = Copula.of(train.table, train.weights)

    @cache
    def density_ratios(column: int) -> tuple[DensityRatios, DensityRatios]:
        """Of a column that is visible in one coalition and hidden in another."""
        of_test = copula.density_ratios(test.table, column)
        return of_test, copula.density_ratios(train.table, column)

    def weights(visible: Coalition) -> tuple[FloatArray, FloatArray, FloatArray]:
        anywhere = np.ones((len(test), len(train)))
        same_bin = anywhere
        bins = fit_bins("tree", train, visible, seed, guarded=True)
        if bins is not None:
            test_bins, train_bins = common_bins(bins, test.table, train.table)
            is_same = test_bins[:, None] == train_bins
            is_empty = ~is_same.any(axis=1, keepdims=True)  # then all rows
            same_bin = np.asarray(is_same | is_empty, dtype=np.float64)
        if len(visible) == 1:
            of_test, of_train = density_ratios(min(visible))
            by_density = of_train.ratios[:, of_test.intervals].T
        else:
            (hidden,) = Coalition(range(test.table.n_columns)) - visible
            of_test, of_train = density_ratios(hidden)
            by_density = of_test.ratios[:, of_train.intervals]
        return anywhere, same_bin, by_density

    return weights

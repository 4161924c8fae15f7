"""A Gaussian copula of the ranks: how hidden columns depend on visible ones, smoothly, where bins are too coarse.

Every column becomes normal scores of its ranks, and the scores are taken for jointly normal. Given the visible scores,
a column is then normal around a linear prediction (docs/method.rst, "Bins or a copula"). The ratios of its
conditional to its marginal density weigh rows that the model was asked about anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from granite_xai.base.errors import InputError
from granite_xai.base.text import column_text
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.explanation.masking.levels import level_codes, ranks_among
from granite_xai.tables import Column, Table

SINGULAR = 1e-10  # singular values of correlations below this share of the largest count as 0
ROUNDING = 1e-12  # of shares, which are sums of rounded numbers
# Of a column, at most, within which density ratios are constant: as exact as 128 with equal numbers of rows. At a
# correlation of .99 the importance of experiments/conditional.py is .044 either way (true: .040).
INTERVALS = 48
OUTERMOST = 4.0  # normal score beyond which a column is not divided further
LEAST_SPREAD = 0.01  # standard deviation of a score that others determine: ratios stay finite
MARGINAL_SHARE = 1e-4  # of the marginal density in the conditional one: no ratio is 0


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
    margins : dict of int to Margin
        By position of the column.
    correlations : array of shape (columns, columns)
        Of the normal scores.
    """

    margins: dict[int, Margin]
    correlations: FloatArray

    def __post_init__(self) -> None:
        if self.correlations.shape != (len(self.margins),) * 2:
            raise ValueError("the correlations are not those of the columns")

    def scores(self, table: Table) -> FloatArray:
        """Normal scores of all cells, (n, d); columns without order, and missing values, are refused."""
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
        positions = sorted(self.margins)
        return np.column_stack([self.margins[j].scores(table.columns[j]) for j in positions])

    def slopes(self, visible: Sequence[int], hidden: Sequence[int]) -> FloatArray:
        """Coefficients that predict hidden scores from visible ones, (visible, hidden)."""
        among_visible = self.correlations[np.ix_(visible, visible)]
        inverse = np.linalg.pinv(among_visible, rcond=SINGULAR, hermitian=True)
        return np.asarray(inverse @ self.correlations[np.ix_(visible, hidden)])

    def density_ratios(self, table: Table, position: int) -> DensityRatios:
        """How much likelier the values of a column are beside the other columns of each row than anywhere.

        Parameters
        ----------
        table : Table
            Rows whose columns were those of the fit. A missing value, which the fitting rows did not have, counts as
            a score of 0.
        position : int
            Of the column.

        Returns
        -------
        DensityRatios
        """
        # Beside the others a score is normal with mean ``mu`` and standard deviation ``sigma``; an interval of scores
        # has the probability ``Phi((b - mu) / sigma) - Phi((a - mu) / sigma)``.
        mu, sigma = self._score_beside_others(table, position)
        margin = self.margins[position]
        ends = margin.interval_ends
        share_at_end = margin.shares[ends]
        share_at_end[-1] = 1.0
        bounds = ndtri(np.append(0.0, share_at_end))
        conditional = np.diff(ndtr((bounds[:, None] - mu) / sigma), axis=0)  # (intervals, rows)
        marginal = np.diff(share_at_end, prepend=0.0)  # (intervals,)
        ratios = conditional / marginal[:, None]
        column = table.columns[position]
        middle = int(np.searchsorted(margin.shares, 0.5))
        levels = np.where(column.codes < 0, middle, margin.levels_of(column))
        return DensityRatios(
            column=position,
            intervals=np.searchsorted(ends, levels).astype(np.intp),
            ratios=(1.0 - MARGINAL_SHARE) * ratios + MARGINAL_SHARE,
        )

    def _score_beside_others(self, table: Table, position: int) -> tuple[FloatArray, float]:
        """Mean, (n,), and standard deviation of a column's score given the other columns of each row."""
        others = [j for j in self.margins if j != position]
        slopes = self.slopes(others, [position])[:, 0]
        mean = np.zeros(table.n_rows)
        for j, slope in zip(others, slopes, strict=True):
            column = table.columns[j]
            standardized = self.margins[j].scores(column) / self.margins[j].spread
            mean += slope * np.where(column.codes < 0, 0.0, standardized)
        explained = float(self.correlations[position, others] @ slopes)
        return mean, max(1.0 - explained, LEAST_SPREAD**2) ** 0.5


def column_of_ratios(visible: Coalition, everything: Coalition) -> int | None:
    """The one column that is shown, or else the one that is hidden.

    None where nothing or everything is shown, or several columns are shown and several hidden.
    """
    if visible == everything or not visible:
        return None
    for side in (visible, everything - visible):
        if len(side) == 1:
            return min(side)
    return None


def why_no_copula(table: Table) -> tuple[Column, str] | None:
    """The first column that has no ranks, and why; None: all have them."""
    for column in table.columns:
        if column.missing.any():
            return column, "has missing values"
        if column.kind == "nominal":
            return column, "has no order"
    return None


def fit_copula(table: Table, weights: FloatArray) -> Copula:
    """Learn margins and correlations.

    Parameters
    ----------
    table : Table
    weights : array of shape (n,)
        Of the rows.
    """
    margins = {}
    for j, column in enumerate(table.columns):
        mass_of_level = np.bincount(np.maximum(column.codes, 0), weights=weights)
        margins[j] = Margin(fitted=column, shares=np.cumsum(mass_of_level) / weights.sum())
    scores = Copula(margins=margins, correlations=np.eye(len(margins))).scores(table)
    centred = scores - np.average(scores, axis=0, weights=weights)
    spread = np.sqrt(np.average(np.square(centred), axis=0, weights=weights))
    scaled = centred / np.where(spread > 0, spread, 1.0)
    correlations = (scaled * weights[:, None]).T @ scaled / weights.sum()
    return Copula(margins=margins, correlations=correlations)

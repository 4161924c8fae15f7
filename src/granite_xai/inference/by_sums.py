"""What chance says of questions that follow from sums over rows; the predictions are not read.

"ICE against PDP" has a closed form (`moments.chance`). The others are computed again under the
random weights of replicates, from sums of the same products under these weights (method page,
"Chance").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtri, stdtrit

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.chance import NO_NOISE, disagreement_by_chance
from granite_xai.moments.conditional_statistics import ConditionalAgainstMarginalMean
from granite_xai.moments.stacked import MOST_NUMBERS, StackedGaps
from granite_xai.moments.statistics import FullAgainstPure, RegionalStatistics, Statistics
from granite_xai.moments.triangles import quadratic_form


class ChanceFigures(NamedTuple):
    """What chance says of one question on the rows of a region."""

    plug_in: float  # disagreement as measured
    chance_level: float  # what it would be on average if every true gap were 0
    bar: float  # what it would hardly exceed if every true gap were 0
    corrected: float  # the disagreement without what chance adds; may be negative


def weighted_sums(statistics: Statistics, multipliers: FloatArray) -> FloatArray:
    """Sums of the products with the weights multiplied by several lines of numbers.

    Parameters
    ----------
    statistics : Statistics
        Of n rows.
    multipliers : array of shape (n_lines, n_rows)

    Returns
    -------
    array of shape (n_products, n_bins, n_lines)
    """
    products = statistics.products().T
    if statistics.bins is None:
        return np.asarray((products @ multipliers.T)[:, None, :])
    sums = np.zeros((len(products), statistics.n_bins, len(multipliers)))
    for number in np.unique(statistics.bins):
        inside = np.flatnonzero(statistics.bins == number)
        sums[:, number] = products[:, inside] @ multipliers[:, inside].T
    return sums


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """All sets of "ICE against PDP", for what chance says of any rows.

    Parameters
    ----------
    sets : sequence of FullAgainstPure
        All sets with all their directions, on the same rows.
    stacked : StackedGaps, optional
        The same sets side by side. None: they have too many numbers for that.
    stacked_for_noise : StackedGaps, optional
        The sets that interact side by side, with the directions that a search reads: sampling noise is
        a small part of what is shown, and these tell it. None: nothing interacts.
    rows : array, optional
        The rows that figures are about, as positions among those of the sets; None: all of them.
    """

    sets: Sequence[FullAgainstPure]
    stacked: StackedGaps | None
    stacked_for_noise: StackedGaps | None
    rows: IntArray | None = None

    @classmethod
    def of(cls, sets: Sequence[FullAgainstPure]) -> ClosedForm:
        """Of all sets of the question, on the same rows."""
        stacked = None
        if _may_be_stacked(sets):
            stacked = StackedGaps.of(sets)
        stacked_for_noise = None
        interacting = [statistics.shortened() for statistics in sets if statistics.rank > 0]
        if interacting:
            stacked_for_noise = StackedGaps.of(interacting)
        return cls(sets=sets, stacked=stacked, stacked_for_noise=stacked_for_noise)

    @staticmethod
    def fits(sets: Sequence[Statistics]) -> bool:
        """Whether sets have a closed form, and few enough numbers of a search to be kept for all rows."""
        n_numbers = 0
        for statistics in sets:
            if not isinstance(statistics, FullAgainstPure):
                return False
            n_numbers += statistics.n_rows * (2 * statistics.factors.search_rank + 2)
        return n_numbers <= MOST_NUMBERS

    def take(self, rows: IntArray) -> ClosedForm:
        """The same about some of all rows; what they have is read when it is needed."""
        return replace(self, rows=rows)

    def mean_squared_gap(self) -> float:
        """The disagreement of the rows as one region, summed over the sets."""
        if self.stacked is not None:
            return _of_rows(self.stacked, self.rows).mean_squared_gap()
        return sum(_of_rows(one_set, self.rows).mean_squared_gap_of_rows() for one_set in self.sets)

    def figures(
        self, clusters: IntArray | None, level: float, plug_in: float | None = None
    ) -> ChanceFigures:
        """What chance says of the rows as one region.

        Parameters
        ----------
        clusters, level
            As in `closed_form`.
        plug_in : float, optional
            Their disagreement, where it is known.
        """
        if plug_in is None:
            plug_in = self.mean_squared_gap()
        by_chance = NO_NOISE
        if self.stacked_for_noise is not None:
            by_chance = disagreement_by_chance(
                _of_rows(self.stacked_for_noise, self.rows), clusters
            )
        n_clusters = None if clusters is None else len(np.unique(clusters))
        return ChanceFigures(
            plug_in=plug_in,
            chance_level=by_chance.mean,
            bar=bar_of_clusters(by_chance.quantile(level), level, n_clusters),
            corrected=plug_in - by_chance.mean,
        )


OfRows = TypeVar("OfRows", FullAgainstPure, StackedGaps)


def _of_rows(of_all_rows: OfRows, rows: IntArray | None) -> OfRows:
    if rows is None:
        return of_all_rows
    return of_all_rows.take(rows)


def _may_be_stacked(sets: Sequence[FullAgainstPure]) -> bool:
    """Whether sets with all their directions have few enough numbers to stand side by side."""
    n_numbers = sum(statistics.n_rows * (2 * statistics.rank + 2) for statistics in sets)
    return n_numbers <= MOST_NUMBERS


def closed_form(
    sets: Sequence[FullAgainstPure], clusters: IntArray | None, level: float
) -> ChanceFigures:
    """What chance says of "ICE against PDP".

    Parameters
    ----------
    sets : sequence of FullAgainstPure
        All sets of the question, on the rows of the region.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    level : float
        Level of the chance bar.
    """
    return ClosedForm.of(sets).figures(clusters, level)


def replicated_means(
    sets: Sequence[ConditionalAgainstMarginalMean],
    multipliers: FloatArray,
    n_clusters: int | None = None,
) -> tuple[float, FloatArray]:
    """Disagreement of "M-plot against PDP", and what each replicate shows if every true gap is 0.

    Parameters
    ----------
    sets : sequence of ConditionalAgainstMarginalMean
    multipliers : array of shape (n_replicates, n_rows)
        Random numbers that the weights are multiplied by.
    n_clusters : int, optional
        Clusters of these rows; None: every row stands for itself.
    """
    plug_in = 0.0
    by_chance = np.zeros(len(multipliers))
    lines = np.vstack([np.ones(multipliers.shape[1]), multipliers])
    for statistics in sets:
        if statistics.bins is None:  # conditional on nothing: equal to marginal
            continue
        sums = weighted_sums(statistics, lines)
        plug_in += float(statistics.mean_squared_gap(sums[..., 0]))
        differences = statistics.differences(sums)  # (rank + 1, bins, 1 + replicates)
        counts = np.bincount(statistics.bins, minlength=statistics.n_bins)
        kappa = small_sample_factor(independent_observations(counts, n_clusters))  # (bins,)
        moves = (differences[..., 1:] - differences[..., :1]) * np.sqrt(kappa)[:, None]
        _, by_value = statistics.sums_by_row_and_value(sums[..., :1])
        squares = quadratic_form(by_value, moves)  # (bins, replicates)
        by_chance += squares[counts > 0].sum(axis=0) / sums[-1, :, 0].sum()
    return plug_in, by_chance


def regional_gaps(sets: Sequence[RegionalStatistics], multipliers: FloatArray) -> FloatArray:
    """The gap of each set as it is, then under each replicate: (1 + n_replicates, n_sets)."""
    lines = np.vstack([np.ones(multipliers.shape[1]), multipliers])
    return np.stack(
        [statistics.gap(weighted_sums(statistics, lines)) for statistics in sets], axis=1
    )


def small_sample_factor(n_averaged: IntArray) -> FloatArray:
    """``kappa``: one over the share of a mean's variance that exponential weights show.

    Of a mean of m independent observations they show (m - 1) / (m + 1). One observation shows
    nothing; it counts like two.
    """
    kappa = (n_averaged + 1) / np.maximum(n_averaged - 1, 1)
    return np.where(n_averaged > 1, kappa, 3.0)


def independent_observations(n_rows: IntArray, n_clusters: int | None) -> IntArray:
    """Independent observations among the rows of each mean: no more than there are clusters.

    Parameters
    ----------
    n_rows : array of int
        Rows that each mean averages over.
    n_clusters : int, optional
        Clusters of the rows of the region; None: every row stands for itself.
    """
    if n_clusters is None:
        return n_rows
    return np.minimum(n_rows, n_clusters)


def bar_of_clusters(bar: float, level: float, n_clusters: int | None) -> float:
    """A chance bar, raised where few clusters hardly tell how far gaps vary.

    By the square of Student's quantile for one degree of freedom less than there are clusters, over
    that of the normal quantile. One cluster tells nothing: no disagreement exceeds its bar.

    Parameters
    ----------
    bar : float
        What gaps that vary as much as these clusters show hardly exceed.
    level : float
        Level of the bar.
    n_clusters : int, optional
        None: every row stands for itself, and there are enough of them.
    """
    if n_clusters is None:
        return bar
    if n_clusters == 1:
        return math.inf
    both_sides = (1.0 + level) / 2.0
    ratio = stdtrit(n_clusters - 1, both_sides) / ndtri(both_sides)
    return float(bar * np.square(ratio))

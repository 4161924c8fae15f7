"""What chance says of questions that follow from sums over rows; the predictions are not read.

"ICE against PDP" has a closed form (`moments.chance`). The others are computed again under the
random weights of replicates, from sums of the same products under these weights (method page,
"Chance").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.chance import NO_NOISE, disagreement_by_chance
from granite_xai.moments.stacked import MOST_NUMBERS, StackedGaps
from granite_xai.moments.statistics import (
    ConditionalAgainstMarginalMean,
    FullAgainstPure,
    RegionalStatistics,
    Statistics,
)
from granite_xai.moments.triangles import quadratic_form


class ChanceFigures(NamedTuple):
    """What chance says of one question on the rows of a region."""

    plug_in: float  # disagreement as measured
    level: float  # what it would be on average if every true gap were 0
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
    shown : StackedGaps, optional
        The same sets side by side. None: they have too many numbers for that.
    searched : StackedGaps, optional
        The sets that interact side by side, with the directions that a search reads: sampling noise is
        a small part of what is shown, and these tell it. None: nothing interacts.
    """

    sets: Sequence[FullAgainstPure]
    shown: StackedGaps | None
    searched: StackedGaps | None

    @classmethod
    def of(cls, sets: Sequence[FullAgainstPure]) -> ClosedForm:
        """Of all sets of the question, on the same rows."""
        interacting = [own.shortened() for own in sets if own.rank > 0]
        return cls(
            sets=sets,
            shown=StackedGaps.of(sets) if _may_be_stacked(sets) else None,
            searched=StackedGaps.of(interacting) if interacting else None,
        )

    @staticmethod
    def fits(sets: Sequence[Statistics]) -> bool:
        """Whether sets have a closed form, and few enough numbers of a search to be kept for all rows."""
        if not all(isinstance(own, FullAgainstPure) for own in sets):
            return False
        n_numbers = sum(own.n_rows * (2 * own.factors.search_rank + 2) for own in sets)
        return n_numbers <= MOST_NUMBERS

    def take(self, rows: IntArray) -> ClosedForm:
        """Only some of the rows."""
        searched = None if self.searched is None else self.searched.take(rows)
        if self.shown is None:
            sets = [own.take(rows) for own in self.sets]
            return ClosedForm(sets=sets, shown=None, searched=searched)
        return ClosedForm(sets=(), shown=self.shown.take(rows), searched=searched)

    def mean_squared_gap(self) -> float:
        """The disagreement of the rows as one region, summed over the sets."""
        if self.shown is not None:
            return self.shown.mean_squared_gap()
        return sum(own.mean_squared_gap_of_rows() for own in self.sets)

    def figures(self, clusters: IntArray | None, level: float) -> ChanceFigures:
        """What chance says of the rows as one region; parameters as in `closed_form`."""
        plug_in = self.mean_squared_gap()
        by_chance = NO_NOISE
        if self.searched is not None:
            by_chance = disagreement_by_chance(self.searched, clusters)
        n_clusters = None if clusters is None else len(np.unique(clusters))
        return ChanceFigures(
            plug_in=plug_in,
            level=by_chance.mean,
            bar=bar_of_clusters(by_chance.quantile(level), level, n_clusters),
            corrected=plug_in - by_chance.mean,
        )


def _may_be_stacked(sets: Sequence[FullAgainstPure]) -> bool:
    """Whether sets with all their directions have few enough numbers to stand side by side."""
    return sum(own.n_rows * (2 * own.rank + 2) for own in sets) <= MOST_NUMBERS


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
    for own in sets:
        if own.bins is None:  # conditional on nothing: equal to marginal
            continue
        sums = weighted_sums(own, lines)
        plug_in += float(own.mean_squared_gap(sums[..., 0]))
        differences = own.differences(sums)  # (rank + 1, bins, 1 + replicates)
        counts = np.bincount(own.bins, minlength=own.n_bins)
        stretch = np.sqrt(small_cells(observations(counts, n_clusters)))[:, None]
        moves = (differences[..., 1:] - differences[..., :1]) * stretch
        _, by_value = own.parts(sums[..., :1])
        squares = quadratic_form(by_value, moves)  # (bins, replicates)
        by_chance += squares[counts > 0].sum(axis=0) / sums[-1, :, 0].sum()
    return plug_in, by_chance


def regional_gaps(sets: Sequence[RegionalStatistics], multipliers: FloatArray) -> FloatArray:
    """The gap of each set as it is, then under each replicate: (1 + n_replicates, n_sets)."""
    lines = np.vstack([np.ones(multipliers.shape[1]), multipliers])
    return np.stack([own.gap(weighted_sums(own, lines)) for own in sets], axis=1)


def small_cells(count: IntArray) -> FloatArray:
    """``kappa``: one over the share of a mean's variance that exponential weights show.

    Of a cell of m independent observations they show (m - 1) / (m + 1).
    """
    return np.where(count > 1, (count + 1) / np.maximum(count - 1, 1), 3.0)


def observations(n_rows: IntArray, n_clusters: int | None) -> IntArray:
    """Independent observations among so many rows of a cell: no more than there are clusters.

    Parameters
    ----------
    n_rows : array of int
        Rows of each cell.
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

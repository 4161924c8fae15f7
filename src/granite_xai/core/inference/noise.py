"""What a sample adds to a disagreement, for every question by one mechanism: the influence of rows.

The weights of the rows move by ``1 + a s`` and ``1 - a s`` for vectors s of random signs, one
sign for a cluster. What a gap gains along s is a draw of its sampling error. So the same draws
tell

    level       what R would be on average if every true gap were 0
    bar         what R would hardly exceed then: a quantile of a scaled chi-square
    corrected   R without what chance adds
    influence   how R itself moves along s: its standard error

The model is not asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution, norm

from granite_xai.core.algebra.disagreement import ResolvedQuestion
from granite_xai.core.algebra.region_weights import RegionWeights
from granite_xai.core.evaluations.evaluations import Evaluations

STEP = 0.1  # a
PAIRS = 200  # vectors of signs
SIGNS_STREAM = 11  # of random numbers


@dataclass(frozen=True)
class Noise:
    """A question on the rows of one region; P vectors of signs."""

    plug_in: float  # R as measured
    level: float
    bar: float
    corrected: float  # may be negative
    influence: np.ndarray  # (P,) what R gains along each vector of signs
    excess: np.ndarray  # (P,) what sampling errors like these add to R, less their mean
    mass: np.ndarray  # (3, P) weight of the rows as they are, with each sign, and against it
    moved: np.ndarray  # (3, P) R under these weights

    @property
    def is_exceeded(self) -> bool:
        """Whether the rows show more than chance."""
        return self.plug_in > self.bar and self.corrected > 0.0


@dataclass(frozen=True)
class Signs:
    """Vectors of random signs of n rows, the same for all rows of a cluster."""

    signs: np.ndarray  # (n, P)
    clusters: np.ndarray  # (n,)

    @classmethod
    def drawn(cls, clusters: np.ndarray, seed: int) -> Signs:
        """Signs of rows with these clusters, numbered from 0."""
        generator = np.random.default_rng([seed, SIGNS_STREAM])
        by_cluster = 2.0 * generator.integers(0, 2, size=(PAIRS, clusters.max() + 1)) - 1.0
        return cls(by_cluster[:, clusters].T, clusters)

    def take(self, places: np.ndarray) -> Signs:
        """Those of some of the rows."""
        return Signs(self.signs[places], self.clusters[places])

    @property
    def n_observations(self) -> int:
        """Rows or clusters that are independent of each other."""
        return len(np.unique(self.clusters))


def noise_of(
    question: ResolvedQuestion, evaluations: Evaluations, drawn: Signs, level: float
) -> Noise:
    """Measure one question on the rows of a region.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        About these rows.
    drawn : Signs
        Of these rows.
    level : float
        Probability not to exceed the bar by chance.
    """
    signs = drawn.signs
    n_pairs = signs.shape[1]
    factors = np.hstack([np.ones((len(evaluations), 1)), 1 + STEP * signs, 1 - STEP * signs])
    regions = RegionWeights(factors * evaluations.weights[:, None])
    measured = [
        _of_set(question, gap, np.minimum(sizes, drawn.n_observations), regions, signs)
        for gap, sizes in zip(
            question.gaps(evaluations, regions),
            cell_sizes(question, evaluations),
            strict=True,
        )
    ]
    by_chance = sum(of_set.by_chance for of_set in measured)  # (P,)
    lines = sum(of_set.lines for of_set in measured)  # (1 + 2 P,)
    moved = _three(lines, n_pairs)
    return Noise(
        plug_in=float(lines[0]),
        level=float(by_chance.mean()),
        bar=_quantile_of_sum_of_squares(by_chance, level, drawn.n_observations),
        corrected=float(lines[0] - sum(of_set.bias for of_set in measured)),
        influence=(moved[1] - moved[2]) / (2 * STEP),
        excess=by_chance - by_chance.mean(),
        mass=_three(regions.mass()[0], n_pairs),
        moved=moved,
    )


class _SetNoise(NamedTuple):
    """One set of a question."""

    by_chance: np.ndarray  # (P,) mean squared sampling error along each vector of signs
    lines: np.ndarray  # (1 + 2 P,) disagreement under each line of weights
    bias: float  # what chance adds


def _of_set(
    question: ResolvedQuestion,
    gap: np.ndarray,
    sizes: np.ndarray,
    regions: RegionWeights,
    signs: np.ndarray,
) -> _SetNoise:
    """What the gaps of one set, (n or 1, 1 + 2 P), say of their noise; sizes (n or 1,) as in
    `cell_sizes`.
    """
    n_pairs = signs.shape[1]
    shown, up, down = gap[:, :1], gap[:, 1 : 1 + n_pairs], gap[:, 1 + n_pairs :]
    # Moved weights show (m - 1) / m of the variance of a mean of m rows.
    small_cell = np.sqrt(sizes / np.maximum(sizes - 1, 1))[:, None]
    errors = (up - down) * small_cell / (2 * STEP)  # (n or 1, P)
    if question.is_local:
        # A row is one of the rows that its own gap averages over, which lowers its loss.
        by_own_weight = 2 * small_cell[:, 0] * (signs * errors).mean(axis=1) * shown[:, 0]
        bias = np.square(errors).mean(axis=1) + by_own_weight
        is_alone = sizes == 1
        if (
            is_alone.any() and not is_alone.all()
        ):  # the mean of one row does not move: it borrows from the others
            others = sizes[~is_alone]
            errors[is_alone] = np.sqrt(np.mean(others[:, None] * np.square(errors[~is_alone])))
            bias[is_alone] = np.mean(others * bias[~is_alone])
        shares = regions.weights[:, 0] / regions.weights[:, 0].sum()
        return _SetNoise(
            shares @ np.square(errors), regions.means(np.square(gap))[0], float(shares @ bias)
        )
    by_chance = np.square(errors[0])
    bias_of_gap = (up + down - 2 * shown).mean() / (2 * STEP**2)
    unbiased = np.square(shown[0, 0] - bias_of_gap) - by_chance.mean()
    return _SetNoise(by_chance, np.square(gap[0]), float(np.square(shown[0, 0]) - unbiased))


def cell_sizes(question: ResolvedQuestion, evaluations: Evaluations) -> list[np.ndarray]:
    """For each set how many rows the gap averages over at each row, (n,), or in all, (1,)."""
    n = len(evaluations)
    if not question.is_local:
        return [np.array([n])] * len(question.sets)
    return list(question.cell_sizes(evaluations))


def _three(lines: np.ndarray, n_pairs: int) -> np.ndarray:
    """Figures as they are, with signs, and against them, (3, P), from those of all lines (1 + 2
    P,).
    """
    return np.stack([np.full(n_pairs, lines[0]), lines[1 : 1 + n_pairs], lines[1 + n_pairs :]])


def _quantile_of_sum_of_squares(draws: np.ndarray, level: float, n_observations: int) -> float:
    """Of a scaled chi-square variable with the mean and the variance of some draws.

    The scale itself is estimated from so many rows or clusters, so the quantile is that of F.
    """
    mean, variance = float(draws.mean()), float(draws.var(ddof=1))
    if mean <= 0.0 or variance <= 1e-12 * mean**2:
        return mean
    degrees = 2 * mean**2 / variance
    return mean * float(f_distribution.ppf(level, degrees, max(n_observations - 1, 1)))


# RegionWeights that others chose --------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """Share of the disagreement that regions leave, on rows that did not choose them."""

    remaining: float
    low: float
    high: float
    standard_error: float
    disagreement: float  # on all these rows, without what chance adds


def judge(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    regions: np.ndarray,
    drawn: Signs,
    level: float,
) -> Estimate:
    """What some rows say of the regions (n,) that they lie in."""
    whole = noise_of(question, evaluations, drawn, level)
    present = [np.flatnonzero(regions == region) for region in np.unique(regions)]
    if len(present) == 1 or not whole.is_exceeded:
        remaining = 1.0 if whole.is_exceeded else np.nan
        return Estimate(remaining, np.nan, np.nan, np.nan, whole.corrected)
    parts = [
        noise_of(question, evaluations.take(places), drawn.take(places), level)
        for places in present
    ]
    # What chance adds to a region stays as it is while the weights move.
    mass_of_parts = [part.mass / whole.mass for part in parts]
    left = sum(
        mass * (part.moved - part.plug_in + part.corrected)
        for mass, part in zip(mass_of_parts, parts, strict=True)
    )
    excess = sum(mass[0] * part.excess for mass, part in zip(mass_of_parts, parts, strict=True))
    share = left[0, 0] / whole.corrected
    slopes = ((left[1] - left[2]) / (2 * STEP) - share * whole.influence) / whole.corrected
    curvature = (excess - share * whole.excess) / whole.corrected
    n = drawn.n_observations
    error = float(np.sqrt((np.mean(slopes**2) + np.mean(curvature**2)) * n / (n - 1)))
    share = max(float(share), 0.0)
    low, high = interval(share, error, float(norm.ppf((1 + level) / 2)))
    return Estimate(share, low, high, error, whole.corrected)


def interval(value: float, error: float, quantile: float) -> tuple[float, float]:
    """So many standard errors around a value that is never below 0; on a log scale far from 0."""
    if value > 2 * error:
        factor = np.exp(quantile * error / value)
        return value / factor, value * factor
    return max(0.0, value - quantile * error), value + quantile * error

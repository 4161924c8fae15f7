"""What a sample adds to a disagreement, for every question by one mechanism (method page, "Sampling noise").

The weights of the rows move by ``1 + a s`` and ``1 - a s`` for vectors s of random signs, one sign for
a row or a cluster. What a gap gains along s is a draw of its sampling error, so the same draws tell

    chance      what R would be on average if every true gap were 0
    bar         what R would hardly exceed then: a quantile of a scaled F variable
    corrected   R without what chance adds
    error       how R itself moves along s: its standard error

The model is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri, stdtrit

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.region_weights import AlongSigns, RegionWeights, SignedLines
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations

STEP = 0.1  # a
PAIRS = 200  # vectors of signs
FEWEST_DRAWS = 50  # of them, that a search reads
ROWS_TIMES_DRAWS = 200_000  # the more rows, the less chance adds, and the fewer vectors tell it
ROUNDING = 1e-24  # share of a disagreement, a sum of squares, that is rounding of its gaps
SIGNS_STREAM = 11  # of random numbers
FEWEST_OBSERVATIONS = 5  # rows or clusters: of fewer the spread is hardly known
SAME_DRAWS = 1e-12  # relative variance of draws that are all the same


# How figures move with the sample -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Signs:
    """Vectors of random signs of n rows, the same for all rows of a cluster.

    Parameters
    ----------
    signs : array of shape (n, P)
    clusters : array of shape (n,)
        Number of the cluster of each row; without clusters every row is one.
    """

    signs: FloatArray
    clusters: IntArray

    @classmethod
    def drawn(cls, clusters: IntArray, seed: int) -> Signs:
        """Signs of rows with these clusters, numbered from 0."""
        generator = np.random.default_rng([seed, SIGNS_STREAM])
        n_clusters = int(clusters.max(initial=-1)) + 1
        by_cluster = 2.0 * generator.integers(0, 2, size=(PAIRS, n_clusters)) - 1.0
        return cls(np.ascontiguousarray(by_cluster[:, clusters].T), clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    @cached_property
    def n_observations(self) -> int:
        """Rows or clusters that are independent of each other."""
        return int(np.count_nonzero(np.bincount(self.clusters)))

    def take(self, places: IntArray) -> Signs:
        """Those of some of the rows."""
        return Signs(self.signs[places], self.clusters[places])

    def first(self, n_pairs: int) -> Signs:
        """The first vectors only, where no interval is read."""
        return Signs(self.signs[:, :n_pairs], self.clusters)


@dataclass(frozen=True, eq=False)
class Noise:
    """One question on the rows of one region; S sets, P vectors of signs.

    Parameters
    ----------
    by_set : array of shape (S,)
        R as measured.
    corrected_by_set : array of shape (S,)
        R without what chance adds; may be negative.
    by_chance : array of shape (P,)
        What sampling errors like those along each vector would show by themselves.
    excess : array of shape (P,)
        What such errors add to R, less their mean.
    moved : array of shape (2, P)
        R under the weights with each vector of signs, and against it; nan where no interval was asked for.
    mass : array of shape (2, P)
        Weight of the rows under the same.
    n_observations : int
        Rows, or clusters of them.
    """

    by_set: FloatArray
    corrected_by_set: FloatArray
    by_chance: FloatArray
    excess: FloatArray
    moved: FloatArray
    mass: FloatArray
    n_observations: int

    @property
    def plug_in(self) -> float:
        """R as measured."""
        return float(self.by_set.sum())

    @property
    def corrected(self) -> float:
        """R without what chance adds; may be negative."""
        return float(self.corrected_by_set.sum())

    @property
    def chance(self) -> float:
        """What R would be on average if every true gap were 0."""
        return float(self.by_chance.mean())

    @property
    def slopes(self) -> FloatArray:
        """What R gains along each vector of signs, (P,)."""
        return np.asarray((self.moved[0] - self.moved[1]) / (2 * STEP))

    @property
    def standard_error(self) -> float:
        """How far R varies with the sample."""
        return standard_error(self.slopes, self.excess, self.n_observations)

    def bar(self, level: float) -> float:
        """What R would hardly exceed if every true gap were 0, with a level of confidence."""
        return bar_of_draws(self.by_chance, level, self.n_observations)


def noise_of(
    question: ResolvedQuestion, evaluations: Evaluations, signs: Signs, *, has_interval: bool = True
) -> Noise:
    """Measure one question on the rows of a region.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of these rows.
    signs : Signs
        Of these rows.
    has_interval : bool
        Whether its standard error is read; without, a question of sums costs half as much.
    """
    signed = SignedLines(evaluations.weights, signs.signs, STEP)
    n_observations = signs.n_observations
    if question.has_masked_gaps:
        of_sets = [
            _noise_of_sums(gap, n_observations, has_interval)
            for gap in question.gaps_along_signs(evaluations, signed)
        ]
    else:
        lines = RegionWeights.along_signs(signed)
        gaps = question.gaps(evaluations, lines)
        if question.is_local:
            sizes = question.cell_sizes(evaluations)
            of_sets = [
                _noise_of_rows(question, gap, np.minimum(of_gap, n_observations), signs, lines)
                for gap, of_gap in zip(gaps, sizes, strict=True)
            ]
        else:
            of_sets = [_noise_of_region(question, gap[0], n_observations) for gap in gaps]
    excess = sum(of_set.excess for of_set in of_sets)
    return Noise(
        by_set=np.array([of_set.plug_in for of_set in of_sets]),
        corrected_by_set=np.array([of_set.plug_in - of_set.bias for of_set in of_sets]),
        by_chance=np.asarray(sum(of_set.by_chance for of_set in of_sets)),
        excess=np.asarray(excess - np.mean(excess)),
        moved=np.asarray(sum(of_set.moved for of_set in of_sets)),
        mass=_with_and_against(evaluations.weights.sum() * signed.mass()),
        n_observations=n_observations,
    )


class _SetNoise(NamedTuple):
    """The gaps of one set."""

    plug_in: float
    moved: FloatArray  # (2, P) disagreement with each vector of signs, and against it
    by_chance: FloatArray  # (P,)
    excess: FloatArray  # (P,)
    bias: float  # what chance adds to the disagreement


def _noise_of_sums(gap: AlongSigns, n_observations: int, has_interval: bool) -> _SetNoise:
    """A squared gap at every row that averages over all of them: as `_noise_of_rows` says."""
    # Moved weights show (m - 1) / m of the variance of a mean of m observations.
    small_sample = n_observations / max(n_observations - 1, 1)
    squares, tilts = gap.error_moments()
    squared_errors = small_sample * squares
    moved = np.full((2, len(squares)), np.nan)
    if has_interval:
        moved = _with_and_against(gap.mean_squares())
    return _SetNoise(
        plug_in=float(gap.signed.shares @ np.square(gap.values)),
        moved=moved,
        by_chance=squared_errors,
        excess=squared_errors,
        bias=float(np.mean(squared_errors + small_sample * tilts)),
    )


def _noise_of_rows(
    question: ResolvedQuestion, gap: FloatArray, sizes: IntArray, signs: Signs, lines: RegionWeights
) -> _SetNoise:
    """A gap at every row.

    The bias has two parts. The means that a gap compares vary from sample to sample, which raises the
    loss. And a row is itself one of the rows that its gap averages over, which lowers its loss: in the
    extreme a row is alone, and is its own mean.

    Parameters
    ----------
    question : ResolvedQuestion
    gap : array of shape (n, 1 + 2 P)
    sizes : array of shape (n,)
        Rows (at most, clusters) that the gap of each row averages over.
    signs : Signs
    lines : RegionWeights
    """
    n_pairs = signs.signs.shape[1]
    shown = gap[:, :1]
    # Moved weights show (m - 1) / m of the variance of a mean of m rows.
    small_cell = np.sqrt(sizes / np.maximum(sizes - 1, 1))[:, None]
    errors = (gap[:, 1 : 1 + n_pairs] - gap[:, 1 + n_pairs :]) * small_cell / (2 * STEP)  # (n, P)
    excess, tilt = _moved_losses(question, shown, errors)
    by_own_weight = small_cell[:, 0] * np.einsum("np,np->n", signs.signs, tilt) / n_pairs
    bias = excess.mean(axis=1) + by_own_weight
    is_alone = sizes == 1
    if is_alone.any() and not is_alone.all():
        # The mean of one row does not move: it borrows from those of the others.
        others = sizes[~is_alone]
        errors[is_alone] = np.sqrt(np.mean(others[:, None] * np.square(errors[~is_alone])))
        bias[is_alone] = np.mean(others * bias[~is_alone])
    shares = lines.weights[:, 0] / lines.weights[:, 0].sum()
    by_line = lines.means(question.loss(gap))[0]  # (1 + 2 P,)
    return _SetNoise(
        plug_in=float(by_line[0]),
        moved=_with_and_against(by_line),
        by_chance=shares @ question.loss(errors),
        excess=shares @ excess,
        bias=float(shares @ bias),
    )


def _noise_of_region(question: ResolvedQuestion, gap: FloatArray, n_observations: int) -> _SetNoise:
    """One gap of the whole region, under each line of weights, (1 + 2 P,).

    With the bias ``b`` of the gap, chance adds ``loss(g)`` less ``loss(g - b)`` without what sampling
    errors add to it.
    """
    n_pairs = (len(gap) - 1) // 2
    shown, up, down = gap[:1], gap[1 : 1 + n_pairs], gap[1 + n_pairs :]
    small_sample = math.sqrt(n_observations / max(n_observations - 1, 1))
    errors = (up - down) * small_sample / (2 * STEP)
    bias_of_gap = float((up + down - 2 * shown).mean()) / (2 * STEP**2)
    excess, _ = _moved_losses(question, shown, errors)
    unbiased = shown - bias_of_gap
    excess_of_unbiased, _ = _moved_losses(question, unbiased, errors)
    without_bias = float(question.loss(unbiased)[0]) - float(excess_of_unbiased.mean())
    by_line = question.loss(gap)
    plug_in = float(by_line[0])
    return _SetNoise(
        plug_in=plug_in,
        moved=_with_and_against(by_line),
        by_chance=question.loss(errors),
        excess=excess,
        bias=plug_in - without_bias,
    )


def _moved_losses(
    question: ResolvedQuestion, gap: FloatArray, errors: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """How much errors to both sides raise the loss of a gap, and half of what one side raises it more."""
    if question.has_squared_loss:  # (g ± e)² = g² ± 2 g e + e²
        return np.square(errors), 2.0 * gap * errors
    up = question.loss(gap + errors)
    down = question.loss(gap - errors)
    return (up + down) / 2 - question.loss(gap), (up - down) / 2


def _with_and_against(by_line: FloatArray) -> FloatArray:
    """Numbers with each vector of signs and against it, (2, P), from those of all lines, (1 + 2 P,)."""
    n_pairs = (len(by_line) - 1) // 2
    return np.stack([by_line[1 : 1 + n_pairs], by_line[1 + n_pairs :]])


def standard_error(slopes: FloatArray, excess: FloatArray, n_observations: int) -> float:
    """Standard error of a figure, from both ways in which sampling errors of gaps move it.

    Along its slope, and by its curvature, which alone remains where gaps are 0. Moved weights show
    (n - 1) / n of the variance between n observations.

    Parameters
    ----------
    slopes : array of shape (P,)
        What the figure gains along each vector of signs.
    excess : array of shape (P,)
        What sampling errors like those along each vector add to it, less their mean.
    n_observations : int
    """
    variance = np.mean(np.square(slopes)) + np.mean(np.square(excess))
    return float(np.sqrt(variance * n_observations / max(n_observations - 1, 1)))


def bar_of_draws(by_chance: FloatArray, level: float, n_observations: int) -> float:
    """What a sum of squares with these draws hardly exceeds.

    A scaled chi-square variable with their mean and variance; its scale itself is estimated from so
    many rows or clusters, so that the quantile is that of F.
    """
    mean = float(by_chance.mean())
    variance = float(by_chance.var(ddof=1))
    if mean <= 0.0 or variance <= SAME_DRAWS * mean**2:
        return mean
    degrees = 2 * mean**2 / variance
    return mean * float(fdtri(degrees, max(n_observations - 1, 1), level))


# Which regions show more than chance ----------------------------------------------------------------


class RegionNoise(NamedTuple):
    """What chance says of one region, in shares of what all rows show beyond it."""

    disagreements: FloatArray  # (Q,) R as measured; 0 for questions that do not count
    corrected: float  # may be negative; without the mass of the region
    is_exceeded: bool  # whether its rows show more than chance


@dataclass(frozen=True, eq=False)
class Chance:
    """What chance says of all rows, question by question, and of any of them as one region.

    Parameters
    ----------
    questions : sequence of ResolvedQuestion
    signs : Signs
        Of all rows.
    of_all_rows : sequence of Noise
        For each question.
    floors : array of shape (Q,)
        Noise floor of each question.
    level : float
        Confidence: the probability not to find regions where there are none.
    given : array of shape (Q,), optional
        Which questions show more than chance, where that was decided by more rows than these.
    """

    questions: Sequence[ResolvedQuestion]
    signs: Signs
    of_all_rows: Sequence[Noise]
    floors: FloatArray
    level: float
    given: BoolArray | None = None

    @classmethod
    def of(
        cls,
        questions: Sequence[ResolvedQuestion],
        outputs: Sequence[Evaluations],
        signs: Signs,
        floors: FloatArray,
        level: float,
    ) -> Chance:
        """Measure all rows.

        Parameters
        ----------
        questions : sequence of ResolvedQuestion
        outputs : sequence of Evaluations
            Of all rows, one for each output of the model.
        signs : Signs
        floors : array of shape (Q,)
        level : float
        """
        of_all_rows = [
            noise_of(question, outputs[question.output], signs) for question in questions
        ]
        return cls(questions, signs, of_all_rows, floors, level)

    @property
    def exceeded(self) -> BoolArray:
        """Which questions show more on all rows than chance and rounding can, (Q,)."""
        if self.given is not None:
            return self.given & (self.corrected > 0)
        if self.signs.n_observations < FEWEST_OBSERVATIONS:
            return np.zeros(len(self.questions), dtype=np.bool_)
        plug_ins = np.array([noise.plug_in for noise in self.of_all_rows])
        bars = np.array([noise.bar(self.level) for noise in self.of_all_rows])
        return np.asarray((plug_ins > np.maximum(bars, self.floors)) & (self.corrected > 0))

    @property
    def corrected(self) -> FloatArray:
        """R of each question on all rows without what chance adds, (Q,)."""
        return np.array([noise.corrected for noise in self.of_all_rows])

    def facts(self) -> dict[str, Mapping[str, float]]:
        """What is on record of each question."""
        return {
            question.label: {
                "disagreement": noise.plug_in,
                "chance": noise.chance,
                "bar": noise.bar(self.level),
                "corrected": noise.corrected,
            }
            for question, noise in zip(self.questions, self.of_all_rows, strict=True)
        }

    def in_region(
        self, outputs: Sequence[Evaluations], places: IntArray, factors: FloatArray
    ) -> RegionNoise:
        """Some of the rows as one region.

        Each question that counts is weighed by its factor; one bar decides on their sum.

        Parameters
        ----------
        outputs : sequence of Evaluations
            Of these rows.
        places : array of int
            Their places among all rows.
        factors : array of shape (Q,)
            Of each question, by its corrected disagreement on all rows; 0: it does not count.
        """
        if len(places) == len(self.signs):
            is_exceeded = bool(np.any(self.exceeded & (factors > 0)))
            plug_ins = np.array([noise.plug_in for noise in self.of_all_rows])
            return RegionNoise(plug_ins, float(factors @ self.corrected), is_exceeded)
        n_draws = max(FEWEST_DRAWS, ROWS_TIMES_DRAWS // len(places))
        signs = self.signs.take(places).first(n_draws)
        disagreements = np.zeros(len(self.questions))
        draws = np.zeros(signs.signs.shape[1])
        corrected = 0.0
        for number in np.flatnonzero(factors).tolist():
            question = self.questions[number]
            of_output = outputs[question.output]
            noise = noise_of(question, of_output, signs, has_interval=False)
            disagreements[number] = noise.plug_in
            draws += factors[number] * noise.by_chance
            corrected += factors[number] * noise.corrected
        bar = bar_of_draws(draws, self.level, signs.n_observations)
        is_exceeded = (
            signs.n_observations >= FEWEST_OBSERVATIONS
            and float(factors @ disagreements) > bar
            and corrected > 0
        )
        return RegionNoise(disagreements, float(corrected), bool(is_exceeded))


# Intervals ------------------------------------------------------------------------------------------


def student_quantile(level: float, n_observations: int, sides: int = 2) -> float:
    """Standard errors beside an estimate from so many observations; nan for too few to tell.

    Parameters
    ----------
    level : float
        Of the interval.
    n_observations : int
        Rows or clusters.
    sides : int
        2, or 1 of a limit.
    """
    if n_observations < FEWEST_OBSERVATIONS:
        return math.nan
    probability = level if sides == 1 else (1.0 + level) / 2.0
    return float(stdtrit(n_observations - 1, probability))


def interval_around(value: float, error: float, quantile: float) -> tuple[float, float]:
    """So many standard errors on both sides of a value that is never below 0; nan without a quantile.

    On a logarithmic scale where the value is more than two standard errors away from 0.
    """
    if math.isnan(quantile):
        return math.nan, math.nan
    if value > 2 * error:
        high = value * math.exp(quantile * error / value)
        return value**2 / high, high
    return max(0.0, value - quantile * error), value + quantile * error

"""Replicates: the disagreement that chance alone would show, from reweighted rows; the model is not asked again.

The expected plug-in ``R`` is the true one plus the sampling variance of the gaps. Replicate b weighs row n by an
exponential number ``e_b(n)``, drawn once a fit and the same in every node; the gaps ``g_b`` under these weights scatter
around the gaps ``g`` of the sample as those scatter around the true ones:

    d_b(n)      = sqrt(kappa(n)) * (g_b(n) - g(n))
    chance bar  = a high order statistic of  R_b = mean over n of the summed losses of d_b(n)
    corrected   = R - mean over b and n of  (loss(g + d_b) + loss(g - d_b)) / 2 - loss(g)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import cast

import numpy as np
from scipy.special import stdtrit

from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import map_blocks
from granite_xai.compute.primitives import SQUARE
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.by_sums import (
    ChanceFigures,
    ClosedForm,
    bar_of_clusters,
    closed_form,
    observations,
    regional_gaps,
    replicated_means,
    small_cells,
)
from granite_xai.inference.sampling_bias import mean_excess
from granite_xai.moments.questions import question_statistics
from granite_xai.moments.statistics import (
    ConditionalAgainstMarginalMean,
    FullAgainstPure,
    RegionalStatistics,
    Statistics,
)

LINES = 50  # replicates that are computed together, whatever the number of jobs
FEWEST_CLUSTERS = 5  # below it their spread is hardly known, and there is no interval


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure a fit shall be: its level, how many replicates tell, and the seed they are drawn with."""

    level: float
    n_resamples: int
    seed: int

    @property
    def normal(self) -> float:
        """Standard errors on both sides of an estimate."""
        return NormalDist().inv_cdf((1.0 + self.level) / 2.0)

    def quantile(self, clusters: int) -> float:
        """Standard errors on both sides of an estimate from so many clusters: Student's t; nan for too few."""
        if clusters < FEWEST_CLUSTERS:
            return math.nan
        return float(stdtrit(clusters - 1, (1.0 + self.level) / 2.0))

    def one_sided_quantile(self, clusters: int) -> float:
        """Standard errors above an estimate from so many clusters, for a limit on one side."""
        if clusters < FEWEST_CLUSTERS:
            return math.nan
        return float(stdtrit(clusters - 1, self.level))

    @property
    def error(self) -> float:
        """Probability to find regions where there are none."""
        return 1.0 - self.level

    @property
    def tests_gains(self) -> bool:
        """Whether the error is shared by the chance bar and a test of gains."""
        return bar_place(self.n_resamples, 1.0 - self.error / 2) <= self.n_resamples

    @property
    def bar_level(self) -> float:
        """Level of the chance bar: half of the error is left to the test of gains."""
        return 1.0 - self.error / 2 if self.tests_gains else self.level

    def replicates(self, clusters: IntArray) -> Replicates:
        """The replicates of rows that belong to clusters: one number for each of both."""
        n_clusters = int(clusters.max(initial=-1)) + 1
        generator = np.random.default_rng([self.seed, 7])
        numbers = generator.exponential(size=(self.n_resamples, n_clusters))
        rows_stand_alone = n_clusters == len(clusters)
        return Replicates(
            multipliers=numbers[:, clusters],
            position=bar_position(self.n_resamples, self.bar_level),
            level=self.bar_level,
            clusters=None if rows_stand_alone else clusters,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """What chance says of the disagreement on the rows of a region, one number a question."""

    plug_in: FloatArray  # R as measured
    level: FloatArray  # what R would be on average if every true gap were 0
    bar: FloatArray  # what R would hardly exceed if every true gap were 0
    corrected: FloatArray  # R without what chance adds; may be negative
    proven: BoolArray | None = None  # which questions have a split that gains more than chance

    def of_questions(self, some: slice) -> Chance:
        """The same of some of the questions."""
        return Chance(
            plug_in=self.plug_in[some],
            level=self.level[some],
            bar=self.bar[some],
            corrected=self.corrected[some],
            proven=None if self.proven is None else self.proven[some],
        )

    @property
    def counted(self) -> FloatArray:
        """What growth and pruning count: never less than nothing."""
        return np.maximum(self.corrected, 0.0)

    def exceeded(self, floors: FloatArray) -> BoolArray:
        """Which questions show more than chance and rounding can."""
        beyond = self.plug_in > self.bar
        if self.proven is not None:
            beyond = beyond | self.proven
        return np.asarray(beyond & (self.plug_in > floors) & (self.corrected > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Random weights of some rows.

    Parameters
    ----------
    multipliers : array of shape (n_replicates, n_rows)
        Exponential numbers that the weights are multiplied by, the same for all rows of a cluster.
    position : int
        Place of the chance bar among the sorted replicates.
    level : float
        Level of the chance bar.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """

    multipliers: FloatArray
    position: int
    level: float
    clusters: IntArray | None = None

    def chance(
        self,
        questions: Sequence[ResolvedQuestion],
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None = None,
        statistics: Sequence[list[Statistics] | ClosedForm | None] | None = None,
    ) -> Chance:
        """What chance says of a region.

        Parameters
        ----------
        questions : sequence of ResolvedQuestion
        evaluations : Evaluations
            Of the rows of the region.
        rows : array
            Their positions among the rows that have replicates.
        n_jobs : int, optional
        statistics : sequence, optional
            For each question its statistics on these rows, None where it has none; without any they
            are made here.
        """
        if statistics is None:
            statistics = [question_statistics(question, evaluations) for question in questions]
        figures = []
        for question, sets in zip(questions, statistics, strict=True):
            if isinstance(sets, ClosedForm):
                figures.append(sets.figures(self._clusters_of(rows), self.level))
            elif sets is not None:
                figures.append(self._by_sums(question, sets, rows))
            elif question.first.behavior.per_row:
                figures.append(self._of_rows(question, evaluations, rows, n_jobs))
            else:
                gaps = self._engine_gaps(question, evaluations, rows, n_jobs)
                figures.append(self._of_gaps(question, gaps, rows))
        return Chance(
            plug_in=np.array([each.plug_in for each in figures]),
            level=np.array([each.level for each in figures]),
            bar=np.array([each.bar for each in figures]),
            corrected=np.array([each.corrected for each in figures]),
        )

    def _clusters_of(self, rows: IntArray) -> IntArray | None:
        return None if self.clusters is None else self.clusters[rows]

    def _by_sums(
        self, question: ResolvedQuestion, sets: Sequence[Statistics], rows: IntArray
    ) -> ChanceFigures:
        """What chance says of one question, from sums over rows."""
        if isinstance(sets[0], FullAgainstPure):
            full_against_pure = cast("Sequence[FullAgainstPure]", sets)
            return closed_form(full_against_pure, self._clusters_of(rows), self.level)
        if isinstance(sets[0], ConditionalAgainstMarginalMean):
            means = cast("Sequence[ConditionalAgainstMarginalMean]", sets)
            n_clusters = self._n_clusters(rows)
            plug_in, by_chance = replicated_means(means, self.multipliers[:, rows], n_clusters)
            level = float(by_chance.mean())
            return ChanceFigures(
                plug_in=plug_in,
                level=level,
                bar=self._bar(by_chance, n_clusters),
                corrected=plug_in - level,
            )
        regional = cast("Sequence[RegionalStatistics]", sets)
        gaps = regional_gaps(regional, self.multipliers[:, rows])
        return self._of_gaps(question, gaps, rows)

    def _of_rows(
        self,
        question: ResolvedQuestion,
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None,
    ) -> ChanceFigures:
        """The same of a question with a gap at every row, from the predictions."""
        n_clusters = self._n_clusters(rows)
        losses = partial(_row_losses, question, evaluations, n_clusters)
        parts = map_blocks(losses, self._blocks(rows), n_jobs)
        by_chance = np.concatenate([part[0] for part in parts])
        excess = np.concatenate([part[1] for part in parts])
        plug_in = parts[0][2]
        return ChanceFigures(
            plug_in=plug_in,
            level=float(by_chance.mean()),
            bar=self._bar(by_chance, n_clusters),
            corrected=plug_in - float(excess.mean()),
        )

    def _engine_gaps(
        self,
        question: ResolvedQuestion,
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None,
    ) -> FloatArray:
        """The gap of each set as it is, then under each replicate, from the predictions."""
        gaps = partial(_regional_gaps, question, evaluations)
        parts = map_blocks(gaps, self._blocks(rows), n_jobs)
        return np.concatenate([parts[0][:1], *(part[1:] for part in parts)])

    def _of_gaps(
        self, question: ResolvedQuestion, gaps: FloatArray, rows: IntArray
    ) -> ChanceFigures:
        """The same of a question with one gap for a region and set, (1 + B, S); bias is taken off first."""
        loss = question.loss
        n_clusters = self._n_clusters(rows)
        n_observations = observations(np.array(len(rows)), n_clusters)
        shown = gaps[0]
        again = gaps[1:]
        moved = again - shown
        by_chance = loss(np.sqrt(small_cells(n_observations)) * moved).sum(axis=1)
        unbiased = shown - moved.mean(axis=0)
        spread = again - again.mean(axis=0)
        corrected = float(loss(unbiased).sum() - mean_excess(loss, unbiased, spread).sum())
        return ChanceFigures(
            plug_in=float(loss(shown).sum()),
            level=float(by_chance.mean()),
            bar=self._bar(by_chance, n_clusters),
            corrected=corrected,
        )

    def _bar(self, by_chance: FloatArray, n_clusters: int | None) -> float:
        """What the replicates hardly exceed, raised where few clusters tell it."""
        bar = float(np.partition(by_chance, self.position)[self.position])
        return bar_of_clusters(bar, self.level, n_clusters)

    def _n_clusters(self, rows: IntArray) -> int | None:
        """Clusters of some rows; None: every row stands for itself."""
        if self.clusters is None:
            return None
        return len(np.unique(self.clusters[rows]))

    def _blocks(self, rows: IntArray) -> list[FloatArray]:
        """Replicates that are computed together."""
        multipliers = self.multipliers[:, rows]
        starts = range(0, len(multipliers), LINES)
        return [multipliers[start : start + LINES] for start in starts]


@dataclass(frozen=True, slots=True, eq=False)
class ChanceRule:
    """What the search must exceed.

    Parameters
    ----------
    replicates : Replicates
        Of the fitting rows.
    questions : tuple of ResolvedQuestion
    root : Chance
        What chance says of all rows.
    factors : array of shape (n_questions,)
        Weight of each question by its corrected disagreement on all rows.
    statistics : tuple
        For each question its statistics on all rows; None where it has none.
    """

    replicates: Replicates
    questions: tuple[ResolvedQuestion, ...]
    root: Chance
    factors: FloatArray
    statistics: tuple[list[Statistics] | None, ...]
    _closed_forms: dict[int, ClosedForm] = field(default_factory=dict, init=False, repr=False)

    @property
    def rows_stand_alone(self) -> bool:
        """Whether no two rows belong to one cluster."""
        return self.replicates.clusters is None

    @property
    def reads_predictions(self) -> bool:
        """Whether a question does not follow from sums over rows."""
        return any(sets is None for sets in self.statistics)

    @property
    def has_closed_form(self) -> bool:
        """Whether every question has one."""
        return all(sets is not None and ClosedForm.fits(sets) for sets in self.statistics)

    def disagreements(self, rows: IntArray) -> FloatArray:
        """Disagreement of each question on some of the rows, where all have a closed form."""
        forms = [self._closed_form(number) for number in range(len(self.statistics))]
        return np.array([form.take(rows).mean_squared_gap() for form in forms])

    def of(self, evaluations: Evaluations, rows: IntArray, n_jobs: int | None) -> Chance:
        """What chance says of a region.

        Parameters
        ----------
        evaluations : Evaluations
            Of the region; any where `reads_predictions` is false.
        rows : array
            Positions of its rows.
        n_jobs : int, optional
        """
        if len(rows) == self.replicates.multipliers.shape[1]:
            return self.root
        statistics = [self._on_rows(number, rows) for number in range(len(self.statistics))]
        return self.replicates.chance(self.questions, evaluations, rows, n_jobs, statistics)

    def _on_rows(self, number: int, rows: IntArray) -> list[Statistics] | ClosedForm | None:
        """The statistics of a question on some of the rows."""
        sets = self.statistics[number]
        if sets is None:
            return None
        if ClosedForm.fits(sets):
            return self._closed_form(number).take(rows)
        return [own.take(rows) for own in sets]

    def _closed_form(self, number: int) -> ClosedForm:
        """The closed form of a question on all rows, made once."""
        if number not in self._closed_forms:
            sets = cast("Sequence[FullAgainstPure]", self.statistics[number])
            self._closed_forms[number] = ClosedForm.of(sets)
        return self._closed_forms[number]


def bar_place(count: int, confidence_level: float) -> int:
    """Which of so many sorted replicates, counted from 1, is the chance bar."""
    return math.ceil(round(confidence_level * (count + 1), 9))


def bar_position(count: int, confidence_level: float) -> int:
    """Which of so many sorted replicates is the chance bar: an order statistic, since interpolating is too low."""
    place = math.ceil(round(confidence_level * (count + 1), 9))
    if place > count:
        needed = math.ceil(round(confidence_level / (1.0 - confidence_level), 9))
        words = f"n_resamples={count} has no chance bar at confidence_level={confidence_level}."
        hint = f"Pass n_resamples={needed} or more, or a lower confidence_level."
        raise InputError(words, code="P02", argument="n_resamples", hint=hint)
    return place - 1


def _weighted(evaluations: Evaluations, multipliers: FloatArray) -> Splits:
    """The rows under their own weights, and under those of some replicates."""
    lines = np.vstack([np.ones(evaluations.n_rows), multipliers]) * evaluations.weights
    return Splits.weighted(lines, evaluations.weights, evaluations.primitives)


def _regional_gaps(
    question: ResolvedQuestion, evaluations: Evaluations, multipliers: FloatArray
) -> FloatArray:
    """The gap of each set, (1 + B, S)."""
    by_set = question.gap_values(evaluations, _weighted(evaluations, multipliers))
    return np.stack([gap[:, 0] for gap in by_set], axis=1)


def _row_losses(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    n_clusters: int | None,
    multipliers: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """By replicate: ``R`` of the moves, and how much they raise R; and R itself."""
    loss = question.loss
    shares = evaluations.weights / evaluations.weights.sum()
    by_chance = np.zeros(len(multipliers))
    excess = np.zeros(len(multipliers))
    plug_in = 0.0
    by_set = question.gap_values(evaluations, _weighted(evaluations, multipliers))
    for gap, cells in zip(by_set, question.cell_sizes(evaluations), strict=True):
        shown = gap[0]
        moves = (gap[1:] - shown) * np.sqrt(small_cells(observations(cells, n_clusters)))
        losses = loss(shown)
        of_moves = loss(moves) @ shares
        if question.gap_loss.mode == SQUARE:  # then moves raise R by their own loss
            excess += of_moves
        else:
            excess += ((loss(shown + moves) + loss(shown - moves)) / 2 - losses) @ shares
        by_chance += of_moves
        plug_in += float(losses @ shares)
    return by_chance, excess, plug_in

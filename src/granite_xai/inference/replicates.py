"""Replicates: the disagreement that chance alone would show, from reweighted rows.

The model is not asked again. The expected plug-in ``R`` is the true one plus the sampling variance of
the gaps. Replicate b weighs row n by an exponential number ``e_b(n)``, drawn once a fit and the same
in every node; the gaps ``g_b`` under these weights scatter around the gaps ``g`` of the sample as
those scatter around the true ones:

    d_b(n)      = sqrt(kappa(n)) * (g_b(n) - g(n))
    chance bar  = a high order statistic of  R_b = mean over n of the summed losses of d_b(n)
    corrected   = R - mean over b and n of  (loss(g + d_b) + loss(g - d_b)) / 2 - loss(g)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

import numpy as np

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
    independent_observations,
    regional_gaps,
    replicated_means,
    small_sample_factor,
)
from granite_xai.inference.sampling_bias import mean_excess, moved_losses
from granite_xai.moments.conditional_statistics import ConditionalAgainstMarginalMean
from granite_xai.moments.questions import question_statistics
from granite_xai.moments.statistics import FullAgainstPure, RegionalStatistics, Statistics

LINES = 50  # replicates that are computed together, whatever the number of jobs


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """What chance says of the disagreement on the rows of a region, one number a question."""

    plug_in: FloatArray  # R as measured
    # What R would be on average if every true gap were 0.
    chance_level: FloatArray
    bar: FloatArray  # what R would hardly exceed if every true gap were 0
    corrected: FloatArray  # R without what chance adds; may be negative
    proven: BoolArray | None = None  # which questions have a split that gains more than chance

    def of_questions(self, numbers: slice) -> Chance:
        """The same of the questions with these numbers."""
        return Chance(
            plug_in=self.plug_in[numbers],
            chance_level=self.chance_level[numbers],
            bar=self.bar[numbers],
            corrected=self.corrected[numbers],
            proven=None if self.proven is None else self.proven[numbers],
        )

    @property
    def counted(self) -> FloatArray:
        """What growth and pruning count: never less than nothing."""
        return np.maximum(self.corrected, 0.0)

    def exceeded(self, floors: FloatArray) -> BoolArray:
        """Which questions show more than chance and rounding can."""
        beyond_chance = self.plug_in > self.bar
        if self.proven is not None:
            beyond_chance = beyond_chance | self.proven
        return np.asarray(beyond_chance & (self.plug_in > floors) & (self.corrected > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Random weights of some rows.

    Parameters
    ----------
    multipliers : array of shape (n_replicates, n_rows)
        Exponential numbers that the weights are multiplied by, the same for all rows of a cluster.
    bar_position : int
        Position of the chance bar among the sorted replicates, counted from 0.
    bar_level : float
        Level of the chance bar.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """

    multipliers: FloatArray
    bar_position: int
    bar_level: float
    clusters: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """Rows that have replicates."""
        return int(self.multipliers.shape[1])

    def chance(
        self,
        questions: Sequence[ResolvedQuestion],
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None = None,
        statistics: Sequence[list[Statistics] | ClosedForm | None] | None = None,
        disagreements: FloatArray | None = None,
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
        disagreements : array of shape (n_questions,), optional
            What the questions show there, where that is known: closed forms need not compute it.
        """
        if statistics is None:
            statistics = [question_statistics(question, evaluations) for question in questions]
        figures = []
        for number, (question, sets) in enumerate(zip(questions, statistics, strict=True)):
            if isinstance(sets, ClosedForm):
                plug_in = None if disagreements is None else float(disagreements[number])
                figures.append(sets.figures(self._clusters_of(rows), self.bar_level, plug_in))
            elif sets is not None:
                figures.append(self._figures_by_sums(question, sets, rows))
            elif question.first.behavior.per_row:
                figures.append(self._figures_of_row_gaps(question, evaluations, rows, n_jobs))
            else:
                gaps = self._predicted_regional_gaps(question, evaluations, rows, n_jobs)
                figures.append(self._figures_of_regional_gaps(question, gaps, rows))
        return Chance(
            plug_in=np.array([of_question.plug_in for of_question in figures]),
            chance_level=np.array([of_question.chance_level for of_question in figures]),
            bar=np.array([of_question.bar for of_question in figures]),
            corrected=np.array([of_question.corrected for of_question in figures]),
        )

    def _clusters_of(self, rows: IntArray) -> IntArray | None:
        if self.clusters is None:
            return None
        return self.clusters[rows]

    def _figures_by_sums(
        self, question: ResolvedQuestion, sets: Sequence[Statistics], rows: IntArray
    ) -> ChanceFigures:
        """What chance says of one question, from sums over rows."""
        if isinstance(sets[0], FullAgainstPure):
            full_against_pure = cast("Sequence[FullAgainstPure]", sets)
            return closed_form(full_against_pure, self._clusters_of(rows), self.bar_level)
        if isinstance(sets[0], ConditionalAgainstMarginalMean):
            means = cast("Sequence[ConditionalAgainstMarginalMean]", sets)
            n_clusters = self._n_clusters(rows)
            plug_in, by_chance = replicated_means(means, self.multipliers[:, rows], n_clusters)
            chance_level = float(by_chance.mean())
            return ChanceFigures(
                plug_in=plug_in,
                chance_level=chance_level,
                bar=self._bar(by_chance, n_clusters),
                corrected=plug_in - chance_level,
            )
        regional = cast("Sequence[RegionalStatistics]", sets)
        gaps = regional_gaps(regional, self.multipliers[:, rows])
        return self._figures_of_regional_gaps(question, gaps, rows)

    def _figures_of_row_gaps(
        self,
        question: ResolvedQuestion,
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None,
    ) -> ChanceFigures:
        """The same of a question with a gap at every row, from the predictions."""
        n_clusters = self._n_clusters(rows)
        losses = partial(_replicated_row_losses, question, evaluations, n_clusters)
        blocks = map_blocks(losses, self._blocks(rows), n_jobs)
        by_chance = np.concatenate([block.by_chance for block in blocks])
        excess = np.concatenate([block.excess for block in blocks])
        plug_in = blocks[0].plug_in
        return ChanceFigures(
            plug_in=plug_in,
            chance_level=float(by_chance.mean()),
            bar=self._bar(by_chance, n_clusters),
            corrected=plug_in - float(excess.mean()),
        )

    def _predicted_regional_gaps(
        self,
        question: ResolvedQuestion,
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None,
    ) -> FloatArray:
        """The gap of each set as it is, then under each replicate, from the predictions."""
        gaps = partial(_regional_gaps_from_predictions, question, evaluations)
        blocks = map_blocks(gaps, self._blocks(rows), n_jobs)
        unweighted = blocks[0][:1]  # every block begins with the gaps as they are
        return np.concatenate([unweighted, *(block[1:] for block in blocks)])

    def _figures_of_regional_gaps(
        self, question: ResolvedQuestion, gaps: FloatArray, rows: IntArray
    ) -> ChanceFigures:
        """The same of a question with one gap for a region and set, (1 + B, S); bias is taken off first."""
        loss = question.loss
        n_clusters = self._n_clusters(rows)
        n_observations = independent_observations(np.array(len(rows)), n_clusters)
        shown = gaps[0]
        replicated = gaps[1:]
        moves = replicated - shown
        by_chance = loss(np.sqrt(small_sample_factor(n_observations)) * moves).sum(axis=1)
        unbiased = shown - moves.mean(axis=0)
        spread = replicated - replicated.mean(axis=0)
        corrected = float(
            loss(unbiased).sum() - mean_excess(question.gap_loss, unbiased, spread).sum()
        )
        return ChanceFigures(
            plug_in=float(loss(shown).sum()),
            chance_level=float(by_chance.mean()),
            bar=self._bar(by_chance, n_clusters),
            corrected=corrected,
        )

    def _bar(self, by_chance: FloatArray, n_clusters: int | None) -> float:
        """What the replicates hardly exceed, raised where few clusters tell it."""
        bar = float(np.partition(by_chance, self.bar_position)[self.bar_position])
        return bar_of_clusters(bar, self.bar_level, n_clusters)

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


def _replicated_splits(evaluations: Evaluations, multipliers: FloatArray) -> Splits:
    """The rows under their own weights, and under those of some replicates."""
    lines = np.vstack([np.ones(evaluations.n_rows), multipliers]) * evaluations.weights
    return Splits.weighted(lines, evaluations.weights)


def _regional_gaps_from_predictions(
    question: ResolvedQuestion, evaluations: Evaluations, multipliers: FloatArray
) -> FloatArray:
    """The gap of each set as it is, then under each replicate, (1 + B, S)."""
    by_set = question.gap_values(evaluations, _replicated_splits(evaluations, multipliers))
    return np.stack([gap[:, 0] for gap in by_set], axis=1)


class _ReplicatedLosses(NamedTuple):
    """What replicates say of a question with a gap at every row."""

    by_chance: FloatArray  # (B,) mean loss of the moves: what R would be if every true gap were 0
    excess: FloatArray  # (B,) how much the moves raise R
    plug_in: float  # R itself


def _replicated_row_losses(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    n_clusters: int | None,
    multipliers: FloatArray,
) -> _ReplicatedLosses:
    loss = question.loss
    shares = evaluations.weights / evaluations.weights.sum()
    by_chance = np.zeros(len(multipliers))
    excess = np.zeros(len(multipliers))
    plug_in = 0.0
    by_set = question.gap_values(evaluations, _replicated_splits(evaluations, multipliers))
    for gaps, rows_averaged in zip(by_set, question.cell_sizes(evaluations), strict=True):
        shown = gaps[0]
        n_averaged = independent_observations(rows_averaged, n_clusters)
        moves = (gaps[1:] - shown) * np.sqrt(small_sample_factor(n_averaged))
        loss_of_moves = loss(moves) @ shares
        by_chance += loss_of_moves
        if question.gap_loss.mode == SQUARE:  # then moves raise R by their own loss
            excess += loss_of_moves
        else:
            excess += moved_losses(question.gap_loss, shown, moves).excess @ shares
        plug_in += float(loss(shown) @ shares)
    return _ReplicatedLosses(by_chance, excess, plug_in)

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
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit

from granite_xai.base.errors import InputError
from granite_xai.base.typing import BoolArray, Elementwise, FloatArray, IntArray
from granite_xai.compute import map_blocks
from granite_xai.compute.primitives import SQUARE
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations

LINES = 50  # replicates that are computed together, whatever the number of jobs
FEWEST_CLUSTERS = (
    5  # below it the spread between clusters is hardly known, and there is no interval
)


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

    def replicates(self, clusters: IntArray) -> Replicates:
        """The replicates of rows that belong to clusters: exponential numbers, one for each replicate and cluster."""
        position, size = (
            bar_position(self.n_resamples, self.level),
            int(clusters.max(initial=-1)) + 1,
        )
        numbers = np.random.default_rng([self.seed, 7]).exponential(size=(self.n_resamples, size))
        return Replicates(numbers[:, clusters], position)


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """What chance says of the disagreement on the rows of a region, one number a question."""

    plug_in: FloatArray  # R as measured
    level: FloatArray  # what R would be on average if every true gap were 0
    bar: FloatArray  # what R would hardly exceed if every true gap were 0
    corrected: FloatArray  # R without what chance adds; may be negative

    def exceeded(self, floors: FloatArray) -> BoolArray:
        """Which questions show more than chance and rounding can."""
        return np.asarray((self.plug_in > np.maximum(floors, self.bar)) & (self.corrected > 0))


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Random weights of some rows."""

    factors: FloatArray  # (B, n) float
    position: int  # of the chance bar among the sorted replicates

    def chance(
        self,
        questions: Sequence[ResolvedQuestion],
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None = None,
    ) -> Chance:
        """What chance says of a region: its evaluations and the positions of its rows."""
        found = [self._of(question, evaluations, rows, n_jobs) for question in questions]
        return Chance(*(np.array(figures) for figures in zip(*found, strict=True)))

    def _of(
        self, asked: ResolvedQuestion, known: Evaluations, rows: IntArray, n_jobs: int | None
    ) -> tuple[float, ...]:
        factors = self.factors[:, rows]
        blocks = [factors[start : start + LINES] for start in range(0, len(factors), LINES)]
        if asked.first.behavior.per_row:
            found = map_blocks(partial(_row_losses, asked, known), blocks, n_jobs)
            by_chance, excess = (np.concatenate([part[k] for part in found]) for k in (0, 1))
            plug_in = found[0][2]
            corrected = plug_in - float(excess.mean())
        else:  # one gap a set, (S,), and its replicates, (B, S); its bias is taken off first
            regional, loss = (
                map_blocks(partial(_regional_gaps, asked, known), blocks, n_jobs),
                asked.loss,
            )
            gaps, again = regional[0][0], np.concatenate([each[1:] for each in regional])
            moved = again - gaps
            by_chance = loss(np.sqrt(small_cells(np.array(len(rows)))) * moved).sum(axis=1)
            centre, spread = gaps - moved.mean(axis=0), again - again.mean(axis=0)
            plug_in = float(loss(gaps).sum())
            corrected = loss(centre).sum() - float(mean_excess(loss, centre, spread).sum())
        return (
            plug_in,
            float(by_chance.mean()),
            float(np.partition(by_chance, self.position)[self.position]),
            corrected,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChanceRule:
    """What the search must exceed: the replicates of the fitting rows, and what chance says of all of them."""

    replicates: Replicates
    questions: tuple[ResolvedQuestion, ...]
    root: Chance
    factors: (
        FloatArray  # (Q,) float: weight of each question by its corrected disagreement on all rows
    )

    def of(self, evaluations: Evaluations, rows: IntArray, n_jobs: int | None) -> Chance:
        """What chance says of a region."""
        if len(rows) == self.replicates.factors.shape[1]:
            return self.root
        return self.replicates.chance(self.questions, evaluations, rows, n_jobs)


def bar_position(count: int, confidence_level: float) -> int:
    """Which of so many sorted replicates is the chance bar: an order statistic, since interpolating is too low."""
    place = math.ceil(round(confidence_level * (count + 1), 9))
    if place > count:
        needed = math.ceil(round(confidence_level / (1.0 - confidence_level), 9))
        words = f"n_resamples={count} has no chance bar at confidence_level={confidence_level}."
        hint = f"Pass n_resamples={needed} or more, or a lower confidence_level."
        raise InputError(words, code="P02", argument="n_resamples", hint=hint)
    return place - 1


def small_cells(count: IntArray) -> FloatArray:
    """``kappa``: one over the share of a mean's variance that exponential weights show: (m - 1) / (m + 1), m rows."""
    return np.where(count > 1, (count + 1) / np.maximum(count - 1, 1), 3.0)


def mean_excess(loss: Elementwise, gaps: FloatArray, moved: FloatArray) -> FloatArray:
    """How much moving the gaps to both sides raises their loss, on average over the first axis of the moves."""
    return np.asarray(((loss(gaps + moved) + loss(gaps - moved)) / 2 - loss(gaps)).mean(axis=0))


def _weighted(evaluations: Evaluations, factors: FloatArray) -> Splits:
    """The rows under their own weights, and under those of some replicates."""
    lines = np.vstack([np.ones(evaluations.n_rows), factors]) * evaluations.weights
    return Splits.weighted(lines, evaluations.weights, evaluations.primitives)


def _regional_gaps(
    question: ResolvedQuestion, evaluations: Evaluations, factors: FloatArray
) -> FloatArray:
    """The gap of each set, (1 + B, S)."""
    return np.stack(
        [gap[:, 0] for gap in question.gap_values(evaluations, _weighted(evaluations, factors))],
        axis=1,
    )


def _row_losses(
    asked: ResolvedQuestion, known: Evaluations, lines: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """By replicate: ``R`` of the moves, and how much they raise R; and R itself."""
    shares, loss, plug_in = known.weights / known.weights.sum(), asked.loss, 0.0
    by_chance, excess = np.zeros((2, len(lines)))
    for gap, cells in zip(
        asked.gap_values(known, _weighted(known, lines)), asked.cell_sizes(known), strict=True
    ):
        moved = (gap[1:] - gap[0]) * np.sqrt(small_cells(cells))
        own, level = loss(moved) @ shares, loss(gap[0])
        squared = asked.measure.mode == SQUARE  # then moves raise R by their own loss
        excess += (
            own if squared else ((loss(gap[0] + moved) + loss(gap[0] - moved)) / 2 - level) @ shares
        )
        by_chance += own
        plug_in += float(level @ shares)
    return by_chance, excess, plug_in

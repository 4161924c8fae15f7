"""Disagreement of a region, and how it moves when random signs move the weights of its rows.

The rows are weighed by ``1 + a s`` and ``1 - a s`` for vectors s of random signs, a *signed pair* of
weights for each. The difference of a figure between both shows how it varies with the sample, their
sum how far it is biased (method page, "Sampling bias"). No model is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.signed_weights import STEP, signed_lines
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.by_sums import independent_observations
from granite_xai.inference.sampling_bias import (
    MovedLosses,
    bias_of_regions,
    bias_of_rows,
    signed_losses,
)


class CorrectedFigures(NamedTuple):
    """A question on the rows of a region, as measured and without what chance adds; S sets.

    Sets are the features (or groups, or pairs) whose gaps the question adds up.
    """

    plug_in_by_set: FloatArray  # (S,) R as measured
    corrected_by_set: FloatArray  # (S,) R without what chance adds; may be negative

    @property
    def plug_in(self) -> float:
        """R as measured, all sets together."""
        return float(self.plug_in_by_set.sum())

    @property
    def corrected(self) -> float:
        """R without what chance adds, all sets together; may be negative."""
        return float(self.corrected_by_set.sum())


class PerturbedFigures(NamedTuple):
    """A question on the rows of a region, and how its figures move with P signed pairs of weights."""

    figures: CorrectedFigures
    chance_level: float  # what R would be on average if every true gap were 0
    moved: FloatArray  # (2, P) R under both weights of every pair
    centred_excess: (
        FloatArray  # (P,) what sampling errors like this pair's add to R, less their mean
    )
    mass: FloatArray  # (2, P) weight of the rows under both weights
    n_observations: int  # rows, or clusters of them

    @property
    def plug_in(self) -> float:
        """R as measured."""
        return self.figures.plug_in

    @property
    def corrected(self) -> float:
        """R without what chance adds; may be negative."""
        return self.figures.corrected

    @property
    def standard_error(self) -> float:
        """How far R varies with the sample."""
        slopes_of_pairs = (self.moved[0] - self.moved[1]) / (2 * STEP)
        return standard_error_of(slopes_of_pairs, self.centred_excess, self.n_observations)


def standard_error_of(
    slopes_of_pairs: FloatArray, centred_excess: FloatArray, n_observations: int
) -> float:
    """Standard error of a figure, from both ways in which sampling errors of gaps move it.

    Along its slope, and by its curvature, which alone remains where gaps are 0. Signed weights show
    (n - 1) / n of the variance between n observations.

    Parameters
    ----------
    slopes_of_pairs : array of shape (n_pairs,)
        What the figure gains when the sample moves along each vector of signs.
    centred_excess : array of shape (n_pairs,)
        What sampling errors like those of each pair add to the figure, less their mean.
    n_observations : int
        Rows, or clusters of them.
    """
    variance = np.mean(np.square(slopes_of_pairs)) + np.mean(np.square(centred_excess))
    return float(np.sqrt(variance * n_observations / max(n_observations - 1, 1)))


class _SignedGaps(NamedTuple):
    """The gaps of a question under signed pairs of weights."""

    question: ResolvedQuestion
    lines: FloatArray  # (1 + 2 P, n) weights of the rows: as they are, with each sign, against each
    by_set: Iterator[FloatArray]  # of each set (1 + 2 P, n), or (1 + 2 P, 2) of one gap a region

    @classmethod
    def of(
        cls, question: ResolvedQuestion, evaluations: Evaluations, signs: FloatArray
    ) -> _SignedGaps:
        lines = signed_lines(signs, evaluations.weights)
        splits = Splits.weighted(lines, evaluations.weights)
        return cls(question, lines, question.gap_values(evaluations, splits))

    def of_regions(self) -> FloatArray:
        """Of a question with one gap for a region and set, (1 + 2 P, S)."""
        return np.stack([gaps[:, 0] for gaps in self.by_set], axis=1)


class _GapsOfRows(NamedTuple):
    """The gaps of one set, one at every row, and their losses when they move."""

    gaps: FloatArray  # (1 + 2 P, n)
    n_averaged: IntArray  # (n,) rows, at most clusters, that each gap averages over
    losses: MovedLosses


def _gaps_of_rows(
    signed: _SignedGaps, evaluations: Evaluations, n_clusters: int | None
) -> Iterator[_GapsOfRows]:
    question = signed.question
    cell_sizes = question.cell_sizes(evaluations)
    for gaps, rows_averaged in zip(signed.by_set, cell_sizes, strict=True):
        n_averaged = independent_observations(rows_averaged, n_clusters)
        losses = signed_losses(question.gap_loss, gaps, n_averaged)
        yield _GapsOfRows(gaps, n_averaged, losses)


def corrected_figures(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    signs: FloatArray,
    n_clusters: int | None = None,
) -> CorrectedFigures:
    """One question on the rows of a region, without what chance adds.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of the rows of the region.
    signs : array of shape (n_pairs, n_rows)
        Random signs of these rows.
    n_clusters : int, optional
        Clusters of these rows; None: every row stands for itself.
    """
    signed = _SignedGaps.of(question, evaluations, signs)
    if not question.first.behavior.per_row:
        gaps = signed.of_regions()
        n_observations = _n_observations(evaluations, n_clusters)
        losses = signed_losses(question.gap_loss, gaps, n_observations)
        return _corrected_regions(question, gaps, losses)
    shares = signed.lines[0] / signed.lines.sum(axis=1)[0]
    plug_in_by_set = []
    corrected_by_set = []
    for of_set in _gaps_of_rows(signed, evaluations, n_clusters):
        # Two lines, though one is wanted: a single one would be summed up in another order.
        plug_in = float(_mean_losses(question.loss(of_set.gaps[:2]), signed.lines[:2])[0])
        bias = bias_of_rows(of_set.losses, signs, of_set.n_averaged)
        plug_in_by_set.append(plug_in)
        corrected_by_set.append(plug_in - float(bias @ shares))
    return CorrectedFigures(np.array(plug_in_by_set), np.array(corrected_by_set))


def perturbed_figures(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    signs: FloatArray,
    n_clusters: int | None = None,
) -> PerturbedFigures:
    """One question on the rows of a region, under signed pairs of weights.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of the rows of the region.
    signs : array of shape (n_pairs, n_rows)
        Random signs of these rows.
    n_clusters : int, optional
        Clusters of these rows; None: every row stands for itself.
    """
    signed = _SignedGaps.of(question, evaluations, signs)
    n_observations = _n_observations(evaluations, n_clusters)
    if question.first.behavior.per_row:
        of_sets = _gaps_of_rows(signed, evaluations, n_clusters)
        return _perturbed_rows(signed, of_sets, signs, n_observations)
    return _perturbed_regions(signed, n_observations)


def _n_observations(evaluations: Evaluations, n_clusters: int | None) -> int:
    """Independent observations: clusters, or rows where there are none."""
    if n_clusters is None:
        return evaluations.n_rows
    return n_clusters


def _perturbed_rows(
    signed: _SignedGaps, of_sets: Iterator[_GapsOfRows], signs: FloatArray, n_observations: int
) -> PerturbedFigures:
    """Of a question with a gap at every row."""
    loss = signed.question.loss
    lines = signed.lines
    mass = lines.sum(axis=1)
    shares = lines[0] / mass[0]
    moved = np.zeros(len(lines))
    excess = np.zeros(len(signs))
    chance_level = 0.0
    plug_in_by_set = []
    corrected_by_set = []
    for of_set in of_sets:
        losses = of_set.losses
        by_line = _mean_losses(loss(of_set.gaps), lines)
        bias = bias_of_rows(losses, signs, of_set.n_averaged)
        moved += by_line
        chance_level += float(loss(losses.moves).mean(axis=0) @ shares)
        excess += losses.excess @ shares
        plug_in_by_set.append(float(by_line[0]))
        corrected_by_set.append(float(by_line[0]) - float(bias @ shares))
    return PerturbedFigures(
        figures=CorrectedFigures(np.array(plug_in_by_set), np.array(corrected_by_set)),
        chance_level=chance_level,
        moved=_signed_pairs(moved),
        centred_excess=excess - excess.mean(),
        mass=_signed_pairs(mass),
        n_observations=n_observations,
    )


def _perturbed_regions(signed: _SignedGaps, n_observations: int) -> PerturbedFigures:
    """Of a question with one gap for a region and set."""
    loss = signed.question.loss
    gaps = signed.of_regions()  # (1 + 2 P, S)
    losses = signed_losses(signed.question.gap_loss, gaps, n_observations)
    excess = losses.excess.sum(axis=1)  # (P,)
    return PerturbedFigures(
        figures=_corrected_regions(signed.question, gaps, losses),
        chance_level=float(loss(losses.moves).sum(axis=1).mean()),
        moved=_signed_pairs(loss(gaps).sum(axis=1)),
        centred_excess=excess - excess.mean(),
        mass=_signed_pairs(signed.lines.sum(axis=1)),
        n_observations=n_observations,
    )


def _corrected_regions(
    question: ResolvedQuestion, gaps: FloatArray, losses: MovedLosses
) -> CorrectedFigures:
    bias = bias_of_regions(question.gap_loss, gaps, losses.moves)
    return CorrectedFigures(plug_in_by_set=losses.unmoved, corrected_by_set=losses.unmoved - bias)


def _mean_losses(losses: FloatArray, lines: FloatArray) -> FloatArray:
    """Mean over the rows under each line of weights: (n_lines,) from (n_lines, n_rows)."""
    return np.asarray(np.einsum("kn,kn->k", losses, lines) / lines.sum(axis=1))


def _signed_pairs(values: FloatArray) -> FloatArray:
    """Values under every signed pair of weights, (2, P), from those of all lines, (1 + 2 P,)."""
    n_pairs = (len(values) - 1) // 2
    return np.stack([values[1 : 1 + n_pairs], values[1 + n_pairs :]])

"""Figures of every question on all rows of a sample, and in each of its regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.perturbed_figures import PerturbedFigures, perturbed_figures


class Sample(NamedTuple):
    """Rows that form one region: their questions and evaluations, and their positions among all rows."""

    questions: tuple[ResolvedQuestion, ...]
    evaluations: Evaluations
    rows: IntArray


class MeasuredQuestion(NamedTuple):
    """One question on all rows and in every region; None for a region without rows."""

    whole: PerturbedFigures
    regions: list[PerturbedFigures | None]


def joining_clusters(clusters: IntArray | None) -> IntArray | None:
    """The clusters of all rows; None where every row stands for itself."""
    if clusters is None or len(np.unique(clusters)) == len(clusters):
        return None
    return clusters


def n_clusters_of(sample: Sample, clusters: IntArray | None) -> int | None:
    """Clusters of the rows of a sample, from those of all rows; None: every row stands for itself."""
    if clusters is None:
        return None
    return len(np.unique(clusters[sample.rows]))


def measure_regions(
    everywhere: Sample,
    regions: Sequence[Sample | None],
    signs: FloatArray,
    clusters: IntArray | None = None,
) -> list[MeasuredQuestion]:
    """Every question on all rows and in every region.

    Parameters
    ----------
    everywhere, regions : Sample
        All rows, and those of each region; None where it has none.
    signs : array of shape (n_pairs, n_rows)
        Random signs of all rows.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """
    clusters = joining_clusters(clusters)
    measured = []
    for number in range(len(everywhere.questions)):
        whole = _measure_sample(number, everywhere, signs, clusters)
        parts: list[PerturbedFigures | None] = []
        for sample in regions:
            if sample is None:
                parts.append(None)
            else:
                parts.append(_measure_sample(number, sample, signs, clusters))
        measured.append(MeasuredQuestion(whole=whole, regions=parts))
    return measured


def _measure_sample(
    number: int, sample: Sample, signs: FloatArray, clusters: IntArray | None
) -> PerturbedFigures:
    """The question of this number on the rows of a sample."""
    return perturbed_figures(
        sample.questions[number],
        sample.evaluations,
        signs[:, sample.rows],
        n_clusters_of(sample, clusters),
    )

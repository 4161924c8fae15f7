"""How much disagreement some ways to divide the rows leave, as a share of that of all rows together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.values import local_values

if TYPE_CHECKING:
    from granite_xai.effects import ResolvedExplainer

Score = Callable[[IntArray], FloatArray]
"""From (C, n) labels, one line for each way to divide the rows, to C losses."""

BLOCK = 128
"""Cohorts scored together."""


def explained_inside(effect: ResolvedExplainer, evaluations: Evaluations, labels: IntArray) -> FloatArray:
    """Local effects of each row with its own cohort as reference, shape (n, sets)."""
    members = labels == np.arange(labels.max() + 1)[:, None]
    values = local_values(effect, evaluations, Splits.of(members, evaluations.weights))
    return np.asarray(values[:, labels, np.arange(len(labels))].T)


def scatter_within(vectors: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted mean squared distance of vectors to the mean of their cohort, for each line of labels.

    >>> scatter_within(np.array([[0.0], [2.0], [5.0]]), np.array([[0, 0, 1], [0, 0, 0]]), np.ones(3)).round(3)
    array([0.667, 4.222])
    """
    lines, cohorts = len(labels), int(labels.max()) + 1
    places = (labels + cohorts * np.arange(lines)[:, None]).ravel()
    apart = vectors - np.average(vectors, axis=0, weights=weights)

    def sums(values: FloatArray) -> FloatArray:
        found = np.bincount(places, weights=np.tile(values, lines), minlength=lines * cohorts)
        return np.asarray(found, dtype=np.float64).reshape(lines, cohorts)

    mass = sums(weights)
    squares = np.zeros(lines)
    for entry in apart.T:
        squares += (np.square(sums(weights * entry)) / np.where(mass > 0, mass, 1.0)).sum(axis=1)
    total = float(weights @ np.square(apart).sum(axis=1))
    return np.maximum(total - squares, 0.0) / float(weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class MeanLoss:
    """Squared distance of explanations to their mean in the cohort."""

    evaluations: Evaluations
    effect: ResolvedExplainer

    def guided(self, explained: IntArray) -> Score:
        """Score ways to divide the rows by the explanations inside some cohorts."""
        everyone = np.zeros((1, self.evaluations.n_rows), dtype=np.intp)
        weights = self.evaluations.weights
        root = scatter_within(explained_inside(self.effect, self.evaluations, everyone[0]), everyone, weights)[0]
        vectors = explained_inside(self.effect, self.evaluations, explained)
        return lambda labels: scatter_within(vectors, labels, weights) / (root or 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class PureLoss:
    """Disagreement of explanations with the pure effect, both computed inside the cohort."""

    evaluations: Evaluations
    comparison: ResolvedQuestion

    def guided(self, explained: IntArray) -> Score:
        """Score ways to divide the rows; every cohort is explained anew, so that no guidance is needed."""
        everyone = np.zeros((1, self.evaluations.n_rows), dtype=np.intp)
        root = float(self._losses(everyone)[0])
        return lambda labels: self._losses(labels) / (root or 1.0)

    def _losses(self, labels: IntArray) -> FloatArray:
        cohorts = [(line, k) for line, row in enumerate(labels) for k in np.unique(row)]
        total = np.zeros(len(labels))
        for start in range(0, len(cohorts), BLOCK):
            block = cohorts[start : start + BLOCK]
            members = np.stack([labels[line] == k for line, k in block])
            splits = Splits.of(members, self.evaluations.weights)
            parts = self.comparison.regional(self.evaluations, splits)[:, 0] * splits.mass[:, 0]
            np.add.at(total, [line for line, _ in block], parts)
        return np.asarray(total / self.evaluations.weights.sum())

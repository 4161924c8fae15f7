"""How far explanations differ inside cohorts: what the search for cohorts lowers.

A division is an array with the cohort of each row. Losses are shares of that of one cohort, so that they
have no unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.search.local_effects import local_values

BLOCK = 128
"""Cohorts that are scored together."""


class Score(Protocol):
    """Losses of divisions, with explanations that are fixed."""

    def __call__(self, divisions: IntArray) -> FloatArray:
        """From divisions, (C, n), to their losses, (C,)."""


class CohortLoss(Protocol):
    """A loss of divisions whose explanations depend on cohorts themselves.

    The search fixes the explanations for a while: it explains rows inside the cohorts of one division, the guiding
    one, and scores many divisions with these explanations.
    """

    def explained_in(self, guiding: IntArray) -> Score:
        """The loss with rows explained inside the cohorts of one division, (n,)."""


class DistanceToMean:
    """Squared distance of a row's explanation to the mean of its cohort (CohEx).

    Parameters
    ----------
    evaluations : Evaluations
    effect : ResolvedExplainer
        The local explanation.
    """

    def __init__(self, evaluations: Evaluations, effect: ResolvedExplainer) -> None:
        self.evaluations = evaluations
        self.effect = effect
        one_cohort = np.zeros((1, evaluations.n_rows), dtype=np.intp)
        vectors = effects_inside(effect, evaluations, one_cohort[0])
        self.of_one_cohort = scatter_within(vectors, one_cohort, evaluations.weights)[0] or 1.0

    def explained_in(self, guiding: IntArray) -> Score:
        """The loss with rows explained inside the cohorts of one division, (n,)."""
        vectors = effects_inside(self.effect, self.evaluations, guiding)

        def score(divisions: IntArray) -> FloatArray:
            scatter = scatter_within(vectors, divisions, self.evaluations.weights)
            return scatter / self.of_one_cohort

        return score


class DistanceToPureEffect:
    """Disagreement of a row's explanation with the pure effect at its own values.

    Parameters
    ----------
    evaluations : Evaluations
    question : ResolvedQuestion
        The explanation against its pure effect.
    block : int
        Cohorts that are scored together.
    """

    def __init__(
        self, evaluations: Evaluations, question: ResolvedQuestion, block: int = BLOCK
    ) -> None:
        self.evaluations = evaluations
        self.question = question
        self.block = block
        one_cohort = np.zeros((1, evaluations.n_rows), dtype=np.intp)
        self.of_one_cohort = float(self._disagreements(one_cohort)[0]) or 1.0

    def explained_in(self, guiding: IntArray) -> Score:
        """The loss; every cohort that is scored is explained anew, so that none guides."""

        def score(divisions: IntArray) -> FloatArray:
            return self._disagreements(divisions) / self.of_one_cohort

        return score

    def _disagreements(self, divisions: IntArray) -> FloatArray:
        """Mean disagreement inside the cohorts of each division, (C,)."""
        total = np.zeros(len(divisions))
        for block in _blocks_of_cohorts(divisions, self.block):
            members = divisions[block.division] == block.cohort[:, None]  # (block, n)
            splits = Splits.of(members, self.evaluations.weights)
            disagreement = self.question.regional(self.evaluations, splits)[:, 0]
            np.add.at(total, block.division, disagreement * splits.mass[:, 0])
        return np.asarray(total / self.evaluations.weights.sum())


@dataclass(frozen=True)
class _CohortBlock:
    """Some cohorts, each by the place of its division and its number in it."""

    division: IntArray
    cohort: IntArray


def _blocks_of_cohorts(divisions: IntArray, size: int) -> Iterator[_CohortBlock]:
    """All cohorts of all divisions, some at a time."""
    cohorts_by_division = [np.unique(division) for division in divisions]
    n_cohorts = [len(cohorts) for cohorts in cohorts_by_division]
    division_of_cohort = np.repeat(np.arange(len(divisions)), n_cohorts)
    number_in_division = np.concatenate(cohorts_by_division)
    for start in range(0, len(number_in_division), size):
        of_block = slice(start, start + size)
        yield _CohortBlock(
            division=division_of_cohort[of_block], cohort=number_in_division[of_block]
        )


def effects_inside(
    effect: ResolvedExplainer, evaluations: Evaluations, division: IntArray
) -> FloatArray:
    """Local effects of each row with its own cohort as reference.

    Parameters
    ----------
    effect : ResolvedExplainer
    evaluations : Evaluations
    division : array of shape (n,)

    Returns
    -------
    array of shape (n, sets)
    """
    members = division == np.arange(division.max() + 1)[:, None]  # (cohorts, n)
    splits = Splits.of(members, evaluations.weights)
    values = local_values(effect, evaluations, splits)  # (sets, cohorts, n)
    return np.asarray(values[:, division, np.arange(len(division))].T)


def scatter_within(vectors: FloatArray, divisions: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted mean squared distance of vectors to the mean of their cohort.

    Parameters
    ----------
    vectors : array of shape (n, n_entries)
    divisions : array of shape (C, n)
    weights : array of shape (n,)

    Returns
    -------
    array of shape (C,)
    """
    n_divisions = len(divisions)
    n_cohorts = int(divisions.max()) + 1
    # One number for each cohort of each division.
    cells = (divisions + n_cohorts * np.arange(n_divisions)[:, None]).ravel()

    def sums_by_cohort(values: FloatArray) -> FloatArray:
        tiled = np.tile(values, n_divisions)
        sums = np.bincount(cells, weights=tiled, minlength=n_divisions * n_cohorts)
        return np.asarray(sums, dtype=np.float64).reshape(n_divisions, n_cohorts)

    # Around the common mean: what all rows share must not swamp what sets them apart.
    deviations = vectors - np.average(vectors, axis=0, weights=weights)
    mass = sums_by_cohort(weights)
    divisor = np.where(mass > 0, mass, 1.0)
    between = np.zeros(n_divisions)  # sum of squares of the cohorts' means
    for entry in deviations.T:
        between += (np.square(sums_by_cohort(weights * entry)) / divisor).sum(axis=1)
    total = float(weights @ np.square(deviations).sum(axis=1))
    return np.maximum(total - between, 0.0) / float(weights.sum())

"""Cohorts: supervised clustering by representatives (CohEx).

Explanations are computed again inside each cohort.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.interaction import Pure
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.cohort_losses import (
    CohortLoss,
    DistanceToMean,
    DistanceToPureEffect,
    Score,
)
from granite_xai.partitioners.description import describe_groups, local_explainer, one_group
from granite_xai.search.partitioner import Partitioner, PartitionResult
from granite_xai.search.problem import Problem
from granite_xai.tables import Column, Table
from granite_xai.trees.ensembles import Route

PATIENCE = 30
"""Random starts in a row without a better end, after which a round ends."""

TIE = 1e-12
"""Costs this close are the same: they differ by rounding."""


class SearchEnd(NamedTuple):
    """Where one search ended: its cost, and the cohort of each row."""

    cost: float
    division: IntArray


@dataclass(frozen=True, slots=True)
class Cohorts(Partitioner):
    """Each row joins the nearest of a few representative rows; these are chosen so that explanations agree.

    Representatives are added and removed greedily while this lowers

        share of the loss left + beta * sqrt(max(k - free, 0) / n),     k cohorts, n rows

    and the whole is repeated with explanations computed inside the cohorts found so far. Features are scaled, the best
    candidate of all restarts and rounds is kept, and the loss is a share of that of one cohort, so that beta has no
    unit (the original scales nothing and keeps the last candidate that improved).

    Parameters
    ----------
    on : name of ``gx.explanations()`` or Explainer
        The local explanation; its reference is the cohort itself.
    against : "mean" or "pure"
        What a row's effect is compared with: its mean over the cohort (CohEx: main effects are penalised too), or the
        pure effect at the row's own value.
    free, beta : int, float
        Cohorts without a penalty, and the weight of the penalty for more.
    restarts, rounds, pool : int
        Random starts of each round, at most (30 in a row without a better end are the last); how often rows are
        explained again; rows tried as a new representative in each step.

    Examples
    --------
    >>> Cohorts(free=2).beta
    5.0
    """

    on: str | Explainer = "shap"
    against: str = "mean"
    free: int = 4
    beta: float = 5.0
    restarts: int = 100
    rounds: int = 5
    pool: int = 40
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("against", self.against, {name: name for name in ("mean", "pure")})
        real_number("beta", self.beta, at_least=0)
        for name in ("free", "restarts", "rounds", "pool"):
            whole_number(name, getattr(self, name), at_least=1)
        local_explainer(self.on, "on")

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model."""
        explainer = local_explainer(self.on, "on")
        explainers = [explainer]
        if self.against == "pure":
            explainers.append(replace(explainer, interaction=Pure()))
        return tuple(side.effect(route, resources, seed) for side in explainers)

    def partition(self, problem: Problem) -> PartitionResult:
        """Choose representatives, and describe their cohorts."""
        if problem.below_noise_floor:
            return describe_groups(problem, one_group(problem))
        generator = np.random.default_rng(problem.seed)
        division = self.search(self._loss(problem), row_distances(problem.table), generator)
        return describe_groups(problem, division)

    def _loss(self, problem: Problem) -> CohortLoss:
        """What the search lowers, without the penalty."""
        explainer = local_explainer(self.on, "on")
        evaluations = problem.evaluations
        if self.against == "mean":
            effect = explainer.effect(problem.route, problem.resources, problem.seed)
            return DistanceToMean(evaluations, effect)
        question = Disagreement(explainer, replace(explainer, interaction=Pure()))
        resolved = question.compare(problem.route, problem.resources, problem.seed)
        return DistanceToPureEffect(evaluations, resolved)

    def search(
        self, loss: CohortLoss, distances: FloatArray, generator: np.random.Generator
    ) -> IntArray:
        """Search in rounds, each with explanations inside the cohorts of the round before.

        Parameters
        ----------
        loss : CohortLoss
        distances : array of shape (n, n)
            Squared distances of all pairs of rows.
        generator : Generator

        Returns
        -------
        array of shape (n,)
            The best cohorts of all rounds, judged with their own explanations; the first of equal
            ones.
        """
        n_rows = len(distances)
        division = np.zeros(n_rows, dtype=np.intp)
        best = SearchEnd(np.inf, division)
        for _ in range(self.rounds):
            score = loss.explained_in(division)
            division = self.best_of_restarts(score, distances, generator)
            own_score = loss.explained_in(division)
            n_cohorts = int(division.max()) + 1
            cost = float(own_score(division[None])[0]) + self.penalty(n_cohorts, n_rows)
            if cost < best.cost - TIE:
                best = SearchEnd(cost, division)
        return best.division

    def best_of_restarts(
        self, score: Score, distances: FloatArray, generator: np.random.Generator
    ) -> IntArray:
        """The best of many greedy searches; the cohort of each row."""
        best = self._descend(score, distances, generator)
        n_without_gain = 0
        for _ in range(self.restarts - 1):
            candidate = self._descend(score, distances, generator)
            if candidate.cost < best.cost - TIE:
                best = candidate
                n_without_gain = 0
            else:
                n_without_gain += 1
            if n_without_gain >= PATIENCE:
                break
        return best.division

    def penalty(self, n_cohorts: int, n_rows: int) -> float:
        """Price of the cohorts beyond the free ones."""
        return self.beta * float(np.sqrt(max(n_cohorts - self.free, 0) / n_rows))

    def _descend(
        self, score: Score, distances: FloatArray, generator: np.random.Generator
    ) -> SearchEnd:
        """One greedy search: from random representatives, by sets with one of them less or more."""
        n_rows = len(distances)
        n_first = min(self.free, n_rows)
        representatives = generator.choice(n_rows, size=n_first, replace=False).tolist()
        division = nearest(distances, [representatives])[0]
        cost = float(score(division[None])[0]) + self.penalty(n_first, n_rows)
        while True:
            n_tried = min(self.pool, n_rows)
            pool = generator.choice(n_rows, size=n_tried, replace=False).tolist()
            candidates = _neighbours(representatives, pool)
            divisions = nearest(distances, candidates)
            penalties = [self.penalty(len(candidate), n_rows) for candidate in candidates]
            costs = score(divisions) + np.array(penalties)
            cheapest = int(np.argmin(costs))
            if costs[cheapest] >= cost - TIE:
                # A representative may have no row: cohorts are numbered without gaps.
                _, numbers = np.unique(division, return_inverse=True)
                return SearchEnd(cost, numbers.reshape(-1).astype(np.intp))
            cost = float(costs[cheapest])
            representatives = candidates[cheapest]
            division = divisions[cheapest]


def _neighbours(representatives: list[int], pool: list[int]) -> list[list[int]]:
    """Sets with one representative less, then those with one of the pool more."""
    larger = [[*representatives, row] for row in pool if row not in representatives]
    if len(representatives) == 1:
        return larger
    smaller = []
    for left_out in representatives:
        remaining = list(representatives)
        remaining.remove(left_out)
        smaller.append(remaining)
    return smaller + larger


def nearest(distances: FloatArray, sets: list[list[int]]) -> IntArray:
    """Number of the nearest representative of every row.

    Parameters
    ----------
    distances : array of shape (n, n)
    sets : list of lists of int
        Rows that represent the others, in each of C ways.

    Returns
    -------
    array of shape (C, n)
    """
    divisions = [np.argmin(distances[:, representatives], axis=1) for representatives in sets]
    return np.stack(divisions).astype(np.intp)


def row_distances(table: Table) -> FloatArray:
    """Squared distances of all pairs of rows, summed over the features, (n, n)."""
    total = np.zeros((table.n_rows, table.n_rows))
    for position in table.explained:
        total += _distances_in(table.columns[position])
    return total


def _distances_in(column: Column) -> FloatArray:
    """Squared distances in one feature: standardised differences, or 1 where labels differ.

    A missing value is a label of its own.
    """
    if not column.is_ordered:
        return np.not_equal.outer(column.codes, column.codes).astype(np.float64)
    is_present = column.codes >= 0
    values = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
    values = np.where(is_present, values, np.nan)
    spread = 1.0
    if is_present.any():
        spread = float(np.nanstd(values)) or 1.0  # a constant feature has no distances
    squares = np.square((values[:, None] - values) / spread)
    one_is_missing = column.missing[:, None] != column.missing
    return np.asarray(np.where(np.isnan(squares), one_is_missing, squares))

"""Cohorts: supervised clustering by representatives, with explanations computed again inside each cohort (CohEx)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement import Disagreement, ResolvedQuestion
from granite_xai.explainer import Explainer
from granite_xai.interaction import Pure
from granite_xai.search.clusters import local_explainer
from granite_xai.search.cohort_loss import MeanLoss, PureLoss, Score
from granite_xai.search.describe import describe
from granite_xai.search.distances import nearest, row_distances
from granite_xai.search.problem import Partitioner, PartitionResult, Problem

if TYPE_CHECKING:
    from granite_xai.compute import Resources
    from granite_xai.effects import ResolvedExplainer
    from granite_xai.trees.routes import Route

AGAINST = {name: name for name in ("mean", "pure")}


@dataclass(frozen=True, slots=True)
class Cohorts(Partitioner):
    """Each row joins the nearest of a few representative rows; these are chosen so that explanations agree.

    Representatives are added and removed greedily while this lowers

        share of the loss left + beta * sqrt(max(k - free, 0) / n),     k cohorts, n rows

    and the whole is repeated with explanations computed inside the cohorts found so far. Columns are scaled, the best
    candidate of all restarts and rounds is kept, and the loss is a share of that of one cohort, so that beta has no
    unit (the original scales nothing and keeps the last candidate that improved).

    Parameters
    ----------
    on : name of ``gx.explanations()`` or Explainer
        The local explanation; its reference is the cohort itself.
    against : "mean" or "pure"
        What a row's effect is compared with: its mean over the cohort (CohEx: main effects are penalised too), or the
        pure effect at the row's own value.
    free : int
        Cohorts without a penalty.
    beta : float
        Weight of the penalty.
    restarts : int
        Random starts of each round.
    rounds : int
        How often explanations are computed again.
    pool : int
        Rows tried as a new representative in each step.

    Examples
    --------
    >>> Cohorts(free=2).beta
    5.0
    """

    on: str | Explainer = "shap"
    against: str = "mean"
    free: int = 4
    beta: float = 5.0
    restarts: int = 10
    rounds: int = 5
    pool: int = 40
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("against", self.against, AGAINST)
        real_number("beta", self.beta, at_least=0)
        for name in ("free", "restarts", "rounds", "pool"):
            whole_number(name, getattr(self, name), at_least=1)
        local_explainer(self.on, "on")

    def extra_effects(self, route: Route, resources: Resources, seed: int) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model."""
        explainer = local_explainer(self.on, "on")
        sides = [explainer] if self.against == "mean" else [explainer, replace(explainer, interaction=Pure())]
        return tuple(side.effect(route, resources, seed) for side in sides)

    def partition(self, problem: Problem) -> PartitionResult:
        """Choose representatives, and describe their cohorts."""
        if problem.silent:
            return describe(problem, np.zeros(problem.table.n_rows, dtype=np.intp))
        return describe(problem, self._search(problem))

    def _search(self, problem: Problem) -> IntArray:
        generator = np.random.default_rng(problem.seed)
        distances = row_distances(problem.table)
        loss = self._loss(problem)
        best = np.zeros(problem.table.n_rows, dtype=np.intp)
        lowest, explained = np.inf, best
        for _ in range(self.rounds):
            score = loss.guided(explained)
            found = min((self._climb(generator, distances, score) for _ in range(self.restarts)), key=lambda f: f[0])
            explained = found[1]
            # Judged with the explanations of the cohorts themselves, whatever the search was guided by.
            cost = float(loss.guided(explained)(explained[None])[0]) + self.penalty(explained.max() + 1, len(best))
            if cost < lowest - 1e-12:
                lowest, best = cost, explained
        return best

    def penalty(self, cohorts: int, rows: int) -> float:
        """Price of the cohorts beyond the free ones.

        >>> Cohorts(free=2, beta=1.0).penalty(6, 100)
        0.2
        """
        return self.beta * float(np.sqrt(max(int(cohorts) - self.free, 0) / rows))

    def _loss(self, problem: Problem) -> MeanLoss | PureLoss:
        effect, *pure = self.extra_effects(problem.route, problem.resources, problem.seed)
        if not pure:
            return MeanLoss(problem.evaluations, effect)
        explainer = local_explainer(self.on, "on")
        question = Disagreement(explainer, replace(explainer, interaction=Pure()))
        return PureLoss(problem.evaluations, ResolvedQuestion(question, effect, pure[0], np.square))

    def _climb(self, generator: np.random.Generator, distances: FloatArray, score: Score) -> tuple[float, IntArray]:
        """One greedy search from random representatives."""
        n = len(distances)
        chosen = generator.choice(n, size=min(self.free, n), replace=False).tolist()
        labels = nearest(distances, [chosen])
        cost = float(score(labels)[0]) + self.penalty(len(chosen), n)
        while True:
            pool = generator.choice(n, size=min(self.pool, n), replace=False).tolist()
            sets = list(_neighbours(chosen, pool))
            options = nearest(distances, sets)
            costs = score(options) + np.array([self.penalty(len(one), n) for one in sets])
            lead = int(np.argmin(costs))
            if costs[lead] >= cost - 1e-12:
                return cost, _dense(labels[0])
            cost, chosen, labels = float(costs[lead]), sets[lead], options[lead : lead + 1]


def _neighbours(chosen: list[int], pool: list[int]) -> Iterator[list[int]]:
    """The set with one representative less, or one more."""
    if len(chosen) > 1:
        yield from ([row for row in chosen if row != gone] for gone in chosen)
    yield from ([*chosen, row] for row in pool if row not in chosen)


def _dense(labels: IntArray) -> IntArray:
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.intp)

"""CohEx (Meng et al., 2024): cohorts of rows around representatives, chosen so that explanations agree.

A division is an array with the cohort of each row. Losses of divisions are shares of that of one cohort, so that they
have no unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from granite_xai.algebra.effects import Effect
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.estimator import Granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.frameworks.alike import (
    configured,
    local_explainer,
    local_question,
    local_values,
    one_group,
    put_into_rules,
)
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.tables import Table

PATIENCE = 30
"""Random starts in a row without a better end, after which a round ends."""

TIE = 1e-12
"""Costs this close are the same: they differ by rounding."""

BLOCK = 128
"""Cohorts that are scored together."""

Loss = Callable[[IntArray], FloatArray]
"""From divisions, (C, n), to their losses, (C,), with explanations that are fixed."""

GuidedLoss = Callable[[IntArray], Loss]
"""The loss with rows explained inside the cohorts of one division, (n,)."""


def cohex(
    model: Any,
    *,
    against: str = "mean",
    free: int = 4,
    beta: float = 5.0,
    restarts: int = 100,
    rounds: int = 5,
    **options: Any,
) -> Granite:
    """Cohorts of rows around representatives, in which SHAP values with the cohort as reference agree.

    Partial and pure local effects of all features agree in each cohort. What is unlike the original: see `Cohorts`.

    Parameters
    ----------
    against : "mean" or "pure"
        SHAP values are compared with their mean in the cohort, as in the original, which penalises main effects too;
        or with the pure effect as a function of the feature.
    free, beta : int, float
        Cohorts without a penalty, and the weight of the penalty for more.
    restarts, rounds : int
        Random starts, at most, and how often rows are explained again.
    **options
        Of `Granite`; those of its tree say how cohorts are described.

    Examples
    --------
    >>> cohex(lambda X: X[:, 0], free=2).partitioner.free
    2
    """
    cohorts = Cohorts(
        on="shap", against=against, free=free, beta=beta, restarts=restarts, rounds=rounds
    )
    return configured(model, "shap-pdp", {"partitioner": cohorts}, options)


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

    def extra_effects(self, table: Table, resources: Resources, seed: int) -> tuple[Any, ...]:
        """The local effects that are read of the model, beside their pure part."""
        explainer = local_explainer(self.on, "on")
        return (local_question(explainer, table, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Choose representatives, and describe their cohorts."""
        if problem.below_noise_floor:
            return one_group(problem)
        evaluations = problem.sample.outputs[0]
        (question,) = self.extra_effects(problem.table, problem.resources, problem.seed)
        if self.against == "mean":
            loss = distance_to_mean(evaluations, question.first)
        else:
            loss = distance_to_pure_effect(evaluations, question)
        generator = np.random.default_rng(problem.seed)
        division = self.search(loss, row_distances(problem.table), generator)
        return put_into_rules(problem, division)

    def search(
        self, loss: GuidedLoss, distances: FloatArray, generator: np.random.Generator
    ) -> IntArray:
        """Search in rounds, each with explanations inside the cohorts of the round before.

        Parameters
        ----------
        loss : GuidedLoss
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
            division = self._best_of_restarts(loss(division), distances, generator)
            n_cohorts = int(division.max()) + 1
            loss_inside = float(loss(division)(division[None])[0])
            cost = loss_inside + self.penalty(n_cohorts, n_rows)
            if cost < best.cost - TIE:
                best = SearchEnd(cost, division)
        return best.division

    def _best_of_restarts(
        self, loss: Loss, distances: FloatArray, generator: np.random.Generator
    ) -> IntArray:
        """The best of many greedy searches; the cohort of each row."""
        best = self._descend(loss, distances, generator)
        n_without_gain = 0
        for _ in range(self.restarts - 1):
            candidate = self._descend(loss, distances, generator)
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
        self, loss: Loss, distances: FloatArray, generator: np.random.Generator
    ) -> SearchEnd:
        """One greedy search: from random representatives, by sets with one of them less or more."""
        n_rows = len(distances)
        n_first = min(self.free, n_rows)
        representatives = generator.choice(n_rows, size=n_first, replace=False).tolist()
        division = np.argmin(distances[:, representatives], axis=1)
        cost = float(loss(division[None])[0]) + self.penalty(n_first, n_rows)
        while True:
            n_tried = min(self.pool, n_rows)
            pool = generator.choice(n_rows, size=n_tried, replace=False).tolist()
            candidates = _sets_with_one_less_or_more(representatives, pool)
            divisions = np.stack([np.argmin(distances[:, rows], axis=1) for rows in candidates])
            penalties = [self.penalty(len(rows), n_rows) for rows in candidates]
            costs = loss(divisions) + np.array(penalties)
            cheapest = int(np.argmin(costs))
            if costs[cheapest] >= cost - TIE:
                # A representative may have no row: cohorts are numbered without gaps.
                return SearchEnd(cost, np.unique(division, return_inverse=True)[1])
            cost = float(costs[cheapest])
            representatives = candidates[cheapest]
            division = divisions[cheapest]


def _sets_with_one_less_or_more(representatives: list[int], pool: list[int]) -> list[list[int]]:
    """Sets with one representative less, then those with one of the pool more."""
    larger = [[*representatives, row] for row in pool if row not in representatives]
    if len(representatives) == 1:
        return larger
    n_places = len(representatives)
    smaller = [representatives[:place] + representatives[place + 1 :] for place in range(n_places)]
    return smaller + larger


def row_distances(table: Table) -> FloatArray:
    """Squared distances of all pairs of rows, summed over the features, (n, n).

    In a feature with an order standardised differences, otherwise 1 where labels differ. A missing value is a label.
    """
    total = np.zeros((table.n_rows, table.n_rows))
    for position in table.explained:
        column = table.columns[position]
        if not column.is_ordered:
            total += np.not_equal.outer(column.codes, column.codes)
            continue
        numbers = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
        numbers = np.where(column.missing, np.nan, numbers)
        spread = 1.0
        if not column.missing.all():
            spread = float(np.nanstd(numbers)) or 1.0  # a constant feature has no distances
        squares = np.square(np.subtract.outer(numbers, numbers) / spread)
        one_is_missing = np.not_equal.outer(column.missing, column.missing)
        total += np.where(np.isnan(squares), one_is_missing, squares)
    return total


def distance_to_mean(evaluations: Evaluations, effect: Effect) -> GuidedLoss:
    """Squared distance of a row's explanation to the mean of its cohort (CohEx).

    Parameters
    ----------
    evaluations : Evaluations
    effect : Effect
        The local explanation.
    """
    weights = evaluations.weights
    one_cohort = np.zeros((1, len(evaluations)), dtype=np.intp)
    vectors = effects_inside(effect, evaluations, one_cohort[0])
    of_one_cohort = scatter_within(vectors, one_cohort, weights)[0] or 1.0

    def guided_by(guiding: IntArray) -> Loss:
        vectors = effects_inside(effect, evaluations, guiding)
        return lambda divisions: scatter_within(vectors, divisions, weights) / of_one_cohort

    return guided_by


def distance_to_pure_effect(evaluations: Evaluations, question: Any) -> GuidedLoss:
    """Disagreement of a row's explanation with the pure effect at its own values.

    Parameters
    ----------
    evaluations : Evaluations
    question : ResolvedQuestion
        The explanation against its pure effect.
    """

    def disagreements(divisions: IntArray) -> FloatArray:
        """Mean disagreement inside the cohorts of each division, (C,); some cohorts at a time."""
        cohorts = [np.unique(division) for division in divisions]
        place = np.repeat(np.arange(len(divisions)), [len(numbers) for numbers in cohorts])
        number = np.concatenate(cohorts)
        total = np.zeros(len(divisions))
        for start in range(0, len(number), BLOCK):
            block = slice(start, start + BLOCK)
            members = (divisions[place[block]] == number[block][:, None]).T  # (n, block)
            cohorts_of_block = RegionWeights(members * evaluations.weights[:, None])
            disagreement = question.regional(evaluations, cohorts_of_block)[0]
            np.add.at(total, place[block], disagreement * cohorts_of_block.mass()[0])
        return np.asarray(total / evaluations.weights.sum())

    one_cohort = np.zeros((1, len(evaluations)), dtype=np.intp)
    of_one_cohort = float(disagreements(one_cohort)[0]) or 1.0

    def guided_by(guiding: IntArray) -> Loss:
        # Every cohort that is scored is explained anew, so that none guides.
        return lambda divisions: disagreements(divisions) / of_one_cohort

    return guided_by


def effects_inside(effect: Effect, evaluations: Evaluations, division: IntArray) -> FloatArray:
    """Local effects of each row with its own cohort as reference, (n, sets).

    Parameters
    ----------
    effect : Effect
    evaluations : Evaluations
    division : array of shape (n,)
    """
    members = division[:, None] == np.arange(division.max() + 1)  # (n, cohorts)
    cohorts = RegionWeights(members * evaluations.weights[:, None])
    values = local_values(effect, evaluations, cohorts)  # (sets, n, cohorts)
    return np.asarray(values[:, np.arange(len(division)), division].T)


def scatter_within(vectors: FloatArray, divisions: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted mean squared distance of vectors to the mean of their cohort, (C,).

    Parameters
    ----------
    vectors : array of shape (n, n_entries)
    divisions : array of shape (C, n)
    weights : array of shape (n,)
    """
    members = divisions[:, None, :] == np.arange(divisions.max() + 1)[:, None]  # (C, cohorts, n)
    mass = members @ weights
    # Around the common mean: what all rows share must not swamp what sets them apart.
    deviations = vectors - np.average(vectors, axis=0, weights=weights)
    sums = members @ (weights[:, None] * deviations)  # (C, cohorts, n_entries)
    between = np.square(sums).sum(axis=2) / np.where(mass > 0, mass, 1.0)  # of the cohorts' means
    total = float(weights @ np.square(deviations).sum(axis=1))
    return np.asarray(np.maximum(total - between.sum(axis=1), 0.0) / float(weights.sum()))

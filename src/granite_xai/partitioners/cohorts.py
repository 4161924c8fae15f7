"""Cohorts: supervised clustering by representatives, with explanations computed again inside each cohort (CohEx)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.validation import choose, real_number, whole_number
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.interaction import Pure
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.scatter import describe, local_explainer
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, local_values
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

Score = Callable[
    [IntArray], FloatArray
]  # from (C, n) labels, one line for each way to divide the rows, to C losses
Loss = Callable[
    [IntArray], Score
]  # from the cohorts that guide the search, explained inside, to a score

PATIENCE = 30  # random starts in a row without a better end, after which a round ends
BLOCK = 128  # cohorts scored together


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
        sides = (
            [explainer]
            if self.against == "mean"
            else [explainer, replace(explainer, interaction=Pure())]
        )
        return tuple(side.effect(route, resources, seed) for side in sides)

    def partition(self, problem: Problem) -> PartitionResult:
        """Choose representatives, and describe their cohorts."""
        return describe(problem, lambda: self._search(problem))

    def _search(self, problem: Problem) -> IntArray:
        generator, distances = np.random.default_rng(problem.seed), row_distances(problem.table)
        given, explainer = (
            (problem.route, problem.resources, problem.seed),
            local_explainer(self.on, "on"),
        )
        if self.against == "mean":
            loss = mean_loss(problem.evaluations, explainer.effect(*given))
        else:
            question = Disagreement(explainer, replace(explainer, interaction=Pure()))
            loss = pure_loss(problem.evaluations, question.compare(*given))
        best = np.zeros(problem.table.n_rows, dtype=np.intp)
        lowest, explained = np.inf, best
        for _ in range(self.rounds):
            explained = self._restarted(generator, distances, loss(explained))
            # Judged with the explanations of the cohorts themselves, whatever the search was guided by.
            cost = float(loss(explained)(explained[None])[0]) + self.penalty(
                explained.max() + 1, len(best)
            )
            if cost < lowest - 1e-12:
                lowest, best = cost, explained
        return best

    def _restarted(
        self, generator: np.random.Generator, distances: FloatArray, score: Score
    ) -> IntArray:
        """The best of many searches."""
        best, since = self._climb(generator, distances, score), 0
        for _ in range(self.restarts - 1):
            found = self._climb(generator, distances, score)
            since = 0 if found[0] < best[0] - 1e-12 else since + 1
            best = found if since == 0 else best
            if since >= PATIENCE:
                break
        return best[1]

    def penalty(self, cohorts: int, rows: int) -> float:
        """Price of the cohorts beyond the free ones."""
        return self.beta * float(np.sqrt(max(int(cohorts) - self.free, 0) / rows))

    def _climb(
        self, generator: np.random.Generator, distances: FloatArray, score: Score
    ) -> tuple[float, IntArray]:
        """One greedy search from random representatives, by sets with one less or one more of them."""
        n = len(distances)
        chosen = generator.choice(n, size=min(self.free, n), replace=False).tolist()
        labels = nearest(distances, [chosen])
        cost = float(score(labels)[0]) + self.penalty(len(chosen), n)
        while True:
            pool = generator.choice(n, size=min(self.pool, n), replace=False).tolist()
            fewer = (
                [[row for row in chosen if row != gone] for gone in chosen]
                if len(chosen) > 1
                else []
            )
            sets = fewer + [[*chosen, row] for row in pool if row not in chosen]
            options = nearest(distances, sets)
            costs = score(options) + np.array([self.penalty(len(one), n) for one in sets])
            lead = int(np.argmin(costs))
            if costs[lead] >= cost - 1e-12:
                return cost, np.unique(labels[0], return_inverse=True)[1].reshape(-1).astype(
                    np.intp
                )
            cost, chosen, labels = float(costs[lead]), sets[lead], options[lead : lead + 1]


def nearest(distances: FloatArray, sets: list[list[int]]) -> IntArray:
    """Number of the nearest representative of every row, for each set of representatives, shape (sets, n)."""
    return np.stack([np.argmin(distances[:, chosen], axis=1) for chosen in sets]).astype(np.intp)


def row_distances(table: Table) -> FloatArray:
    """Squared distances of all pairs of rows: standardised gaps of ordered columns, 1 where other labels differ."""
    total = np.zeros((table.n_rows, table.n_rows))
    for column in (table.columns[i] for i in table.explained):
        if column.kind in ("nominal", "boolean"):
            total += column.codes[:, None] != column.codes
            continue
        values = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
        values = np.where(column.codes >= 0, values, np.nan)
        spread = float(np.nanstd(values)) if (column.codes >= 0).any() else 0.0
        gaps = np.square((values[:, None] - values) / (spread or 1.0))
        total += np.where(np.isnan(gaps), column.missing[:, None] != column.missing, gaps)
    return total


def explained_inside(
    effect: ResolvedExplainer, evaluations: Evaluations, labels: IntArray
) -> FloatArray:
    """Local effects of each row with its own cohort as reference, shape (n, sets)."""
    members = labels == np.arange(labels.max() + 1)[:, None]
    values = local_values(
        effect, evaluations, Splits.of(members, evaluations.weights, evaluations.primitives)
    )
    return np.asarray(values[:, labels, np.arange(len(labels))].T)


def scatter_within(vectors: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted mean squared distance of vectors to the mean of their cohort, for each line of labels."""
    lines, cohorts = len(labels), int(labels.max()) + 1
    places = (labels + cohorts * np.arange(lines)[:, None]).ravel()
    apart = vectors - np.average(vectors, axis=0, weights=weights)

    def sums(values: FloatArray) -> FloatArray:
        found = np.bincount(places, weights=np.tile(values, lines), minlength=lines * cohorts)
        return np.asarray(found, dtype=np.float64).reshape(lines, cohorts)

    mass, squares = sums(weights), np.zeros(lines)
    for entry in apart.T:
        squares += (np.square(sums(weights * entry)) / np.where(mass > 0, mass, 1.0)).sum(axis=1)
    return np.maximum(float(weights @ np.square(apart).sum(axis=1)) - squares, 0.0) / float(
        weights.sum()
    )


def mean_loss(evaluations: Evaluations, effect: ResolvedExplainer) -> Loss:
    """Squared distance of explanations to their mean in the cohort, explained inside the cohorts that guide."""
    everyone, weights = np.zeros((1, evaluations.n_rows), dtype=np.intp), evaluations.weights
    root = (
        scatter_within(explained_inside(effect, evaluations, everyone[0]), everyone, weights)[0]
        or 1.0
    )

    def guided(explained: IntArray) -> Score:
        vectors = explained_inside(effect, evaluations, explained)
        return lambda labels: scatter_within(vectors, labels, weights) / root

    return guided


def pure_loss(evaluations: Evaluations, question: ResolvedQuestion) -> Loss:
    """Disagreement of explanations with the pure effect; every cohort is explained anew, so that none need guide."""

    def losses(labels: IntArray) -> FloatArray:
        cohorts, total = (
            [(line, k) for line, row in enumerate(labels) for k in np.unique(row)],
            np.zeros(len(labels)),
        )
        for start in range(0, len(cohorts), BLOCK):
            block = cohorts[start : start + BLOCK]
            members = np.stack([labels[line] == k for line, k in block])
            splits = Splits.of(members, evaluations.weights, evaluations.primitives)
            parts = question.regional(evaluations, splits)[:, 0] * splits.mass[:, 0]
            np.add.at(total, [line for line, _ in block], parts)
        return np.asarray(total / evaluations.weights.sum())

    root = float(losses(np.zeros((1, evaluations.n_rows), dtype=np.intp))[0]) or 1.0
    return lambda explained: lambda labels: losses(labels) / root

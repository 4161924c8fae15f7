"""Shortlist: single precision and devices say which candidates may be the best, float64 decides among them (C15)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.behavior.behavior import Risk, Sensitivity
from granite_xai.compute import resolve_jobs
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.portable import Gaps, Scorer, arithmetic_for, why_not
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import risk_error, sensitivity_error
from granite_xai.interaction import union
from granite_xai.search.candidates import Candidate

if TYPE_CHECKING:
    from granite_xai.objective import Measure
    from granite_xai.search.problem import Problem
    from granite_xai.tables import Table

MARGIN = 1e-4
"""Candidates within this share of the best are scored again."""
SCALES = (1e-12, 1e15)
"""Sizes of predictions whose squares are numbers in float32."""
ULPS = 4
"""Relative spacings by which the mean of rounded values may be off; what is further off is found out afterwards."""

Score = Callable[[list[Candidate]], tuple[FloatArray, FloatArray]]


@dataclass(slots=True, eq=False)
class Shortlist:
    """Scores the candidates of a node: all in float64, or roughly first and then the promising ones in float64.

    Parameters
    ----------
    problem : Problem
    beam : int
        Columns whose best candidate is followed.
    questions : tuple of Gaps
        Empty: every candidate is scored in float64 at once.
    scorer : Scorer, optional
    noted : dict
        What ``diagnostics_["search"]`` says.
    """

    problem: Problem
    beam: int
    questions: tuple[Gaps, ...] = ()
    scorer: Scorer | None = None
    noted: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, beam: int) -> Shortlist:
        """The shortlist that the resources of a problem ask for."""
        arithmetic = arithmetic_for(problem.resources)
        if arithmetic is None:
            return cls(problem, beam)
        noted: dict[str, object] = {"device": problem.resources.device, "dtype": problem.resources.dtype}
        problem.diagnostics.note("search", noted)
        found = [_gaps(measure) for measure in problem.shares.comparisons]
        reasons = [reason for reason in found if isinstance(reason, str)]
        if reasons:
            noted["in_float64"] = f"every candidate, on the CPU: {reasons[0]}"
            return cls(problem, beam)
        noted |= {"candidates": 0, "in_float64": 0, "nodes_in_float64": 0}
        questions = tuple(gaps for gaps in found if isinstance(gaps, Gaps))
        scorer = Scorer(arithmetic, problem.evaluations, resolve_jobs(problem.n_jobs))
        return cls(problem, beam, questions, scorer, noted)

    def __call__(
        self, options: list[Candidate], rows: IntArray, evaluations: Evaluations, score: Score
    ) -> tuple[list[Candidate], FloatArray, FloatArray]:
        """The candidates that may be followed, with their disagreements and mass by the ordinary score."""
        if self.scorer is None or len(options) == 1:
            return (options, *score(options))
        inside = _inside(options, self.problem.table, rows)
        rough, error = self._rough(self.scorer, evaluations, rows, inside)
        columns = np.array([option.column for option in options])
        keep = promising(rough, error + MARGIN / 2, columns, self.beam)
        chosen = [option for option, kept in zip(options, keep, strict=True) if kept]
        disagreements, mass = score(chosen)
        exact = self.problem.shares.of(disagreements, mass).sum(axis=1)
        # A rough score that is further off than it may be says nothing of the others: all are scored again.
        if not np.all(np.abs(exact - rough[keep]) <= error[keep] + MARGIN / 2):
            self._count(len(options), len(options), 1)
            return (options, *score(options))
        self._count(len(options), len(chosen), 0)
        return chosen, disagreements, mass

    def _rough(
        self, scorer: Scorer, evaluations: Evaluations, rows: IntArray, inside: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Summed share of each candidate, and how far rounding may have moved it."""
        shares = self.problem.shares
        found = scorer.regional(self.questions, evaluations, rows, inside)
        inner = inside @ evaluations.weights
        mass = np.stack([inner, evaluations.weights.sum() - inner], axis=1)
        wrong = np.stack([self._wrong(k, found[..., k], scorer) for k in range(len(self.questions))], axis=-1)
        scores, errors = shares.of(found, mass).sum(axis=1), shares.of(wrong, mass).sum(axis=1)
        usable = np.isfinite(scores) & np.isfinite(errors)
        if scorer.arithmetic.single and not SCALES[0] <= _scale(scorer, self.problem.evaluations) <= SCALES[1]:
            usable[:] = False
        return np.where(usable, scores, 0.0), np.where(usable, errors, np.inf)

    def _wrong(self, number: int, disagreement: FloatArray, scorer: Scorer) -> FloatArray:
        """How far rounding may have moved the disagreement of a region: the noise floor of these numbers (1.5).

        With errors e of gaps g, ``sum (g + e)^2`` differs from ``sum g^2`` by at most ``2 sqrt(sum g^2 sum e^2) +
        sum e^2``; absolute values by at most ``sum |e|``.
        """
        comparison, evaluations = self.problem.shares.comparisons[number], self.problem.evaluations
        if not isinstance(comparison, ResolvedQuestion):  # such a measure has no gaps
            return np.full_like(disagreement, np.inf)
        noise = _rounding(comparison, self.questions[number], evaluations, scorer)
        if self.questions[number].loss == "absolute":
            return np.full_like(disagreement, noise)
        return 2.0 * np.sqrt(np.maximum(disagreement, 0.0) * noise) + noise

    def _count(self, candidates: int, again: int, nodes: int) -> None:
        for key, number in (("candidates", candidates), ("in_float64", again), ("nodes_in_float64", nodes)):
            before = self.noted[key]
            self.noted[key] = number + (before if isinstance(before, int) else 0)


def promising(scores: FloatArray, margin: FloatArray, columns: IntArray, beam: int) -> BoolArray:
    """Which candidates may be the best of one of the best columns, when each score is right within its margin.

    >>> promising(np.array([0.5, 0.2, 0.21]), np.full(3, 0.02), np.array([0, 0, 1]), beam=1)
    array([False,  True,  True])
    """
    lowest, highest = scores - margin, scores + margin
    names, groups = np.unique(columns, return_inverse=True)
    best = np.full(len(names), np.inf)
    np.minimum.at(best, groups.reshape(-1), highest)
    bar = np.sort(best)[min(beam, len(names)) - 1]
    within: BoolArray = (lowest <= best[groups.reshape(-1)]) & (lowest <= bar)
    return within


def _gaps(measure: Measure) -> Gaps | str:
    """The gaps of a question, or why it has to be scored in float64."""
    if not isinstance(measure, ResolvedQuestion):
        return "a measure that is no disagreement"
    behavior, loss = measure.first.behavior, measure.question.loss
    reason = why_not(behavior, (measure.first.masking, measure.second.masking), loss)
    if reason or not isinstance(loss, str):
        return reason or "a loss of your own"
    return Gaps(behavior, [union(members) for members in measure.first.layout.sets], measure.gaps, loss)


def _rounding(comparison: ResolvedQuestion, gaps: Gaps, evaluations: Evaluations, scorer: Scorer) -> float:
    """Disagreement that rounding alone can produce in the numbers of the products: the loss of every gap's error."""
    error, behavior = ULPS * scorer.arithmetic.eps * _scale(scorer, evaluations), gaps.behavior
    if isinstance(behavior, Sensitivity):
        error = sensitivity_error(error, float(np.std(evaluations.predictions)))
    elif isinstance(behavior, Risk):
        predictions = evaluations.predictions + evaluations.pivot
        error = risk_error(
            error, behavior.function, predictions, evaluations.pivot, evaluations.target, evaluations.weights
        )
    reads = [sum(abs(value) for terms in gap.values() for value in terms.values()) for gap in gaps.terms]
    return float(np.sum(comparison.loss(error * np.array(reads))))


def _scale(scorer: Scorer, evaluations: Evaluations) -> float:
    """Largest size of a centred evaluation."""
    return max(scorer.moved.scale, float(np.max(np.abs(evaluations.predictions))))


def _inside(options: list[Candidate], table: Table, rows: IntArray) -> BoolArray:
    return np.stack([option.inside(table.columns[option.column].codes[rows]) for option in options])

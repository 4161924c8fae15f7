"""Objective: what a partition shall reduce, one disagreement or several (docs/method.rst, C1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.algebra.disagreement import Disagreement, ResolvedQuestion, questions
from granite_xai.algebra.influence import Influence
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, real_number, unknown
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.evaluations.evaluations import Evaluations

WEIGHTINGS = ("mass", "uniform")
NORMALIZATIONS = ("root", "variance")
LARGEST_WEIGHT = 1e100  # of a question: sums of weights stay finite

Questions = (
    str | Disagreement | Sequence["str | Disagreement"] | Mapping["str | Disagreement", float]
)


@dataclass(frozen=True, slots=True)
class Objective:
    """What a partition shall reduce: one question, or several with weights.

    Parameters
    ----------
    questions : str, Disagreement, list or mapping of these to weights
    weighting : "mass" or "uniform"
        Whether a region counts by its share of the rows.
    normalize : "root" or "variance"
        Each question's disagreement is divided by its own on all rows, or by the variance of the prediction.

    Examples
    --------
    >>> objective = Objective({"ice-pdp": 3, "pfi-risk": 1})
    >>> [(question.name, weight) for question, weight in objective.weighted()]
    [('ice-pdp', 3.0), ('pfi-risk', 1.0)]
    """

    questions: Questions
    weighting: str = "mass"
    normalize: str = "root"

    def __post_init__(self) -> None:
        if self.weighting not in WEIGHTINGS:
            raise unknown("weighting", self.weighting, WEIGHTINGS)
        if self.normalize not in NORMALIZATIONS:
            raise unknown("normalize", self.normalize, NORMALIZATIONS)
        if isinstance(self.questions, str | Disagreement):
            return
        if isinstance(self.questions, Mapping):
            object.__setattr__(self, "questions", tuple(self.questions.items()))
        elif isinstance(self.questions, Sequence):
            object.__setattr__(self, "questions", tuple(self.questions))
        else:
            raise unknown("question", self.questions, questions())

    def weighted(
        self, influence: Influence | None = None
    ) -> tuple[tuple[Disagreement, float], ...]:
        """The questions as objects with their weights; those given by name get this influence."""
        if isinstance(self.questions, str | Disagreement):
            return (_weighted(self.questions, influence),)
        if not self.questions:
            raise InputError(
                "there is no question.",
                code="P01",
                argument="question",
                hint="Name at least one question.",
            )
        return tuple(_weighted(entry, influence) for entry in self.questions)


def _weighted(entry: Any, influence: Influence | None) -> tuple[Disagreement, float]:
    """A question with its weight, which is 1 where the entry has none."""
    name_or_question = entry
    weight = 1.0
    is_pair = isinstance(entry, tuple) and len(entry) == 2
    if is_pair and not isinstance(entry[1], str | Disagreement):
        name_or_question = entry[0]
        weight = real_number("question", entry[1], above=0, at_most=LARGEST_WEIGHT)
    question = choose("question", name_or_question, questions())
    if influence is not None and isinstance(name_or_question, str):
        question = question.with_influence(influence)
    return question, weight


@dataclass(frozen=True, eq=False)
class ResolvedObjective:
    """The objective (C1): ``sum over q of factor_q * R_q(region)``, times the region's share of the mass.

    Parameters
    ----------
    factors : array of shape (Q,)
        ``w_q / R_q(all rows)``, or ``w_q`` over the variance of the prediction; 0 for a question at
        its noise floor.
    floors : array of shape (Q,)
        Noise floor of each question.
    total : float
        Mass of all rows.
    by_mass : bool
        Whether regions count by their mass.
    root_factors : array of shape (Q,), optional
        ``w_q / R_q(all rows)``; None: these are the factors.
    """

    factors: FloatArray
    floors: FloatArray
    total: float
    by_mass: bool = True
    root_factors: FloatArray | None = None

    @classmethod
    def of(
        cls,
        objective: Objective,
        questions: Sequence[ResolvedQuestion],
        weights: Sequence[float],
        roots: FloatArray,
        floors: FloatArray,
        outputs: Sequence[Evaluations],
        exceeded: BoolArray | bool = True,
    ) -> ResolvedObjective:
        """Each question scaled by its disagreement on all rows, or by the variance of its output.

        A question that is rounding or chance does not count, and the weights of the others add up to 1.

        Parameters
        ----------
        objective : Objective
        questions : sequence of ResolvedQuestion
        weights : sequence of float
            Of the questions.
        roots : array of shape (Q,)
            Disagreement ``R_q`` on all rows, the root of the tree.
        floors : array of shape (Q,)
            Noise floor of each question.
        outputs : sequence of Evaluations
            Of all rows.
        exceeded : array of shape (Q,) or bool
            Whether a question shows more than chance.
        """
        # One over less than tiny is infinite.
        counts = (roots > floors) & (roots >= np.finfo(np.float64).tiny) & exceeded
        question_weights = np.where(counts, np.asarray(weights, dtype=np.float64), 0.0)
        question_weights = question_weights / (question_weights.sum() or 1.0)
        root_factors = _quotients(question_weights, roots, where=counts)
        factors = root_factors
        if objective.normalize == "variance":
            variances = np.array([_variance(outputs[question.output]) for question in questions])
            factors = _quotients(question_weights, variances, where=variances > 0)
        return cls(
            factors=factors,
            floors=floors,
            total=float(outputs[0].weights.sum()),
            by_mass=objective.weighting == "mass",
            root_factors=root_factors,
        )

    def objective(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """What a partition makes small in sum, (...), from ``R_q`` (..., Q) and the mass of regions (...)."""
        shares: FloatArray = disagreements @ self.factors
        return shares * mass / self.total if self.by_mass else shares

    def share(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """Share of the disagreement on all rows that regions hold, also where the objective is another."""
        factors = self.factors if self.root_factors is None else self.root_factors
        shares: FloatArray = disagreements @ factors
        return shares * mass / self.total

    def is_at_floor(self, disagreements: FloatArray) -> bool:
        """Whether every question that counts is at its noise floor in a region, by its ``R_q``, (Q,)."""
        return bool(np.all((disagreements <= self.floors) | (self.factors == 0.0)))


def _quotients(weights: FloatArray, divisors: FloatArray, where: BoolArray) -> FloatArray:
    """``weights / divisors``; 0 elsewhere."""
    return np.divide(weights, divisors, out=np.zeros_like(weights), where=where)


def _variance(evaluations: Evaluations) -> float:
    """Variance of the predictions."""
    shares = evaluations.weights / evaluations.weights.sum()
    return float(shares @ np.square(evaluations.f - shares @ evaluations.f))

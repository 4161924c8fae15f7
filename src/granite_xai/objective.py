"""Objective: what a partition shall reduce, in shares of the disagreement on all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, real_number, unknown
from granite_xai.base.typing import FloatArray
from granite_xai.catalog import questions
from granite_xai.disagreement import Disagreement, ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.influence import Influence

Questions = str | Disagreement | Sequence["str | Disagreement"] | Mapping["str | Disagreement", float]


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
        if self.weighting not in ("mass", "uniform"):
            raise unknown("weighting", self.weighting, ("mass", "uniform"))
        if self.normalize not in ("root", "variance"):
            raise unknown("normalize", self.normalize, ("root", "variance"))
        if isinstance(self.questions, Mapping):
            object.__setattr__(self, "questions", tuple(self.questions.items()))
        elif isinstance(self.questions, Sequence) and not isinstance(self.questions, str):
            object.__setattr__(self, "questions", tuple(self.questions))
        elif not isinstance(self.questions, str | Disagreement):
            raise unknown("question", self.questions, questions())

    def weighted(self, influence: Influence | None = None) -> tuple[tuple[Disagreement, float], ...]:
        """The questions as objects with their weights; those given by name get this influence."""
        entries = (self.questions,) if isinstance(self.questions, str | Disagreement) else tuple(self.questions)
        if not entries:
            raise InputError(
                "there is no question.", code="P01", argument="question", hint="Name at least one question."
            )
        return tuple(_weighted(entry, influence) for entry in entries)


def _weighted(entry: Any, influence: Influence | None) -> tuple[Disagreement, float]:
    weight = 1.0
    if isinstance(entry, tuple) and len(entry) == 2 and not isinstance(entry[1], str | Disagreement):
        entry, weight = entry[0], real_number("question", entry[1], above=0, at_most=1e100)
    question = choose("question", entry, questions())
    if influence is not None and isinstance(entry, str):
        question = question.with_influence(influence)
    return question, weight


class Measure(Protocol):
    """What a region has too much of: the disagreement of a question, or the scatter of some vectors."""

    def regional(self, evaluations: Evaluations, splits: Splits) -> FloatArray:
        """``R`` of both sides of every split, shape (K, 2)."""
        ...

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows, where sets have at most so many values."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ScaledObjective:
    """An objective on one table: every region's share of the disagreement on all rows.

        share(region) = sum over q of w_q * (mass of the region) * R_q(region) / R_q(all rows)

    Parameters
    ----------
    comparisons : the questions, resolved (or other measures of a region)
    factors : (Q,) float
        ``w_q / R_q(all rows)``; 0 for a question at its noise floor.
    floors : (Q,) float
        Noise floor of each question.
    total : float
        Mass of all rows.
    by_mass : bool
        Whether regions count by their mass.
    """

    comparisons: tuple[Measure, ...]
    factors: FloatArray
    floors: FloatArray
    total: float
    by_mass: bool = True

    def disagreements(self, evaluations: Evaluations, splits: Splits) -> FloatArray:
        """``R_q`` of both sides of every split, shape (K, 2, Q)."""
        return np.stack([comparison.regional(evaluations, splits) for comparison in self.comparisons], axis=-1)

    def of(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """Shares from disagreements (..., Q) and the mass (...) of the regions."""
        shares: FloatArray = disagreements @ self.factors
        return shares * mass / self.total if self.by_mass else shares

    def silent(self, disagreements: FloatArray) -> bool:
        """Whether every question is at its noise floor here."""
        return bool(np.all((disagreements <= self.floors) | (self.factors == 0.0)))

    def split_bytes(self, evaluations: Evaluations) -> int:
        """Bytes that scoring takes for each split of the rows of a node."""
        n_values = max((matrix.n_values for matrix in evaluations.matrices.values()), default=0)
        return max(comparison.split_bytes(evaluations.n_rows, n_values) for comparison in self.comparisons)


def shares(
    comparisons: Sequence[ResolvedQuestion],
    weights: Sequence[float],
    roots: FloatArray,
    floors: FloatArray,
    objective: Objective,
    evaluations: Evaluations,
) -> ScaledObjective:
    """Scale each question by its disagreement on all rows (or the variance), leaving out those at the floor."""
    audible = (roots > floors) & (roots >= np.finfo(np.float64).tiny)  # one over less than that is infinite
    chosen = np.where(audible, np.asarray(weights, dtype=np.float64), 0.0)
    chosen = chosen / (chosen.sum() or 1.0)
    splits = Splits.whole(evaluations.weights)
    variance = float(splits.variances(evaluations.predictions[None])[0, 0])
    scale = roots if objective.normalize == "root" else np.full_like(roots, variance)
    factors = np.divide(chosen, scale, out=np.zeros_like(chosen), where=audible & (scale > 0))
    return ScaledObjective(tuple(comparisons), factors, floors, float(splits.mass[0, 0]), objective.weighting == "mass")

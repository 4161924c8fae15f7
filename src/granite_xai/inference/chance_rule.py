"""ChanceRule: what the disagreement of a node must exceed to be more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.by_sums import ClosedForm
from granite_xai.inference.replicates import Chance, Replicates
from granite_xai.moments.statistics import FullAgainstPure, Statistics


@dataclass(frozen=True, slots=True, eq=False)
class ChanceRule:
    """What chance says of any of the fitting rows as one region.

    Parameters
    ----------
    replicates : Replicates
        Of the fitting rows.
    questions : tuple of ResolvedQuestion
    root : Chance
        What chance says of all rows.
    factors : array of shape (n_questions,)
        Weight of each question by its corrected disagreement on all rows.
    statistics : tuple
        For each question its statistics on all rows; None where it has none.
    """

    replicates: Replicates
    questions: tuple[ResolvedQuestion, ...]
    root: Chance
    factors: FloatArray
    statistics: tuple[list[Statistics] | None, ...]
    _closed_forms: dict[int, ClosedForm] = field(default_factory=dict, init=False, repr=False)

    @property
    def rows_stand_alone(self) -> bool:
        """Whether no two rows belong to one cluster."""
        return self.replicates.clusters is None

    @property
    def reads_predictions(self) -> bool:
        """Whether a question does not follow from sums over rows."""
        return any(sets is None for sets in self.statistics)

    @property
    def has_closed_form(self) -> bool:
        """Whether every question has one."""
        return all(sets is not None and ClosedForm.fits(sets) for sets in self.statistics)

    def disagreements(self, rows: IntArray) -> FloatArray:
        """Disagreement of each question on some of the rows, where all have a closed form."""
        forms = [self._closed_form(number) for number in range(len(self.statistics))]
        return np.array([form.take(rows).mean_squared_gap() for form in forms])

    def chance_in(
        self,
        evaluations: Evaluations,
        rows: IntArray,
        n_jobs: int | None,
        disagreements: FloatArray | None = None,
    ) -> Chance:
        """What chance says of a region.

        Parameters
        ----------
        evaluations : Evaluations
            Of the region; any where `reads_predictions` is false.
        rows : array
            Positions of its rows.
        n_jobs : int, optional
        disagreements : array of shape (n_questions,), optional
            What the questions show there, where that is known.
        """
        if len(rows) == self.replicates.n_rows:
            return self.root
        statistics = [self._statistics_of(number, rows) for number in range(len(self.statistics))]
        return self.replicates.chance(
            self.questions, evaluations, rows, n_jobs, statistics, disagreements
        )

    def _statistics_of(self, number: int, rows: IntArray) -> list[Statistics] | ClosedForm | None:
        """The statistics of a question on some of the rows."""
        sets = self.statistics[number]
        if sets is None:
            return None
        if ClosedForm.fits(sets):
            return self._closed_form(number).take(rows)
        return [statistics.take(rows) for statistics in sets]

    def _closed_form(self, number: int) -> ClosedForm:
        """The closed form of a question on all rows, made once."""
        if number not in self._closed_forms:
            sets = cast("Sequence[FullAgainstPure]", self.statistics[number])
            self._closed_forms[number] = ClosedForm.of(sets)
        return self._closed_forms[number]

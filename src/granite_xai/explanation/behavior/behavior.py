"""Behavior: from the masked models ``F_T`` to the values ``nu(T)`` of a cooperative game.

A behavior says which aspect of the masked model counts as its value: its prediction at each row, its variance in
the region, or minus its loss in the region (docs/method.rst, "What is compared"). A `Game` holds the values of one
behavior of one masked model in every region of a batch of splits, and forms the linear combinations of them that
effects are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

import numpy as np

from granite_xai.base.typing import FloatArray, Term, Terms
from granite_xai.compute.primitives import as_part
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import RowValues, sum_row_values
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking import Masking


class Behavior(ABC):
    """Which aspect of the masked model counts as its value.

    Attributes
    ----------
    key : str
        Its name in the catalog.
    needs_y : bool
        Whether it compares predictions with a target.
    is_linear : bool
        Whether a value is the masked model itself, so that a combination of values is one of masked models.
    per_row : bool
        Whether there is a value for each row; otherwise there is one for each region.
    needs_probability : str or None
        The name of its loss, where that is defined for probabilities only.
    """

    __slots__ = ()
    key: ClassVar[str]
    needs_y: ClassVar[bool] = False
    is_linear: ClassVar[bool] = False
    per_row: ClassVar[bool] = False
    needs_probability: ClassVar[str | None] = None

    def resolved(self, is_probability: bool) -> Behavior:
        """The same behavior with what depends on the model decided.

        Parameters
        ----------
        is_probability : bool
            Whether the model predicts a probability.
        """
        return self

    def terms(
        self, interaction: str, sets: PlayersAndSets, masking: Masking
    ) -> tuple[Terms, ...] | None:
        """The terms of the effect of each set, where this behavior defines them itself.

        Parameters
        ----------
        interaction : str
            Key of the interaction operator.
        sets : PlayersAndSets
            The players of the game, and the sets whose effects are compared.
        masking : Masking

        Returns
        -------
        tuple of Terms or None
            None: the interaction operator defines the terms.
        """
        return None

    @abstractmethod
    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Error of one value when every prediction may be off by ``delta`` (the noise floor, C4)."""

    @abstractmethod
    def value(self, game: Game, term: Term) -> FloatArray:
        """``nu`` of one term: (n, K) where there is a value for each row, otherwise (2, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """``nu(T)`` in every region of a batch of splits, for one behavior of one masked model.

    Parameters
    ----------
    behavior : Behavior
    masked : Masked
        ``F_T`` in the regions.
    evaluations : Evaluations
        What is known of the model on the rows.
    splits : Splits
        K ways to divide the n rows into two regions.
    kept_values : dict of term to array
        Values that are computed once and read by several sets.
    """

    behavior: Behavior
    masked: Masked
    evaluations: Evaluations
    splits: Splits
    kept_values: dict[Term, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls, behavior: Behavior, masking: Masking, evaluations: Evaluations, splits: Splits
    ) -> Game:
        """The game of a behavior and a masking."""
        return cls(
            behavior=behavior,
            masked=masking.masked(evaluations, splits),
            evaluations=evaluations,
            splits=splits,
        )

    def keep_values(self, terms: Iterable[Term]) -> None:
        """Compute and keep the values of terms that several sets read.

        The masked models of no column and of all columns are not kept: where values are masked models, they are there
        already.
        """
        available: tuple[Term, ...] = ()
        if self.behavior.is_linear:
            available = (frozenset(), self.evaluations.everything)
        for term in terms:
            if term not in self.kept_values and term not in available:
                self.kept_values[term] = self.behavior.value(self, term)

    def rows(self, terms: Terms) -> RowValues:
        """A linear combination of values, one number for each row.

        Where values are masked models, those that are not kept are combined in one pass of the engine, which need not
        write them out.
        """
        in_one_pass: dict[Term, float] = {}
        one_by_one: dict[Term, float] = {}
        for term, coefficient in terms.items():
            if self.behavior.is_linear and term not in self.kept_values:
                in_one_pass[term] = coefficient
            else:
                one_by_one[term] = coefficient
        summands = []
        if in_one_pass:
            summands.append(self.masked.combined(in_one_pass))
        if one_by_one:
            total = sum(coefficient * self._value(term) for term, coefficient in one_by_one.items())
            part = as_part(np.asarray(total))
            summands.append(RowValues(of_row=self.splits.zeros, parts=(part,)))
        if not summands:
            return RowValues(of_row=self.splits.zeros)
        return sum_row_values(summands, self.splits)

    def regional(self, terms: Terms) -> FloatArray:
        """A linear combination of values, one number for each side of every split, (2, K)."""
        total = np.zeros((2, self.splits.count))
        for term, coefficient in terms.items():
            total = total + coefficient * self._value(term)
        return total

    def _value(self, term: Term) -> FloatArray:
        if term in self.kept_values:
            return self.kept_values[term]
        return self.behavior.value(self, term)

    def values(self, terms: Terms) -> FloatArray:
        """A linear combination of values: (K, n) where there is one for each row, otherwise (K, 2)."""
        if self.behavior.per_row:
            combination = self.rows(terms).array(self.splits)
        else:
            combination = self.regional(terms)
        return combination.T


def read_twice(combinations: Sequence[Terms]) -> set[Term]:
    """Terms that more than one of these combinations has."""
    counts = Counter(chain.from_iterable(combinations))
    return {term for term, count in counts.items() if count > 1}

"""Behavior: masked models ``F_T`` to values ``nu(T)``, one number a row, in the row's own region, or one a region."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

import numpy as np

from granite_xai.base.typing import FloatArray, Term, Terms
from granite_xai.compute.primitives import Array, as_part
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import RowValues, joined
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking import Masking


class Behavior(ABC):
    """Which aspect of the masked model counts as its value."""

    __slots__ = ()
    key: ClassVar[str]
    needs_y: ClassVar[bool] = False
    is_linear: ClassVar[bool] = (
        False  # whether a value is the masked model itself: combinations are those of models
    )
    per_row: ClassVar[bool] = False  # whether the value is one number a row
    needs_probability: ClassVar[str | None] = (
        None  # the name of a loss that is defined for probabilities only
    )

    def resolved(self, is_probability: bool) -> Behavior:
        """The same behavior with what depends on the model decided."""
        return self

    def terms(
        self, interaction: str, sets: PlayersAndSets, masking: Masking
    ) -> tuple[Terms, ...] | None:
        """The terms of each set's effect, where the behavior has its own; None: those of the interaction."""
        return None

    @abstractmethod
    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Error of one value when every prediction may be off by ``delta`` (the noise floor, C4)."""

    @abstractmethod
    def value(self, game: Game, term: Term) -> Array:
        """``nu`` of one term: (n, K) with one number a row, otherwise (2, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """``nu(T)`` in every region of a batch of splits, for one behavior of one masked model."""

    behavior: Behavior
    masked: Masked
    evaluations: Evaluations
    splits: Splits
    known: dict[Term, Array] = field(default_factory=dict)  # values of terms that are read again

    @classmethod
    def of(
        cls, behavior: Behavior, masking: Masking, evaluations: Evaluations, splits: Splits
    ) -> Game:
        """The game of a behavior and a masking."""
        return cls(behavior, masking.masked(evaluations, splits), evaluations, splits)

    def share(self, terms: Iterable[Term]) -> None:
        """Compute terms that several sets read once and keep them, unless they cost nothing."""
        ends = (frozenset(), self.evaluations.everything) if self.behavior.is_linear else ()
        for term in terms:
            if term not in self.known and term not in ends:
                self.known[term] = self.behavior.value(self, term)

    def rows(self, terms: Terms) -> RowValues:
        """A linear combination of values, one number a row."""
        P, linear = self.splits.primitives, self.behavior.is_linear
        fresh = {term: value for term, value in terms.items() if linear and term not in self.known}
        found, written = [self.masked.combined(fresh)] if fresh else [], None
        for term, coefficient in terms.items():
            if term not in fresh:
                value = coefficient * self._value(term)
                written = value if written is None else written + value
        if written is not None or not found:
            found.append(
                RowValues(
                    self.splits.zeros, parts=() if written is None else (as_part(P, written),)
                )
            )
        return joined(found, self.splits)

    def regional(self, terms: Terms) -> Array:
        """A linear combination of values, one number for each side of every split, (2, K)."""
        nothing = self.splits.primitives.array(np.zeros((2, self.splits.count)))
        return sum(
            (coefficient * self._value(term) for term, coefficient in terms.items()), nothing
        )

    def _value(self, term: Term) -> Array:
        return self.known[term] if term in self.known else self.behavior.value(self, term)

    def values(self, terms: Terms) -> FloatArray:
        """A linear combination of values: (K, n) with one number a row, otherwise (K, 2)."""
        found = (
            self.rows(terms).array(self.splits) if self.behavior.per_row else self.regional(terms)
        )
        return self.splits.primitives.host(found).T


def read_twice(combinations: Sequence[Terms]) -> set[Term]:
    """Terms that more than one set reads."""
    return {term for term, count in Counter(chain.from_iterable(combinations)).items() if count > 1}

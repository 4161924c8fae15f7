"""Changes of the prediction across intervals of a column (ALE), in every region of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import AleDifference, Coalition, IntArray, Terms
from granite_xai.compute.primitives import Array, Part
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import HybridFunction
from granite_xai.engine.splits import Splits
from granite_xai.engine.values import RowValues
from granite_xai.evaluations.evaluations import Bins, Evaluations


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Changes of the prediction across intervals, in every region of a batch."""

    evaluations: Evaluations
    splits: Splits

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of changes, and of the mean prediction that effects are counted from."""
        P = self.splits.primitives
        values = Averages(self.evaluations, self.splits).combined(
            {term: value for term, value in terms.items() if isinstance(term, frozenset)}
        )
        own, parts = values.own, list(values.parts)
        for term, coefficient in terms.items():
            if isinstance(term, AleDifference):
                changes, intervals = self.evaluations.changes[term.column]
                if term.averaged:
                    parts.append(self._means(changes, intervals, coefficient))
                else:
                    own = own + coefficient * P.array(changes)
        return values._replace(own=own, parts=tuple(parts))

    def _means(self, changes: Array, intervals: IntArray, coefficient: float) -> Part:
        P, numbers = self.splits.primitives, Bins.of(intervals).numbers
        count = int(numbers.max()) + 1
        left, total = self.splits.sums(P.array(np.where(numbers[:, None] == np.arange(count), changes[:, None], 0.0)))
        own = P.numbers(numbers)
        return Part(left, total, coefficient * self.splits.scales(numbers, count), own, own)

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """Not defined (P03, when the question is resolved)."""
        raise TypeError("this is refused when the question is resolved")

    def total_variance(self, hidden: Coalition) -> Array:
        """Not defined (P03, when the question is resolved)."""
        raise TypeError("this is refused when the question is resolved")

"""The masked model of a batch of regions: what a masking gives to the behaviors, and the one that no region changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Terms
from granite_xai.compute.primitives import Array
from granite_xai.engine.splits import Splits
from granite_xai.engine.values import HybridFunction, RowValues
from granite_xai.evaluations.evaluations import Evaluations


class Masked(ABC):
    """``F_T`` at every row, in the region that holds the row; what a masking refuses (P03) is not asked for."""

    __slots__ = ()

    @abstractmethod
    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models (and of pairwise attributions, where these exist)."""

    def pair_block(self, terms: Terms, references: IntArray, rows: IntArray) -> FloatArray:
        """A combination of some rows before its mean over all references of a region is taken, (references, rows)."""
        raise TypeError("only maskings in pairs are asked")

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the references of a function of the single predictions behind ``F_T``."""
        raise TypeError("this is refused when the question is resolved")

    def total_variance(self, hidden: Coalition) -> Array:
        """Mean over the rows of each side of the prediction's variance when the hidden columns are redrawn, (2, K)."""
        raise TypeError("this is refused when the question is resolved")


@dataclass(frozen=True, slots=True, eq=False)
class AgainstReferences(Masked):
    """Hidden columns are taken from reference rows that are the same in every region."""

    evaluations: Evaluations
    splits: Splits
    # from the visible columns to the centred predictions ``F(x_T, b)``, one line for each reference b
    predictions: Callable[[Coalition], FloatArray]

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models: each the mean over the reference rows."""
        return RowValues(self.splits.primitives.array(self._own(terms)))

    def pair_block(self, terms: Terms, references: IntArray, rows: IntArray) -> FloatArray:
        """The same for every reference of the region."""
        return np.broadcast_to(self._own(terms)[rows], (len(references), len(rows)))

    def _own(self, terms: Terms) -> FloatArray:
        parts = (value * self._lines(term).mean(axis=0) for term, value in terms.items())  # type: ignore[arg-type]
        return sum(parts, np.zeros(self.splits.n_rows))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the reference rows of a function of the predictions."""
        return RowValues(self.splits.primitives.array(function(self._lines(coalition), slice(None)).mean(axis=0)))

    def _lines(self, coalition: Coalition) -> FloatArray:
        known = self.evaluations
        return known.predictions[None] if coalition == known.everything else self.predictions(coalition)

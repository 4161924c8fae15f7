"""The masked model ``F_T`` of a batch of regions."""

from __future__ import annotations

from abc import ABC, abstractmethod

from granite_xai.base.typing import Coalition, FloatArray, Terms
from granite_xai.engine.row_values import HybridFunction, RowValues


class Masked(ABC):
    """``F_T`` at every row, in the region that holds the row; what a masking refuses (P03) is not asked for."""

    __slots__ = ()

    @abstractmethod
    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models (and of pairwise attributions, where these exist).

        Parameters
        ----------
        terms : mapping of term to coefficient
        """

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the references of a function of the single predictions behind ``F_T``."""
        raise TypeError("this is refused when the question is resolved")

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """Mean over the rows of each side of the variance when the hidden columns are redrawn, (2, K)."""
        raise TypeError("this is refused when the question is resolved")

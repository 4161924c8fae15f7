"""The masked model whose hidden columns are taken from reference rows, the same in every region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, Terms
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import HybridFunction, RowValues
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations


@dataclass(frozen=True, slots=True, eq=False)
class AgainstReferences(Masked):
    """``F_T`` is the mean over reference rows b of ``F(x_T, b)``.

    Parameters
    ----------
    evaluations : Evaluations
    splits : Splits
    predictions : callable
        From the visible columns T to the centred predictions ``F(x_T, b)``, (n_references, n).
    """

    evaluations: Evaluations
    splits: Splits
    predictions: Callable[[Coalition], FloatArray]

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models: each the mean over the reference rows."""
        return RowValues(self._of_rows(terms))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the reference rows of a function of the predictions."""
        results = function(self._against(coalition), slice(None))  # (references, n)
        return RowValues(results.mean(axis=0))

    def _of_rows(self, terms: Terms) -> FloatArray:
        """The combination at every row, (n,)."""
        total = np.zeros(self.splits.n_rows)
        for coalition, coefficient in terms.items():
            masked = self._against(coalition).mean(axis=0)  # type: ignore[arg-type]
            total = total + coefficient * masked
        return total

    def _against(self, coalition: Coalition) -> FloatArray:
        """``F(x_T, b)``, one line for each reference, (references, n)."""
        if coalition == self.evaluations.everything:
            return self.evaluations.predictions[None]
        return self.predictions(coalition)

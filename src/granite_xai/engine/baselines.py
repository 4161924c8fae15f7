"""The masked model when hidden columns are set to one row: the same in every region, or a central row of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, PairLoss, PairwiseShapley
from granite_xai.engine.centres import central_rows
from granite_xai.engine.membership import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.masking.masking import Masking


@dataclass(frozen=True, slots=True)
class FixedBaseline:
    """Masking by one row that is the same in every region: nothing depends on the split."""

    masking: Masking
    evaluations: Evaluations
    splits: Splits

    def __call__(self, coalition: Coalition) -> FloatArray:
        """``F_T`` at every row, shape (K, n) or (1, n)."""
        if coalition == self.evaluations.everything:
            return self.evaluations.predictions[None]
        return self.evaluations.fixed[self.masking, coalition][None]

    def add(self, out: FloatArray, coefficient: float, coalition: Coalition) -> None:
        """Add a multiple of ``F_T`` to an array of shape (K, n)."""
        out += coefficient * self(coalition)

    def mean_loss(self, coalition: Coalition, loss: PairLoss) -> FloatArray:
        """Loss of the one recombined prediction behind ``F_T``."""
        return loss(self(coalition)[0] + self.evaluations.pivot, self.evaluations.target)[None]

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """0: one reference row, nothing is redrawn."""
        return np.zeros((1, 2))

    def variances(self, coalition: Coalition) -> FloatArray:
        """Variance of ``F_T`` on each side, (K, 2)."""
        return self.splits.variances(self(coalition))

    def attribution(self, term: PairwiseShapley) -> FloatArray:
        """Attributions of each row against the reference row."""
        raise KeyError(term)  # a fixed baseline combines its coalitions directly


@dataclass(frozen=True, slots=True)
class RegionBaseline:
    """Masking by a central row of the region itself."""

    evaluations: Evaluations
    splits: Splits

    def __call__(self, coalition: Coalition) -> FloatArray:
        """``F_T`` at every row, shape (K, n) or (1, n)."""
        evaluations = self.evaluations
        if coalition == evaluations.everything:
            return evaluations.predictions[None]
        inner, outer = self._central_rows()
        return self.splits.pick(self._against(coalition, inner), self._against(coalition, outer))

    def add(self, out: FloatArray, coefficient: float, coalition: Coalition) -> None:
        """Add a multiple of ``F_T`` to an array of shape (K, n)."""
        out += coefficient * self(coalition)

    def _against(self, coalition: Coalition, baseline: IntArray) -> FloatArray:
        """``F(x_T, b)`` for the baseline row of each split."""
        evaluations = self.evaluations
        if not coalition:
            return evaluations.predictions[baseline][:, None]
        store, shown = evaluations.places[coalition]
        matrix = evaluations.matrices[store]
        if shown:
            return matrix.values[:, baseline].T[:, matrix.codes]
        return matrix.values[matrix.codes[baseline]]

    def mean_loss(self, coalition: Coalition, loss: PairLoss) -> FloatArray:
        """Loss of the one recombined prediction behind ``F_T``."""
        predictions = self(coalition) + self.evaluations.pivot
        return loss(predictions, np.broadcast_to(self.evaluations.target, predictions.shape))

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """0: one reference row, nothing is redrawn."""
        return np.zeros((1, 2))

    def variances(self, coalition: Coalition) -> FloatArray:
        """Variance of ``F_T`` on each side, (K, 2)."""
        return self.splits.variances(self(coalition))

    def attribution(self, term: PairwiseShapley) -> FloatArray:
        """Attributions of each row against the reference row."""
        phi = self.evaluations.attributions[term]
        inner, outer = self._central_rows()
        return self.splits.pick(phi[:, inner].T, phi[:, outer].T)

    def _central_rows(self) -> tuple[IntArray, IntArray]:
        coordinates = self.evaluations.coordinates
        if coordinates is None:
            raise ValueError("the evaluations hold no coordinates")
        return central_rows(coordinates, self.splits.inner), central_rows(coordinates, self.splits.outer)

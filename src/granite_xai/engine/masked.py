"""The masked model ``F_T(x_n)`` in the row's own region, for a batch of splits at once.

Marginal and conditional masking are one computation: hidden columns are averaged over the rows of the region that
share the bin of the visible columns, and marginal masking has one bin. For one bin, with ``W`` the weighted
membership of the inner sides:

    shown S    W E_S'                      (K, U), one value for each distinct value of S
    hidden S   (W onehot(code_S)) E_S      (K, n)

The outer side is the total minus the inner one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from granite_xai.engine.centres import central_rows
from granite_xai.engine.membership import Splits
from granite_xai.operators.masking import Baseline, Masking
from granite_xai.recombined.evaluations import Evaluations, Matrix
from granite_xai.typing import Attribution, Coalition, FloatArray, IntArray, PairLoss


class MaskedModel(Protocol):
    """``F_T`` at every row, in the region that holds the row."""

    def __call__(self, coalition: Coalition) -> FloatArray:
        """Shape (K, n), or (1, n) where it does not depend on the split."""
        ...

    def mean_loss(self, coalition: Coalition, loss: PairLoss) -> FloatArray:
        """Mean loss of the single recombined predictions behind ``F_T``, shape (K, n) or (1, n)."""
        ...

    def variance(self, hidden: Coalition) -> FloatArray:
        """Variance of the prediction of each row when the hidden columns are redrawn, shape (K, n)."""
        ...

    def attribution(self, term: Attribution) -> FloatArray:
        """Mean of the pairwise attributions of each row against the references, shape (K, n)."""
        ...


def masked_model(masking: Masking, evaluations: Evaluations, splits: Splits) -> MaskedModel:
    """The masked model of a node for one masking operator."""
    if not isinstance(masking, Baseline):
        return _Averaged(masking, evaluations, splits)
    return _RegionBaseline(evaluations, splits) if masking.row == "region" else _Fixed(masking, evaluations)


@dataclass(frozen=True, slots=True)
class _Averaged:
    masking: Masking
    evaluations: Evaluations
    splits: Splits

    def __call__(self, coalition: Coalition) -> FloatArray:
        evaluations = self.evaluations
        if coalition == evaluations.everything:
            return evaluations.predictions[None]
        if not coalition:
            means = self.splits.means(evaluations.predictions[None])
            return self.splits.pick(means[:, :1], means[:, 1:])
        store, shown = evaluations.places[coalition]
        matrix = evaluations.matrices[store]
        return self._shown(coalition, matrix) if shown else self._hidden(coalition, matrix.codes, matrix.values)

    def mean_loss(self, coalition: Coalition, loss: PairLoss) -> FloatArray:
        evaluations = self.evaluations
        y = _target(evaluations)
        if coalition == evaluations.everything:
            return loss(evaluations.predictions + evaluations.pivot, y)[None]
        if not coalition:
            every_row = np.zeros(evaluations.n_rows, dtype=np.intp)
            return self._pairwise(coalition, Matrix(evaluations.predictions[None], every_row), loss, y)
        store, shown = evaluations.places[coalition]
        matrix = evaluations.matrices[store]
        if shown:
            return self._pairwise(coalition, matrix, loss, y)
        losses = loss(matrix.values + evaluations.pivot, np.broadcast_to(y, matrix.values.shape))
        return self._hidden(coalition, matrix.codes, losses)

    def variance(self, hidden: Coalition) -> FloatArray:
        evaluations = self.evaluations
        coalition = evaluations.everything - hidden
        matrix = evaluations.matrix(hidden) if coalition else _all_rows(evaluations)
        # Centred by the row's own prediction: a column that is constant in the region has variance exactly 0.
        deviations = matrix.values - evaluations.predictions
        first = self._hidden(coalition, matrix.codes, deviations)
        second = self._hidden(coalition, matrix.codes, np.square(deviations))
        return np.maximum(second - np.square(first), 0.0)

    def attribution(self, term: Attribution) -> FloatArray:
        phi = self.evaluations.attributions[term]
        return self._shown(frozenset(), Matrix(phi, np.arange(len(phi))))

    def _blocks(self, coalition: Coalition) -> Iterator[IntArray | slice]:
        """Rows of each bin of the visible columns; all rows at once when there is one bin."""
        bins = self.evaluations.bins.get((self.masking, coalition))
        if bins is None:
            yield slice(None)
            return
        for number in np.unique(bins):
            yield np.flatnonzero(bins == number)

    def _shown(self, coalition: Coalition, matrix: Matrix) -> FloatArray:
        splits, n_values = self.splits, len(matrix.values)
        inner, outer = (np.zeros((len(splits.mass), n_values)) for _ in range(2))
        for rows in self._blocks(coalition):
            present = slice(None) if isinstance(rows, slice) else np.unique(matrix.codes[rows])
            block = matrix.values[present][:, rows].T
            sums = splits.inner[:, rows] @ block
            total = splits.weights[rows] @ block
            inner[:, present] = sums / _safe(splits.inner[:, rows].sum(axis=1))
            outer[:, present] = (total - sums) / _safe(splits.outer[:, rows].sum(axis=1))
        return splits.pick(inner[:, matrix.codes], outer[:, matrix.codes])

    def _hidden(self, coalition: Coalition, codes: IntArray, values: FloatArray) -> FloatArray:
        splits = self.splits
        result = np.empty(splits.inside.shape)
        for rows in self._blocks(coalition):
            present, order, starts = _grouped(codes[rows])
            inside = splits.inner[:, rows]
            shares = np.add.reduceat(inside[:, order], starts, axis=1)
            total_shares = np.add.reduceat(splits.weights[rows][order], starts)
            block = values[present][:, rows]
            sums = shares @ block
            total = total_shares @ block
            result[:, rows] = np.where(
                splits.inside[:, rows],
                sums / _safe(inside.sum(axis=1)),
                (total - sums) / _safe(splits.outer[:, rows].sum(axis=1)),
            )
        return result

    def _pairwise(self, coalition: Coalition, matrix: Matrix, loss: PairLoss, y: FloatArray) -> FloatArray:
        """Mean over references m of ``L(E_S[code(n), m], y_n)``: every pair of rows of a bin."""
        splits, pivot = self.splits, self.evaluations.pivot
        result = np.empty(splits.inside.shape)
        for rows in self._blocks(coalition):
            hybrids = matrix.values[:, rows][matrix.codes[rows]] + pivot
            losses = loss(hybrids, np.broadcast_to(y[rows][:, None], hybrids.shape)).T
            sums = splits.inner[:, rows] @ losses
            total = splits.weights[rows] @ losses
            result[:, rows] = np.where(
                splits.inside[:, rows],
                sums / _safe(splits.inner[:, rows].sum(axis=1)),
                (total - sums) / _safe(splits.outer[:, rows].sum(axis=1)),
            )
        return result


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Masking by one row that is the same in every region: nothing depends on the split."""

    masking: Masking
    evaluations: Evaluations

    def __call__(self, coalition: Coalition) -> FloatArray:
        if coalition == self.evaluations.everything:
            return self.evaluations.predictions[None]
        return self.evaluations.fixed[self.masking, coalition][None]

    def mean_loss(self, coalition: Coalition, loss: PairLoss) -> FloatArray:
        return loss(self(coalition)[0] + self.evaluations.pivot, _target(self.evaluations))[None]

    def variance(self, hidden: Coalition) -> FloatArray:
        return np.zeros((1, self.evaluations.n_rows))  # one reference row: nothing is redrawn

    def attribution(self, term: Attribution) -> FloatArray:
        raise KeyError(term)  # a fixed baseline combines its coalitions directly


@dataclass(frozen=True, slots=True)
class _RegionBaseline:
    """Masking by a central row of the region itself."""

    evaluations: Evaluations
    splits: Splits

    def __call__(self, coalition: Coalition) -> FloatArray:
        evaluations = self.evaluations
        if coalition == evaluations.everything:
            return evaluations.predictions[None]
        inner, outer = self._central_rows()
        return self.splits.pick(self._against(coalition, inner), self._against(coalition, outer))

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
        predictions = self(coalition) + self.evaluations.pivot
        return loss(predictions, np.broadcast_to(_target(self.evaluations), predictions.shape))

    def variance(self, hidden: Coalition) -> FloatArray:
        return np.zeros((1, self.evaluations.n_rows))

    def attribution(self, term: Attribution) -> FloatArray:
        phi = self.evaluations.attributions[term]
        inner, outer = self._central_rows()
        return self.splits.pick(phi[:, inner].T, phi[:, outer].T)

    def _central_rows(self) -> tuple[IntArray, IntArray]:
        coordinates = self.evaluations.coordinates
        if coordinates is None:
            raise ValueError("the evaluations hold no coordinates")
        return central_rows(coordinates, self.splits.inner), central_rows(coordinates, self.splits.outer)


def bin_means(values: FloatArray, bins: IntArray, splits: Splits) -> FloatArray:
    """Mean of one value a row over the rows of the same bin and region, at every row, shape (K, n)."""
    present, order, starts = _grouped(bins)
    codes = np.searchsorted(present, bins)

    def means(weights: FloatArray) -> FloatArray:
        mass = np.add.reduceat(weights[:, order], starts, axis=1)
        sums = np.add.reduceat((weights * values)[:, order], starts, axis=1)
        found: FloatArray = (sums / np.where(mass > 0, mass, 1.0))[:, codes]
        return found

    return splits.pick(means(splits.inner), means(splits.outer))


def _all_rows(evaluations: Evaluations) -> Matrix:
    """``E_D``: every row's prediction, whatever the reference."""
    n = evaluations.n_rows
    return Matrix(np.broadcast_to(evaluations.predictions[:, None], (n, n)), np.arange(n))


def _grouped(codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The codes present, the rows in their order, and where each code starts."""
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    return present, order, starts


def _safe(mass: FloatArray) -> FloatArray:
    """A divisor: cells of an empty side are never read."""
    return np.where(mass > 0, mass, 1.0)[:, None]


def _target(evaluations: Evaluations) -> FloatArray:
    if evaluations.y is None:  # checked before any model call (T01)
        raise ValueError("the evaluations hold no y")
    return evaluations.y

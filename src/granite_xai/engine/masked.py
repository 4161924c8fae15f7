"""The masked model ``F_T(x_n)`` in the row's own region, for a batch of splits at once.

Marginal and conditional masking are one computation: hidden columns are averaged over the rows of the region that
share the bin of the visible columns, and marginal masking has one bin. For one bin, with ``W`` the weighted
membership of the inner sides:

    shown S    W E_S'                      (K, U), one value for each distinct value of S
    hidden S   (W onehot(code_S)) E_S      (K, n)

The outer side is the total minus the inner one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from granite_xai.engine.centres import central_rows
from granite_xai.engine.membership import Splits
from granite_xai.engine.sides import add_looked_up, add_own_side
from granite_xai.operators.masking import Baseline, Masking
from granite_xai.recombined.evaluations import Bins, Evaluations, Groups, Matrix
from granite_xai.typing import Attribution, Coalition, FloatArray, IntArray, PairLoss


class MaskedModel(Protocol):
    """``F_T`` at every row, in the region that holds the row."""

    def __call__(self, coalition: Coalition) -> FloatArray:
        """Shape (K, n), or (1, n) where it does not depend on the split."""
        ...

    def add(self, out: FloatArray, coefficient: float, coalition: Coalition) -> None:
        """Add a multiple of ``F_T`` to an array of shape (K, n)."""
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
        return self._shown(coalition, matrix) if shown else self._hidden(coalition, matrix)

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
        return self._hidden(coalition, Matrix(losses, matrix.codes))

    def variance(self, hidden: Coalition) -> FloatArray:
        evaluations = self.evaluations
        coalition = evaluations.everything - hidden
        matrix = evaluations.matrix(hidden) if coalition else _all_rows(evaluations)
        # Centred by the row's own prediction: a column that is constant in the region has variance exactly 0.
        deviations = matrix.values - evaluations.predictions
        first = self._hidden(coalition, Matrix(deviations, matrix.codes))
        second = self._hidden(coalition, Matrix(np.square(deviations), matrix.codes))
        return np.maximum(second - np.square(first), 0.0)

    def attribution(self, term: Attribution) -> FloatArray:
        phi = self.evaluations.attributions[term]
        return self._shown(frozenset(), Matrix(phi, np.arange(len(phi))))

    def add(self, out: FloatArray, coefficient: float, coalition: Coalition) -> None:
        """Add a multiple of ``F_T`` to an array of shape (K, n), in one pass."""
        evaluations, splits = self.evaluations, self.splits
        if not coalition or coalition == evaluations.everything:
            out += coefficient * self(coalition)
            return
        store, shown = evaluations.places[coalition]
        matrix = evaluations.matrices[store]
        if shown:
            add_looked_up(out, coefficient, self.tables(coalition, matrix), matrix.codes, splits.inside)
        else:
            sums, total, scales, bins = self._sums(coalition, matrix)
            add_own_side(out, coefficient, sums, total, scales, bins, splits.inside)

    def tables(self, coalition: Coalition, matrix: Matrix) -> tuple[FloatArray, FloatArray]:
        """``F_S`` at every distinct value of S, for the inner and the outer side, each (K, U)."""
        splits, bins = self.splits, self._bins(coalition)
        if bins is None:
            sums = splits.inner @ matrix.values.T
            rest = (splits.weights @ matrix.values.T) - sums
            inner, outer = splits.scales
            return sums * inner, rest * outer
        tables = np.zeros((len(splits.mass), len(matrix.values))), np.zeros((len(splits.mass), len(matrix.values)))
        for rows in bins.blocks:
            present = np.unique(matrix.codes[rows])
            block = matrix.values[present][:, rows].T
            sums = splits.inner[:, rows] @ block
            rest = (splits.weights[rows] @ block) - sums
            inner, outer = _scales(splits, rows)
            tables[0][:, present], tables[1][:, present] = sums * inner, rest * outer
        return tables

    def _shown(self, coalition: Coalition, matrix: Matrix) -> FloatArray:
        out = np.zeros(self.splits.inside.shape)
        add_looked_up(out, 1.0, self.tables(coalition, matrix), matrix.codes, self.splits.inside)
        return out

    def _hidden(self, coalition: Coalition, matrix: Matrix) -> FloatArray:
        out = np.zeros(self.splits.inside.shape)
        sums, total, scales, bins = self._sums(coalition, matrix)
        add_own_side(out, 1.0, sums, total, scales, bins, self.splits.inside)
        return out

    def _sums(self, coalition: Coalition, matrix: Matrix) -> Sums:
        """Sums over the inner rows of each row's bin (K, n) and over all rows of it (n,), with what they divide by."""
        splits, bins = self.splits, self._bins(coalition)
        if bins is None:
            shares, total_shares = _shares(splits, matrix.groups)
            return shares @ matrix.values, total_shares @ matrix.values, splits.scales, None
        sums, total = np.empty(splits.inside.shape), np.empty(len(matrix.codes))
        scales = np.empty((len(splits.mass), len(bins.blocks))), np.empty((len(splits.mass), len(bins.blocks)))
        for number, rows in enumerate(bins.blocks):
            present, codes = np.unique(matrix.codes[rows], return_inverse=True)
            groups = Groups.of(codes.reshape(-1))
            shares, total_shares = _shares(splits, Groups(rows[groups.order], groups.starts))
            block = matrix.values[present][:, rows]
            sums[:, rows], total[rows] = shares @ block, total_shares @ block
            inner, outer = _scales(splits, rows)
            scales[0][:, number], scales[1][:, number] = inner[:, 0], outer[:, 0]
        return sums, total, scales, bins.numbers

    def _bins(self, coalition: Coalition) -> Bins | None:
        """Bins of the visible columns; None when all rows share one."""
        return self.evaluations.bins.get((self.masking, coalition))

    def _pairwise(self, coalition: Coalition, matrix: Matrix, loss: PairLoss, y: FloatArray) -> FloatArray:
        """Mean over references m of ``L(E_S[code(n), m], y_n)``: every pair of rows of a bin."""
        splits, pivot, bins = self.splits, self.evaluations.pivot, self._bins(coalition)
        result = np.zeros(splits.inside.shape)
        for rows in [slice(None)] if bins is None else bins.blocks:
            hybrids = matrix.values[:, rows][matrix.codes[rows]] + pivot
            losses = loss(hybrids, np.broadcast_to(y[rows][:, None], hybrids.shape)).T
            part = np.zeros((len(splits.mass), losses.shape[1]))
            sums, total = splits.inner[:, rows] @ losses, splits.weights[rows] @ losses
            add_own_side(part, 1.0, sums, total, _scales(splits, rows), None, splits.inside[:, rows])
            result[:, rows] = part
        return result


Sums = tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray], "IntArray | None"]


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Masking by one row that is the same in every region: nothing depends on the split."""

    masking: Masking
    evaluations: Evaluations

    def __call__(self, coalition: Coalition) -> FloatArray:
        if coalition == self.evaluations.everything:
            return self.evaluations.predictions[None]
        return self.evaluations.fixed[self.masking, coalition][None]

    def add(self, out: FloatArray, coefficient: float, coalition: Coalition) -> None:
        out += coefficient * self(coalition)

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

    def add(self, out: FloatArray, coefficient: float, coalition: Coalition) -> None:
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


def bin_means(values: FloatArray, bins: Bins, splits: Splits) -> FloatArray:
    """Mean of one value a row over the rows of the same bin and region, at every row, shape (K, n)."""
    groups = Groups.of(bins.numbers)
    weighted = [
        np.add.reduceat(side.take(groups.order, axis=1), groups.starts, axis=1)
        for side in (splits.inner, splits.outer, splits.inner * values, splits.outer * values)
    ]
    inner, outer = (sums / np.where(mass > 0, mass, 1.0) for mass, sums in zip(weighted[:2], weighted[2:], strict=True))
    result = np.zeros(splits.inside.shape)
    add_looked_up(result, 1.0, (inner, outer), bins.numbers, splits.inside)
    return result


def _all_rows(evaluations: Evaluations) -> Matrix:
    """``E_D``: every row's prediction, whatever the reference."""
    n = evaluations.n_rows
    return Matrix(np.broadcast_to(evaluations.predictions[:, None], (n, n)), np.arange(n))


def _shares(splits: Splits, groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Weight of each group of rows among the inner rows, (K, U), and among all rows, (U,)."""
    inner = np.add.reduceat(splits.inner.take(groups.order, axis=1), groups.starts, axis=1)
    return inner, np.add.reduceat(splits.weights[groups.order], groups.starts)


def _scales(splits: Splits, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
    """One over the mass of each side among some rows, as columns; 1 for an empty side, whose cells are never read."""
    inner, outer = splits.inner[:, rows].sum(axis=1, keepdims=True), splits.outer[:, rows].sum(axis=1, keepdims=True)
    return 1.0 / np.where(inner > 0, inner, 1.0), 1.0 / np.where(outer > 0, outer, 1.0)


def _target(evaluations: Evaluations) -> FloatArray:
    if evaluations.y is None:  # checked before any model call (T01)
        raise ValueError("the evaluations hold no y")
    return evaluations.y

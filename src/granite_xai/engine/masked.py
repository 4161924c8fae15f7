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

from granite_xai.base.typing import Coalition, FloatArray, IntArray, PairLoss, PairwiseShapley
from granite_xai.engine.baselines import FixedBaseline, RegionBaseline
from granite_xai.engine.membership import Splits
from granite_xai.engine.sides import add_looked_up, add_own_side, side_spread
from granite_xai.evaluations.evaluations import Bins, Evaluations, Groups, Matrix
from granite_xai.masking.masking import Baseline, Masking

MOST_SHARES = 2**22
"""Entries of a table of shares by bin, split and value that is made at once."""


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

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """Mean over the rows of each side of the prediction's variance when the hidden columns are redrawn, (K, 2)."""
        ...

    def variances(self, coalition: Coalition) -> FloatArray:
        """Variance of ``F_T`` on each side, (K, 2)."""
        ...

    def attribution(self, term: PairwiseShapley) -> FloatArray:
        """Mean of the pairwise attributions of each row against the references, shape (K, n)."""
        ...


def masked_model(masking: Masking, evaluations: Evaluations, splits: Splits) -> MaskedModel:
    """The masked model of a node for one masking operator."""
    if not isinstance(masking, Baseline):
        return Averaged(masking, evaluations, splits)
    return (
        RegionBaseline(evaluations, splits) if masking.row == "region" else FixedBaseline(masking, evaluations, splits)
    )


@dataclass(frozen=True, slots=True)
class Averaged:
    """Hidden columns are averaged over the rows of the region, all of them or those of the row's bin."""

    masking: Masking
    evaluations: Evaluations
    splits: Splits

    def __call__(self, coalition: Coalition) -> FloatArray:
        """``F_T`` at every row, shape (K, n) or (1, n)."""
        evaluations = self.evaluations
        if coalition == evaluations.everything:
            return evaluations.predictions[None]
        if not coalition:  # the same sums as for a constant column, whose effect is then exactly 0
            everyone = Matrix(evaluations.predictions[None], np.zeros(evaluations.n_rows, dtype=np.intp))
            return self.splits.pick(*self.tables(frozenset(), everyone))
        store, shown = evaluations.places[coalition]
        matrix = evaluations.matrices[store]
        return self._shown(coalition, matrix) if shown else self._hidden(coalition, matrix)

    def mean_loss(self, coalition: Coalition, loss: PairLoss) -> FloatArray:
        """Mean loss of the single recombined predictions behind ``F_T``, shape (K, n) or (1, n)."""
        evaluations = self.evaluations
        y = evaluations.target
        if coalition == evaluations.everything:
            return loss(evaluations.predictions + evaluations.pivot, y)[None]
        if not coalition:
            every_row = np.zeros(evaluations.n_rows, dtype=np.intp)
            return self._pairwise(coalition, Matrix(evaluations.predictions[None], every_row), loss, y)
        store, shown = evaluations.places[coalition]
        matrix = evaluations.matrices[store]
        if shown:
            return self._pairwise(coalition, matrix, loss, y)
        losses = evaluations.space.empty(matrix.values.shape)
        for part in evaluations.space.slices(len(losses), 24 * len(y)):
            losses[part] = loss(matrix.values[part] + evaluations.pivot, np.broadcast_to(y, losses[part].shape))
        return self._hidden(coalition, Matrix(losses, matrix.codes))

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """Mean over the rows of each side of the variance when the hidden columns are redrawn, (K, 2)."""
        evaluations, splits = self.evaluations, self.splits
        coalition = evaluations.everything - hidden
        matrix = evaluations.matrix(hidden) if coalition else _all_rows(evaluations)
        # Centred by the row's own prediction: a column that is constant in the region has variance exactly 0.
        deviations = evaluations.space.empty(matrix.values.shape)
        np.subtract(matrix.values, evaluations.predictions, out=deviations)
        sums, total, scales, bins = self._sums(coalition, Matrix(deviations, matrix.codes))
        np.square(deviations, out=deviations)
        squares, total_squares, _, _ = self._sums(coalition, Matrix(deviations, matrix.codes))
        spread = side_spread((sums, total), (squares, total_squares), scales, bins, splits.inside, splits.weights)
        return spread / splits.divisors

    def variances(self, coalition: Coalition) -> FloatArray:
        """Variance of ``F_T`` on each side, (K, 2)."""
        evaluations, splits = self.evaluations, self.splits
        store, shown = evaluations.places.get(coalition, (coalition, False))
        if not shown:
            return splits.variances(self(coalition))
        # F_S is a table over the values of S: so is its variance.
        matrix = evaluations.matrices[store]
        inner = splits.shares(matrix.codes, len(matrix.values))
        outer = np.bincount(matrix.codes, weights=splits.weights, minlength=len(matrix.values)) - inner
        tables = self.tables(coalition, matrix)
        found = [_variance(table, shares) for table, shares in zip(tables, (inner, outer), strict=True)]
        return np.stack(found, axis=1)

    def attribution(self, term: PairwiseShapley) -> FloatArray:
        """Mean of the pairwise attributions of each row against the rows of its side, (K, n)."""
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
        splits, bins = self.splits, self.bins(coalition)
        if bins is None:
            sums = splits.sums(matrix.values)
            rest = (matrix.values @ splits.weights) - sums
            inner, outer = splits.scales
            return sums * inner, rest * outer
        # A reference counts for a value only where both lie in one bin.
        by_value = bins.numbers[matrix.carriers]
        space = self.evaluations.space
        together = space.empty(matrix.values.shape)
        for part in space.slices(len(together), 10 * together.shape[1]):
            together[part] = np.where(by_value[part, None] == bins.numbers, matrix.values[part], 0.0)
        sums = splits.sums(together)
        rest = (together @ splits.weights) - sums
        inner, outer = self.scales(bins)
        return sums * inner[:, by_value], rest * outer[:, by_value]

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
        splits, bins = self.splits, self.bins(coalition)
        if bins is None:
            by_code = np.bincount(matrix.codes, weights=splits.weights, minlength=len(matrix.values))
            return splits.own_sums(matrix.values, matrix.codes), by_code @ matrix.values, splits.scales, None
        # Bin after bin into neighbouring columns, then back to the order of the rows in one pass.
        sums, total = np.empty(splits.inside.shape), np.empty(len(matrix.codes))
        end = 0
        for _, rows, inner, every, block in self.blocks_by_bin(matrix, bins):
            start, end = end, end + len(rows)
            np.matmul(inner, block, out=sums[:, start:end])
            total[start:end] = every @ block
        return sums.take(bins.places, axis=1), total[bins.places], self.scales(bins), bins.numbers

    def blocks_by_bin(self, matrix: Matrix, bins: Bins) -> Iterator[BinBlock]:
        """Some rows of a bin at a time.

        The bin, the rows, the weight of each value among the bin's inner rows (K, U) and among all (U,), and these
        values' evaluations at the rows (U, c).
        """
        space, count = self.evaluations.space, len(self.splits.inside)
        for number, (rows, inner, every, present) in enumerate(self._shares_by_bin(matrix, bins)):
            for part in space.slices(len(rows), 8 * (len(every) + count)):
                chosen = rows[part]
                values = matrix.values
                block = values[:, chosen] if present is None else values[np.ix_(present, chosen)]
                yield number, chosen, inner, every, block

    def _shares_by_bin(
        self, matrix: Matrix, bins: Bins
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray, IntArray | None]]:
        """For each bin: its rows, the weight of each value among its inner rows and among all, and which values.

        All bins and values (None) at once while that table is small; with very many bins one by one, each with its own.
        """
        splits, count, n_bins = self.splits, len(matrix.values), len(bins.blocks)
        if n_bins * count * len(splits.inside) <= MOST_SHARES:
            inner = splits.shares_by_bin(matrix.codes, count, bins.numbers, n_bins)
            cells = bins.numbers * count + matrix.codes
            every = np.bincount(cells, weights=splits.weights, minlength=n_bins * count).reshape(n_bins, count)
            for number, rows in enumerate(bins.blocks):
                yield rows, inner[number], every[number], None
            return
        for rows in bins.blocks:
            present, codes = np.unique(matrix.codes[rows], return_inverse=True)
            part, codes = splits.at(rows), codes.reshape(-1)
            everyone: FloatArray = np.bincount(codes, weights=part.weights).astype(np.float64)
            yield rows, part.shares(codes, len(present)), everyone, present

    def scales(self, bins: Bins) -> tuple[FloatArray, FloatArray]:
        """One over the mass of each side in each bin, (K, B); 1 where a side has no row there: it is never read."""
        splits, n_bins = self.splits, len(bins.blocks)
        inner = splits.shares(bins.numbers, n_bins)
        outer = np.bincount(bins.numbers, weights=splits.weights, minlength=n_bins) - inner
        # What is left after subtracting may be round-off: less than the lightest row is nothing.
        outer = np.where(outer < 0.5 * splits.weights.min(), 0.0, outer)
        return 1.0 / np.where(inner > 0, inner, 1.0), 1.0 / np.where(outer > 0, outer, 1.0)

    def bins(self, coalition: Coalition) -> Bins | None:
        """Bins of the visible columns; None when all rows share one."""
        return self.evaluations.bins.get((self.masking, coalition))

    def _pairwise(self, coalition: Coalition, matrix: Matrix, loss: PairLoss, y: FloatArray) -> FloatArray:
        """Mean over references m of ``L(E_S[code(n), m], y_n)``: every pair of rows of a bin."""
        splits, pivot, bins = self.splits, self.evaluations.pivot, self.bins(coalition)
        result = np.zeros(splits.inside.shape)
        for rows in [np.arange(len(y))] if bins is None else bins.blocks:
            scales, inner = _block_scales(splits, rows), splits.inner[:, rows]
            for chosen in (rows[part] for part in self.evaluations.space.slices(len(rows), 24 * len(rows))):
                hybrids = matrix.values[np.ix_(matrix.codes[chosen], rows)] + pivot
                losses = loss(hybrids, np.broadcast_to(y[chosen][:, None], hybrids.shape)).T
                part = np.zeros((len(splits.mass), len(chosen)))
                sums, total = inner @ losses, splits.weights[rows] @ losses
                add_own_side(part, 1.0, sums, total, scales, None, splits.inside[:, chosen])
                result[:, chosen] = part
        return result


Sums = tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray], "IntArray | None"]
BinBlock = tuple[int, IntArray, FloatArray, FloatArray, FloatArray]


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


def _block_scales(splits: Splits, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
    """One over the mass of each side among some rows, as columns; 1 for an empty side, whose cells are never read."""
    inner, outer = splits.inner[:, rows].sum(axis=1, keepdims=True), splits.outer[:, rows].sum(axis=1, keepdims=True)
    return 1.0 / np.where(inner > 0, inner, 1.0), 1.0 / np.where(outer > 0, outer, 1.0)


def _variance(table: FloatArray, shares: FloatArray) -> FloatArray:
    """Variance of each line of a table under the shares of its entries; 0 where nothing has a share."""
    mass = shares.sum(axis=1, keepdims=True)
    shares = shares / np.where(mass > 0, mass, 1.0)
    means = np.einsum("ku,ku->k", shares, table)
    variances: FloatArray = np.einsum("ku,ku->k", shares, np.square(table - means[:, None]))
    return variances

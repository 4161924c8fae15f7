"""Losses in one pass: what a row has, its loss and the sums of both sides, some rows at a time.

No array of one value a split and row is made for the parts of what a row has. That is the gap of a set S of a local
question under marginal masking, with four numbers a, b, c, e,

    a F + b F_S + c F_{-S} + e F_0

or, for the risk, ``F_T - y``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import Coalition, Elementwise, FloatArray, IntArray, Terms
from granite_xai.engine.masked import Averaged, MaskedModel
from granite_xai.engine.membership import Splits, blocks
from granite_xai.engine.sides import Means, add_losses, pays
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.masking.masking import Marginal

LOSSES: dict[Elementwise, bool] = {np.square: True, np.abs: False}
"""Losses of a gap that the pass knows: whether they are the square."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleGap:
    """The gap of one set: which set, and the numbers in front of ``F``, ``F_S``, ``F_{-S}`` and ``F_0``."""

    columns: Coalition
    terms: Terms

    def is_single(self, everything: Coalition) -> bool:
        """Whether the gap reads nothing but the set and its complement."""
        return self.terms.keys() <= {frozenset(), self.columns, everything - self.columns, everything}


def side_losses(gaps: Sequence[SingleGap], loss: Elementwise, evaluations: Evaluations, splits: Splits) -> FloatArray:
    """Mean loss over the rows of both sides of every split, summed over the sets, (K, 2)."""
    total = np.zeros((2, len(splits.inside)))
    for gap in gaps:
        _add_losses(total, gap, LOSSES[loss], evaluations.own(gap.columns), splits)
    return total.T / splits.divisors


def applies(gaps: Sequence[SingleGap], loss: Elementwise, evaluations: Evaluations, splits: Splits) -> bool:
    """Whether the pass knows the loss and the gaps, and is worth its start."""
    known = bool(gaps) and loss in LOSSES and pays(splits.inside)
    return known and all(gap.columns in evaluations.own(gap.columns).places for gap in gaps)


def _add_losses(total: FloatArray, gap: SingleGap, squared: bool, evaluations: Evaluations, splits: Splits) -> None:
    store, _ = evaluations.places[gap.columns]
    matrix, everything, weights = evaluations.matrices[store], evaluations.everything, evaluations.weights
    whole, shown = gap.terms.get(everything, 0.0), gap.terms.get(store, 0.0)
    hidden, empty = gap.terms.get(everything - store, 0.0), gap.terms.get(frozenset(), 0.0)
    scales, predictions = _scales(splits), evaluations.predictions
    mean = splits.sums_by_value(predictions[None])[0]
    at = empty * scales * np.stack([mean, predictions @ weights - mean])
    shown_sums, shown_total = splits.sums_by_value(matrix.values), matrix.values @ weights
    table = Means(shown_sums, shown_total, shown * scales)
    masked = Averaged(Marginal(), evaluations, splits)
    for rows, means in _hidden_means(masked, everything - store, matrix):
        own, codes, inside = whole * predictions[rows], matrix.codes[rows], splits.inside_by_row[rows]
        part = Means(means.sums, means.total, hidden * means.scales)
        add_losses(total, own, at, part, table, codes, inside, weights[rows], squared=squared)


def mean_residual_loss(
    masked: MaskedModel, coalition: Coalition, own: FloatArray, *, squared: bool
) -> FloatArray | None:
    """Mean loss of ``F_T`` plus a number of each row, on each side, (K, 2); None where the pass has no way."""
    if not isinstance(masked, Averaged) or not pays(masked.splits.inside):
        return None
    evaluations, splits = masked.evaluations, masked.splits
    store, shown = evaluations.places.get(coalition, (coalition, True))
    if store not in evaluations.matrices or (shown and masked.bins(coalition) is not None):
        return None
    matrix, count = evaluations.matrices[store], len(splits.inside)
    total, at, nothing = np.zeros((2, count)), np.zeros((2, count)), Means.none(count)
    every_row = np.zeros(len(own), dtype=np.intp)
    if shown:
        table = Means(splits.sums_by_value(matrix.values), matrix.values @ splits.weights, _scales(splits))
        parts: Iterable[tuple[slice | IntArray, Means, Means, IntArray]] = (
            (rows, Means.none(count, rows.stop - rows.start), table, matrix.codes[rows])
            for rows in blocks(len(own), count)
        )
    else:
        parts = ((rows, means, nothing, every_row[rows]) for rows, means in _hidden_means(masked, coalition, matrix))
    for rows, hidden, table, codes in parts:
        inside, weights = splits.inside_by_row[rows], splits.weights[rows]
        add_losses(total, own[rows], at, hidden, table, codes, inside, weights, squared=squared)
    return total.T / splits.divisors


def _hidden_means(masked: Averaged, coalition: Coalition, matrix: Matrix) -> Iterator[tuple[slice | IntArray, Means]]:
    """``F_{-S}`` of some rows at a time: a few, or those of one bin."""
    splits, bins = masked.splits, masked.bins(coalition)
    if bins is None:
        scales = _scales(splits)
        by_code = np.bincount(matrix.codes, weights=splits.weights, minlength=len(matrix.values))
        total = by_code @ matrix.values
        for part, sums in splits.own_sums_by_row(matrix.values, matrix.codes):
            yield part, Means(sums, total[part], scales)
        return
    by_bin = np.stack(masked.scales(bins))
    for number, rows, inner, every, block in masked.blocks_by_bin(matrix, bins):
        yield rows, Means(block.T @ inner.T, every @ block, np.ascontiguousarray(by_bin[:, :, number]))


def _scales(splits: Splits) -> FloatArray:
    """One over the mass of both sides, (2, K)."""
    return np.ascontiguousarray(1.0 / splits.divisors.T)

"""``F_T`` as a weighted mean over the rows of the region: conditional masking by density ratios.

With ``E_i`` of one column and ``W[q, n] = p(x_i in q | other columns of row n) / p(x_i in q)`` (`DensityRatios`), the
rows m of a region stand for draws from its marginal distribution, and ratios turn their mean into a conditional one:

    shown i    F_i(x_n)      = sum_m W[q(n), m] E_i[code(n), m] / sum_m W[q(n), m]
    hidden i   F_{D-i}(x_n)  = sum_m W[q(m), n] E_i[code(m), n] / sum_m W[q(m), n]

Rows with the same code and interval are one entry, so that sums run over entries instead of rows. Bins are the case
of weights that are 0 or 1 (`Averages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.compute import primitives
from granite_xai.compute.primitives import SPREAD, Part
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import HybridFunction, RowValues, Tiles, sum_row_values
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix


class Entries(NamedTuple):
    """The distinct pairs of a value of ``E_i`` and an interval of the column, in one node."""

    predictions: FloatArray  # (entries, n): lines of E_i
    ratios: FloatArray  # (entries, n): lines of W
    of_row: IntArray  # (n,): entry of each row


class WeightedBlock(NamedTuple):
    """Some rows against all that their means are taken over: entries, or rows of the node."""

    rows: slice
    predictions: FloatArray  # (references, rows)
    ratios: FloatArray  # (references, rows)
    sums: Callable[
        [FloatArray], tuple[FloatArray, FloatArray]
    ]  # of a block over the left rows, and over all rows


@dataclass(frozen=True, eq=False)
class WeightedAverages(Masked):
    """The masked model of a node, where single columns are shown or hidden."""

    evaluations: Evaluations
    splits: Splits
    densities: Mapping[Coalition, DensityRatios]  # by visible columns

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models."""
        unweighted: dict[Term, float] = {}
        weighted = []
        for term, coefficient in terms.items():
            if not isinstance(term, frozenset) or not self._is_weighted(term):
                unweighted[term] = coefficient
            elif self._is_shown(term):
                part = self._table(term, coefficient)
                weighted.append(RowValues(self.splits.zeros, parts=(part,), by_class=True))
            else:
                tiles = self._means(term, coefficient)
                weighted.append(RowValues(self.splits.zeros, tiled=tiles))
        values = [self._averages.combined(unweighted), *weighted]
        return sum_row_values(values, self.splits)

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The weighted mean of a function of the hybrid predictions of some rows."""
        if not self._is_weighted(coalition):
            return self._averages.averaged(coalition, function)
        return RowValues(self.splits.zeros, tiled=self._means(coalition, 1.0, function))

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """Mean over the rows of each side of the variance when the hidden column is redrawn, (2, K)."""
        visible = self.evaluations.everything - hidden
        if not self._is_weighted(visible):
            return self._averages.total_variance(hidden)
        splits = self.splits
        total = np.zeros((2, 2, splits.count))
        for block in self._blocks(visible):
            predictions = primitives.take(self._averages.predictions, block.rows, 0)
            deviations = block.predictions - predictions[None, :]
            left_ratios, ratios = block.sums(block.ratios)
            scale = self._scale(left_ratios, ratios)
            each_row = np.arange(deviations.shape[1])  # a bin of its own
            parts = []
            for moment in (deviations**2, deviations):
                left, total_moment = block.sums(moment * block.ratios)
                parts.append(Part(left=left, total=total_moment, scale=scale, bins=each_row))
            total = primitives.side_sums(
                SPREAD,
                primitives.take(splits.zeros, block.rows, 0),
                None,
                tuple(parts),
                primitives.take(splits.members, block.rows, 0),
                primitives.take(splits.row_weights, block.rows, 0),
                total,
            )
        return total[0, :, :] * splits.scale[0, :, :]

    @cached_property
    def _averages(self) -> Averages:
        """What is not weighted: the model itself, and its mean over all rows."""
        return Averages(self.evaluations, self.splits)

    def _is_weighted(self, term: object) -> bool:
        return term in self.densities

    def _is_shown(self, visible: Coalition) -> bool:
        """Whether the column of the ratios is the visible one."""
        return visible == {self.densities[visible].column}

    def _entries(self, visible: Coalition) -> Entries:
        """The entries of the column that is shown or hidden."""
        densities = self.densities[visible]
        matrix = self._matrix(frozenset({densities.column}))
        value_of_row = matrix.present.number_of_row
        value_and_interval = value_of_row * len(densities.ratios) + densities.intervals
        _, carriers, entry_of_row = np.unique(
            value_and_interval, return_index=True, return_inverse=True
        )
        return Entries(
            predictions=primitives.take(matrix.values, matrix.codes[carriers], 0),
            ratios=densities.ratios[densities.intervals[carriers]],
            of_row=entry_of_row.reshape(-1),
        )

    def _matrix(self, column: Coalition) -> Matrix:
        """``E_i`` with one line a value and one column a row of the node."""
        matrix, is_shown = self.evaluations.stored(column)
        if is_shown:
            return matrix.compact()
        return self.evaluations.matrix(column)

    def _scale(self, left: FloatArray, total: FloatArray, coefficient: float = 1.0) -> FloatArray:
        """A coefficient over the weights of both sides, (rows, 2, K); the coefficient itself where a side is empty."""
        right = total[:, None] - left
        mass = np.stack([left, right], axis=1)
        inhabited = np.asarray(self.splits.mass.T > 0, dtype=np.float64)[None, :, :]
        return coefficient / np.where(inhabited, mass, np.ones_like(mass))

    def _table(self, visible: Coalition, coefficient: float) -> Part:
        """``F_i`` of a column that is shown: one mean for each entry."""
        entries = self._entries(visible)
        left, total = self.splits.sums((entries.predictions * entries.ratios).T)
        left_ratios, ratios = self.splits.sums(entries.ratios.T)
        scale = self._scale(left_ratios, ratios, coefficient)
        entry_of_row = entries.of_row
        return Part(left=left, total=total, scale=scale, index=entry_of_row, bins=entry_of_row)

    def _means(
        self, visible: Coalition, coefficient: float, function: HybridFunction | None = None
    ) -> Tiles:
        """Means of each row's hybrid predictions, or of a function of them, some rows at a time."""
        for block in self._blocks(visible):
            values = block.predictions
            if function is not None:
                values = np.asarray(function(values, block.rows), dtype=np.float64)
            left, total = block.sums(values * block.ratios)
            left_ratios, ratios = block.sums(block.ratios)
            scale = self._scale(left_ratios, ratios, coefficient)
            each_row = np.arange(values.shape[1])  # a bin of its own
            yield block.rows, Part(left=left, total=total, scale=scale, bins=each_row)

    def _blocks(self, visible: Coalition) -> Iterator[WeightedBlock]:
        """Every row against the references of its mean."""
        entries = self._entries(visible)
        splits = self.splits
        n_entries = entries.ratios.shape[0]
        if self._is_shown(visible):  # the references are the rows of the node
            width = max(splits.n_rows, splits.count)
            for rows in splits.tiles(splits.n_rows, width, self.evaluations.block):
                entry_of_row = entries.of_row[rows]
                yield WeightedBlock(
                    rows=rows,
                    predictions=primitives.take(entries.predictions, entry_of_row, 0).T,
                    ratios=primitives.take(entries.ratios, entry_of_row, 0).T,
                    sums=splits.sums,
                )
            return
        # The references are the entries, by their share of each side.
        left_share, share = splits.shares(entries.of_row, n_entries)
        width = max(n_entries, splits.count)
        for rows in splits.tiles(splits.n_rows, width, self.evaluations.block):
            yield WeightedBlock(
                rows=rows,
                predictions=primitives.take(entries.predictions, rows, 1),
                ratios=primitives.take(entries.ratios, rows, 1),
                sums=partial(splits.by_share, left_share, share),
            )


def weights_of_rows(shown: bool, densities: DensityRatios, references: DensityRatios) -> FloatArray:
    """Weights of some reference rows in the means at other rows, (rows, references).

    Parameters
    ----------
    shown : bool
        Whether the column of the ratios is visible.
    densities, references : DensityRatios
        Of the explained rows, and of the reference rows.
    """
    if shown:
        return references.ratios[densities.intervals]
    return densities.ratios[references.intervals].T

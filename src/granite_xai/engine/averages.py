"""``F_T`` as a mean over the rows of the region, all of them or those of the row's bin.

Marginal and conditional masking are one computation: hidden columns are averaged over the rows of the region
that share the bin of the visible ones, and marginal masking has one bin. With ``E_S`` of U values, and with
sums over one side of a split (docs/method.rst, "What the model is asked"):

    S shown    F_S(x_n)             = mean over rows m of E_S[u(n), m]: a table with one entry a value
    S hidden   F_{D without S}(x_n) = mean over rows m of E_S[u(m), n]: values u by their share of a side

With about as many values as rows, both means are taken over pairs of rows (m, n) instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, PairwiseShapley, Terms
from granite_xai.compute import primitives
from granite_xai.compute.primitives import SPREAD, Part
from granite_xai.engine.hybrids import Hybrids
from granite_xai.engine.marginal_means import MatrixTerms, marginal_means
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import HybridFunction, RowValues, Tiles, sum_row_values
from granite_xai.engine.splits import Splits
from granite_xai.engine.value_tables import ValueTables
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins


@dataclass(frozen=True, eq=False)
class Averages(Masked):
    """The masked model of a node.

    Parameters
    ----------
    evaluations : Evaluations
    splits : Splits
    bins : callable
        From the visible columns to the bins of the rows; None: all rows share one.
    """

    evaluations: Evaluations
    splits: Splits
    bins: Callable[[Coalition], Bins | None] = lambda visible: None

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models and pairwise attributions."""
        of_row = self.splits.zeros
        of_side = None
        marginal: dict[Matrix, MatrixTerms] = {}
        parts: list[Part] = []
        tiles: list[Tiles] = []
        table_maker = ValueTables(self.splits, self.evaluations.block)
        for term, coefficient in terms.items():
            if not isinstance(term, frozenset | PairwiseShapley):
                raise TypeError(f"{term} is no masked model")
            if term == self.evaluations.everything:
                of_row = of_row + coefficient * self.predictions
                continue
            if not term:
                of_side = coefficient * self.mean
                continue
            matrix, is_shown = self.evaluations.stored(term)
            bins = self.bins(term) if isinstance(term, frozenset) else None
            if bins is None:
                matrix_terms = marginal.setdefault(matrix, MatrixTerms(matrix))
                if is_shown:
                    matrix_terms.shown = coefficient
                else:
                    matrix_terms.hidden = coefficient
            elif is_shown:
                parts.append(table_maker.of_values_and_bins(matrix, bins, coefficient))
            else:
                tiles.append(self._hybrids_of(matrix, is_shown, bins).means(coefficient))
        block = self.evaluations.block
        tables, marginal_tiles = marginal_means(list(marginal.values()), self.splits, block)
        if marginal_tiles is not None:
            tiles.insert(0, marginal_tiles)
        values = RowValues(of_row=of_row, of_side=of_side, parts=(*parts, *tables))
        in_tiles = [RowValues(self.splits.zeros, tiled=means) for means in tiles]
        return sum_row_values([values, *in_tiles], self.splits)

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the references of a function of the hybrid predictions (references, c) of some rows."""
        means = self._hybrids(coalition).means(1.0, function)
        return RowValues(self.splits.zeros, tiled=means)

    def total_variance(self, hidden: Coalition) -> FloatArray:
        """Mean over the rows of each side of the variance when the hidden columns are redrawn, (2, K).

        For each row it is the mean square minus the squared mean of its hybrid predictions (mode `SPREAD`).
        """
        splits = self.splits
        total = np.zeros((2, 2, splits.count))
        for block in self._hybrids(self.evaluations.everything - hidden).blocks():
            # Centred by the row's own prediction: a column that is constant in the region has variance exactly 0.
            deviations = (
                block.predictions - primitives.take(self.predictions, block.rows, 0)[None, :]
            )
            left_squares, squares = block.sums(deviations**2)
            left_sums, sums = block.sums(deviations)
            mean_square = Part(left=left_squares, total=squares, scale=block.scale)
            mean = Part(left=left_sums, total=sums, scale=block.scale)
            total = primitives.side_sums(
                SPREAD,
                primitives.take(splits.zeros, block.rows, 0),
                None,
                (mean_square, mean),
                primitives.take(splits.members, block.rows, 0),
                primitives.take(splits.row_weights, block.rows, 0),
                total,
            )
        return total[0, :, :] * splits.scale[0, :, :]

    @cached_property
    def predictions(self) -> FloatArray:
        """``F`` of every row, where sums are formed, (n,)."""
        return self.evaluations.predictions

    @cached_property
    def mean(self) -> FloatArray:
        """``F`` of nothing: the mean prediction of both sides, (2, K)."""
        left, total = self.splits.sums(self.predictions[:, None])
        sums = np.concatenate([left, total[:, None] - left], axis=0)
        return sums * self.splits.scale[0, :, :]

    def _hybrids(self, coalition: Coalition) -> Hybrids:
        """Every row against the references of its bin."""
        matrix, is_shown = self._stored(coalition)
        return self._hybrids_of(matrix, is_shown, self.bins(coalition))

    def _hybrids_of(self, matrix: Matrix, is_shown: bool, bins: Bins | None) -> Hybrids:
        return Hybrids(
            splits=self.splits,
            matrix=matrix,
            is_shown=is_shown,
            bins=bins,
            block=self.evaluations.block,
        )

    def _stored(self, coalition: Coalition) -> tuple[Matrix, bool]:
        """Where a coalition is read; the empty one shows the reference's own prediction."""
        if coalition:
            return self.evaluations.stored(coalition)
        values = self.evaluations.predictions[None]
        return Matrix(values=values, codes=np.zeros(self.splits.n_rows, dtype=np.intp)), True

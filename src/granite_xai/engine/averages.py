"""``F_T`` as a mean over the rows of the region, all of them or those of the row's bin, for a batch of splits.

Marginal and conditional masking are one computation: hidden columns are averaged over the rows of the region that
share the bin of the visible ones, and marginal masking has one bin. With ``E_S`` of U values,

    shown S    a table with one entry a value: sums of E_S[u, m] over the rows m of a side
    hidden S   sums of E_S[u, n] over the values u, weighted by their share of a side; with about as many values as
               rows, sums of E_S[code(m), n] over the rows m
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, IntArray, PairwiseShapley, Terms
from granite_xai.compute.primitives import SPREAD, Array, ArrayNamespace, Pairs, Part
from granite_xai.engine.masked import HybridFunction, Masked, Rows, RowValues, Tiles, joined
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins

MOST_SHARES = 2**22  # entries of a table of shares by bin, value and split that is made at once
FEW_CELLS = 2**16  # cells of replicates up to which bins are not worth a visit each
MOST_BINS = 64  # bins that are visited one by one; with more of them, all pairs of rows are looked at instead
Merged = dict[
    Matrix, tuple[float, float]
]  # coefficients of the complement's and of the set's own masked model
Alike = (
    tuple[IntArray, IntArray] | None
)  # bins of references and of entries, within which sums are formed; None: one
Summed = Callable[
    [Array], tuple[Array, Array]
]  # from a block, one line a reference, to sums over the left and all
# some rows, their predictions with hidden columns taken from references, and how to average over these: sums and scale
Hybrids = tuple[Rows, Array, Summed, Array]


@dataclass(frozen=True, eq=False)
class Averages(Masked):
    """The masked model of a node."""

    evaluations: Evaluations
    splits: Splits
    bins: Callable[[Coalition], Bins | None] = lambda visible: (
        None
    )  # of the rows, by visible columns; None: one

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of masked models and pairwise attributions."""
        evaluations = self.evaluations
        own, at = self.splits.zeros, None
        merged, parts, binned = Merged(), list[Part](), list[Tiles]()
        for term, coefficient in terms.items():
            if not isinstance(term, frozenset | PairwiseShapley):
                raise TypeError(f"{term} is no masked model")
            if term == evaluations.everything:
                own = own + coefficient * self.predictions
            elif not term:
                at = coefficient * self.mean
            elif isinstance(term, frozenset) and (bins := self.bins(term)) is not None:
                matrix, shown = evaluations.stored(term)
                if shown:
                    parts.append(self._table(matrix, bins, coefficient))
                else:
                    binned.append(self._means_by_row(term, coefficient))
            else:
                matrix, shown = evaluations.stored(term)
                hidden, visible = merged.get(matrix, (0.0, 0.0))
                merged[matrix] = (hidden, coefficient) if shown else (coefficient, visible)
        return self._with_tiles(RowValues(own, at, tuple(parts)), merged, binned)

    def _with_tiles(self, values: RowValues, merged: Merged, binned: list[Tiles]) -> RowValues:
        """Terms of one mass are added before they are averaged: pairs of rows as one block, the others as sums."""
        # One pass over the pairs serves all cuts; sums of whole lines and columns are products already.
        paired = {
            m
            for m in merged
            if m.has_many and (self.splits.families is not None or m.columns is not None)
        }
        pairs, few = (
            [(m, *both) for m, both in merged.items() if (m in paired) is many]
            for many in (True, False)
        )
        tables = [(self._table(matrix, None, 1.0), shown) for matrix, _, shown in few if shown]
        products = {matrix: hidden for matrix, hidden, _ in few if hidden}
        if len(tables) == 1 or not (pairs or products):
            own = (part._replace(scale=shown * part.scale) for part, shown in tables)
            values, tables = values._replace(parts=(*values.parts, *own)), []
        tilings: list[Tiles] = [self._tiles(pairs, products, tables)] if pairs or products else []
        tiled = (RowValues(self.splits.zeros, tiled=tiling) for tiling in (*tilings, *binned))
        return joined([values, *tiled], self.splits)

    def pair_block(self, terms: Terms, references: IntArray, rows: IntArray) -> Array:
        """A combination of some rows against every reference, (references, rows), where rows have no bins."""
        known, P = self.evaluations, self.splits.primitives
        at, own = terms.get(frozenset(), 0.0), terms.get(known.everything, 0.0)
        total = P.array(
            at * known.predictions[references][:, None] + own * known.predictions[rows][None, :]
        )
        for term, coefficient in terms.items():
            if term and term != known.everything:
                matrix, shown = known.stored(term)
                pairs, both = matrix.pairs, (0.0, coefficient) if shown else (coefficient, 0.0)
                total = total + P.pair_block(
                    matrix.values, pairs.at(references), pairs.at(rows), *both
                )
        return total

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the references of a function of the hybrid predictions (m, c) of some rows."""
        return RowValues(self.splits.zeros, tiled=self._means_by_row(coalition, 1.0, function))

    def total_variance(self, hidden: Coalition) -> Array:
        """Mean over the rows of each side of the variance when the hidden columns are redrawn, (2, K)."""
        P, splits = self.splits.primitives, self.splits
        total = P.array(np.zeros((2, 2, splits.count)))
        for rows, block, summed, scale in self._hybrids(self.evaluations.everything - hidden):
            # Centred by the row's own prediction: a column that is constant in the region has variance exactly 0.
            deviations = block - P.take(self.predictions, rows, 0)[None, :]
            inside, weights = P.take(splits.flags, rows, 0), P.take(splits.row_weights, rows, 0)
            both = tuple(Part(*summed(moment), scale) for moment in (deviations**2, deviations))
            total = P.side_sums(
                SPREAD, P.take(splits.zeros, rows, 0), None, both, inside, weights, total
            )
        return total[0, :, :] * splits.scale[0, :, :]

    @cached_property
    def predictions(self) -> Array:
        """``F`` of every row, where sums are formed."""
        return self.splits.primitives.array(self.evaluations.predictions)

    @cached_property
    def mean(self) -> Array:
        """``F`` of nothing: the mean prediction of both sides, (2, K)."""
        left, total = self.splits.sums(self.predictions[:, None])
        return (
            self.splits.primitives.concat([left, total[:, None] - left], axis=0)
            * self.splits.scale[0, :, :]
        )

    def _table(self, matrix: Matrix, bins: Bins | None, coefficient: float) -> Part:
        """``F_S`` of columns that are shown: one entry a value and bin, from the references in it."""
        splits, P, (_, carriers, index) = self.splits, self.splits.primitives, matrix.present
        if bins is None:
            sums = self._entries(matrix, splits, matrix.pairs, carriers)
            return Part(*sums, coefficient * splits.scale, P.numbers(index))
        # Bins may tell values apart that are one line: the model does not, or one stands for the others.
        both = index * len(bins.blocks) + bins.numbers
        _, carriers, index = np.unique(both, return_index=True, return_inverse=True)
        by_value = bins.numbers[carriers]
        few = splits.lines is not None and splits.n_rows * len(carriers) <= FEW_CELLS
        if few or len(bins.blocks) > MOST_BINS:
            left, total = self._entries(
                matrix, splits, matrix.pairs, carriers, (bins.numbers, by_value)
            )
        else:
            entries = [np.flatnonzero(by_value == number) for number in range(len(bins.blocks))]
            used = [
                (rows, carriers[chosen])
                for rows, chosen in zip(bins.blocks, entries, strict=True)
                if len(chosen)
            ]
            found = [
                self._entries(matrix, splits.at(rows), matrix.pairs.at(rows), some)
                for rows, some in used
            ]
            left, total = (P.concat([each[k] for each in found], axis=0) for k in (0, 1))
            index = np.argsort(np.concatenate(entries))[index]
        scale = coefficient * splits.scales(bins.numbers, len(bins.blocks))
        return Part(left, total, scale, P.numbers(index), P.numbers(bins.numbers))

    def _entries(
        self,
        matrix: Matrix,
        splits: Splits,
        references: Pairs,
        carriers: IntArray,
        alike: Alike = None,
    ) -> tuple[Array, Array]:
        """Sums of the lines of some rows over references, (rows, K) and (rows,); only within equal bins."""
        P, found = splits.primitives, []
        for some in splits.tiles(len(carriers), splits.n_rows, self.evaluations.block):
            if matrix.columns is None and references is matrix.pairs:  # all rows, in their order
                block = P.take(matrix.values, matrix.codes[carriers[some]], 0).T
            else:
                block = P.pair_block(
                    matrix.values, references, matrix.pairs.at(carriers[some]), 0.0, 1.0
                )
            if alike is not None:
                block = block * P.array(alike[0][:, None] == alike[1][some][None, :])
            found.append(splits.sums(block))
        return (
            found[0]
            if len(found) == 1
            else tuple(P.concat([each[k] for each in found], axis=0) for k in (0, 1))
        )

    def _tiles(
        self,
        pairs: list[tuple[Matrix, float, float]],
        products: dict[Matrix, float],
        tables: list[tuple[Part, float]],
    ) -> Iterator[tuple[Rows, Part]]:
        """Means over all rows of a side: of pairs of rows, of values by their share, and of tables."""
        P, splits = self.splits.primitives, self.splits
        shares = [
            [hidden * sums for sums in splits.shares(m.codes, m.n_values)]
            for m, hidden in products.items()
        ]
        width = max(
            [splits.count, splits.n_rows if pairs else 0, *(matrix.n_values for matrix in products)]
        )
        for rows in splits.tiles(splits.n_rows, width, self.evaluations.block):
            found: list[tuple[Array, Array]] = []
            if pairs:
                blocks = [
                    P.pair_block(m.values, m.pairs, m.pairs.at(rows), hide, show)
                    for m, hide, show in pairs
                ]
                found.append(splits.sums(sum(blocks[1:], blocks[0])))
            for matrix, (left, total) in zip(products, shares, strict=True):
                found.append(splits.by_share(left, total, matrix.values[:, rows]))
            for table, coefficient in tables:
                index = P.take(table.index, rows, 0)
                found.append(
                    tuple(
                        coefficient * P.take(sums, index, 0) for sums in (table.left, table.total)
                    )
                )
            lefts, totals = zip(*found, strict=True)
            yield rows, Part(sum(lefts[1:], lefts[0]), sum(totals[1:], totals[0]), splits.scale)

    def _means_by_row(
        self, coalition: Coalition, coefficient: float, function: HybridFunction | None = None
    ) -> Tiles:
        """Means over the references of each row's bin, of hybrid predictions or of a function of them."""
        P, held, size = self.splits.primitives, list[Any](), 0
        most = min(P.cells, self.evaluations.block // 32) // self.splits.count
        for rows, block, summed, scale in self._hybrids(coalition):
            values = block if function is None else P.array(function(P.host(block), rows))
            held.append((rows, *summed(values), coefficient * scale))
            size += block.shape[1] + 2  # lines of each split: sums of the rows, and both scales
            if isinstance(rows, slice) or size >= most:
                yield _together(held, P)
                held, size = [], 0
        yield from [_together(held, P)] if held else []

    def _hybrids(self, coalition: Coalition) -> Iterator[Hybrids]:
        """Every row against the references of its bin, some rows at a time."""
        splits, P = self.splits, self.splits.primitives
        everyone, bins = np.zeros(splits.n_rows, dtype=np.intp), self.bins(coalition)
        alone = (
            Matrix(P.array(self.evaluations.predictions[None]), everyone),
            True,
        )  # the reference's own prediction
        matrix, shown = self.evaluations.stored(coalition) if coalition else alone
        groups, numbers = (
            ([np.arange(splits.n_rows)], everyone) if bins is None else (bins.blocks, bins.numbers)
        )
        scale, count = splits.scales(numbers, len(groups)), matrix.n_values
        by_pair = shown or matrix.has_many or len(groups) * count * splits.count > MOST_SHARES
        if not by_pair:
            left, every = splits.shares(numbers * count + matrix.codes, len(groups) * count)
        for number, members in enumerate(groups):
            if by_pair:
                references, both = matrix.pairs.at(members), (0.0, 1.0) if shown else (1.0, 0.0)
                summed: Summed = splits.sums if bins is None else splits.at(members).sums
            else:
                part = slice(number * count, (number + 1) * count)
                summed = partial(splits.by_share, left[part, :], every[part])
            width = max(len(members) if by_pair else count, splits.count)
            for some in splits.tiles(len(members), width, self.evaluations.block):
                rows: Rows = some if bins is None else members[some]
                if by_pair:
                    block = P.pair_block(matrix.values, references, matrix.pairs.at(rows), *both)
                else:
                    block = P.take(matrix.values, rows, 1)
                yield rows, block, summed, scale[number : number + 1, :, :]


def _together(
    parts: list[tuple[Rows, Array, Array, Array]], P: ArrayNamespace
) -> tuple[Rows, Part]:
    """The rows of several bins, which are few each, with their sums and scales as one part."""
    if len(parts) == 1:
        return parts[0][0], Part(*parts[0][1:])
    rows, *sums = zip(*parts, strict=True)
    left, total, scale = (P.concat(each, axis=0) for each in sums)
    bins = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    return np.concatenate(rows), Part(left, total, scale, bins=P.numbers(bins))

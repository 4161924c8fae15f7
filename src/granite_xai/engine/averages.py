"""``F_T`` as a mean over the rows of the region, all of them or those of the row's bin.

Marginal and conditional masking are one computation: hidden columns are averaged over the rows of the region
that share the bin of the visible ones, and marginal masking has one bin. With ``E_S`` of U values, and with
sums over one side of a split (method page, "What the model is asked"):

    S shown    F_S(x_n)             = mean over rows m of E_S[u(n), m]: a table with one entry a value
    S hidden   F_{D without S}(x_n) = mean over rows m of E_S[u(m), n]: values u by their share of a side

With about as many values as rows, tables and shares save nothing. Then both means are taken over pairs of
rows (m, n), and one pass over the pairs serves all cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import Coalition, IntArray, PairwiseShapley, Terms
from granite_xai.compute.primitives import SPREAD, Array, ArrayNamespace, Part
from granite_xai.engine.masked import Masked
from granite_xai.engine.row_values import HybridFunction, RowIndex, RowValues, Tiles, joined
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins

MOST_SHARES = 2**22  # entries of a table of shares by bin, value and split that is made at once

# Bins up to so many are visited one by one: their rows are fewer pairs than all rows are. Replicates of
# few cells are not worth a visit a bin.
MOST_VISITED_BINS = 64
FEW_CELLS = 2**16

# From a block, one line a reference, (references, c), to sums over the left, (c, K), and over all, (c,).
SumOverReferences = Callable[[Array], tuple[Array, Array]]


class HybridBlock(NamedTuple):
    """Predictions of some rows with their hidden columns taken from references.

    Parameters
    ----------
    rows : slice or array
        The c rows.
    predictions : array of shape (references, c)
    sums : callable
        Sums over the references on each side.
    scale : array of shape (1, 2, K)
        One over the mass of the references on each side.
    """

    rows: RowIndex
    predictions: Array
    sums: SumOverReferences
    scale: Array


@dataclass(slots=True, eq=False)
class MatrixTerms:
    """The two masked models that are read from one matrix ``E_S``, with their coefficients."""

    matrix: Matrix
    hidden: float = 0.0  # of ``F_{D without S}``
    shown: float = 0.0  # of ``F_S``


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
        own = self.splits.zeros
        at = None
        by_matrix: dict[Matrix, MatrixTerms] = {}
        conditional_tables = []
        conditional_tiles = []
        for term, coefficient in terms.items():
            if not isinstance(term, frozenset | PairwiseShapley):
                raise TypeError(f"{term} is no masked model")
            if term == self.evaluations.everything:
                own = own + coefficient * self.predictions
                continue
            if not term:
                at = coefficient * self.mean
                continue
            matrix, shown = self.evaluations.stored(term)
            bins = self.bins(term) if isinstance(term, frozenset) else None
            if bins is not None and shown:
                conditional_tables.append(self._table_by_bin(matrix, bins, coefficient))
            elif bins is not None and isinstance(term, frozenset):
                conditional_tiles.append(self._means_by_row(term, coefficient))
            else:
                read = by_matrix.setdefault(matrix, MatrixTerms(matrix))
                if shown:
                    read.shown = coefficient
                else:
                    read.hidden = coefficient
        tables, tiles = self._marginal_means(list(by_matrix.values()))
        values = RowValues(own=own, at=at, parts=(*conditional_tables, *tables))
        tiled = [
            RowValues(self.splits.zeros, tiled=tiling) for tiling in (*tiles, *conditional_tiles)
        ]
        return joined([values, *tiled], self.splits)

    def pair_block(self, terms: Terms, references: IntArray, rows: IntArray) -> Array:
        """A combination of some rows against every reference, (references, rows), where rows have no bins."""
        P = self.splits.primitives
        predictions = self.evaluations.predictions
        everything = self.evaluations.everything
        of_references = terms.get(frozenset(), 0.0) * predictions[references]
        of_rows = terms.get(everything, 0.0) * predictions[rows]
        total = P.array(of_references[:, None] + of_rows[None, :])
        for term, coefficient in terms.items():
            if term and term != everything:
                matrix, shown = self.evaluations.stored(term)
                total = total + P.pair_block(
                    matrix.values,
                    matrix.pairs.at(references),
                    matrix.pairs.at(rows),
                    hidden=0.0 if shown else coefficient,
                    shown=coefficient if shown else 0.0,
                )
        return total

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """The mean over the references of a function of the hybrid predictions (references, c) of some rows."""
        return RowValues(self.splits.zeros, tiled=self._means_by_row(coalition, 1.0, function))

    def total_variance(self, hidden: Coalition) -> Array:
        """Mean over the rows of each side of the variance when the hidden columns are redrawn, (2, K)."""
        P = self.splits.primitives
        splits = self.splits
        total = P.array(np.zeros((2, 2, splits.count)))
        for block in self._hybrids(self.evaluations.everything - hidden):
            # Centred by the row's own prediction: a column that is constant in the region has variance exactly 0.
            deviations = block.predictions - P.take(self.predictions, block.rows, 0)[None, :]
            mean_square = Part(*block.sums(deviations**2), block.scale)
            mean = Part(*block.sums(deviations), block.scale)
            total = P.side_sums(
                SPREAD,
                P.take(splits.zeros, block.rows, 0),
                None,
                (mean_square, mean),
                P.take(splits.flags, block.rows, 0),
                P.take(splits.row_weights, block.rows, 0),
                total,
            )
        return total[0, :, :] * splits.scale[0, :, :]

    @cached_property
    def predictions(self) -> Array:
        """``F`` of every row, where sums are formed, (n,)."""
        return self.splits.primitives.array(self.evaluations.predictions)

    @cached_property
    def mean(self) -> Array:
        """``F`` of nothing: the mean prediction of both sides, (2, K)."""
        left, total = self.splits.sums(self.predictions[:, None])
        sums = self.splits.primitives.concat([left, total[:, None] - left], axis=0)
        return sums * self.splits.scale[0, :, :]

    def _marginal_means(self, terms: list[MatrixTerms]) -> tuple[list[Part], list[Tiles]]:
        """Means over all rows of a side: tables that every row reads, and what is made in tiles.

        What is made in tiles has one mass, that of the side, so all of it is added before it is averaged.
        """
        # Sums of whole lines and columns are products already; only cuts of columns gain from pairs.
        for_cuts = self.splits.families is not None
        pairs = []
        shown = []
        hidden = []
        for read in terms:
            if read.matrix.has_many_values and (for_cuts or read.matrix.column_of_row is not None):
                pairs.append(read)
                continue
            if read.shown:
                shown.append(read)
            if read.hidden:
                hidden.append(read)
        tables = [self._table(read.matrix) for read in shown]
        in_tiles = bool(pairs or hidden)
        if in_tiles and len(tables) != 1:
            return [], [self._tiles(pairs, hidden, shown, tables)]
        scaled = [
            table._replace(scale=read.shown * table.scale)
            for read, table in zip(shown, tables, strict=True)
        ]
        return scaled, [self._tiles(pairs, hidden, [], [])] if in_tiles else []

    def _tiles(
        self,
        pairs: list[MatrixTerms],
        hidden: list[MatrixTerms],
        shown: list[MatrixTerms],
        tables: list[Part],
    ) -> Iterator[tuple[RowIndex, Part]]:
        """Some rows at a time, the sum of marginal means.

        Parameters
        ----------
        pairs : list of MatrixTerms
            Averaged over pairs of rows.
        hidden : list of MatrixTerms
            Complements, averaged over values by their share of a side.
        shown : list of MatrixTerms
            Sets that are read from the ``tables`` of their values.
        """
        P = self.splits.primitives
        splits = self.splits
        shares = [self._shares(read) for read in hidden]
        widths = [splits.count, *(read.matrix.n_values for read in hidden)]
        if pairs:
            widths.append(splits.n_rows)
        for rows in splits.tiles(splits.n_rows, max(widths), self.evaluations.block):
            lefts = []
            totals = []
            if pairs:
                blocks = [self._pairs_of(read, rows) for read in pairs]
                left, total = splits.sums(sum(blocks[1:], blocks[0]))
                lefts.append(left)
                totals.append(total)
            for read, (left_share, share) in zip(hidden, shares, strict=True):
                left, total = splits.by_share(left_share, share, read.matrix.values[:, rows])
                lefts.append(left)
                totals.append(total)
            for read, table in zip(shown, tables, strict=True):
                entries = P.take(table.index, rows, 0)
                lefts.append(read.shown * P.take(table.left, entries, 0))
                totals.append(read.shown * P.take(table.total, entries, 0))
            left = sum(lefts[1:], lefts[0])
            total = sum(totals[1:], totals[0])
            yield rows, Part(left=left, total=total, scale=splits.scale)

    def _pairs_of(self, read: MatrixTerms, rows: slice) -> Array:
        """Both masked models of a matrix for some rows against all rows, (n, c)."""
        pairs = read.matrix.pairs
        return self.splits.primitives.pair_block(
            read.matrix.values, pairs, pairs.at(rows), read.hidden, read.shown
        )

    def _shares(self, read: MatrixTerms) -> tuple[Array, Array]:
        """The share of each value on the left, (U, K), and in all, (U,), times its coefficient."""
        left, total = self.splits.shares(read.matrix.codes, read.matrix.n_values)
        return read.hidden * left, read.hidden * total

    def _table(self, matrix: Matrix) -> Part:
        """``F_S``: one entry a value."""
        first_rows = matrix.present.first_rows
        blocks = []
        for chosen in self._tiles_of_entries(first_rows):
            left, total = self.splits.sums(self._lines_of(matrix, first_rows[chosen]))
            blocks.append((left, total))
        left, total = _concatenated(blocks, self.splits.primitives)
        return Part(
            left=left,
            total=total,
            scale=self.splits.scale,
            index=self.splits.primitives.numbers(matrix.present.number_of_row),
        )

    def _table_by_bin(self, matrix: Matrix, bins: Bins, coefficient: float) -> Part:
        """``F_S`` under conditional masking: one entry a value and bin, from the references in the bin."""
        P = self.splits.primitives
        n_bins = len(bins.rows_by_bin)
        # Bins may tell values apart that are one line: the model does not, or one stands for the others.
        value_and_bin = matrix.present.number_of_row * n_bins + bins.numbers
        _, first_rows, entries = np.unique(value_and_bin, return_index=True, return_inverse=True)
        bin_of_entry = bins.numbers[first_rows]
        is_small = (
            self.splits.lines is not None and self.splits.n_rows * len(first_rows) <= FEW_CELLS
        )
        if n_bins > MOST_VISITED_BINS or is_small:
            left, total = self._sums_of_equal_bins(matrix, bins, first_rows)
        else:
            left, total = self._sums_bin_by_bin(matrix, bins, first_rows)
            order = np.argsort(bin_of_entry, kind="stable")  # in which the sums were made
            place_of_entry = np.argsort(order)
            entries = place_of_entry[entries.reshape(-1)]
        return Part(
            left=left,
            total=total,
            scale=coefficient * self.splits.scales(bins.numbers, n_bins),
            index=P.numbers(entries.reshape(-1)),
            bins=P.numbers(bins.numbers),
        )

    def _sums_of_equal_bins(
        self, matrix: Matrix, bins: Bins, first_rows: IntArray
    ) -> tuple[Array, Array]:
        """Sums over the references in the bin of each entry, of all pairs of rows and entries."""
        P = self.splits.primitives
        bin_of_entry = bins.numbers[first_rows]
        blocks = []
        for chosen in self._tiles_of_entries(first_rows):
            lines = self._lines_of(matrix, first_rows[chosen])
            in_bin = bins.numbers[:, None] == bin_of_entry[chosen][None, :]
            blocks.append(self.splits.sums(lines * P.array(in_bin)))
        return _concatenated(blocks, P)

    def _sums_bin_by_bin(
        self, matrix: Matrix, bins: Bins, first_rows: IntArray
    ) -> tuple[Array, Array]:
        """The same sums of one bin after the other: its entries meet the rows of the bin alone."""
        P = self.splits.primitives
        bin_of_entry = bins.numbers[first_rows]
        blocks = []
        for number, members in enumerate(bins.rows_by_bin):
            carriers = first_rows[bin_of_entry == number]
            if len(carriers) == 0:
                continue
            in_bin = self.splits.at(members)
            references = matrix.pairs.at(members)
            for chosen in in_bin.tiles(len(carriers), in_bin.n_rows, self.evaluations.block):
                carried = matrix.pairs.at(carriers[chosen])
                lines = P.pair_block(matrix.values, references, carried, hidden=0.0, shown=1.0)
                blocks.append(in_bin.sums(lines))
        return _concatenated(blocks, P)

    def _tiles_of_entries(self, first_rows: IntArray) -> Iterator[slice]:
        return self.splits.tiles(len(first_rows), self.splits.n_rows, self.evaluations.block)

    def _lines_of(self, matrix: Matrix, carriers: IntArray) -> Array:
        """The lines of the values that some rows carry, at all rows, (n, carriers)."""
        P = self.splits.primitives
        if matrix.column_of_row is None:  # all rows, in their order
            return P.take(matrix.values, matrix.codes[carriers], 0).T
        pairs = matrix.pairs
        return P.pair_block(matrix.values, pairs, pairs.at(carriers), hidden=0.0, shown=1.0)

    def _means_by_row(
        self, coalition: Coalition, coefficient: float, function: HybridFunction | None = None
    ) -> Tiles:
        """Means over the references of each row's bin, of hybrid predictions or of a function of them."""
        P = self.splits.primitives
        most_lines = min(P.cells, self.evaluations.block // 32) // self.splits.count
        waiting: list[tuple[RowIndex, Part]] = []  # small bins, which are handed on together
        n_lines = 0
        for block in self._hybrids(coalition):
            values = block.predictions
            if function is not None:
                values = P.array(function(P.host(values), block.rows))
            left, total = block.sums(values)
            part = Part(left=left, total=total, scale=coefficient * block.scale)
            waiting.append((block.rows, part))
            n_lines += block.predictions.shape[1] + 2  # sums of the rows, and both scales
            if isinstance(block.rows, slice) or n_lines >= most_lines:
                yield _together(waiting, P)
                waiting = []
                n_lines = 0
        if waiting:
            yield _together(waiting, P)

    def _hybrids(self, coalition: Coalition) -> Iterator[HybridBlock]:
        """Every row against the references of its bin, some rows at a time."""
        splits = self.splits
        bins = self.bins(coalition)
        if bins is None:
            bin_numbers = np.zeros(splits.n_rows, dtype=np.intp)
            members_of_bin = [np.arange(splits.n_rows)]
        else:
            bin_numbers = bins.numbers
            members_of_bin = bins.rows_by_bin
        n_bins = len(members_of_bin)
        scale = splits.scales(bin_numbers, n_bins)  # (bins, 2, K)
        matrix, shown = self._stored(coalition)
        n_values = matrix.n_values
        by_pair = shown or matrix.has_many_values or n_bins * n_values * splits.count > MOST_SHARES
        if not by_pair:
            value_and_bin = bin_numbers * n_values + matrix.codes
            left_share, share = splits.shares(value_and_bin, n_bins * n_values)
        for number, members in enumerate(members_of_bin):
            if by_pair:
                in_bin = splits if bins is None else splits.at(members)
                sums: SumOverReferences = in_bin.sums
                references = matrix.pairs.at(members)
                n_references = len(members)
            else:
                own = slice(number * n_values, (number + 1) * n_values)
                sums = partial(splits.by_share, left_share[own, :], share[own])
                n_references = n_values
            width = max(n_references, splits.count)
            for some in splits.tiles(len(members), width, self.evaluations.block):
                rows: RowIndex = some if bins is None else members[some]
                if by_pair:
                    predictions = splits.primitives.pair_block(
                        matrix.values,
                        references,
                        matrix.pairs.at(rows),
                        hidden=0.0 if shown else 1.0,
                        shown=1.0 if shown else 0.0,
                    )
                else:
                    predictions = splits.primitives.take(matrix.values, rows, 1)
                yield HybridBlock(
                    rows=rows,
                    predictions=predictions,
                    sums=sums,
                    scale=scale[number : number + 1, :, :],
                )

    def _stored(self, coalition: Coalition) -> tuple[Matrix, bool]:
        """Where a coalition is read; the empty one shows the reference's own prediction."""
        if coalition:
            return self.evaluations.stored(coalition)
        values = self.splits.primitives.array(self.evaluations.predictions[None])
        return Matrix(values=values, codes=np.zeros(self.splits.n_rows, dtype=np.intp)), True


def _concatenated(blocks: list[tuple[Array, Array]], P: ArrayNamespace) -> tuple[Array, Array]:
    """Sums over the left and over all, of several blocks."""
    if len(blocks) == 1:
        return blocks[0]
    left = P.concat([left for left, _ in blocks], axis=0)
    total = P.concat([total for _, total in blocks], axis=0)
    return left, total


def _together(parts: list[tuple[RowIndex, Part]], P: ArrayNamespace) -> tuple[RowIndex, Part]:
    """The rows of several bins, which are few each, with their sums and scales as one part."""
    if len(parts) == 1:
        return parts[0]
    rows = [np.asarray(some_rows) for some_rows, _ in parts]
    bins = np.repeat(np.arange(len(rows)), [len(some_rows) for some_rows in rows])
    part = Part(
        left=P.concat([part.left for _, part in parts], axis=0),
        total=P.concat([part.total for _, part in parts], axis=0),
        scale=P.concat([part.scale for _, part in parts], axis=0),
        bins=P.numbers(bins),
    )
    return np.concatenate(rows), part

"""``F_S`` of columns S that are shown, as a table with one entry for each value.

With ``E_S`` of U values, a row reads the entry of its value u(n) (docs/method.rst, "What the model is asked"):

    F_S(x_n) = mean over rows m of E_S[u(n), m]

Marginal masking averages over all rows of a side, conditional masking over those in the bin of the row; its table
has one entry for each value and bin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import Part
from granite_xai.engine.pairs import hybrid_predictions
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins

# Bins up to so many are visited one by one: their rows are fewer pairs than all rows are. Replicates of
# few cells are not worth a visit a bin.
MOST_VISITED_BINS = 64
FEW_CELLS = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class ValueTables:
    """Makes tables for a batch of splits.

    Parameters
    ----------
    splits : Splits
    block : int
        Bytes of what is computed at a time.
    """

    splits: Splits
    block: int

    def of_values(self, matrix: Matrix) -> Part:
        """``F_S`` under marginal masking: one entry a value."""
        first_rows = matrix.present.first_rows
        sums = []
        for chosen in self._tiles_of_entries(first_rows):
            lines = self._lines_of(matrix, first_rows[chosen])
            sums.append(self.splits.sums(lines))
        left, total = _concatenated(sums)
        return Part(
            left=left,
            total=total,
            scale=self.splits.scale,
            index=matrix.present.number_of_row,
        )

    def of_values_and_bins(self, matrix: Matrix, bins: Bins, coefficient: float) -> Part:
        """``F_S`` under conditional masking, times a coefficient: one entry a value and bin.

        Parameters
        ----------
        matrix : Matrix
            ``E_S``.
        bins : Bins
            Of the rows, for the columns S.
        coefficient : float
        """
        n_bins = len(bins.rows_by_bin)
        # Bins may tell values apart that are one line: the model does not, or one stands for the others.
        value_and_bin = matrix.present.number_of_row * n_bins + bins.numbers
        _, first_rows, entries = np.unique(value_and_bin, return_index=True, return_inverse=True)
        entry_of_row = entries.reshape(-1)
        n_cells = self.splits.n_rows * len(first_rows)
        is_small = self.splits.lines is not None and n_cells <= FEW_CELLS
        if n_bins > MOST_VISITED_BINS or is_small:
            left, total = self._sums_of_equal_bins(matrix, bins, first_rows)
        else:
            left, total = self._sums_bin_by_bin(matrix, bins, first_rows)
            bin_of_entry = bins.numbers[first_rows]
            order_of_sums = np.argsort(bin_of_entry, kind="stable")
            place_of_entry = np.argsort(order_of_sums)
            entry_of_row = place_of_entry[entry_of_row]
        return Part(
            left=left,
            total=total,
            scale=coefficient * self.splits.scales(bins.numbers, n_bins),
            index=entry_of_row,
            bins=bins.numbers,
        )

    def _sums_of_equal_bins(
        self, matrix: Matrix, bins: Bins, first_rows: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums over the references in the bin of each entry: all pairs of rows and entries are made."""
        bin_of_entry = bins.numbers[first_rows]
        sums = []
        for chosen in self._tiles_of_entries(first_rows):
            lines = self._lines_of(matrix, first_rows[chosen])
            in_bin = bins.numbers[:, None] == bin_of_entry[chosen][None, :]
            sums.append(self.splits.sums(lines * in_bin))
        return _concatenated(sums)

    def _sums_bin_by_bin(
        self, matrix: Matrix, bins: Bins, first_rows: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same sums of one bin after the other: its entries meet the rows of the bin alone."""
        bin_of_entry = bins.numbers[first_rows]
        sums = []
        for number, members in enumerate(bins.rows_by_bin):
            carriers = first_rows[bin_of_entry == number]
            if len(carriers) == 0:
                continue
            in_bin = self.splits.at(members)
            references = matrix.pairs.at(members)
            for chosen in in_bin.tiles(len(carriers), in_bin.n_rows, self.block):
                carried = matrix.pairs.at(carriers[chosen])
                lines = hybrid_predictions(matrix, references, carried, is_shown=True)
                sums.append(in_bin.sums(lines))
        return _concatenated(sums)

    def _tiles_of_entries(self, first_rows: IntArray) -> Iterator[slice]:
        return self.splits.tiles(len(first_rows), self.splits.n_rows, self.block)

    def _lines_of(self, matrix: Matrix, carriers: IntArray) -> FloatArray:
        """The lines of the values that some rows carry, at all rows, (n, carriers)."""
        if matrix.column_of_row is None:  # all rows, in their order
            return np.asarray(matrix.values[matrix.codes[carriers]].T)
        pairs = matrix.pairs
        return hybrid_predictions(matrix, pairs, pairs.at(carriers), is_shown=True)


def _concatenated(sums: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Sums over the left, (entries, K), and over all, (entries,), of several tiles of entries."""
    if len(sums) == 1:
        return sums[0]
    left = np.concatenate([left for left, _ in sums], axis=0)
    total = np.concatenate([total for _, total in sums], axis=0)
    return left, total

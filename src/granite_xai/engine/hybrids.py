"""Predictions of rows with their hidden columns taken from references, some rows at a time.

The references of a row are the rows of its bin; marginal masking has one bin. What is read of them is a mean, of
the predictions or of a function of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import primitives
from granite_xai.compute.primitives import Part
from granite_xai.engine.pairs import hybrid_predictions
from granite_xai.engine.row_values import HybridFunction, RowIndex, Tiles
from granite_xai.engine.splits import TILE_CELL_BYTES, Splits
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins

MOST_SHARES = 2**22  # entries of a table of shares by bin, value and split that is made at once
SCALES_OF_PART = 2  # lines of a part beside its sums: one over the mass of each side

# From a block, one line a reference, (references, c), to sums over the left, (c, K), and over all, (c,).
SumOverReferences = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


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
    predictions: FloatArray
    sums: SumOverReferences
    scale: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Hybrids:
    """Every row of a node against the references of its bin.

    Parameters
    ----------
    splits : Splits
    matrix : Matrix
        ``E_S``.
    is_shown : bool
        Whether rows show S, or hide it.
    bins : Bins, optional
        Of the rows; None: all share one.
    block : int
        Bytes of what is computed at a time.
    """

    splits: Splits
    matrix: Matrix
    is_shown: bool
    bins: Bins | None
    block: int

    def blocks(self) -> Iterator[HybridBlock]:
        """Some rows at a time, each row once; those of one bin, or neighbouring ones."""
        n_shares = len(self._rows_by_bin) * self.matrix.n_values * self.splits.count
        if self.is_shown or self.matrix.has_many_values or n_shares > MOST_SHARES:
            return self._blocks_by_pair()
        return self._blocks_by_value()

    def means(self, coefficient: float, function: HybridFunction | None = None) -> Tiles:
        """Means over the references, times a coefficient.

        Parameters
        ----------
        coefficient : float
        function : callable, optional
            Applied to the predictions before they are averaged.
        """
        most_lines = min(primitives.CELLS, self.block // TILE_CELL_BYTES) // self.splits.count
        waiting: list[tuple[RowIndex, Part]] = []  # small bins, which are handed on together
        n_lines = 0
        for block in self.blocks():
            values = block.predictions
            if function is not None:
                values = np.asarray(function(values, block.rows), dtype=np.float64)
            left, total = block.sums(values)
            part = Part(left=left, total=total, scale=coefficient * block.scale)
            waiting.append((block.rows, part))
            n_lines += block.predictions.shape[1] + SCALES_OF_PART
            if isinstance(block.rows, slice) or n_lines >= most_lines:
                yield _as_one_part(waiting)
                waiting = []
                n_lines = 0
        if waiting:
            yield _as_one_part(waiting)

    def _blocks_by_pair(self) -> Iterator[HybridBlock]:
        """The references are the rows of the bin, one by one."""
        scale = self._scale_by_bin()
        for number, members in enumerate(self._rows_by_bin):
            in_bin = self.splits if self.bins is None else self.splits.at(members)
            references = self.matrix.pairs.at(members)
            for rows in self._tiles_of_bin(members, n_references=len(members)):
                predictions = hybrid_predictions(
                    self.matrix, references, self.matrix.pairs.at(rows), is_shown=self.is_shown
                )
                yield HybridBlock(
                    rows=rows,
                    predictions=predictions,
                    sums=in_bin.sums,
                    scale=scale[number : number + 1, :, :],
                )

    def _blocks_by_value(self) -> Iterator[HybridBlock]:
        """The references are the values of the hidden columns, by their share of each side in the bin."""
        splits = self.splits
        n_values = self.matrix.n_values
        n_bins = len(self._rows_by_bin)
        scale = self._scale_by_bin()
        value_and_bin = self._bin_numbers * n_values + self.matrix.codes
        left_share, share = splits.shares(value_and_bin, n_bins * n_values)
        for number, members in enumerate(self._rows_by_bin):
            of_bin = slice(number * n_values, (number + 1) * n_values)
            sums = partial(splits.by_share, left_share[of_bin, :], share[of_bin])
            for rows in self._tiles_of_bin(members, n_references=n_values):
                yield HybridBlock(
                    rows=rows,
                    predictions=primitives.take(self.matrix.values, rows, 1),
                    sums=sums,
                    scale=scale[number : number + 1, :, :],
                )

    def _tiles_of_bin(self, members: IntArray, n_references: int) -> Iterator[RowIndex]:
        """Some rows of a bin at a time; a slice where all rows share one bin."""
        width = max(n_references, self.splits.count)
        for tile in self.splits.tiles(len(members), width, self.block):
            yield tile if self.bins is None else members[tile]

    def _scale_by_bin(self) -> FloatArray:
        """One over the mass of both sides in each bin, (bins, 2, K)."""
        return self.splits.scales(self._bin_numbers, len(self._rows_by_bin))

    @property
    def _bin_numbers(self) -> IntArray:
        if self.bins is None:
            return np.zeros(self.splits.n_rows, dtype=np.intp)
        return self.bins.numbers

    @property
    def _rows_by_bin(self) -> list[IntArray]:
        if self.bins is None:
            return [np.arange(self.splits.n_rows)]
        return self.bins.rows_by_bin


def _as_one_part(parts: list[tuple[RowIndex, Part]]) -> tuple[RowIndex, Part]:
    """The rows of several bins, which are few each, with their sums and scales as one part."""
    if len(parts) == 1:
        return parts[0]
    rows = [np.asarray(rows_of_bin) for rows_of_bin, _ in parts]
    bin_of_row = np.repeat(np.arange(len(rows)), [len(rows_of_bin) for rows_of_bin in rows])
    part = Part(
        left=np.concatenate([part.left for _, part in parts], axis=0),
        total=np.concatenate([part.total for _, part in parts], axis=0),
        scale=np.concatenate([part.scale for _, part in parts], axis=0),
        bins=bin_of_row,
    )
    return np.concatenate(rows), part

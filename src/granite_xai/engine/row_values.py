"""A number of each row in its own region, for every split: summed up, never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import primitives
from granite_xai.compute.primitives import ABSOLUTE, SQUARE, Part, as_part
from granite_xai.engine.splits import Splits

RowIndex = slice | IntArray  # some rows of a node
# Some rows at a time, each row once, with the means over their sides.
Tiles = Iterable[tuple[RowIndex, Part]]
# From the predictions of some rows (against their references, or in each split) and the rows to as many numbers.
HybridFunction = Callable[[FloatArray, RowIndex], FloatArray]
UNTILED_BYTES = 2**30  # of a tile of rows whose values are there already


class RowValues(NamedTuple):
    """The sum of a number of the row, one of its side, and means over its side.

    In the split k, on the side of it that holds the row n, the value is

        of_row[n] + of_side[side, k] + the means of all parts at (n, k)

    Parameters
    ----------
    of_row : array of shape (n,)
        What does not depend on the region.
    of_side : array of shape (2, K), optional
        What all rows of a side share, left and right.
    parts : tuple of Part
        Means over the row's side that every row reads.
    tiled : iterable of rows and their Part, optional
        One further mean, which is made for some rows at a time, and can be read once.
    by_class : bool
        Whether many rows read the same entries of the parts, so that they have the same values: losses are
        then added up by class of such rows instead of by row.
    """

    of_row: FloatArray
    of_side: FloatArray | None = None
    parts: tuple[Part, ...] = ()
    tiled: Tiles | None = None
    by_class: bool = False

    def tiles(self, splits: Splits) -> Iterator[tuple[RowIndex, RowValues]]:
        """The values of some rows at a time; each row once."""
        if self.tiled is None:
            for rows in splits.tiles(splits.n_rows, splits.count, UNTILED_BYTES):
                yield rows, self._of_rows(rows, splits)
        else:
            for rows_of_tile, part in self.tiled:
                values = self._of_rows(rows_of_tile, splits)
                yield rows_of_tile, values._replace(parts=(part, *values.parts))

    def _of_rows(self, rows: RowIndex, splits: Splits) -> RowValues:
        """The values of some rows, without what is tiled.

        Of a part with an index, entries stay and the rows keep where they read them; otherwise each row has an entry of
        its own (`primitives.Part`).
        """
        parts = []
        for part in self.parts:
            if part.index is None:
                left = primitives.take(part.left, rows, 0)
                total = primitives.take(part.total, rows, 0)
                part = part._replace(left=left, total=total)
            else:
                part = part._replace(index=primitives.take(part.index, rows, 0))
            if part.bins is not None:
                part = part._replace(bins=primitives.take(part.bins, rows, 0))
            parts.append(part)
        return RowValues(
            of_row=primitives.take(self.of_row, rows, 0), of_side=self.of_side, parts=tuple(parts)
        )

    def array(self, splits: Splits) -> FloatArray:
        """The values themselves, (n, K)."""
        blocks = []
        order = []
        for rows, values in self.tiles(splits):
            blocks.append(values.written(rows, splits))
            order.append(np.arange(splits.n_rows)[rows])
        if len(blocks) == 1 and isinstance(rows, slice):
            return blocks[0]
        return np.concatenate(blocks, axis=0)[np.argsort(np.concatenate(order))]

    def written(self, rows: RowIndex, splits: Splits) -> FloatArray:
        """The values as an array, (c, K), where they are those of these c rows alone."""
        if splits.one_sided:
            return primitives.region_values(self.of_row, self.of_side, self.parts, splits.count)
        inside = primitives.take(splits.members, rows, 0)
        return primitives.row_values(self.of_row, self.of_side, self.parts, inside)

    def sums(self, mode: int, splits: Splits, function: HybridFunction | None = None) -> FloatArray:
        """Weighted sums over both sides, (2, 2, K): first of losses or values, then of squares.

        Parameters
        ----------
        mode : int
            What is added up, by `compute.primitives`: ``SQUARE``, ``ABSOLUTE`` or ``MOMENTS``.
        splits : Splits
        function : callable, optional
            Applied to the values before they are added up.
        """
        if self._adds_up_by_class and function is None and mode in (SQUARE, ABSOLUTE):
            return self._sums_by_class(mode, splits)
        total = np.zeros((2, 2, splits.count))
        for rows, values in self.tiles(splits):
            weights = primitives.take(splits.row_weights, rows, 0)
            if function is not None:
                written = values.written(rows, splits)
                results = np.asarray(function(written, rows), dtype=np.float64)
                zeros = np.zeros(results.shape[0])
                values = RowValues(of_row=zeros, parts=(as_part(results),))
            if splits.one_sided:
                total = total + primitives.region_sums(mode, values.written(rows, splits), weights)
                continue
            inside = primitives.take(splits.members, rows, 0)
            total = primitives.side_sums(
                mode, values.of_row, values.of_side, values.parts, inside, weights, total
            )
        return total

    @property
    def _adds_up_by_class(self) -> bool:
        """Whether the values of a row follow from the entries of the parts that it reads."""
        reads_entries = all(part.index is not None for part in self.parts)
        return self.by_class and self.tiled is None and reads_entries

    def _sums_by_class(self, mode: int, splits: Splits) -> FloatArray:
        """Sums of losses as in `sums`: rows that read the same entries have one loss on each side."""
        carriers, class_of_row = self._classes()
        left_mass, total_mass = splits.shares(class_of_row, len(carriers))
        of_classes = self._of_rows(carriers, splits)
        on_left = _loss_on_side(of_classes, mode, splits, left_mass, is_left=True)
        if splits.one_sided:
            on_right = np.zeros(splits.count)
        else:
            right_mass = total_mass[:, None] - left_mass
            on_right = _loss_on_side(of_classes, mode, splits, right_mass, is_left=False)
        losses_by_side = np.stack([on_left, on_right])
        return np.stack([losses_by_side, np.zeros_like(losses_by_side)])

    def _classes(self) -> tuple[IntArray, IntArray]:
        """A row of each class, and the class of each row: rows whose own number and entries are equal."""
        keys = [np.unique(self.of_row, return_inverse=True)[1]]
        for part in self.parts:
            indexes = [index for index in (part.index, part.bins) if index is not None]
            keys += [np.asarray(index, dtype=np.intp) for index in indexes]
        classes = np.zeros(len(keys[0]), dtype=np.intp)
        for key in keys:
            pairs = classes * (int(key.max(initial=0)) + 1) + key
            _, carriers, classes = np.unique(pairs, return_index=True, return_inverse=True)
            classes = classes.reshape(-1)
        return carriers, classes


def _loss_on_side(
    classes: RowValues, mode: int, splits: Splits, mass: FloatArray, is_left: bool
) -> FloatArray:
    """The loss of all classes on one side of every split, (K,).

    Parameters
    ----------
    classes : RowValues
        Of one row of each class.
    mode : int
        ``SQUARE`` or ``ABSOLUTE``.
    splits : Splits
    mass : array of shape (classes, K)
        Weight of each class on this side.
    is_left : bool
        Which side it is.
    """
    side = np.full(tuple(mass.shape), is_left)
    values = primitives.row_values(classes.of_row, classes.of_side, classes.parts, side)
    if mode == SQUARE:
        losses = values**2
    else:
        losses = np.abs(values)
    return np.asarray(np.sum(mass * losses, axis=0))


def sum_row_values(values: Sequence[RowValues], splits: Splits) -> RowValues:
    """The sum of several values; at most one of them stays in tiles, the others are written out.

    Parameters
    ----------
    values : sequence of RowValues
        At least one.
    splits : Splits
        Those that all of them are of.
    """
    first = values[0]
    of_row = first.of_row
    of_side = first.of_side
    parts = list(first.parts)
    tiled = first.tiled
    for added in values[1:]:
        of_row = of_row + added.of_row
        if of_side is None:
            of_side = added.of_side
        elif added.of_side is not None:
            of_side = of_side + added.of_side
        parts += added.parts
        if tiled is None:
            tiled = added.tiled
        elif added.tiled is not None:
            written = RowValues(splits.zeros, tiled=added.tiled).array(splits)
            parts.append(as_part(written))
    return RowValues(
        of_row=of_row,
        of_side=of_side,
        parts=tuple(parts),
        tiled=tiled,
        by_class=any(value.by_class for value in values),
    )

"""Splits: a batch of ways to divide the rows of a node into two sides, or to weigh them.

Sums over a side are asked for in two ways only: of the lines of a block, one line a row (`Splits.sums`), and
of the weight of the rows that carry each of some codes (`Splits.shares`). Cuts of columns answer with
running sums over a few segments; any other membership, and lines of real weights, with a product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute import primitives
from granite_xai.compute.primitives import Families

# Of each cut, beside its splits, a row takes so many bytes: classes, their numbers through all cuts, and
# the sorted rows.
CUT_BYTES = 32
WORD = 64  # lines of a table of truth values that are read as one number
TILE_CELL_BYTES = 64  # of a cell of a tile: about eight arrays of its size exist at once
FEWEST_ROWS = 16  # of a tile, where bytes allow them: fewer are not worth a call


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Splits along one column: rows fall into a few classes, and each split sends some classes left.

    Parameters
    ----------
    column : int
        Position of the column.
    classes : array of shape (n,)
        Class of each row.
    left : array of shape (n_splits, n_classes)
        Whether a split sends the class left.
    """

    column: int
    classes: IntArray
    left: BoolArray

    @classmethod
    def of(cls, column: int, left: BoolArray, places: IntArray) -> Cut:
        """The cut by a table over places; places that always go together are one class.

        Parameters
        ----------
        column : int
        left : array of shape (n_splits, n_places)
            Whether a split sends the place left.
        places : array of shape (n,)
            Place of each row.
        """
        first_of_class, class_of_place = _distinct_columns(left)
        return cls(column=column, classes=class_of_place[places], left=left[:, first_of_class])

    @property
    def members(self) -> BoolArray:
        """Whether a row is on the left of each split, (n, n_splits)."""
        return self.left.T.take(self.classes, axis=0)

    def at(self, splits: IntArray) -> Cut:
        """Only some of its splits."""
        if len(splits) == len(self.left):
            return self
        return Cut.of(self.column, self.left[splits], self.classes)


def _distinct_columns(table: BoolArray) -> tuple[IntArray, IntArray]:
    """Columns of a table that are equal are of one kind: the first of each kind, and the kind of every column."""
    is_nested = bool(np.all(table[:-1] <= table[1:]))  # each line holds the one before
    if is_nested:
        kinds = np.sum(~table, axis=0)  # how many lines leave a column out says all
    else:
        kinds = np.zeros(table.shape[1], dtype=np.intp)
        for start in range(0, len(table), WORD):
            bits = table[start : start + WORD].astype(np.uint64)
            words = bits.T @ (np.uint64(1) << np.arange(len(bits), dtype=np.uint64))
            _, numbers = np.unique(words, return_inverse=True)
            pairs = kinds * (int(numbers.max()) + 1) + numbers.reshape(-1)
            # Numbered again from 0: the next product must not overflow.
            kinds = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    _, first, classes = np.unique(kinds, return_index=True, return_inverse=True)
    return first, classes.reshape(-1)


@dataclass(frozen=True, eq=False)
class Splits:
    """K ways to split n weighted rows into a left and a right side.

    Every row lies on exactly one side of each split, so that "the value in the row's own region" is one
    array of shape (n, K) for both sides together. A single region is the split with an empty right side,
    and so are the lines of real weights of a node's replicates.

    Parameters
    ----------
    members : array of shape (n, K)
        Whether a row is on the left.
    weights : array of shape (n,)
        All positive.
    lines : array of shape (K, n), optional
        Weights that differ by split, one line each, as those of replicates; every row is then on the left.
    families : Families, optional
        Of cuts of columns, the segments that each sends left; the first family is the whole node.
    segments : array of shape (n_families, n), optional
        The segment of each row in each family, numbered through all families.
    columns : array of shape (K,), optional
        Position of the column that each split cuts.
    """

    members: BoolArray
    weights: FloatArray
    lines: FloatArray | None = None
    families: Families | None = None
    segments: IntArray | None = None
    columns: IntArray | None = None

    @classmethod
    def of(cls, inside: BoolArray, weights: FloatArray) -> Splits:
        """The batch of splits given by the (K, n) membership of the left side."""
        members = np.ascontiguousarray(inside.T)
        return cls(members, weights)

    @classmethod
    def along(cls, cuts: Sequence[Cut], weights: FloatArray) -> Splits:
        """The batch of splits given by cuts of columns."""
        members = np.concatenate([cut.members for cut in cuts], axis=1)
        # First the whole node as one segment without a candidate: totals are then added in one order, always.
        no_candidate = np.zeros((0, 1), dtype=np.bool_)
        one_class = np.zeros(len(weights), dtype=np.intp)
        families = Families([no_candidate, *(cut.left for cut in cuts)])
        classes = np.stack([one_class, *(cut.classes for cut in cuts)])
        splits_of_cuts = [len(cut.left) for cut in cuts]
        return cls(
            members=members,
            weights=weights,
            families=families,
            segments=np.ascontiguousarray(classes + families.starts[:-1, None]),
            columns=np.repeat([cut.column for cut in cuts], splits_of_cuts),
        )

    @classmethod
    def whole(cls, weights: FloatArray) -> Splits:
        """All rows as one region."""
        return cls.of(np.ones((1, len(weights)), dtype=np.bool_), weights)

    @classmethod
    def weighted(cls, lines: FloatArray, weights: FloatArray) -> Splits:
        """All rows as one region, again and again under other weights: the replicates of a node.

        Parameters
        ----------
        lines : array of shape (K, n)
            The weights of each replicate.
        weights : array of shape (n,)
            The weights of the rows themselves.
        """
        members = np.ones(lines.shape[::-1], dtype=np.bool_)
        return cls(members, weights, lines)

    def at(self, rows: IntArray) -> Splits:
        """The same splits of some of the rows."""
        lines = self.lines
        if lines is not None:
            lines = lines[:, rows]
        segments = self.segments
        if segments is not None:
            segments = segments[:, rows]
        return replace(
            self,
            members=self.members[rows],
            weights=self.weights[rows],
            lines=lines,
            segments=segments,
        )

    @property
    def count(self) -> int:
        """K."""
        return int(self.members.shape[1])

    @property
    def n_rows(self) -> int:
        """Rows of the node."""
        return len(self.weights)

    @property
    def inside(self) -> BoolArray:
        """Membership of the left side, (K, n)."""
        return self.members.T

    @cached_property
    def one_sided(self) -> bool:
        """Whether no row of any split is on the right.

        Sums over the right are totals less sums over the left: without a right side, totals are never read.
        """
        return bool(self.members.all())

    @cached_property
    def zeros(self) -> FloatArray:
        """A 0 for each row."""
        return np.zeros(self.n_rows)

    @cached_property
    def row_weights(self) -> FloatArray:
        """Weight of each row, (n, 1), or of each row in each split, (n, K)."""
        if self.lines is None:
            return self.weights[:, None]
        return np.ascontiguousarray(self.lines.T)

    @cached_property
    def left_weights(self) -> FloatArray:
        """Weights of the left rows, 0 elsewhere, (K, n)."""
        if self.lines is not None:
            return self.lines
        return np.where(self.inside, self.weights, 0.0)

    @cached_property
    def right_weights(self) -> FloatArray:
        """Weights of the right rows, 0 elsewhere, (K, n)."""
        return np.where(self.inside, 0.0, self.weights)

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of both sides, (K, 2)."""
        left, total = self.shares(self._one_code, 1)
        return self._both_sides(left, total)[0, :, :].T

    @cached_property
    def scale(self) -> FloatArray:
        """One over the mass of both sides, (1, 2, K); 1 where a side is empty: it is never read."""
        return self.scales(self._one_code, 1)

    def scales(self, bins: IntArray, count: int) -> FloatArray:
        """One over the mass of both sides in each bin, (B, 2, K); 1 where a side has no row there.

        Parameters
        ----------
        bins : array of shape (n,)
            Bin of each row.
        count : int
            B.
        """
        left, total = self.shares(bins, count)
        mass = self._both_sides(left, total)
        return 1.0 / np.where(mass > 0, mass, np.ones_like(mass))

    def sums(self, block: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted sums of the lines of a block over the left rows, (c, K), and over all rows, (c,).

        Parameters
        ----------
        block : array of shape (n, c)
            One line a row.
        """
        if self.families is None:
            return self.by_share(self._left_by_row, self.weights, block)
        if np.any(self.weights != 1.0):
            block = block * self.weights[:, None]
        by_segment = primitives.segment_sum(block, self._order)
        return primitives.left_sums(by_segment, self.families), by_segment[0, :]

    def shares(self, codes: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
        """Weight of the left rows that carry each code, (count, K), and of all rows, (count,).

        Parameters
        ----------
        codes : array of shape (n,)
            Code of each row, below ``count``.
        count : int
        """
        weights = self.weights
        if self.families is None or self.segments is None:
            left = primitives.line_share(self._left_by_row, codes, count)
            total = primitives.line_share(weights[:, None], codes, count)[:, 0]
            return left, total
        by_segment = primitives.segment_share(weights, codes, count, self.segments, self.families)
        return primitives.left_sums(by_segment, self.families), by_segment[0, :]

    def by_share(
        self, left: FloatArray, total: FloatArray, block: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of the lines of a block by their weight on the left, (c, K), and in all, (c,).

        Parameters
        ----------
        left : array of shape (count, K)
            Weight of each line on the left, as `shares` gives it.
        total : array of shape (count,)
            Weight of each line on both sides.
        block : array of shape (count, c)
            One line a code.
        """
        left_sums = block.T @ left
        if self.one_sided:
            return left_sums, left_sums[:, 0]
        return left_sums, (total[None, :] @ block)[0, :]

    def means(self, values: FloatArray) -> FloatArray:
        """Weighted mean of (K, n) values on each side, shape (K, 2); 0 on an empty side."""
        left_sums = self._weighted_sums(self.left_weights, values)
        right_sums = self._weighted_sums(self.right_weights, values)
        return np.stack([left_sums, right_sums], axis=1) / np.where(self.mass > 0, self.mass, 1.0)

    def variances(self, values: FloatArray) -> FloatArray:
        """Weighted variance (divisor n) of (K, n) values on each side, shape (K, 2), in two passes."""
        centre = self.means(values)
        centre_of_row = np.where(self.inside, centre[:, :1], centre[:, 1:])
        return self.means(np.square(values - centre_of_row))

    def tiles(self, count: int, width: int, most_bytes: int) -> Iterator[slice]:
        """Slices of ``count`` rows, as many at a time as fit the cache and a number of bytes.

        Parameters
        ----------
        count : int
            Rows.
        width : int
            Cells of a row.
        most_bytes : int
            Of the about four arrays of such cells that are alive at once.
        """
        width = max(width, 1)
        rows_in_cache = max(primitives.CELLS // width, FEWEST_ROWS)
        rows_in_memory = most_bytes // (TILE_CELL_BYTES * width)
        step = max(1, min(rows_in_cache, rows_in_memory))
        for start in range(0, count, step):
            yield slice(start, min(start + step, count))

    @staticmethod
    def _weighted_sums(weights: FloatArray, values: FloatArray) -> FloatArray:
        """Sums over the rows, (K,)."""
        return np.asarray(np.einsum("kn,kn->k", weights, np.broadcast_to(values, weights.shape)))

    def _both_sides(self, left: FloatArray, total: FloatArray) -> FloatArray:
        """Weights of both sides, (B, 2, K), from those of the left one, (B, K), and of all, (B,)."""
        zero = np.zeros_like(left)
        if self.lines is not None:
            return np.stack([left, zero], axis=1)
        right = total[:, None] - left
        # What is left after subtracting may be round-off: less than the lightest row is nothing.
        is_empty = right < 0.5 * float(self.weights.min())
        return np.stack([left, np.where(is_empty, zero, right)], axis=1)

    @property
    def _one_code(self) -> IntArray:
        return np.zeros(self.n_rows, dtype=np.intp)

    @cached_property
    def _left_by_row(self) -> FloatArray:
        """Weights of the left rows, 0 elsewhere, (n, K)."""
        if self.lines is not None:
            return self.row_weights
        return np.where(self.members, self.weights[:, None], 0.0)

    @cached_property
    def _order(self) -> Any:
        """The rows as `segment_sum` wants them."""
        if self.families is None or self.segments is None:
            raise ValueError("these splits are not cuts of columns")
        return primitives.order(np.ascontiguousarray(self.segments), self.families)

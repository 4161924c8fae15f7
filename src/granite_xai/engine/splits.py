"""Splits: a batch of ways to divide the rows of a node into two sides, or to weigh them.

Sums over a side are asked for in two ways only: of the lines of a block, one line a row, and of the weight of the rows
that carry each of some codes. Cuts of columns answer with running sums over a few segments, any other membership and
lines of real weights (replicates) with a product.

Signed pairs of lines, weights ``1 + a s`` and ``1 - a s`` for random signs s, tell how figures vary with the sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute.primitives import NUMPY, Array, ArrayNamespace, Families
from granite_xai.compute.selection import primitives_for

CUT_BYTES = 32  # a row, of each cut beside its splits: classes, their numbers through all cuts, and the sorted rows
STEP = 0.1  # how far the weights of signed pairs move
PAIRS = 50  # vectors of signs


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Splits along one column: rows fall into a few classes, and each split sends some classes left."""

    column: int  # position of the column
    classes: IntArray  # (n,) int: class of each row
    left: BoolArray  # (k, classes) bool: whether a split sends the class left

    @classmethod
    def of(cls, column: int, left: BoolArray, places: IntArray) -> Cut:
        """The cut by tables over places and the place of each row; places that always go together are one class."""
        first, classes = _distinct_columns(left)
        return cls(column, classes[places], left[:, first])

    def at(self, lines: IntArray) -> Cut:
        """Only some of its splits."""
        return (
            self
            if len(lines) == len(self.left)
            else Cut.of(self.column, self.left[lines], self.classes)
        )


def _distinct_columns(table: BoolArray) -> tuple[IntArray, IntArray]:
    """A column of each kind, and the kind of every column; 64 lines at a time are read as one number."""
    nested = bool(
        np.all(table[:-1] <= table[1:])
    )  # each line holds the one before: how often a column is out says all
    kinds = np.sum(~table, axis=0) if nested else np.zeros(table.shape[1], dtype=np.intp)
    for start in range(0, 0 if nested else len(table), 64):
        bits = table[start : start + 64].astype(np.uint64)
        words = bits.T @ (np.uint64(1) << np.arange(len(bits), dtype=np.uint64))
        _, numbers = np.unique(words, return_inverse=True)
        kinds = kinds * (int(numbers.max()) + 1) + numbers.reshape(-1)
        kinds = np.unique(kinds, return_inverse=True)[1].reshape(
            -1
        )  # small again: the next product must not overflow
    _, first, classes = np.unique(kinds, return_index=True, return_inverse=True)
    return first, classes.reshape(-1)


@dataclass(frozen=True, eq=False)
class Splits:
    """K ways to split n weighted rows into a left and a right side."""

    # Every row lies on exactly one side of each split, so that "the value in the row's own region" is one array of
    # shape (n, K) for both sides together. A single region is the split with an empty right side, and so are the lines
    # of real weights of a node's replicates.
    members: BoolArray  # (n, K) bool: whether a row is on the left
    weights: FloatArray  # (n,) float, all positive
    lines: FloatArray | None = (
        None  # (K, n) float: weights that differ by split; every row is then on the left
    )
    primitives: ArrayNamespace = NUMPY  # where the sums are formed
    families: Families | None = (
        None  # the segments that each cut of a column sends left; first comes the whole node
    )
    segments: IntArray | None = (
        None  # (J, n) int: the segment of each row in each column, numbered through all columns
    )
    columns: IntArray | None = None  # (K,) int: position of the column that each split cuts

    @classmethod
    def of(
        cls, inside: BoolArray, weights: FloatArray, primitives: ArrayNamespace | None = None
    ) -> Splits:
        """The batch of splits given by the (K, n) membership of the left side."""
        members = np.ascontiguousarray(inside.T)
        return cls(members, weights, primitives=primitives or _primitives(members))

    @classmethod
    def along(
        cls, cuts: Sequence[Cut], weights: FloatArray, primitives: ArrayNamespace | None = None
    ) -> Splits:
        """The batch of splits given by cuts of columns."""
        members = np.concatenate([cut.left.T.take(cut.classes, axis=0) for cut in cuts], axis=1)
        # First the whole node as one segment without a candidate: totals are then added in one order, always.
        families = Families([np.zeros((0, 1), dtype=np.bool_), *(cut.left for cut in cuts)])
        lines = [np.zeros(len(weights), dtype=np.intp), *(cut.classes for cut in cuts)]
        segments = np.ascontiguousarray(np.stack(lines) + families.starts[:-1, None])
        columns = np.repeat([cut.column for cut in cuts], [len(cut.left) for cut in cuts])
        return cls(
            members, weights, None, primitives or _primitives(members), families, segments, columns
        )

    @classmethod
    def whole(cls, weights: FloatArray, primitives: ArrayNamespace | None = None) -> Splits:
        """All rows as one region."""
        return cls.of(np.ones((1, len(weights)), dtype=np.bool_), weights, primitives)

    @classmethod
    def weighted(
        cls, lines: FloatArray, weights: FloatArray, primitives: ArrayNamespace | None = None
    ) -> Splits:
        """All rows as one region, again and again under other weights: the replicates of a node."""
        members = np.ones(lines.shape[::-1], dtype=np.bool_)
        return cls(members, weights, lines, primitives or _primitives(members))

    def at(self, rows: IntArray) -> Splits:
        """The same splits of some of the rows."""
        lines = None if self.lines is None else self.lines[:, rows]
        segments = None if self.segments is None else self.segments[:, rows]
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
        """Whether no row of any split is on the right: totals, which tell what is there, are then never read."""
        return bool(self.members.all())

    @cached_property
    def zeros(self) -> Array:
        """A 0 for each row."""
        return self.primitives.array(np.zeros(self.n_rows))

    @cached_property
    def flags(self) -> Array:
        """Membership of the left side where sums are formed, (n, K)."""
        return self.primitives.flags(self.members)

    @cached_property
    def row_weights(self) -> Array:
        """Weight of each row, (n, 1), or of each row in each split, (n, K)."""
        found = self.weights[:, None] if self.lines is None else np.ascontiguousarray(self.lines.T)
        return self.primitives.array(found)

    @cached_property
    def left(self) -> FloatArray:
        """Weights of the left rows, 0 elsewhere, (K, n)."""
        return np.where(self.inside, self.weights, 0.0) if self.lines is None else self.lines

    @cached_property
    def right(self) -> FloatArray:
        """Weights of the right rows, 0 elsewhere, (K, n)."""
        return np.where(self.inside, 0.0, self.weights)

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of both sides, (K, 2)."""
        return self.primitives.host(
            self._sides(*self.shares(np.zeros(self.n_rows, dtype=np.intp), 1))[0, :, :]
        ).T

    @cached_property
    def scale(self) -> Array:
        """One over the mass of both sides, (1, 2, K); 1 where a side is empty: it is never read."""
        return self.scales(np.zeros(self.n_rows, dtype=np.intp), 1)

    def scales(self, bins: IntArray, count: int) -> Array:
        """One over the mass of both sides in each bin, (B, 2, K); 1 where a side has no row there."""
        xp, mass = self.primitives.xp, self._sides(*self.shares(bins, count))
        return 1.0 / xp.where(mass > 0, mass, xp.ones_like(mass))

    def _sides(self, left: Array, total: Array) -> Array:
        """Weights of both sides from those of the left one and of all, (B, 2, K)."""
        xp, zero = self.primitives.xp, self.primitives.xp.zeros_like(left)
        if self.lines is not None:
            return xp.stack([left, zero], axis=1)
        right = total[:, None] - left
        # What is left after subtracting may be round-off: less than the lightest row is nothing.
        return xp.stack(
            [left, xp.where(right < 0.5 * float(self.weights.min()), zero, right)], axis=1
        )

    def sums(self, block: Array) -> tuple[Array, Array]:
        """Weighted sums of the lines of a block (n, c) over the left rows, (c, K), and over all rows, (c,)."""
        P = self.primitives
        if self.families is None:
            return self.by_share(self._left_by_row, P.array(self.weights), block)
        even = bool(np.all(self.weights == 1.0))
        by_segment = P.segment_sum(
            block if even else block * P.array(self.weights)[:, None], self._order
        )
        return P.left_sums(by_segment, self.families), by_segment[0, :]

    def shares(self, codes: IntArray, count: int) -> tuple[Array, Array]:
        """Weight of the left rows that carry each of ``count`` codes, (count, K), and of all rows, (count,)."""
        P, weights = self.primitives, self.primitives.array(self.weights)
        if self.families is None or self.segments is None:
            return P.line_share(self._left_by_row, codes, count), P.line_share(
                weights[:, None], codes, count
            )[:, 0]
        by_segment = P.segment_share(weights, codes, count, self.segments, self.families)
        return P.left_sums(by_segment, self.families), by_segment[0, :]

    def by_share(self, left: Array, total: Array, block: Array) -> tuple[Array, Array]:
        """Sums of the lines of a block (count, c), by their weights on the left, (count, K), and in all, (count,)."""
        P, found = self.primitives, self.primitives.product(block.T, left)
        return found, found[:, 0] if self.one_sided else P.product(total[None, :], block)[0, :]

    def means(self, values: FloatArray) -> FloatArray:
        """Weighted mean of (K, n) values on each side, shape (K, 2); 0 on an empty side."""
        sides = [
            np.einsum("kn,kn->k", side, np.broadcast_to(values, side.shape))
            for side in (self.left, self.right)
        ]
        return np.stack(sides, axis=1) / np.where(self.mass > 0, self.mass, 1.0)

    def variances(self, values: FloatArray) -> FloatArray:
        """Weighted variance (divisor n) of (K, n) values on each side, shape (K, 2), in two passes."""
        centre = self.means(values)
        return self.means(np.square(values - np.where(self.inside, centre[:, :1], centre[:, 1:])))

    def tiles(self, count: int, width: int, most: int) -> Iterator[slice]:
        """Slices of so many rows, each so many cells wide, that fit the cache and, four of them, so many bytes."""
        step = max(
            1, min(max(self.primitives.cells // max(width, 1), 16), most // (32 * max(width, 1)))
        )
        yield from (slice(start, min(start + step, count)) for start in range(0, count, step))

    @cached_property
    def _left_by_row(self) -> Array:
        """Weights of the left rows, (n, K)."""
        if self.lines is not None:
            return self.row_weights
        return self.primitives.array(np.where(self.members, self.weights[:, None], 0.0))

    @cached_property
    def _order(self) -> Any:
        if self.families is None or self.segments is None:
            raise ValueError("these splits are not cuts of columns")
        return self.primitives.order(np.ascontiguousarray(self.segments), self.families)


def _primitives(members: BoolArray) -> ArrayNamespace:
    """Those that are worth it for so many rows and splits: every row is averaged over every other, for every split."""
    return primitives_for(len(members) * max(members.shape))


def signs(clusters: IntArray, seed: int) -> FloatArray:
    """Vectors of random signs, one sign for each cluster of rows, (P, n)."""
    drawn = np.random.default_rng([seed, 11]).integers(
        0, 2, size=(PAIRS, int(clusters.max(initial=-1)) + 1)
    )
    return np.asarray((2.0 * drawn.astype(np.float64) - 1.0)[:, clusters])


def signed_lines(drawn: FloatArray, weights: FloatArray) -> FloatArray:
    """The weights of the rows, then with the signs, then against them, (1 + 2 P, n)."""
    return np.asarray(
        np.vstack([np.ones(len(weights)), 1.0 + STEP * drawn, 1.0 - STEP * drawn]) * weights
    )


def slopes(values: FloatArray, cells: IntArray | int) -> FloatArray:
    """How far values (1 + 2 P, ...) lie from their limits, one move a pair; they average over cells of so many rows."""
    # A cell of one row does not move: it borrows the variance of the others.
    half, counts = 1 + (len(values) - 1) // 2, np.asarray(cells)
    found: FloatArray = (
        (values[1:half] - values[half:]) / (2 * STEP) * np.sqrt(counts / np.maximum(counts - 1, 1))
    )
    if (alone := counts == 1).any() and not alone.all():
        found[:, alone] = np.sqrt(
            np.mean(counts[~alone] * np.square(found[:, ~alone]).mean(axis=0))
        )
    return found


def standard_errors(values: FloatArray, cells: IntArray | int) -> FloatArray:
    """Standard errors of values under signed pairs of weights."""
    return np.asarray(np.sqrt(np.mean(np.square(slopes(values, cells)), axis=0)))

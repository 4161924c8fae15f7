"""The primitives of the engine: what a batch of regions asks of an array library, and nothing else.

K splits of n rows; G segments of all columns that are cut; c rows of a tile; U values of a set of columns. Splits come
last everywhere, so that a row reads neighbouring numbers, and rows are added one after the other. `ArrayNamespace` says
each primitive in the words of the array API standard (torch on a device, array-api-strict in tests), `Numpy` and
`compute.compiled.Compiled` where there is a faster way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from granite_xai.base.typing import BoolArray, FloatArray, IntArray

Array = Any  # an array of the library at hand

# What `side_sums` adds up: squares, sizes, values and their squares, or each row's mean square minus its squared mean
SQUARE, ABSOLUTE, MOMENTS, SPREAD = range(4)


class Part(NamedTuple):
    """A mean over each row's own side: ``left * scale`` on the left, ``(total - left) * scale`` on the right."""

    left: Array  # (w, K): sums over the left rows
    total: Array  # (w,): sums over all rows
    scale: Array  # (B, 2, K): one over the mass of both sides in each bin, times a coefficient
    index: Array | None = None  # type: ignore[assignment]  # (c,) int: which entry each row reads; None: its own
    bins: Array | None = None  # (c,) int: which bin each row reads; None: the only one


class Pairs(NamedTuple):
    """Where some rows are found in a matrix of all rows: the line of each row's value, and its column."""

    lines: IntArray
    columns: IntArray

    def at(self, rows: Any) -> Pairs:
        """Only these rows; itself, where these are all."""
        every = isinstance(rows, slice) and rows == slice(0, len(self.lines))
        return self if every else Pairs(self.lines[rows], self.columns[rows])


class Families:
    """The candidates of several columns: which of its segments each sends left, one (k, size) table a column."""

    def __init__(self, left: Sequence[BoolArray]) -> None:
        self.left, self.sizes = (
            left,
            tuple(table.shape[1] for table in left),
        )  # sizes: segments of each column
        self.starts: IntArray = np.cumsum(
            (0, *self.sizes)
        )  # where the segments of each column begin, and all end
        self.moved: tuple[Any, Any] | None = (
            None  # the table of all, with the primitives of the device it is on
        )

    @cached_property
    def table(self) -> BoolArray:
        """Which segments of all columns each candidate of all columns sends left, (K, G)."""
        return np.asarray(block_diag(*self.left), dtype=np.bool_)

    @cached_property
    def additions(self) -> tuple[BoolArray, IntArray, IntArray]:
        """How candidates follow each other: which begin again, and up to where the list of segments they add goes."""
        fresh, counts, added = [], [], []
        for table, start in zip(self.left, self.starts, strict=False):
            before = np.concatenate([np.zeros_like(table[:1]), table[:-1]])
            again = np.any(before & ~table, axis=1)
            again[:1] = True
            new = table & ~(before & ~again[:, None])
            fresh.append(again)
            counts.append(new.sum(axis=1))
            added.append(np.nonzero(new)[1] + start)
        return np.concatenate(fresh), np.cumsum(np.concatenate(counts)), np.concatenate(added)


class ArrayNamespace:
    """The primitives in any array namespace of the standard, with arrays on a device."""

    cells = (
        2**24
    )  # cells of a tile, rows times references or splits, worked on at once: enough to keep a device busy

    def __init__(self, xp: Any = np, device: Any = None) -> None:
        self.xp, self.device = xp, device
        self.concat = (
            getattr(xp, "concat", None) or xp.concatenate
        )  # NumPy before 2.1 knows neither
        self.astype = getattr(xp, "astype", None) or np.ndarray.astype

    def array(self, values: Any) -> Array:
        """Numbers as an array of the library."""
        if hasattr(values, "device") and not isinstance(values, np.ndarray):
            return values  # it is one already
        return self.xp.asarray(
            np.asarray(values, dtype=np.float64), dtype=self.xp.float64, device=self.device
        )

    def numbers(self, values: IntArray) -> Array:
        """Whole numbers as an array of the library."""
        return self.xp.asarray(
            np.asarray(values, dtype=np.int64), dtype=self.xp.int64, device=self.device
        )

    def flags(self, values: BoolArray) -> Array:
        """Truth values as an array of the library."""
        return self.xp.asarray(
            np.asarray(values, dtype=np.bool_), dtype=self.xp.bool, device=self.device
        )

    @property
    def free(self) -> int | None:
        """Bytes that the device has left; None where that is not known."""
        if getattr(self.device, "type", None) != "cuda":
            return None
        import torch

        torch.cuda.empty_cache()  # what our own arrays have given back
        return int(torch.cuda.mem_get_info(self.device)[0])

    def host(self, values: Array) -> FloatArray:
        """An array of the library as one of NumPy."""
        if isinstance(values, np.ndarray):
            return values
        return np.asarray(
            values.cpu() if hasattr(values, "cpu") else np.from_dlpack(values), dtype=np.float64
        )

    def take(self, values: Array, index: Any, axis: int) -> Array:
        """Gather some lines of an array, given by a slice or by their numbers."""
        near = (
            isinstance(index, np.ndarray) and len(index) and index[-1] - index[0] == len(index) - 1
        )
        if near and np.all(np.diff(index) == 1):  # neighbours need no copy
            index = slice(int(index[0]), int(index[-1]) + 1)
        if isinstance(index, slice):
            return values[index, ...] if axis == 0 else values[:, index]
        return self.xp.take(
            values, self.numbers(index) if isinstance(index, np.ndarray) else index, axis=axis
        )

    def product(self, a: Array, b: Array) -> Array:
        """Matrix product."""
        return a @ b

    def order(self, segments: IntArray, families: Families) -> Any:
        """What `segment_sum` wants to know of the segments (J, n), made once for many blocks: their one-hot matrix."""
        column = np.repeat(np.arange(len(families.sizes)), families.sizes)
        return self._equal(
            self.take(self.numbers(segments), column, 0),
            self.numbers(np.arange(len(column)))[:, None],
        )

    def _equal(self, one: Array, other: Array) -> Array:
        """Where two arrays of whole numbers agree: 1, elsewhere 0; made where they are."""
        return self.astype(one == other, self.xp.float64)

    def segment_sum(self, block: Array, order: Any) -> Array:
        """Sums of the lines of a block (n, c) by segment, those of all columns at once, (G, c)."""
        return self.product(order, block)

    def segment_share(
        self, mass: Array, codes: IntArray, count: int, segments: IntArray, families: Families
    ) -> Array:
        """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
        carried = self._equal(self.numbers(codes)[:, None], self.numbers(np.arange(count))[None, :])
        return self.segment_sum(mass[:, None] * carried, self.order(segments, families))

    def line_share(self, lines: Array, codes: IntArray, count: int) -> Array:
        """Weight of the rows that carry each of ``count`` codes under each line of weights, (n, K) to (count, K)."""
        return self.segment_sum(
            lines, self.order(codes[None, :], Families([np.zeros((0, count), dtype=np.bool_)]))
        )

    def left_sums(self, by_segment: Array, families: Families) -> Array:
        """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
        if families.moved is None or families.moved[0] is not self:
            families.moved = self, self.array(families.table)
        return self.product(families.moved[1], by_segment).T

    def pair_block(
        self, E: Array, references: Pairs, rows: Pairs, hidden: float, shown: float
    ) -> Array:
        """``hidden * E[line(m), i] + shown * E[line(i), m]`` of references m and rows i, (n, c)."""
        if rows is references:  # all rows: one orientation is the other, turned
            every = self.take(self.take(E, rows.columns, 1), rows.lines, 0)
            return hidden * every + shown * every.T
        parts = []
        if hidden:  # the few rows first: all that is read of the matrix
            parts.append(hidden * self.take(self.take(E, rows.columns, 1), references.lines, 0))
        if shown:
            parts.append(shown * self.take(self.take(E, rows.lines, 0), references.columns, 1).T)
        return sum(parts[1:], parts[0])

    def own_side(self, part: Part, inside: Array) -> Array:
        """The mean of each row's own side, (c, K)."""
        left, total, scale = part.left, part.total[:, None], part.scale
        if part.index is not None:
            left, total = self.take(left, part.index, 0), self.take(total, part.index, 0)
        if part.bins is not None:
            scale = self.take(scale, part.bins, 0)
        return self.xp.where(inside, left * scale[:, 0, :], (total - left) * scale[:, 1, :])

    def row_values(
        self, own: Array, at: Array | None, parts: Sequence[Part], inside: Array
    ) -> Array:
        """What each row has: a number of its own, one of its side, and its parts, (c, K)."""
        values = self.xp.broadcast_to(own[:, None], inside.shape)
        if at is not None:
            values = values + self.xp.where(inside, at[0, :][None, :], at[1, :][None, :])
        for part in parts:
            values = values + self.own_side(part, inside)
        return values

    def side_sums(
        self,
        mode: int,
        own: Array,
        at: Array | None,
        parts: Sequence[Part],
        inside: Array,
        weights: Array,
        out: Array,
    ) -> Array:
        """Weighted sums over both sides of what each row has: a number of its own, one of its side, and its parts."""
        # Of ``own`` (c,), ``at`` (2, K), ``inside`` (c, K) and ``weights`` (c, 1) or (c, K); added to ``out`` (2, 2,
        # K): sums of losses (or values) on the left and on the right, and of squares (MOMENTS).
        xp = self.xp
        if mode == SPREAD:
            square, mean = (self.own_side(part, inside) for part in parts)
            first = xp.where(square > mean**2, square - mean**2, xp.zeros_like(square))
        else:
            values = self.row_values(own, at, parts, inside)
            first = values**2 if mode == SQUARE else xp.abs(values) if mode == ABSOLUTE else values
        sums = self._sides(first * weights, inside)
        squares = (
            self._sides(values**2 * weights, inside) if mode == MOMENTS else xp.zeros_like(sums)
        )
        return out + xp.stack([sums, squares])

    def _sides(self, values: Array, inside: Array) -> Array:
        zero = self.xp.zeros_like(values)
        sides = (self.xp.where(inside, values, zero), self.xp.where(inside, zero, values))
        return self.xp.stack([self.xp.sum(side, axis=0) for side in sides])


class Numpy(ArrayNamespace):
    """The same in NumPy."""

    cells = 2**18  # few enough for the cache, and enough for one call

    def array(self, values: Any) -> Array:
        """Numbers as they are."""
        return np.asarray(values, dtype=np.float64)

    def numbers(self, values: Any) -> Array:
        """The array itself."""
        return np.asarray(values)

    flags = host = numbers

    def segment_share(
        self, mass: Array, codes: IntArray, count: int, segments: IntArray, families: Families
    ) -> Array:
        """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
        cells, total = (segments * count + codes).ravel(), int(families.starts[-1]) * count
        lines = np.broadcast_to(mass, segments.shape).ravel()
        return (
            np.bincount(cells, weights=lines, minlength=total)
            .astype(np.float64, copy=False)
            .reshape(-1, count)
        )

    def line_share(self, lines: Array, codes: IntArray, count: int) -> Array:
        """Weight of the rows that carry each of ``count`` codes under each line of weights, (n, K) to (count, K)."""
        cells = codes[:, None] * lines.shape[1] + np.arange(lines.shape[1])
        return np.bincount(
            cells.ravel(), weights=lines.ravel(), minlength=count * lines.shape[1]
        ).reshape(count, -1)

    def left_sums(self, by_segment: Array, families: Families) -> Array:
        """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
        own = zip(families.left, np.split(by_segment, families.starts[1:-1]), strict=True)
        return np.concatenate([part.T @ table.T.astype(np.float64) for table, part in own], axis=1)


NUMPY = Numpy()


def as_part(primitives: ArrayNamespace, values: Array) -> Part:
    """A number of each row and split, whatever the row's side, as a part: on the right it is minus minus itself."""
    signs, zeros = primitives.array([[[1.0], [-1.0]]]), primitives.array(np.zeros(values.shape[0]))
    return Part(values, zeros, primitives.xp.broadcast_to(signs, (1, 2, values.shape[1])))

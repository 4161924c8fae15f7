"""The primitives of the engine: all that a batch of regions asks of an array library.

Shapes are written with K splits of n rows, G segments of all columns that are cut (`compute.families`), c rows
of a tile, and U values of a set of columns. Splits come last everywhere, so that a row reads neighbouring
numbers, and rows are added one after the other.

`ArrayNamespace` says each primitive in the words of the array API standard (torch on a device,
array-api-strict in tests). `Numpy`, and `Compiled` in `compute.compiled_primitives`, say it where
there is a faster way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute.families import Families

Array = Any
"""An array of the library at hand."""

SQUARE = 0
"""`side_sums` adds up squares of what each row has."""
ABSOLUTE = 1
"""It adds up absolute values."""
MOMENTS = 2
"""It adds up values, and their squares beside them."""
SPREAD = 3
"""It adds up each row's mean square minus its squared mean."""


class Part(NamedTuple):
    """One part of what each row has: a mean over the side of every split that holds the row.

    It is ``left * scale`` for rows on the left and ``(total - left) * scale`` for those on the
    right. Rows with the same sums share an entry, of which there are w.
    """

    left: Array  # (w, K): sums over the left rows
    total: Array  # (w,): sums over all rows
    scale: Array  # (B, 2, K): a coefficient over the mass of each side in each bin
    index: Array | None = None  # type: ignore[assignment]  # (c,) int: entry of each row; None: its own
    bins: Array | None = None  # (c,) int: bin of each row; None: the only one


def as_part(primitives: ArrayNamespace, values: Array) -> Part:
    """A number of each row and split, (c, K), as a part that has it on either side."""
    # On the right it is (0 - left) * -1.
    signs = primitives.array([[[1.0], [-1.0]]])
    return Part(
        left=values,
        total=primitives.array(np.zeros(values.shape[0])),
        scale=primitives.xp.broadcast_to(signs, (1, 2, values.shape[1])),
    )


class Pairs(NamedTuple):
    """Where rows are found in a matrix of predictions: the line of each row's value, its column."""

    lines: IntArray
    columns: IntArray

    def at(self, rows: Any) -> Pairs:
        """Only these rows; itself, where these are all."""
        if isinstance(rows, slice) and rows == slice(0, len(self.lines)):
            return self
        return Pairs(lines=self.lines[rows], columns=self.columns[rows])


class ArrayNamespace:
    """The primitives in any array namespace of the standard, with arrays on a device.

    Parameters
    ----------
    xp : module
        The namespace.
    device : object, optional
        A device of that library; None: its default.
    """

    cells = 2**24
    """Cells of a tile, rows times references or splits, worked on at once: they keep a device busy."""

    def __init__(self, xp: Any = np, device: Any = None) -> None:
        self.xp = xp
        self.device = device
        # NumPy before 2.1 knows neither under the standard's name.
        self.concat = getattr(xp, "concat", None) or xp.concatenate
        self.astype = getattr(xp, "astype", None) or np.ndarray.astype

    # Arrays to and from the library

    def array(self, values: Any) -> Array:
        """Numbers as an array of the library."""
        is_array_of_library = hasattr(values, "device") and not isinstance(values, np.ndarray)
        if is_array_of_library:
            return values
        numbers = np.asarray(values, dtype=np.float64)
        return self.xp.asarray(numbers, dtype=self.xp.float64, device=self.device)

    def numbers(self, values: IntArray) -> Array:
        """Whole numbers as an array of the library."""
        whole_numbers = np.asarray(values, dtype=np.int64)
        return self.xp.asarray(whole_numbers, dtype=self.xp.int64, device=self.device)

    def flags(self, values: BoolArray) -> Array:
        """Truth values as an array of the library."""
        truth_values = np.asarray(values, dtype=np.bool_)
        return self.xp.asarray(truth_values, dtype=self.xp.bool, device=self.device)

    def host(self, values: Array) -> FloatArray:
        """An array of the library as one of NumPy."""
        if isinstance(values, np.ndarray):
            return values
        if hasattr(values, "cpu"):
            return np.asarray(values.cpu(), dtype=np.float64)
        return np.asarray(np.from_dlpack(values), dtype=np.float64)

    @property
    def free(self) -> int | None:
        """Bytes that the device has left; None where that is not known."""
        if getattr(self.device, "type", None) != "cuda":
            return None
        import torch

        torch.cuda.empty_cache()  # what our own arrays have given back
        return int(torch.cuda.mem_get_info(self.device)[0])

    # Lines and products

    def take(self, values: Array, index: Any, axis: int) -> Array:
        """Gather lines of an array, given by a slice or by their numbers."""
        if isinstance(index, np.ndarray) and _are_neighbours(index):  # they need no copy
            index = slice(int(index[0]), int(index[-1]) + 1)
        if isinstance(index, slice) and axis == 0:
            return values[index, ...]
        if isinstance(index, slice):
            return values[:, index]
        if isinstance(index, np.ndarray):
            index = self.numbers(index)
        return self.xp.take(values, index, axis=axis)

    def product(self, a: Array, b: Array) -> Array:
        """Matrix product."""
        return a @ b

    # Sums over segments and over the left side

    def order(self, segments: IntArray, families: Families) -> Any:
        """The rows in order of their segments, in the form that `segment_sum` of this class reads.

        It is made once for many blocks. Here it is the one-hot matrix of the segments, (G, n); compiled loops read
        sorted rows.

        Parameters
        ----------
        segments : (J, n)
            Segment of each row in each column, numbered through all columns.
        families : Families
        """
        column = np.repeat(np.arange(len(families.sizes)), families.sizes)
        of_each_row = self.take(self.numbers(segments), column, 0)
        return self._equal(of_each_row, self.numbers(np.arange(len(column)))[:, None])

    def _equal(self, a: Array, b: Array) -> Array:
        """Where two arrays of whole numbers agree: 1, elsewhere 0; made where they are."""
        return self.astype(a == b, self.xp.float64)

    def segment_sum(self, block: Array, order: Any) -> Array:
        """Sums of the lines of a block (n, c) by segment, those of all columns at once, (G, c)."""
        return self.product(order, block)

    def segment_share(
        self, mass: Array, codes: IntArray, count: int, segments: IntArray, families: Families
    ) -> Array:
        """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
        all_codes = self.numbers(np.arange(count))[None, :]
        carried = self._equal(self.numbers(codes)[:, None], all_codes)
        return self.segment_sum(mass[:, None] * carried, self.order(segments, families))

    def line_share(self, lines: Array, codes: IntArray, count: int) -> Array:
        """Weight of the rows that carry each code under each line of weights.

        From ``lines`` (n, K) and ``codes`` (n,) to (count, K).
        """
        one_column = Families([np.zeros((0, count), dtype=np.bool_)])
        return self.segment_sum(lines, self.order(codes[None, :], one_column))

    def left_sums(self, by_segment: Array, families: Families) -> Array:
        """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
        return self.product(families.table_on(self), by_segment).T

    # Pairs of rows

    def pair_block(
        self, E: Array, references: Pairs, rows: Pairs, hidden: float, shown: float
    ) -> Array:
        """``hidden * E[line(m), i] + shown * E[line(i), m]`` of references m and rows i, (n, c)."""
        if rows is references:  # all rows: one orientation is the other, turned
            square = self.take(self.take(E, rows.columns, 1), rows.lines, 0)
            return hidden * square + shown * square.T
        parts = []
        if hidden:  # the few rows first: all that is read of the matrix
            parts.append(hidden * self.take(self.take(E, rows.columns, 1), references.lines, 0))
        if shown:
            parts.append(shown * self.take(self.take(E, rows.lines, 0), references.columns, 1).T)
        return sum(parts[1:], parts[0])

    # What each row has on its own side of a split

    def own_side(self, part: Part, inside: Array) -> Array:
        """The mean of each row's own side, (c, K); ``inside`` (c, K): rows on the left."""
        on_left, on_right = self._means_of_sides(part)
        return self.xp.where(inside, on_left, on_right)

    def _means_of_sides(self, part: Part) -> tuple[Array, Array]:
        """The means of the left and of the right side of each split at every row, both (c, K)."""
        left = part.left
        total = part.total[:, None]
        scale = part.scale
        if part.index is not None:
            left = self.take(left, part.index, 0)
            total = self.take(total, part.index, 0)
        if part.bins is not None:
            scale = self.take(scale, part.bins, 0)
        return left * scale[:, 0, :], (total - left) * scale[:, 1, :]

    def row_values(
        self, of_row: Array, of_side: Array | None, parts: Sequence[Part], inside: Array
    ) -> Array:
        """What each row has in each split, (c, K).

        Parameters
        ----------
        of_row : (c,)
            A number of each row.
        of_side : (2, K), optional
            A number of each side of each split, left and right.
        parts : sequence of Part
            Means of each row's own side.
        inside : (c, K) bool
            Which rows are on the left of each split.
        """
        values = self.xp.broadcast_to(of_row[:, None], inside.shape)
        if of_side is not None:
            of_left = of_side[0, :][None, :]
            of_right = of_side[1, :][None, :]
            values = values + self.xp.where(inside, of_left, of_right)
        for part in parts:
            values = values + self.own_side(part, inside)
        return values

    def region_values(
        self, of_row: Array, of_side: Array | None, parts: Sequence[Part], count: int
    ) -> Array:
        """The same as `row_values` where no row is on the right of any of ``count`` splits, (c, K)."""
        values = self.xp.broadcast_to(of_row[:, None], (of_row.shape[0], count))
        if of_side is not None:
            values = values + of_side[0, :][None, :]
        for part in parts:
            left = part.left
            scale = part.scale
            if part.index is not None:
                left = self.take(left, part.index, 0)
            if part.bins is not None:
                scale = self.take(scale, part.bins, 0)
            values = values + left * scale[:, 0, :]
        return values

    def region_sums(self, mode: int, values: Array, weights: Array) -> Array:
        """The same as `side_sums` of given values (c, K) where no row is on the right, (2, 2, K)."""
        xp = self.xp
        sums = xp.sum(self._summands(mode, values) * weights, axis=0)
        squares = xp.zeros_like(sums)
        if mode == MOMENTS:
            squares = xp.sum(values**2 * weights, axis=0)
        on_left = xp.stack([sums, squares])
        return xp.stack([on_left, xp.zeros_like(on_left)], axis=1)

    def side_sums(
        self,
        mode: int,
        of_row: Array,
        of_side: Array | None,
        parts: Sequence[Part],
        inside: Array,
        weights: Array,
        out: Array,
    ) -> Array:
        """Weighted sums over both sides of what each row has.

        Parameters
        ----------
        mode : SQUARE, ABSOLUTE, MOMENTS or SPREAD
            What is added up of the numbers that rows have. For SPREAD there are two parts, the mean
            square and the mean.
        of_row : (c,)
            A number of each row.
        of_side : (2, K), optional
            A number of each side of each split, left and right.
        parts : sequence of Part
            Means of each row's own side.
        inside : (c, K) bool
            Which rows are on the left of each split.
        weights : (c, 1) or (c, K)
            Weights of the rows.
        out : (2, 2, K)
            What the sums are added to.

        Returns
        -------
        (2, 2, K)
            Sums of losses or values, and of squares (MOMENTS), on the left and on the right.
        """
        xp = self.xp
        if mode == SPREAD:
            part_of_square, part_of_mean = parts
            mean_square = self.own_side(part_of_square, inside)
            mean = self.own_side(part_of_mean, inside)
            spread = mean_square - mean**2
            summands = xp.where(mean_square > mean**2, spread, xp.zeros_like(mean_square))
        else:
            values = self.row_values(of_row, of_side, parts, inside)
            summands = self._summands(mode, values)
        sums = self._by_side(summands * weights, inside)
        if mode == MOMENTS:
            squares = self._by_side(values**2 * weights, inside)
        else:
            squares = xp.zeros_like(sums)
        return out + xp.stack([sums, squares])

    def _summands(self, mode: int, values: Array) -> Array:
        """What is added up of the numbers that rows have: their losses, or themselves for MOMENTS."""
        if mode == SQUARE:
            return values**2
        if mode == ABSOLUTE:
            return self.xp.abs(values)
        return values

    def _by_side(self, values: Array, inside: Array) -> Array:
        """Sums of values (c, K) over the rows on the left and on the right, (2, K)."""
        zero = self.xp.zeros_like(values)
        on_left = self.xp.where(inside, values, zero)
        on_right = self.xp.where(inside, zero, values)
        return self.xp.stack([self.xp.sum(on_left, axis=0), self.xp.sum(on_right, axis=0)])


def _are_neighbours(index: IntArray) -> bool:
    if not len(index) or index[-1] - index[0] != len(index) - 1:
        return False
    return bool(np.all(np.diff(index) == 1))


class Numpy(ArrayNamespace):
    """The same in NumPy."""

    cells = 2**18
    """Few enough for the cache, and enough for one call."""

    def array(self, values: Any) -> Array:
        """Numbers as they are."""
        return np.asarray(values, dtype=np.float64)

    def numbers(self, values: Any) -> Array:
        """The array itself."""
        return np.asarray(values)

    flags = numbers
    host = numbers

    def order(self, segments: IntArray, families: Families) -> Any:
        """The one-hot matrix of the segments, sparse: one entry for each row and column, (G, n)."""
        n_columns, n_rows = segments.shape
        rows = np.tile(np.arange(n_rows), n_columns)
        ones = np.ones(segments.size)
        n_segments = int(families.starts[-1])
        return csr_array((ones, (segments.ravel(), rows)), shape=(n_segments, n_rows))

    def segment_share(
        self, mass: Array, codes: IntArray, count: int, segments: IntArray, families: Families
    ) -> Array:
        """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
        cells = (segments * count + codes).ravel()
        weights = np.broadcast_to(mass, segments.shape).ravel()
        n_cells = int(families.starts[-1]) * count
        shares = np.bincount(cells, weights=weights, minlength=n_cells)
        return shares.astype(np.float64, copy=False).reshape(-1, count)

    def line_share(self, lines: Array, codes: IntArray, count: int) -> Array:
        """Weight of the rows that carry each code under each line of weights, (count, K)."""
        n_lines = lines.shape[1]
        cells = codes[:, None] * n_lines + np.arange(n_lines)
        shares = np.bincount(cells.ravel(), weights=lines.ravel(), minlength=count * n_lines)
        return shares.reshape(count, -1)

    def own_side(self, part: Part, inside: Array) -> Array:
        """The mean of each row's own side, (c, K).

        A product with 0 and 1 picks the side: on random flags it is ten times as fast as `numpy.where`.
        """
        on_left, on_right = self._means_of_sides(part)
        on_left *= inside
        on_right *= ~inside
        on_left += on_right
        return on_left

    def _by_side(self, values: Array, inside: Array) -> Array:
        """Sums of values (c, K) over the rows on the left and on the right, (2, K)."""
        on_side = values * inside
        left_sums = np.sum(on_side, axis=0)
        np.subtract(values, on_side, out=on_side)
        return np.stack([left_sums, np.sum(on_side, axis=0)])

    def left_sums(self, by_segment: Array, families: Families) -> Array:
        """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
        of_each_column = np.split(by_segment, families.starts[1:-1])
        sums = [
            segments.T @ table.T.astype(np.float64)
            for table, segments in zip(families.left, of_each_column, strict=True)
        ]
        return np.concatenate(sums, axis=1)


NUMPY = Numpy()

"""The sums of the engine in NumPy.

Shapes are written with K splits of n rows, G segments of all columns that are cut, c rows of a tile, and U values of
a set of columns. Splits come last everywhere, so that a row reads neighbouring numbers, and rows are added one after
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from granite_xai.base.typing import BoolArray, FloatArray, IntArray

CELLS = 2**18
"""Cells of a tile, rows times references or splits: few enough for the cache, and enough for one call."""

SQUARE = 0
"""`side_sums` adds up squares of what each row has."""
ABSOLUTE = 1
"""It adds up absolute values."""
MOMENTS = 2
"""It adds up values, and their squares beside them."""
SPREAD = 3
"""It adds up each row's mean square minus its squared mean."""


class Families:
    """The candidates of several columns: which segments each sends left.

    The values of a column that is cut lie in a few *segments*; a candidate sends some of them left. Segments of all
    columns are numbered through.

    Parameters
    ----------
    left : sequence of (candidates, segments) bool
        One table a column.

    Attributes
    ----------
    sizes : tuple of int
        Segments of each column.
    starts : (columns + 1,)
        The first segment of each column when those of all are numbered through; last, their number.
    """

    def __init__(self, left: Sequence[BoolArray]) -> None:
        self.left = left
        self.sizes = tuple(table.shape[1] for table in left)
        self.starts: IntArray = np.cumsum((0, *self.sizes))


class Part(NamedTuple):
    """One part of what each row has: a mean over the side of every split that holds the row.

    It is ``left * scale`` for rows on the left and ``(total - left) * scale`` for those on the
    right. Rows with the same sums share an entry, of which there are w.
    """

    left: FloatArray  # (w, K): sums over the left rows
    total: FloatArray  # (w,): sums over all rows
    scale: FloatArray  # (B, 2, K): a coefficient over the mass of each side in each bin
    index: IntArray | None = None  # type: ignore[assignment]  # (c,): entry of each row; None: its own
    bins: IntArray | None = None  # (c,): bin of each row; None: the only one


def as_part(values: FloatArray) -> Part:
    """A number of each row and split, (c, K), as a part that has it on either side."""
    # On the right it is (0 - left) * -1.
    signs = np.array([[[1.0], [-1.0]]])
    return Part(
        left=values,
        total=np.zeros(values.shape[0]),
        scale=np.broadcast_to(signs, (1, 2, values.shape[1])),
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


def take(values: Any, index: Any, axis: int) -> Any:
    """Gather lines of an array, given by a slice or by their numbers; neighbours are not copied."""
    if isinstance(index, np.ndarray) and _are_neighbours(index):
        index = slice(int(index[0]), int(index[-1]) + 1)
    if not isinstance(index, slice):
        return np.take(values, index, axis=axis)
    if axis == 0:
        return values[index, ...]
    return values[:, index]


def _are_neighbours(index: IntArray) -> bool:
    if not len(index) or index[-1] - index[0] != len(index) - 1:
        return False
    return bool(np.all(np.diff(index) == 1))


# Sums over segments and over the left side


def order(segments: IntArray, families: Families) -> Any:
    """The rows in order of their segments, for `segment_sum`: a sparse one-hot matrix, (G, n).

    Parameters
    ----------
    segments : (J, n)
        Segment of each row in each column, numbered through all columns.
    families : Families
    """
    n_columns, n_rows = segments.shape
    rows = np.tile(np.arange(n_rows), n_columns)
    ones = np.ones(segments.size)
    return csr_array((ones, (segments.ravel(), rows)), shape=(int(families.starts[-1]), n_rows))


def segment_share(
    mass: FloatArray, codes: IntArray, count: int, segments: IntArray, families: Families
) -> FloatArray:
    """Weight of the rows of each segment that carry each of ``count`` codes, (G, count)."""
    cells = (segments * count + codes).ravel()
    weights = np.broadcast_to(mass, segments.shape).ravel()
    n_cells = int(families.starts[-1]) * count
    shares = np.bincount(cells, weights=weights, minlength=n_cells)
    return shares.astype(np.float64, copy=False).reshape(-1, count)


def line_share(lines: FloatArray, codes: IntArray, count: int) -> FloatArray:
    """Weight of the rows that carry each code under each line of weights.

    From ``lines`` (n, K) and ``codes`` (n,) to (count, K).
    """
    n_lines = lines.shape[1]
    cells = codes[:, None] * n_lines + np.arange(n_lines)
    shares = np.bincount(cells.ravel(), weights=lines.ravel(), minlength=count * n_lines)
    return np.asarray(shares, dtype=np.float64).reshape(count, -1)


def segment_sum(block: FloatArray, order: Any) -> FloatArray:
    """Sums of the lines of a block (n, c) by segment, those of all columns at once, (G, c)."""
    return np.asarray(order @ block)


def left_sums(by_segment: FloatArray, families: Families) -> FloatArray:
    """Sums over the left side of each candidate from sums over segments, (G, c) to (c, K)."""
    of_each_column = np.split(by_segment, families.starts[1:-1])
    sums = [
        segments.T @ table.T.astype(np.float64)
        for table, segments in zip(families.left, of_each_column, strict=True)
    ]
    return np.concatenate(sums, axis=1)


def pair_block(
    E: FloatArray, references: Pairs, rows: Pairs, hidden: float, shown: float
) -> FloatArray:
    """``hidden * E[line(m), i] + shown * E[line(i), m]`` of references m and rows i, (n, c)."""
    if rows is references:  # all rows: one orientation is the other, turned
        square = take(take(E, rows.columns, 1), rows.lines, 0)
        return np.asarray(hidden * square + shown * square.T)
    parts = []
    if hidden:  # the few rows first: all that is read of the matrix
        parts.append(hidden * take(take(E, rows.columns, 1), references.lines, 0))
    if shown:
        parts.append(shown * take(take(E, rows.lines, 0), references.columns, 1).T)
    return np.asarray(sum(parts[1:], parts[0]))


# What each row has on its own side of a split


def own_side(part: Part, inside: BoolArray) -> FloatArray:
    """The mean of each row's own side, (c, K); ``inside`` (c, K): rows on the left.

    A product with 0 and 1 picks the side: on random flags it is ten times as fast as `numpy.where`.
    """
    left = part.left
    total = part.total[:, None]
    scale = part.scale
    if part.index is not None:
        left = take(left, part.index, 0)
        total = take(total, part.index, 0)
    if part.bins is not None:
        scale = take(scale, part.bins, 0)
    means = left * scale[:, 0, :]
    means *= inside
    on_right = (total - left) * scale[:, 1, :]
    on_right *= ~inside
    means += on_right
    return means


def row_values(
    of_row: FloatArray, of_side: FloatArray | None, parts: Sequence[Part], inside: BoolArray
) -> FloatArray:
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
    values: FloatArray = np.broadcast_to(of_row[:, None], inside.shape)
    if of_side is not None:
        values = values + np.where(inside, of_side[0, :], of_side[1, :])
    for part in parts:
        values = values + own_side(part, inside)
    return values


def region_values(
    of_row: FloatArray, of_side: FloatArray | None, parts: Sequence[Part], count: int
) -> FloatArray:
    """The same as `row_values` where no row is on the right of any of ``count`` splits, (c, K)."""
    values: FloatArray = np.broadcast_to(of_row[:, None], (of_row.shape[0], count))
    if of_side is not None:
        values = values + of_side[0, :][None, :]
    for part in parts:
        left = part.left
        scale = part.scale
        if part.index is not None:
            left = take(left, part.index, 0)
        if part.bins is not None:
            scale = take(scale, part.bins, 0)
        values = values + left * scale[:, 0, :]
    return values


def region_sums(mode: int, values: FloatArray, weights: FloatArray) -> FloatArray:
    """The same as `side_sums` of given values (c, K) where no row is on the right, (2, 2, K)."""
    sums = np.sum(_summands(mode, values) * weights, axis=0)
    squares = np.zeros_like(sums)
    if mode == MOMENTS:
        squares = np.sum(values**2 * weights, axis=0)
    on_left = np.stack([sums, squares])
    return np.stack([on_left, np.zeros_like(on_left)], axis=1)


def side_sums(
    mode: int,
    of_row: FloatArray,
    of_side: FloatArray | None,
    parts: Sequence[Part],
    inside: BoolArray,
    weights: FloatArray,
    out: FloatArray,
) -> FloatArray:
    """Weighted sums over both sides of what each row has.

    Parameters
    ----------
    mode : SQUARE, ABSOLUTE, MOMENTS or SPREAD
        What is added up of the numbers that rows have. For SPREAD there are two parts, the mean
        square and the mean.
    of_row, of_side, parts, inside
        As in `row_values`.
    weights : (c, 1) or (c, K)
        Weights of the rows.
    out : (2, 2, K)
        What the sums are added to.

    Returns
    -------
    (2, 2, K)
        Sums of losses or values, and of squares (MOMENTS), on the left and on the right.
    """
    if mode == SPREAD:
        part_of_square, part_of_mean = parts
        mean_square = own_side(part_of_square, inside)
        mean = own_side(part_of_mean, inside)
        spread = mean_square - mean**2
        summands = np.where(mean_square > mean**2, spread, np.zeros_like(mean_square))
    else:
        values = row_values(of_row, of_side, parts, inside)
        summands = _summands(mode, values)
    sums = _by_side(summands * weights, inside)
    if mode == MOMENTS:
        squares = _by_side(values**2 * weights, inside)
    else:
        squares = np.zeros_like(sums)
    return out + np.stack([sums, squares])


def _summands(mode: int, values: FloatArray) -> FloatArray:
    """What is added up of the numbers that rows have: their losses, or themselves for MOMENTS."""
    if mode == SQUARE:
        return values**2
    if mode == ABSOLUTE:
        return np.abs(values)
    return values


def _by_side(values: FloatArray, inside: BoolArray) -> FloatArray:
    """Sums of values (c, K) over the rows on the left and on the right, (2, K)."""
    on_side = values * inside
    on_left = np.sum(on_side, axis=0)
    np.subtract(values, on_side, out=on_side)
    return np.stack([on_left, np.sum(on_side, axis=0)])

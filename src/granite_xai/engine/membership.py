"""Membership: a batch of ways to split the rows of a node into two sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.sides import (
    BLOCK,
    NestedCuts,
    add_by_class,
    additions_of,
    classes_added_up,
    pays,
    side_sums,
)

CUT_BYTES = 32
"""Bytes a row that each cut takes beside its splits: classes, their numbers through all cuts, places of shares."""
SMALLEST = 64
"""Lines that are added up together at least: fewer would not fill the processor's vectors."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Splits along one column: rows fall into a few classes, and each split sends some classes inside.

    Sums over the inner rows are then sums over classes: the rows are visited once for all splits of the column.

    Parameters
    ----------
    column : int
        Position of the column.
    classes : (n,) int
        Class of each row.
    inner : (k, classes) float
        1 where a split sends the class inside.
    """

    column: int
    classes: IntArray
    inner: FloatArray

    @classmethod
    def of(cls, column: int, left: BoolArray, places: IntArray) -> Cut:
        """The cut given by tables over places and the place of each row; places that always go together are one class.

        >>> Cut.of(0, np.array([[True, False, False]]), np.array([2, 0, 1])).classes
        array([0, 1, 0])
        """
        first, classes = _distinct_columns(left)
        return cls(column, classes[places], left[:, first].astype(np.float64))


def _distinct_columns(table: BoolArray) -> tuple[IntArray, IntArray]:
    """A column of each kind, and the kind of every column; 64 lines at a time are read as one number."""
    kinds = np.zeros(table.shape[1], dtype=np.intp)
    if np.all(table[:-1] <= table[1:]):  # each line holds the one before: how often a column is in says it all
        _, first, classes = np.unique(table.sum(axis=0), return_index=True, return_inverse=True)
        return first, classes.reshape(-1)
    for start in range(0, len(table), 64):
        bits = table[start : start + 64].astype(np.uint64)
        words = bits.T @ (np.uint64(1) << np.arange(len(bits), dtype=np.uint64))
        _, numbers = np.unique(words, return_inverse=True)
        kinds = kinds * (int(numbers.max()) + 1) + numbers.reshape(-1)
        kinds = np.unique(kinds, return_inverse=True)[1].reshape(-1)  # small again: the next product must not overflow
    _, first, classes = np.unique(kinds, return_index=True, return_inverse=True)
    return first, classes.reshape(-1)


@dataclass(frozen=True, eq=False)
class Splits:
    """K ways to split n weighted rows into an inner and an outer side.

    Every row lies on exactly one side of each split, so that "the value in the row's own region" is one array of
    shape (K, n) for both sides together. A single region is the split with an empty outer side.

    Parameters
    ----------
    inside : (K, n) bool
    weights : (n,) float, all positive
    cuts : sequence of Cut
        The columns that the splits cut, in the order of the splits; empty where they are not cuts of columns.
    """

    inside: BoolArray
    weights: FloatArray
    cuts: Sequence[Cut] = ()

    @classmethod
    def of(cls, inside: BoolArray, weights: FloatArray) -> Splits:
        """The batch of splits given by membership of the inner side.

        >>> Splits.of(np.array([[True, False, False]]), np.ones(3)).mass
        array([[1., 2.]])
        """
        return cls(inside, weights)

    @classmethod
    def along(cls, cuts: Sequence[Cut], weights: FloatArray) -> Splits:
        """The batch of splits given by cuts of columns."""
        inside = np.concatenate([cut.inner.astype(np.bool_).take(cut.classes, axis=1) for cut in cuts])
        return cls(inside, weights, tuple(cuts))

    @classmethod
    def whole(cls, weights: FloatArray) -> Splits:
        """All rows as one region.

        >>> Splits.whole(np.ones(3)).mass
        array([[3., 0.]])
        """
        return cls.of(np.ones((1, len(weights)), dtype=np.bool_), weights)

    def at(self, rows: IntArray) -> Splits:
        """The same splits of some of the rows."""
        cuts = [Cut(cut.column, cut.classes[rows], cut.inner) for cut in self.cuts]
        return Splits(self.inside[:, rows], self.weights[rows], tuple(cuts))

    @cached_property
    def inner(self) -> FloatArray:
        """Weights of the inner rows, 0 elsewhere, (K, n)."""
        return np.where(self.inside, self.weights, 0.0)

    @cached_property
    def outer(self) -> FloatArray:
        """Weights of the outer rows, 0 elsewhere, (K, n)."""
        return np.where(self.inside, 0.0, self.weights)

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of both sides, (K, 2)."""
        if self.cuts:
            inner = self.shares(np.zeros(len(self.weights), dtype=np.intp), 1)
            outer = self.weights.sum() - inner
            # What is left after subtracting may be round-off: less than the lightest row is nothing.
            return np.concatenate([inner, np.where(outer < 0.5 * self.weights.min(), 0.0, outer)], axis=1)
        ones = np.ones((1, len(self.weights)))
        return side_sums(np.broadcast_to(ones, self.inside.shape), self.weights, self.inside)

    @cached_property
    def inside_by_row(self) -> BoolArray:
        """Membership with splits next to each other, (n, K)."""
        return np.ascontiguousarray(self.inside.T)

    @cached_property
    def columns(self) -> IntArray:
        """Position of the column that each split cuts."""
        return np.concatenate([np.full(len(cut.inner), cut.column, dtype=np.intp) for cut in self.cuts])

    @cached_property
    def divisors(self) -> FloatArray:
        """Mass of both sides, 1 where a side is empty (its cells are never read)."""
        return np.where(self.mass > 0, self.mass, 1.0)

    @cached_property
    def scales(self) -> tuple[FloatArray, FloatArray]:
        """One over the mass of the inner and of the outer side, as columns."""
        scale = 1.0 / self.divisors
        return scale[:, :1], scale[:, 1:]

    def pick(self, inner: FloatArray, outer: FloatArray) -> FloatArray:
        """For each split and row, the value of the row's own side."""
        return np.where(self.inside, inner, outer)

    def means(self, values: FloatArray) -> FloatArray:
        """Weighted mean of (K, n) values on each side, shape (K, 2); 0 on an empty side.

        >>> Splits.of(np.array([[True, False, False]]), np.ones(3)).means(np.array([[1.0, 2.0, 4.0]]))
        array([[1., 3.]])
        """
        if values.shape[0] == 1 and len(self.inside) > 1:  # the same values for every split
            return np.stack([self.inner @ values[0], self.outer @ values[0]], axis=1) / self.divisors
        return side_sums(values, self.weights, self.inside) / self.divisors

    def variances(self, values: FloatArray) -> FloatArray:
        """Weighted variance (divisor n) of (K, n) values on each side, shape (K, 2), in two passes."""
        centre = self.means(values)
        return self.means(np.square(values - self.pick(centre[:, :1], centre[:, 1:])))

    def shares(self, codes: IntArray, count: int) -> FloatArray:
        """Weight of the inner rows that carry each of ``count`` codes, (K, count)."""
        table: FloatArray = self.shares_by_bin(codes, count, np.zeros_like(codes), 1)[0]
        return table

    def shares_by_bin(self, codes: IntArray, count: int, bins: IntArray, n_bins: int) -> FloatArray:
        """Weight of the inner rows of each bin that carry each of ``count`` codes, (bins, K, count)."""
        cells = bins * count + codes
        if not self.cuts:
            table = np.empty((len(self.inner), n_bins * count))
            for k, line in enumerate(self.inner):
                table[k] = np.bincount(cells, weights=line, minlength=n_bins * count)
            return table.reshape(-1, n_bins, count).swapaxes(0, 1)
        if len(cells) * len(self.cuts) > BLOCK:
            parts = [self._counted(cut.classes, cut.inner.shape[1], codes, count, bins, n_bins) for cut in self.cuts]
        else:
            classes, inner = self._flat
            shares = self._counted(classes, inner.shape[1], codes, count, bins, n_bins)
            if n_bins == 1:
                return inner @ shares
            parts = np.split(shares, np.cumsum([cut.inner.shape[1] for cut in self.cuts])[:-1], axis=1)
        # Each split reads the classes of its own cut only: one small product a cut instead of a large one with zeros.
        return np.concatenate([cut.inner @ part for cut, part in zip(self.cuts, parts, strict=True)], axis=1)

    def _counted(
        self, classes: IntArray, n_classes: int, codes: IntArray, count: int, bins: IntArray, n_bins: int
    ) -> FloatArray:
        """Weight of the rows of each bin and class that carry each code, (bins, classes, count)."""
        places = ((bins * n_classes + classes) * count + codes).ravel()
        weights = self.weights if classes.ndim == 1 else np.tile(self.weights, len(classes))
        counts = np.bincount(places, weights=weights, minlength=n_bins * n_classes * count).astype(
            np.float64, copy=False
        )
        return counts.reshape(n_bins, n_classes, count)

    @cached_property
    def _flat(self) -> tuple[IntArray, FloatArray]:
        """All cuts as one: the class of each row in each cut, numbered through, and which splits send it inside."""
        sizes = [cut.inner.shape[1] for cut in self.cuts]
        starts = np.cumsum([0, *sizes])
        inner = np.zeros((len(self.inside), starts[-1]))
        row = 0
        for cut, start, size in zip(self.cuts, starts, sizes, strict=False):
            inner[row : row + len(cut.inner), start : start + size] = cut.inner
            row += len(cut.inner)
        classes = np.stack([cut.classes for cut in self.cuts]) + starts[:-1, None]
        return classes, inner

    def sums(self, values: FloatArray) -> FloatArray:
        """Weighted sums of the columns of (U, n) values over the inner rows, (K, U)."""
        if not self.cuts or not pays(values):
            return self.inner @ values.T
        return self._by_split(self._columns_by_class(values))

    def own_sums(self, values: FloatArray, codes: IntArray) -> FloatArray:
        """Weighted sums over the inner rows m of each row's own line, ``values[codes[m]]``, (K, n)."""
        if not self._has_many(values, codes):
            return self.shares(codes, len(values)) @ values
        result = np.empty(self.inside.shape)
        for part in blocks(values.shape[1], len(values)):
            result[:, part] = self._by_split(self._lines_by_class(values[:, part], codes))
        return result

    def sums_by_value(self, values: FloatArray) -> FloatArray:
        """As `sums`, with splits next to each other, (U, K)."""
        if not self.cuts or not pays(values):
            return values @ self.inner.T
        return classes_added_up(self._columns_by_class(values), self._additions)

    def own_sums_by_row(self, values: FloatArray, codes: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """As `own_sums`, for some rows at a time: the rows, and their sums with splits next to each other, (c, K)."""
        n, count = values.shape[1], len(self.inside)
        if self._has_many(values, codes):
            for part in blocks(n, max(len(values), count)):
                yield part, classes_added_up(self._lines_by_class(values[:, part], codes), self._additions)
            return
        shares = np.ascontiguousarray(self.shares(codes, len(values)).T)
        for part in blocks(n, count):
            yield part, values[:, part].T @ shares

    def _has_many(self, values: FloatArray, codes: IntArray) -> bool:
        """Whether lines are added up by the classes of the cuts; with few values a product with shares costs less."""
        return bool(self.cuts) and pays(values) and 4 * len(values) >= len(codes)

    def _columns_by_class(self, values: FloatArray) -> FloatArray:
        """Weighted sums of the columns of (U, n) values over the rows of each class, (classes, U)."""
        classes, inner = self._flat
        height, width = min(len(values), BLOCK // SMALLEST), values.shape[1]
        result = np.zeros((inner.shape[1], len(values)))
        for lines in blocks(len(values), width):  # turned, so that many values are added up together
            part = np.zeros((inner.shape[1], lines.stop - lines.start))
            for rows in blocks(width, height):
                every_row = np.arange(rows.stop - rows.start)
                add_by_class(part, values[lines, rows].T, every_row, self.weights[rows], classes[:, rows])
            result[:, lines] = part
        return result

    def _lines_by_class(self, values: FloatArray, lines: IntArray) -> FloatArray:
        """Weighted sums of the rows' own lines of (U, c) values over the rows of each class, (classes, c)."""
        classes, inner = self._flat
        result = np.zeros((inner.shape[1], values.shape[1]))
        add_by_class(result, values, lines, self.weights, classes)
        return result

    @cached_property
    def _additions(self) -> NestedCuts:
        return additions_of(self._flat[1] > 0)

    def _by_split(self, by_class: FloatArray) -> FloatArray:
        """Sums over the inner rows from sums over the classes, (K, c); each split reads the classes of its own cut."""
        ends = np.cumsum([cut.inner.shape[1] for cut in self.cuts])
        parts = np.split(by_class, ends[:-1])
        return np.concatenate([cut.inner @ part for cut, part in zip(self.cuts, parts, strict=True)])


def blocks(count: int, width: int) -> Iterator[slice]:
    """Slices of ``count`` things, each ``width`` cells wide, that fit into a block.

    >>> list(blocks(3, 2**17))
    [slice(0, 3, None)]
    """
    step = max(BLOCK // max(width, 1), SMALLEST)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))

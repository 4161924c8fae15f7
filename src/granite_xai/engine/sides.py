"""The passes over splits and rows that the search repeats most: compiled where that pays, otherwise in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.compute.compiling import available, compiled
from granite_xai.engine import kernels as sides

WORTHWHILE = 2**15
"""Cells of a block from which the compiled pass is used; smaller ones are not worth building it for."""
BLOCK = 2**18
"""Cells that are worked on at once: few enough for the cache."""


def add_own_side(
    out: FloatArray,
    coefficient: float,
    sums: FloatArray,
    total: FloatArray,
    scales: tuple[FloatArray, FloatArray],
    bins: IntArray | None,
    inside: BoolArray,
) -> None:
    """Add the mean of each row's own side, given sums over the inner rows and over all rows of its bin.

    Parameters
    ----------
    out : (K, n) float
        Written.
    coefficient : float
    sums : (K, n) float
        May be overwritten.
    total : (n,) float
    scales : pair of (K, B) float
        One over the mass of the inner and of the outer side, in each bin.
    bins : (n,) int, optional
        None: all rows share one bin.
    inside : (K, n) bool
    """
    inner, outer = scales
    if pays(out):
        numbers = np.zeros(out.shape[1], dtype=np.intp) if bins is None else bins
        compiled(sides.add_own_side)(out, coefficient, sums, total, inner, outer, numbers, inside)
        return
    rest = total - sums
    rest *= coefficient * (outer if bins is None else outer[:, bins])
    sums *= coefficient * (inner if bins is None else inner[:, bins])
    np.copyto(rest, sums, where=inside)
    out += rest


def add_looked_up(
    out: FloatArray, coefficient: float, tables: tuple[FloatArray, FloatArray], codes: IntArray, inside: BoolArray
) -> None:
    """Add the entry of each row's own value in the table of its own side.

    Parameters
    ----------
    out : (K, n) float
        Written.
    coefficient : float
    tables : pair of (K, U) float
        For the inner and the outer side.
    codes : (n,) int
    inside : (K, n) bool
    """
    inner, outer = tables
    if pays(out):
        compiled(sides.add_looked_up)(out, coefficient, inner, outer, codes, inside)
        return
    found = (coefficient * outer).take(codes, axis=1)
    np.copyto(found, (coefficient * inner).take(codes, axis=1), where=inside)
    out += found


def side_sums(values: FloatArray, weights: FloatArray, inside: BoolArray) -> FloatArray:
    """Weighted sums of (K, n) values on both sides, shape (K, 2).

    >>> side_sums(np.array([[1.0, 2.0, 4.0]]), np.ones(3), np.array([[True, False, False]]))
    array([[1., 6.]])
    """
    if pays(values):
        result = np.empty((len(values), 2))
        compiled(sides.side_sums)(values, weights, inside, result)
        return result
    weighted = values * weights
    inner = np.sum(weighted, axis=1, where=inside)
    return np.stack([inner, np.sum(weighted, axis=1, where=~inside)], axis=1)


def side_spread(
    first: tuple[FloatArray, FloatArray],
    second: tuple[FloatArray, FloatArray],
    scales: tuple[FloatArray, FloatArray],
    bins: IntArray | None,
    inside: BoolArray,
    weights: FloatArray,
) -> FloatArray:
    """Weighted sums on both sides of each row's variance, shape (K, 2).

    Parameters
    ----------
    first, second : pairs of (K, n) and (n,) float
        Sums of the values, and of their squares, over the inner rows and over all rows of the row's bin.
    scales, bins, inside
        As in `add_own_side`.
    weights : (n,) float
    """
    if pays(first[0]):
        result = np.empty((len(inside), 2))
        numbers = np.zeros(inside.shape[1], dtype=np.intp) if bins is None else bins
        compiled(sides.side_spread)(*first, *second, *scales, numbers, inside, weights, result)
        return result
    means, squares = np.zeros(inside.shape), np.zeros(inside.shape)
    add_own_side(means, 1.0, *first, scales, bins, inside)
    add_own_side(squares, 1.0, *second, scales, bins, inside)
    squares -= np.square(means)
    return side_sums(np.maximum(squares, 0.0, out=squares), weights, inside)


def add_by_class(
    result: FloatArray, values: FloatArray, lines: IntArray, weights: FloatArray, classes: IntArray
) -> None:
    """Add weighted lines ``values[lines[m]]`` to the classes of their rows m, (classes, c); compiled.

    See `pays`: without the compiler, or for few cells, a product with the membership of the rows is faster.

    Parameters
    ----------
    result : (classes, c) float
        Written.
    values : (U, c) float
    lines : (n,) int
    weights : (n,) float
    classes : (cuts, n) int
        Several ways to class the rows, numbered through.
    """
    # One memory layout, whatever part of an array is given: otherwise each would be compiled by itself.
    values, classes = np.ascontiguousarray(values), np.ascontiguousarray(classes)
    compiled(sides.add_lines_by_class)(values, lines, weights, classes, result)


NestedCuts = tuple[BoolArray, IntArray, IntArray]
"""How splits follow each other: which begin again, and up to where the list of classes that they add goes."""


def additions_of(inner: BoolArray) -> NestedCuts:
    """A split that holds the one before it adds the classes that are new; any other one begins again.

    >>> additions_of(np.array([[True, False, False], [True, False, True], [False, True, False]]))
    (array([ True, False,  True]), array([1, 2, 3]), array([0, 2, 1]))
    """
    before = np.vstack([np.zeros_like(inner[:1]), inner[:-1]])
    fresh = np.any(before & ~inner, axis=1)
    fresh[:1] = True
    new = inner & ~(before & ~fresh[:, None])
    return fresh, np.cumsum(new.sum(axis=1)), np.nonzero(new)[1]


def classes_added_up(by_class: FloatArray, additions: NestedCuts) -> FloatArray:
    """Sums of each split from sums of the classes that it sends inside, (c, K); compiled."""
    result = np.empty((by_class.shape[1], len(additions[0])))
    compiled(sides.add_classes_up)(by_class, *additions, result)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means over each row's own side, as sums over the inner rows, sums over all rows, and what they are multiplied by.

    Parameters
    ----------
    sums : (c, K) float
        Splits next to each other.
    total : (c,) float
    scales : (2, K) float
        For the inner and the outer side.
    """

    sums: FloatArray
    total: FloatArray
    scales: FloatArray

    @classmethod
    def none(cls, count: int, rows: int = 1) -> Means:
        """Zero for every split and row."""
        return cls(np.zeros((rows, count)), np.zeros(rows), np.zeros((2, count)))


def add_losses(
    result: FloatArray,
    own: FloatArray,
    at: FloatArray,
    hidden: Means,
    shown: Means,
    codes: IntArray,
    inside: BoolArray,
    weights: FloatArray,
    *,
    squared: bool,
) -> None:
    """Add the weighted losses of some rows to both sides of every split, (2, K), in one compiled pass.

    The loss is that of a number of the row (c,), plus one of its side (2, K), plus its hidden means, plus the shown
    means of its value; squared or absolute.
    """
    compiled(sides.add_losses)(
        own,
        at,
        hidden.scales,
        hidden.sums,
        hidden.total,
        shown.scales,
        shown.sums,
        shown.total,
        codes,
        inside,
        weights,
        squared,
        result,
    )


def pays(cells: FloatArray | BoolArray) -> bool:
    """Whether a compiled pass over these cells is worth its start."""
    return cells.size >= WORTHWHILE and available()

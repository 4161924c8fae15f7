"""The loops over splits and rows of the search, one pass each."""

from __future__ import annotations

from typing import Any

import numpy as np

TILE = 16
"""Values whose sums are written together, one line of memory each."""


def add_own_side(
    out: Any, coefficient: float, sums: Any, total: Any, inner: Any, outer: Any, bins: Any, inside: Any
) -> None:
    """Add the mean of each row's own side, from sums over the inner rows of its bin and over all rows of it.

    Parameters
    ----------
    out : (K, n) float
    coefficient : float
    sums : (K, n) float
        Over the inner rows of the row's bin.
    total : (n,) float
        Over all rows of the row's bin.
    inner, outer : (K, B) float
        One over the mass of each side in each bin.
    bins : (n,) int
    inside : (K, n) bool
    """
    for k in range(out.shape[0]):
        if inner.shape[1] == 1:  # one bin: no look-up, and the loop below is vectorised
            within = coefficient * inner[k, 0]
            beyond = coefficient * outer[k, 0]
            for n in range(out.shape[1]):
                out[k, n] += within * sums[k, n] if inside[k, n] else beyond * (total[n] - sums[k, n])
            continue
        for n in range(out.shape[1]):
            b = bins[n]
            if inside[k, n]:
                out[k, n] += coefficient * (sums[k, n] * inner[k, b])
            else:
                out[k, n] += coefficient * ((total[n] - sums[k, n]) * outer[k, b])


def add_looked_up(out: Any, coefficient: float, inner: Any, outer: Any, codes: Any, inside: Any) -> None:
    """Add the entry of each row's own value in the table of its own side.

    Parameters
    ----------
    out : (K, n) float
    coefficient : float
    inner, outer : (K, U) float
    codes : (n,) int
    inside : (K, n) bool
    """
    for k in range(out.shape[0]):
        for n in range(out.shape[1]):
            u = codes[n]
            out[k, n] += coefficient * (inner[k, u] if inside[k, n] else outer[k, u])


def side_sums(values: Any, weights: Any, inside: Any, result: Any) -> None:
    """Weighted sums of (K, n) values on both sides.

    Parameters
    ----------
    values : (K, n) float
    weights : (n,) float
    inside : (K, n) bool
    result : (K, 2) float
    """
    for k in range(values.shape[0]):
        inner = 0.0
        outer = 0.0
        for n in range(values.shape[1]):
            if inside[k, n]:
                inner += weights[n] * values[k, n]
            else:
                outer += weights[n] * values[k, n]
        result[k, 0] = inner
        result[k, 1] = outer


def add_lines_by_class(values: Any, lines: Any, weights: Any, classes: Any, result: Any) -> None:
    """Add each row's own line of a matrix up by the class of the row, for several ways to class the rows at once.

    Parameters
    ----------
    values : (U, c) float
    lines : (n,) int
        The line of each row.
    weights : (n,) float
    classes : (cuts, n) int
        Numbered through all cuts.
    result : (all classes, c) float
    """
    for m in range(len(lines)):
        line, weight = values[lines[m]], weights[m]
        for cut in range(len(classes)):
            total = result[classes[cut, m]]
            for i in range(len(total)):  # plain indices from 0, which the compiler turns into vectors
                total[i] += weight * line[i]


def add_classes_up(by_class: Any, fresh: Any, ends: Any, added: Any, out: Any) -> None:
    """Sums of each split from sums of the classes, with splits next to each other.

    Parameters
    ----------
    by_class : (classes, c) float
    fresh : (K,) bool
        Whether a split begins again; otherwise it adds to the one before.
    ends : (K,) int
        Where the classes that a split adds end in ``added``.
    added : (...) int
    out : (c, K) float
    """
    running = np.empty(TILE)
    for low in range(0, by_class.shape[1], TILE):
        size = min(TILE, by_class.shape[1] - low)
        first = 0
        for k in range(len(fresh)):
            if fresh[k]:
                running[:] = 0.0
            for step in range(first, ends[k]):
                part = by_class[added[step], low : low + size]
                for i in range(size):
                    running[i] += part[i]
            first = ends[k]
            for i in range(size):
                out[low + i, k] = running[i]


def add_losses(
    own: Any,
    at: Any,
    hidden: Any,
    hidden_sums: Any,
    hidden_total: Any,
    shown: Any,
    shown_sums: Any,
    shown_total: Any,
    codes: Any,
    inside: Any,
    weights: Any,
    squared: bool,
    result: Any,
) -> None:
    """Add the weighted losses of some rows' gaps to both sides of every split; splits lie next to each other.

    The gap of a row is a number of its own, one of its side, a multiple of the hidden sums over its side, and a
    multiple of the shown sums of its value over its side. Both sides are computed and one is kept: a branch would be
    mispredicted.

    Parameters
    ----------
    own : (c,) float
    at, hidden, shown : (2, K) float
        The number of each side, and the multiples.
    hidden_sums : (c, K) float
        Over the inner rows.
    hidden_total : (c,) float
        Over all rows.
    shown_sums : (U, K) float
    shown_total : (U,) float
    codes : (c,) int
    inside : (c, K) bool
    weights : (c,) float
    squared : bool
        Otherwise the absolute gap.
    result : (2, K) float
    """
    within, beyond = result[0], result[1]
    at_inner, at_outer, hide_inner, hide_outer, show_inner, show_outer = (
        at[0],
        at[1],
        hidden[0],
        hidden[1],
        shown[0],
        shown[1],
    )
    for n in range(len(own)):
        x, f, member = hidden_sums[n], shown_sums[codes[n]], inside[n]
        start, x_total, f_total, weight = own[n], hidden_total[n], shown_total[codes[n]], weights[n]
        for k in range(len(within)):
            here = start + at_inner[k] + hide_inner[k] * x[k] + show_inner[k] * f[k]
            there = start + at_outer[k] + hide_outer[k] * (x_total - x[k]) + show_outer[k] * (f_total - f[k])
            if squared:
                here, there = here * here, there * there
            else:
                here, there = abs(here), abs(there)
            within[k] += weight * here if member[k] else 0.0
            beyond[k] += 0.0 if member[k] else weight * there


def side_spread(
    sums: Any,
    total: Any,
    squares: Any,
    total_squares: Any,
    inner: Any,
    outer: Any,
    bins: Any,
    inside: Any,
    weights: Any,
    result: Any,
) -> None:
    """Weighted sums on both sides of each row's variance, from sums of values and of squares over the inner rows.

    Parameters
    ----------
    sums, squares : (K, n) float
        Over the inner rows of the row's bin.
    total, total_squares : (n,) float
        Over all rows of the row's bin.
    inner, outer : (K, B) float
        One over the mass of each side in each bin.
    bins : (n,) int
    inside : (K, n) bool
    weights : (n,) float
    result : (K, 2) float
    """
    for k in range(sums.shape[0]):
        within = 0.0
        beyond = 0.0
        for n in range(sums.shape[1]):
            b = bins[n]
            if inside[k, n]:
                mean = sums[k, n] * inner[k, b]
                within += weights[n] * max(squares[k, n] * inner[k, b] - mean * mean, 0.0)
            else:
                mean = (total[n] - sums[k, n]) * outer[k, b]
                square = (total_squares[n] - squares[k, n]) * outer[k, b]
                beyond += weights[n] * max(square - mean * mean, 0.0)
        result[k, 0] = within
        result[k, 1] = beyond

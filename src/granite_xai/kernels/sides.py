"""The loops over splits and rows of the search, one pass each."""

from __future__ import annotations

from typing import Any


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


def add_columns_by_bin(values: Any, weights: Any, bins: Any, result: Any) -> None:
    """Add the weighted columns of a matrix up by the bin of their row.

    Parameters
    ----------
    values : (U, n) float
    weights : (n,) float
    bins : (n,) int
    result : (U, B) float
    """
    for u in range(values.shape[0]):
        for n in range(values.shape[1]):
            result[u, bins[n]] += weights[n] * values[u, n]


def add_lines_by_bin(values: Any, codes: Any, weights: Any, bins: Any, result: Any) -> None:
    """Add each row's own line of a matrix up by the bin of the row.

    Parameters
    ----------
    values : (U, n) float
    codes : (n,) int
        The line of each row.
    weights : (n,) float
    bins : (n,) int
    result : (B, n) float
    """
    for m in range(len(codes)):
        u, b, w = codes[m], bins[m], weights[m]
        for n in range(values.shape[1]):
            result[b, n] += w * values[u, n]


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

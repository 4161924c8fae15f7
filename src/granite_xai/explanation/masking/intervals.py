"""Intervals of an ordered column with about as many rows in each (C8)."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.tables import Column

N_INTERVALS = 10  # of one column, unless the user says otherwise
# Relative difference of sums that counts as rounding: ten rows of weight 0.1 weigh as much as one of weight 1.
ROUNDING = 1e-12


def interval_edges(
    column: Column, weights: FloatArray | None = None, count: int = N_INTERVALS
) -> IntArray:
    """Upper ends of the intervals of an ordered column, as positions among its levels (C8).

    The k-th edge is the smallest value with at least k / ``count`` of the rows at or below it; where there are no more
    distinct values than intervals, every value is an edge. Missing values do not count.

    Parameters
    ----------
    column : Column
    weights : array of shape (n,), optional
        How many rows each row stands for.
    count : int
        Intervals, at most.
    """
    n_levels = len(column.levels)
    if n_levels <= count:
        return np.arange(n_levels, dtype=np.intp)
    present = column.codes >= 0
    codes = column.codes[present]
    if weights is None:
        mass = np.bincount(codes, minlength=n_levels)
    else:
        mass = np.bincount(codes, weights=weights[present], minlength=n_levels)
    mass_at_or_below = np.cumsum(mass)
    # Both sides times ``count``, so that counts of rows are compared as whole numbers.
    needed = np.arange(1, count + 1) * mass_at_or_below[-1]
    if weights is not None:
        needed = needed * (1 - ROUNDING)
    edges = np.searchsorted(mass_at_or_below * count, needed, side="left")
    return np.unique(edges).astype(np.intp)


def rows_stood_for(weights: FloatArray | None) -> FloatArray | None:
    """How many rows each row stands for, at least 1 on average; None where each stands for itself.

    Parameters
    ----------
    weights : array of shape (n,), optional
        Of the rows. Weights below 1 on average, such as shares of the rows, are scaled to 1 on average.
    """
    if weights is None:
        return None
    multiplicity: FloatArray = weights / min(float(weights.mean()), 1.0)
    if np.allclose(multiplicity, 1.0, rtol=0.0, atol=ROUNDING):
        return None
    return multiplicity

"""Intervals of figures that are never below 0, from their standard errors."""

from __future__ import annotations

import math


def interval_around(value: float, error: float, quantile: float) -> tuple[float, float]:
    """So many standard errors on both sides of a value.

    On a logarithmic scale where the value is more than two standard errors away from 0.

    Parameters
    ----------
    value, error : float
        The figure and its standard error.
    quantile : float
        Standard errors on both sides; nan: there is no interval.

    Returns
    -------
    low, high : float
    """
    if math.isnan(quantile):
        return math.nan, math.nan
    high = upper_limit(value, error, quantile)
    if value > 2 * error:
        return value**2 / high, high
    return max(0.0, value - quantile * error), high


def upper_limit(value: float, error: float, quantile: float) -> float:
    """The upper end of `interval_around`."""
    if value > 2 * error:
        return value * math.exp(quantile * error / value)
    return value + quantile * error

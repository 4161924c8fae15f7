"""Whether a curve rises or falls."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.results.feature_curve import FeatureCurve

MONOTONE = 0.85
"""Share of a curve's variance that an isotonic fit must describe."""


def isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The ascending values nearest to some values by weighted least squares (pool adjacent violators).

    Parameters
    ----------
    values, weights : arrays of shape (n,)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    # Blocks of values that have one mean: (mean, weight, number of values), means ascending.
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean = value
        mass = weight
        length = 1
        while means and means[-1] >= mean:
            total = masses[-1] + mass
            mean = (means.pop() * masses[-1] + mean * mass) / total
            mass = total
            length += lengths.pop()
            masses.pop()
        means.append(mean)
        masses.append(mass)
        lengths.append(length)
    return np.repeat(means, lengths)


def fit_weights(curve: FeatureCurve) -> FloatArray:
    """Weights of the values in an isotonic fit: half by rows, half by the length of the axis.

    By rows alone a wide stretch of the picture with few rows would not count, by length alone a
    single distant value would count most.
    """
    lengths = np.ones(len(curve.axis))
    if curve.axis[-1] > 0:
        lengths = np.gradient(curve.axis)
    by_length = lengths / lengths.sum()
    by_rows = curve.weights / curve.weights.sum()
    return np.asarray(0.5 * by_length + 0.5 * by_rows)


def direction_of(curve: FeatureCurve) -> int | None:
    """1: rises; -1: falls; None: no isotonic fit describes the curve.

    A fit describes it where its error is at most a share ``1 - MONOTONE`` of the variance; the better one counts.
    """
    weights = fit_weights(curve)
    mean = weights @ curve.predictions
    variance = float(weights @ np.square(curve.predictions - mean))
    direction = None
    smallest_error = (1 - MONOTONE) * variance
    for sign in (1, -1):
        fit = sign * isotonic(sign * curve.predictions, weights)
        error = float(weights @ np.square(curve.predictions - fit))
        if error <= smallest_error:
            direction = sign
            smallest_error = error
    return direction

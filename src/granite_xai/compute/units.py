"""Units: powers of two that bring very large or very small predictions where their squares are numbers."""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

ORDINARY = 200
"""Powers of two between which fourth powers of predictions, and of their rounding errors, are numbers."""


def exponent_of(*values: FloatArray) -> int:
    """The power of two next to the largest size; 0 where it is an ordinary one.

    >>> exponent_of(np.array([0.0, -3.0])), exponent_of(np.array([2.0**-600]), np.array([5 * 2.0**-600]))
    (0, -598)
    """
    exponent = frexp(max(float(np.max(np.abs(each))) for each in values))[1] - 1
    return exponent if abs(exponent) > ORDINARY else 0


def by_power_of_two(values: Any, power: int | IntArray) -> FloatArray:
    """Numbers times a power of two; those beyond the range of numbers become infinite, or 0."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(values, power))

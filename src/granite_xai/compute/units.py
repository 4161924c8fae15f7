"""Units: powers of two that bring very large or very small predictions where their squares are numbers."""

from __future__ import annotations

from collections.abc import Iterable
from math import frexp
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

ORDINARY = 200  # powers of two between which fourth powers of predictions, and of their rounding errors, are numbers


def exponent_of(effects: Iterable[Any], *values: FloatArray | None) -> int:
    """The power of two next to the largest size; 0 where it is an ordinary one, or where not all effects scale."""
    if any(effect.behavior.degree is None for effect in effects):
        return 0
    exponent = frexp(max(float(np.max(np.abs(each))) for each in values if each is not None))[1] - 1
    return exponent if abs(exponent) > ORDINARY else 0


def by_power_of_two(values: Any, power: int | IntArray) -> FloatArray:
    """Numbers times a power of two; those beyond the range of numbers become infinite, or 0."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(values, power))

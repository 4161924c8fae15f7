"""When two costs of a search are the same.

Costs are shares of the disagreement on all rows, with the price of each region: numbers of size 1.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.inference.path import TIE

__all__ = ["ROUNDING", "TIE", "first_of_best", "rounded"]

# Costs this close differ by the order of sums only: two columns in either order have the same.
ROUNDING_DIGITS = 12
ROUNDING = 10.0**-ROUNDING_DIGITS


def first_of_best(costs: FloatArray, tolerance: float = TIE) -> int:
    """Position of the first cost within the tolerance of the smallest (C15)."""
    return int(np.flatnonzero(costs <= costs.min() + tolerance)[0])


def rounded(cost: float) -> float:
    """A cost to sort by: those that differ by the order of sums only keep their order."""
    return round(cost, ROUNDING_DIGITS)

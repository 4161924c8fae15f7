"""The illustration: the toy of Figure 1, its table as corrected, and its four panels as numbers.

``F = 3 X1 X2 + X3 + 2 X4`` with X1 standard normal, X2 and X3 fair signs and X4 normal around X3. The sample here is a
lattice with whole counts, on which every conditional mean is exact: X1 and (X2) independent of the rest, X4 given X3
with the counts of a normal density, and ``mu(x4)`` the mean of X3 among the rows with that x4.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.operators.masking import Conditional, Marginal
from paper.games import Array, close, effects

EXACT = Conditional("exact")
SIGNS = (-1.0, 1.0)
QUARTERS = np.arange(-16, 17) / 4  # values of X4


def model(X: Any) -> Array:
    x1, x2, x3, x4 = np.asarray(X, dtype=float).T
    return 3 * x1 * x2 + x3 + 2 * x4


def lattice() -> Array:
    """Rows whose counts follow the toy's distribution; the mean of X4 given X3 is exactly X3."""
    normal = np.array([-1.75, -1.0, -0.5, 0.0, 0.5, 1.0, 1.75])
    steps = np.arange(-9, 10) / 3
    counts = np.rint(12 * np.exp(-(steps**2) / 2)).astype(int)
    noise = np.repeat(steps, counts)
    return np.array([(x1, x2, x3, x3 + z) for x1, x2, x3 in product(normal, SIGNS, SIGNS) for z in noise])


X = lattice()
MU = {x4: float(X[np.isclose(X[:, 3], x4), 2].mean()) for x4 in np.unique(X[:, 3])}

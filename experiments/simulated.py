"""Simulations of the authors of VINE, REPID and GADGET, with their own data: R's random numbers, drawn in Python.

Their repositories hold the scripts with sizes, formulas and seeds, so that rows are theirs to the last digit. Models are
not: forests and networks of R are fitted again here with scikit-learn, several times where chance has a part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri


class RandomR:
    """The random numbers of R after ``set.seed(seed)``: Mersenne twister, normals by inversion."""

    def __init__(self, seed: int) -> None:
        state = np.empty(625, dtype=np.uint32)
        for place in range(-50, 625):
            seed = (69069 * seed + 1) % 2**32
            if place >= 0:
                state[place] = seed
        self.bits = np.random.MT19937()
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": state[1:], "pos": 624}}

    def uniform(self, n: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """``runif(n, low, high)``."""
        share = self.bits.random_raw(n) * 2.3283064365386963e-10
        return low + (high - low) * share

    def normal(self, n: int, sd: float = 1.0, mean: float = 0.0) -> np.ndarray:
        """``rnorm(n, mean, sd)``: two draws each."""
        coarse, fine = self.uniform(2 * n).reshape(n, 2).T
        return mean + sd * ndtri((np.floor(2.0**27 * coarse) + fine) / 2.0**27)

    def binary(self, n: int, ones: float = 0.5) -> np.ndarray:
        """``sample(c(0, 1), n, replace = TRUE, prob = c(1 - ones, ones))``; equal chances are turned round by R."""
        first = 1.0 if ones >= 0.5 else 0.0
        return np.where(self.uniform(n) <= max(ones, 1 - ones), first, 1.0 - first)

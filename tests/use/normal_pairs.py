"""Two normal columns that depend on each other, where conditional means are known."""

from __future__ import annotations

import numpy as np


def normal_pair(rho: float, n: int = 1000, seed: int = 0) -> np.ndarray:
    """Two standard normal columns whose correlation is ``rho``, in the sample up to 1/sqrt(n)."""
    z = np.random.default_rng(seed).normal(size=(n, 2))
    return np.column_stack([z[:, 0], rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]])


def first_column(X: np.ndarray) -> np.ndarray:
    """The model F = x0."""
    return X[:, 0]

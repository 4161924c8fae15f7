"""Tables and models with interactions of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np


def random_table(rng: np.random.Generator, n: int = 60) -> np.ndarray:
    """Two continuous columns, one of three values and one of six."""
    return np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.uniform(-1, 1, n), rng.integers(0, 6, n)]
    )


def random_model(rng: np.random.Generator) -> Any:
    """Steps, products and curves of four columns, three-way terms among them."""
    c = rng.normal(size=5)
    t = rng.normal(scale=0.5, size=4)

    def model(X):
        signs = np.where(t < X, 1.0, -1.0)
        return (
            c[0] * X[:, 0] * signs[:, 1]
            + c[1] * X[:, 2] * signs[:, 0] * signs[:, 3]
            + c[2] * signs[:, 0] * signs[:, 1] * signs[:, 2]
            + c[3] * X[:, 3] * X[:, 2]
            + c[4] * np.sin(2 * X[:, 0])
        )

    return model

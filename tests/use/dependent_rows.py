"""Rows whose first feature depends on the second in a known way, and a model of them."""

from __future__ import annotations

import numpy as np


def columns_of(partition):
    return {name for rule in partition.rules for name, _ in rule.conditions}


def sum_and_product(X):
    return X.sum(axis=1) + X[:, 0] * X[:, 1]


SPREAD = 0.2
"""Standard deviation of x0 given the others, where it depends on them."""

MEANS = {
    "independent": np.zeros_like,
    "linear": np.copy,
    "piecewise": lambda x: np.where(x > 0, 1.0, -1.0),
}


def spread(kind):
    return 3**-0.5 if kind == "independent" else SPREAD


def dependent(kind, n, seed):
    """x0 = m(x1) + noise; all else independent. Uniform, since heavy tails would hide the value in one sample."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    X[:, 0] = MEANS[kind](X[:, 1]) + spread(kind) * 3**0.5 * X[:, 0]
    return X

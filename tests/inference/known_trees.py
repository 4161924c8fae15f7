"""A model with one clear split, and trees whose cuts are known."""

from __future__ import annotations

import numpy as np

import granite_xai as gx


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def tree(*cuts):
    """The partition by one column at some thresholds, as a fit finds it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = lambda X: X[:, 0] * np.searchsorted(cuts, X[:, 1])  # noqa: E731
    return (
        gx.Granite(model, confidence_level=None, split_features=["x1"], max_depth=1)
        .fit(X)
        .partition_
    )

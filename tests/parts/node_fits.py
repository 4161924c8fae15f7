"""Fits of a model with a tree of two levels, and the figures of their nodes."""

from __future__ import annotations

import numpy as np

import granite_xai as gx
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.inference.nodes import NodeFigures
from strategies import quiet


def model(X):
    """The effect of x0 turns with the sign of x1, and grows with x2 where x1 is positive."""
    X = np.asarray(X, dtype=float)
    return X[:, 0] * np.sign(X[:, 1]) * np.where(X[:, 1] > 0, 1 + (X[:, 2] > 0), 1)


def rows(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)).round(1)


def figures(g) -> tuple[NodeFigures, ...]:
    return fitted_view(g, several=True).result.nodes


def fitted(X, question="ice-pdp", y=None, sample_weight=None, clusters=None, **options):
    options = {"max_depth": 2, "min_samples_leaf": 5, "alpha": 0.0, **options}
    with quiet():
        return gx.Granite(model, question, **options).fit(X, y, sample_weight, clusters)

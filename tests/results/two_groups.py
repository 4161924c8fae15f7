"""A fit whose two regions are two groups of rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import granite_xai as gx


def model(X):
    late = np.maximum(np.asarray(X["dose"]) - 25, 0)
    return np.where(np.asarray(X["group"]) > 0, 4.0 * late, np.asarray(X["dose"]) * 1.0)


@cache
def two_groups():
    """The fit, its table and its model; region 1 has the rows with group 1."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"group": rng.integers(0, 2, 400), "dose": rng.integers(0, 40, 400).astype(float)}
    )
    X["age"] = rng.normal(40, 5, 400).round() + 20 * X["group"]
    X["w"] = pd.Categorical(np.where(rng.random(400) < 0.2 + 0.6 * X["group"], "rain", "clear"))
    g = gx.Granite(model, split_features=["group"], max_depth=1).fit(X)
    return g, X, model

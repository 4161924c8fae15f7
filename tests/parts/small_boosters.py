"""Boosters of a few trees, which the tests of boosters and of estimators ask."""

from __future__ import annotations

import lightgbm
import numpy as np
import xgboost

from parts.border import X

TARGETS = {
    "number": X[:, 0] * X[:, 1],
    "binary": (X[:, 0] > 0).astype(int),
    "three": np.digitize(X[:, 0], [-0.5, 0.5]),
}


def xgb(objective, target, **options):
    """A small booster of xgboost, trained on one of TARGETS."""
    parameters = {"objective": objective, "max_depth": 2, "nthread": 1, **options}
    return xgboost.train(parameters, xgboost.DMatrix(X, TARGETS[target]), 5)


def lgb(objective, target, **options):
    """A small booster of lightgbm, trained on one of TARGETS."""
    parameters = {
        "objective": objective,
        "verbose": -1,
        "num_threads": 1,
        "min_data_in_leaf": 2,
        **options,
    }
    return lightgbm.train(parameters, lightgbm.Dataset(X, TARGETS[target]), 5)

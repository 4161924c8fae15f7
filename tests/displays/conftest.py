"""A drawing backend without a screen, and a few fits that every display is tried on."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="session")
def toy():
    return gx.datasets.make_toy(n=80)


@pytest.fixture(scope="session")
def grown(toy):
    return gx.Granite(toy.model, "ice-pdp").fit(toy.X)


def rentals(rows=120, seed=0):
    """A small table like the bike rentals: hours matter differently on working days."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "hr": draw.integers(0, 24, rows),
            "workingday": draw.integers(0, 2, rows),
            "temp": draw.normal(15, 8, rows).round(1),
            "yr": draw.integers(0, 2, rows),
        }
    )
    peak = np.where(X["workingday"] == 1, np.abs(X["hr"] - 12) > 3, np.abs(X["hr"] - 14) < 4)
    y = 50 * peak * (1 + X["yr"]) + 2 * X["temp"] + draw.normal(0, 1, rows)
    return X, y.to_numpy()


@pytest.fixture(scope="session")
def bike():
    X, y = rentals()
    model = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5).fit(X, y)
    g = gx.Granite(model, "ice-pdp", max_depth=2).fit(X)
    g.rows, g.y = X, y
    assert len(g.partition_) > 1
    return g

"""
Forecasts of several horizons
=============================

A model that forecasts the next hour, the next six and the next day has three outputs. ``gx.outputs`` gives
them names and an order, and one tree of regions explains all of them.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx

# %%
# The load of a grid: what it is now fades with the horizon, the weather of tomorrow counts more and more,
# and heating counts only where it is cold.

draw = np.random.default_rng(0)
n = 1_000
X = pd.DataFrame(
    {
        "load_now": draw.normal(size=n),
        "temperature": draw.uniform(-10, 25, n),
        "wind": draw.normal(size=n),
        "weekend": draw.integers(0, 2, n),
    }
)
HORIZONS = [1, 6, 24]
cold = (X["temperature"] < 8).to_numpy()
Y = np.column_stack(
    [
        np.exp(-h / 12) * X["load_now"]
        + (h / 24) * np.where(cold, X["wind"], 0.0)
        - 0.3 * X["weekend"]
        for h in HORIZONS
    ]
)
forest = RandomForestRegressor(100, min_samples_leaf=3, random_state=0).fit(X, Y)

# %%
# One tree for all horizons.

model = gx.outputs(forest, HORIZONS, axis="horizon")
g = gx.Granite(model, output="all").fit(X)
print(g)

# %%
# How the effect of the wind grows with the horizon, and where.

gx.OutputDisplay.from_estimator(g, X, features=["wind"]).plot()

# %%
# The numbers behind it, and one horizon alone.

print(gx.OutputDisplay.from_estimator(g, X, features=["wind"]).frame().head())
print(g.of_output(24).partition_)

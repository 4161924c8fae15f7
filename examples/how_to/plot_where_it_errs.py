"""
Where does the model err?
=========================

Regions say where a model behaves differently. With the target at hand they also say where it is wrong.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

# %%
# Minutes of deliveries. In the city distance costs more time, and traffic makes it hard to predict how much.

draw = np.random.default_rng(0)
n = 3000
X = pd.DataFrame(
    {
        "area": pd.Categorical(draw.choice(["city", "country"], n, p=[0.3, 0.7])),
        "km": draw.uniform(1, 15, n).round(1),
        "parcels": draw.integers(1, 6, n),
    }
)
in_city = (X["area"] == "city").to_numpy()
minutes = 5 + np.where(in_city, 5, 2) * X["km"] + 2 * X["parcels"]
y = (minutes + draw.normal(0, np.where(in_city, 9, 3))).rename("minutes")
train, test = np.arange(n) < 2000, np.arange(n) >= 2000
model = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
model.fit(X[train], y[train])

# %%
# Errors on rows that the model was trained on are too small: pass others as ``holdout``. The last column of the tree is
# the error, and a sentence above it names regions that are worse than chance would make them.

g = gx.Granite(model, max_depth=1, holdout=(X[test], y[test])).fit(X[train], y[train])
print(g)

# %%
# With their intervals, and with ``bias``, the mean of target minus prediction: is the model wrong on
# one side?

print(g.errors_.frame().round(2).to_string(index=False))

# %%
# **What you learn.** Distance counts for more in the city, and just there a prediction is worth less. These
# regions were made to explain the model. To search for regions where it errs most, use a partitioner of
# your own: ``WeakSpots`` in :doc:`/extending` has thirty lines.

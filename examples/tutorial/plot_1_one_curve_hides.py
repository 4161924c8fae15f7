"""
1. One curve hides something
============================

A partial dependence plot answers "how does the model react to this feature?" with one curve. This
lesson shows when that one curve is wrong for most rows.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import PartialDependenceDisplay

import granite_xai as gx

# %%
# The table is simulated, so that we know the truth: on working days people ride to work and back,
# on days off they ride around midday, and both more when it is warm.

X, y = gx.datasets.make_rentals()
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
X.head()

# %%
# The average effect of the hour, as scikit-learn draws it. The thin lines are ICE curves: the
# model's answer for one row when only its hour is changed. The dashed line is their mean, the
# partial dependence (PDP).

PartialDependenceDisplay.from_estimator(
    model, X.astype(float), ["hour"], kind="both", subsample=60, random_state=0
)
plt.title("One curve for all rows, and the rows themselves")

# %%
# The mean curve has three humps: 8, 14 and 17 o'clock. No single row looks like that. Rows of
# working days have the two outer humps, rows of days off the middle one. **The mean describes a
# day that does not exist.**
#
# How far do single rows stray from the average curves? That is what a fit measures first. With
# ``max_depth=0`` it does not divide the rows:

g = gx.Granite(model, "ice-pdp", max_depth=0).fit(X)
print(f"rows stray from the average curves by ±{g.disagreement_**0.5:.0f} rentals")
print(f"one curve per feature describes {g.estimate_.global_fidelity:.0%} of the model")

# %%
# **In short.** Where features interact, rows react differently, and one curve per feature hides
# it. The next lesson finds out *which* rows react alike.

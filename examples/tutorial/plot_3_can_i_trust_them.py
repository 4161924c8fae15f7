"""
3. Can I trust them?
====================

Regions are found in a sample of rows. Would they hold on other rows? Would another sample give
the same ones? And does the search find regions where there are none?
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

X, y = gx.datasets.make_rentals()
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
g = gx.Granite(model, "ice-pdp").fit(X, y)

# %%
# **Do the figures hold on other rows?** A fit searches on two thirds of the rows and judges the
# regions on the rest, which the search has not seen. ``estimate_`` is what these held-out rows
# say, with an interval.

print(g.estimate_)
g.estimate_.frame().round(1)

# %%
# **Would other rows give other regions?** ``stability`` searches again on random halves of the
# rows and counts how often each split comes back.

print(g.stability())

# %%
# **Does it find regions in noise?** Here is a model without any interaction: the effects of its
# features just add up. The fit says so instead of dividing the rows.


def additive(X):
    return 10 * X["hour"].to_numpy() + 3 * X["temperature"].to_numpy()


print(gx.Granite(additive, "ice-pdp").fit(X))

# %%
# The harder case is an effect that only looks like one because rows are few. For two independent
# features, conditional and marginal curves agree in truth; in 200 rows they differ by chance.

draw = np.random.default_rng(0)
few = draw.normal(size=(200, 3))
print(gx.Granite(lambda X: X.sum(axis=1), "mplot-pdp").fit(few))

# %%
# **In short.** Quote ``estimate_`` and its interval, look at ``stability()`` before you tell a
# story about one particular split, and believe the fit when it says that nothing stands out.

"""
2. Find the regions
===================

Which rows react alike? A fit divides the table by a few simple rules so that, inside each region,
the rows follow the region's average curves.
"""

from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

X, y = gx.datasets.make_rentals()
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)

# %%
# ``Granite`` takes a fitted model and a question. ``"ice-pdp"`` asks where single rows (ICE)
# follow the average curve (PDP). ``fit`` asks the model and searches.

g = gx.Granite(model, "ice-pdp").fit(X, y)
print(g)

# %%
# Read it from the top: the finding, how much better the regions describe the model than one curve
# per feature does, and the tree. *Rows stray* says how far single rows are from the average
# curves at each place in the tree, in units of the prediction.
#
# The same as a picture: the effect of the hour on all rows, and in each region.

gx.EffectDisplay.from_estimator(g, X, features=["hour"]).plot()

# %%
# Inside the regions the ICE curves lie close together: here one curve tells what the model does.
# All features at once:

gx.OverviewDisplay.from_estimator(g, X).plot()

# %%
# ``max_depth`` limits how many rules lead to a region, ``alpha`` is the price of a further region
# (the share of the disagreement that a split has to remove; ``"auto"`` chooses it),
# ``split_features`` the features that rules may use:

simple = gx.Granite(model, "ice-pdp", max_depth=1, split_features=["workingday"]).fit(X, y)
print(simple.partition_)

# %%
# **In short.** Two or three rules turn one misleading curve into a few that can be read one by
# one.

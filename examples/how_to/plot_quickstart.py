"""
Quickstart: a DataFrame and a fitted model
==========================================

You have a table and a model. You want to know whether one curve per feature tells what the model does, and if not, for
which rows it does.
"""

from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx

X, y = gx.datasets.load_diabetes()
model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)

# %%
# ICE follows single patients, PDP their mean. Where features interact the two contradict each other, and ``Granite``
# looks for regions in which they do so less. Nothing of the table needs to be prepared.

g = gx.Granite(model, question="ice-pdp", max_depth=2).fit(X, y)
print(g.partition_)

# %%
# Each line is a rule, the patients it holds, and its share of the disagreement: before a split and after all of them.
# The same tree as a picture:

gx.PartitionDisplay.from_estimator(g).plot()

# %%
# The two features whose curves contradict each other most, on all rows and in each region. Thin lines are single
# patients, the thick line is their mean.

gx.EffectDisplay.from_estimator(g, X).plot()

# %%
# How much of the model's variance does one curve per feature explain, without and with regions?

print(f"{g.global_fidelity_:.0%} on all rows, {g.fidelity_:.0%} with {len(g.partition_)} regions")

# %%
# The rules apply to new rows: here, the region of each of the first five.

print(g.apply(X.head()))

# %%
# **What you learn.** Where the thin lines lie on the thick one, the mean curve can be trusted for every single row.
# Where they do not, read the curve of the row's own region instead.

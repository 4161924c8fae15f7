"""
Your own objective
==================

Questions with a name are pairs from an algebra of explanations. Any other pair can be asked, with another loss on the
gap, and several at once with weights.
"""

import warnings

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx

warnings.simplefilter("ignore", gx.BinWarning)  # explained in the example on dependent features
X, y = gx.datasets.load_diabetes()
X = X[["sex", "bmi", "bp", "s5"]]
model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)

# %%
# An explanation is a choice on four axes: masking, behavior, interaction, influence. Two that share behavior and
# influence make a question. Here SHAP, which shares out interactions, meets the M-plot, which follows the data: the gap
# has both causes, and is measured by its absolute size.

shap = gx.Explainer("marginal", "local", "partial")
mplot = gx.Explainer(gx.Conditional(), "local", "pure")
both = gx.Disagreement(shap, mplot, loss="absolute", name="shap-mplot")
print(gx.Granite(model, both, max_depth=2).fit(X).partition_)

# %%
# The loss may be any function of the gap. This one does not care about differences below five units.


def beyond_five(gap):
    """Squared distance beyond five units of the target."""
    return np.maximum(np.abs(gap) - 5, 0) ** 2


tolerant = gx.question("ice-pdp", loss=beyond_five)
print(gx.Granite(model, tolerant, max_depth=2).fit(X).partition_)

# %%
# Several questions with weights: each is counted in shares of its own disagreement on all rows, so that their units do
# not matter.

objective = gx.Objective({"ice-pdp": 2, "pfi-risk": 1})
g = gx.Granite(model, objective, max_depth=2).fit(X, y)
print(g.partition_)

# %%
# And you may skip the search: how good are rules that you already use?

mine = gx.partitioners.GivenRules(["bmi ≤ 25", "25 < bmi ≤ 30", "bmi > 30"])
given = gx.Granite(model, "ice-pdp", partitioner=mine).fit(X)
gx.PartitionDisplay.from_estimator(given).plot()

# %%
# **What you learn.** Decide first which two statements must not contradict each other in your report, and which
# contradictions are too small to matter. That is the objective; the search does the rest.

"""
Why this customer? One row of a credit table
============================================

A model says how likely a loan is repaid. One applicant asks why. The answer is told against the applicants of the
same region, where one set of curves tells what the model does.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import granite_xai as gx

rng = np.random.default_rng(0)
n = 1200
X = pd.DataFrame({"income": rng.lognormal(8, 0.4, n).round(), "debt": rng.gamma(2, 900, n).round()})
X["age"] = rng.integers(20, 70, n)
X["home"] = pd.Categorical(rng.choice(["own", "rent"], n))
chance = 1.5 + (X["income"] - 3000) / 1500 - X["debt"] / np.where(X["home"] == "rent", 900, 3000)
y = rng.random(n) < 1 / (1 + np.exp(-chance))
model = HistGradientBoostingClassifier(
    max_iter=60, random_state=0, categorical_features="from_dtype"
).fit(X, y)

g = gx.Granite(model, max_samples=300, max_depth=2).fit(X)
print(g.partition_)

# %%
# The applicant in row 17. The contributions and what the features do only together add up to the prediction.

found = g.explain_row(X.iloc[[17]])
print(found)

# %%
# The same as a picture: from the mean of the region to the prediction, and where the row stands on the region's curves.

gx.RowDisplay.from_estimator(g, X.iloc[[17]], max_features=2).plot()

# %%
# A row need not be in a table, and there is a frame of it.

g.explain_row({"income": 2000, "debt": 4000, "age": 30, "home": "rent"}).frame()

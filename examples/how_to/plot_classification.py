"""
A classifier with categories
============================

The probability of a class is explained; features with categories stay as they are.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import granite_xai as gx

# %%
# Who cancels a contract? In this made-up table the price drives away those who pay by month, and nobody else.

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "contract": pd.Categorical(rng.choice(["monthly", "one year", "two years"], 500)),
        "channel": pd.Categorical(rng.choice(["shop", "web", "phone"], 500)),
        "price": rng.uniform(20, 100, 500).round(),
        "years": rng.integers(0, 15, 500),
    }
)
score = np.where(X["contract"] == "monthly", (X["price"] - 60) / 8, -1.0) - 0.1 * X["years"]
y = np.where(rng.random(500) < 1 / (1 + np.exp(-score)), "leaves", "stays")
model = HistGradientBoostingClassifier(
    max_iter=40, max_leaf_nodes=4, categorical_features="from_dtype"
)
model.fit(X, y)

# %%
# ``output`` names the class. Categories are split by their names.

g = gx.Granite(model, "ice-pdp", output="leaves", max_depth=1).fit(X)
print(g.partition_)
gx.EffectDisplay.from_estimator(g, X, features=["price", "contract"]).plot()

# %%
# A question about risk needs the labels; for probabilities its loss is the log loss.

risk = gx.Granite(model, "pfi-risk", output="leaves", max_depth=1).fit(X, y)
print(risk.partition_)

# %%
# Without ``output`` the second of two classes is explained; with more than two it must be named. A class that the model
# does not know ends in an error that lists those it does know.

try:
    gx.Granite(model, "ice-pdp", output="goes").fit(X)
except gx.GraniteError as error:
    print(error)

# %%
# **What you learn.** The mean curve of the price rises gently for everybody, which is true for nobody: it is steep for
# monthly contracts and flat for the others. An answer by group of customers is also one that can be acted on.

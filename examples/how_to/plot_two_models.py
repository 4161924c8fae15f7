"""
Champion and challenger, last year and this year
================================================

The same regions under two models, or under one model on two tables: what differs there by more than chance?
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

rng = np.random.default_rng(0)


def rentals(n, heat=0.0):
    """Hours of rented bikes; with heat there are more warm hours, and warmth counts for more."""
    X = pd.DataFrame({"hour": rng.integers(0, 24, n), "workday": rng.integers(0, 2, n)})
    X["temp"] = rng.normal(15 + 6 * heat, 8, n).round(1)
    peak = np.where(
        X["workday"] > 0,
        np.exp(-((X["hour"] - 17) ** 2) / 8),
        np.exp(-((X["hour"] - 14) ** 2) / 40),
    )
    return X, 200 * peak + (2 + heat) * X["temp"] + rng.normal(0, 10, n)


X, y = rentals(1500)
champion = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, y)
challenger = HistGradientBoostingRegressor(max_iter=60, max_depth=1, random_state=0).fit(X, y)
g = gx.Granite(champion, max_depth=2, max_samples=300).fit(X)
fresh, fresh_y = rentals(400)

# %%
# **Champion and challenger.** Stumps cannot let the hour depend on the day: the disagreement is gone, and so is the
# quality, in some regions more than in others. Both models see the same rows, so differences are compared row by row.

found = gx.compare({"champion": g, "challenger": challenger}, fresh, fresh_y, max_samples=300)
print(found)

# %%
# The curves of both, with pointwise intervals.

gx.ComparisonDisplay.from_comparison(found, max_features=2).plot()

# %%
# **Drift.** The same model on a warmer year: rows move between regions, and within them predictions and errors change.

now = rentals(400, heat=1.0)
drift = gx.compare(g, {"last year": (fresh, fresh_y), "this year": now}, max_samples=300)
for sentence in drift.sentences(5):
    print(sentence)

# %%
# Everything in one table.

drift.frame().query("changed")[["region", "measure", "set", "value", "difference"]]

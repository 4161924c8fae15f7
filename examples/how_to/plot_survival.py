"""
Survival at several times
=========================

A model of survival predicts a curve for each row: the probability to be without the event up to each
time. ``gx.survival`` reads it at a few times, and one tree of regions explains all of them. Any model with
``predict_survival_function`` will do: those of scikit-survival and of lifelines, or one of your own.
"""

import numpy as np
import pandas as pd

import granite_xai as gx

# %%
# Patients, some of them with a weak heart. Their age matters far more than that of the others. About a
# third is censored: seen last before anything happened.

draw = np.random.default_rng(0)
n = 600
X = pd.DataFrame(
    {
        "age": draw.integers(40, 90, n).astype(float),
        "weak_heart": draw.integers(0, 2, n),
        "pulse": draw.normal(80, 12, n).round(),
    }
)


def hazard(X):
    years = (X["age"] - 65) / 10
    return 0.15 * np.exp(np.where(X["weak_heart"] == 1, 0.8 * years + 0.6, 0.2 * years))


happens = draw.exponential(1 / hazard(X))
seen_last = draw.uniform(1, 12, n)
y = pd.DataFrame({"event": happens <= seen_last, "time": np.minimum(happens, seen_last)})

# %%
# A model that knows the hazard, and answers as those of lifelines do. With scikit-survival it could be::
#
#     fitted = RandomSurvivalForest(100, min_samples_leaf=15, random_state=0)
#     fitted.fit(X, Surv.from_dataframe("event", "time", y))


class KnownHazard:
    def predict_survival_function(self, X, times):
        return pd.DataFrame(np.exp(-np.outer(times, hazard(X))), index=times)


# %%
# Five times, one tree.

model = gx.survival(KnownHazard(), times=[1, 2, 4, 6, 8])
g = gx.Granite(model, output="all").fit(X)
print(g)

# %%
# What age does over time, on all rows and in the regions.

gx.OutputDisplay.from_estimator(g, X, features=["age"]).plot()

# %%
# On the scale on which hazards multiply, a Cox model needs no regions: ``scale="log-log"``. This one has an
# interaction there, too.

print(str(gx.Granite(model, output="all", scale="log-log").fit(X)).partition("\n")[0])

# %%
# Questions about risk take the event and the time. Their loss is the Brier score, with weights for
# those who are censored, at each time others.

print(gx.Granite(model, "pfi-risk", output="t = 4").fit(X, y))

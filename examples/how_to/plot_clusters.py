"""
Rows that belong together
=========================

Hours of one day, visits of one patient, prices of one shop: such rows say less than as many
independent ones. Pass ``clusters`` and whole clusters are drawn, held out and counted.
"""

import numpy as np
import pandas as pd

import granite_xai as gx

# %%
# A hundred and twenty patients with ten visits each. Age, sex and the dose are the same at every
# visit.

draw = np.random.default_rng(0)
patient = np.repeat(np.arange(120), 10)
X = pd.DataFrame(
    {
        "age": draw.integers(20, 80, 120)[patient].astype(float),
        "sex": draw.integers(0, 2, 120)[patient],
        "dose": draw.uniform(0, 10, 120)[patient],
        "time": draw.uniform(0, 24, len(patient)),
    }
)


def model(X):
    sensitivity = 1.0 + np.exp(-(X["age"] - 20) / 20)  # the young react more
    return sensitivity * X["dose"] + np.sin(X["time"] / 4)


# %%
# Without clusters the interval takes the rows for independent observations and is too narrow.

print(gx.Granite(model).fit(X).estimate_)
print(gx.Granite(model).fit(X, clusters=patient).estimate_)

# %%
# Pass the clusters of other rows, too: ``g.evaluate(X_new, y_new, clusters=…)`` and
# ``holdout=(X_new, y_new, clusters)``. With fewer than five held-out clusters there is no
# interval.

"""
Dependent features: CFI against PFI, M-plot against PDP
=======================================================

Summer is warm and its days are long. Give a winter day the daylight of a summer day and you have made a row that does
not exist; an importance that is measured on such rows may be about nothing.
"""

import warnings

import numpy as np
import pandas as pd

import granite_xai as gx

warnings.simplefilter("ignore", gx.BinWarning)  # about regions with few bins; see below
rng = np.random.default_rng(0)
summer = rng.random(400) < 0.5
temperature = rng.normal(np.where(summer, 24, 6), 4)
daylight = rng.normal(np.where(summer, 15, 9), 1)
X = pd.DataFrame({"summer": summer, "temperature": temperature, "daylight": daylight})


def model(X):
    """Visitors of a park: an additive function of two dependent features."""
    return 3 * X["temperature"].to_numpy() + 10 * X["daylight"].to_numpy()


y = model(X) + rng.normal(0, 5, 400)

# %%
# PFI hides a feature behind values from any row, CFI behind values from rows that are alike in the other features. On
# all rows PFI is many times larger: most of what it loses, the other features could have told.

g = gx.Granite(model, "cfi-pfi", max_depth=1).fit(X, y)
print(g.partition_)
gx.ImportanceDisplay.from_estimator(g, X, y).plot()

# %%
# The same with curves. The M-plot averages over the rows that are there at each value, so that it moves temperature and
# daylight together; PDP moves one of them alone.

curves = gx.Granite(model, "mplot-pdp", max_depth=1).fit(X)
gx.EffectDisplay.from_estimator(curves, X, features=["temperature"]).plot()

# %%
# The model is additive, so interactions are not to blame, and the question about them says so. Where all rows of a
# region are in one bin, both explanations are equal by construction; ``diagnostics_`` counts these cases.

print(gx.Granite(model, "ice-pdp").fit(X).partition_)
print(g.diagnostics_["thin_bins"])

# %%
# **What you learn.** Inside a season temperature and daylight are independent, and one importance is enough. Where no
# rule removes the gap, say which of the two you report: PFI tells what the model *uses*, CFI what it *needs*.

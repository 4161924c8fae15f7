"""
A slow model
============

A fit asks the model about changed rows: up to a million by default. Two ways to make that
cheaper, and one to make it faster.
"""

import numpy as np
from joblib import parallel_config

import granite_xai as gx

toy = gx.datasets.make_toy(n=4000)


def slow(X):
    """Imagine that this takes a millisecond a row."""
    return np.asarray(toy.model(X))


# %%
# **What would it cost?** The plan counts before anything is done. ``seconds`` is a remark from a
# few rows.

plan = gx.Granite(slow).plan(toy.X)
print({name: plan[name] for name in ("rows", "held_out", "model_rows", "pilot_rows")})

# %%
# **Fewer model rows.** ``max_evaluations`` is the budget; the fit uses as many rows of the table
# as it pays for.

g = gx.Granite(slow, resources=gx.Resources(max_evaluations=50_000)).fit(toy.X)
print(g.diagnostics_["model"]["rows"], "rows were sent to the model")
print(g.partition_)

# %%
# **More processes or machines.** With ``n_jobs``, batches of model rows go to joblib's active
# backend (processes, Dask, Ray). The result is the same to the last bit.

with parallel_config(backend="threading"):
    g = gx.Granite(slow, n_jobs=2).fit(toy.X)
print(g.partition_.rules[0])

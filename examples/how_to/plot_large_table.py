"""
A large table
=============

The rows stay where they are: a fit draws a sample, and the rules are applied inside the engine
that holds the data.
"""

import duckdb
import numpy as np
import pandas as pd

import granite_xai as gx

# %%
# Half a million rows in DuckDB.

rides = duckdb.sql(
    "SELECT i % 24 AS hour, (i // 24) % 7 >= 5 AS weekend, (i * 7919) % 300 / 10.0 AS temperature "
    "FROM range(500000) AS t(i) ORDER BY i"
)


def model(X):
    X = pd.DataFrame(X)
    rhythm = np.where(X["weekend"], -((X["hour"] - 14) ** 2), -((X["hour"] - 8) ** 2))
    return rhythm + X["temperature"]


# %%
# ``fit`` draws its sample through the engine. How many rows it uses follows from a budget of
# model rows, which can be raised: ``Resources(max_evaluations=4_000_000)``.

g = gx.Granite(model).fit(rides)
print(g.partition_)

# %%
# ``assign`` adds the region of every row and stays inside the engine.

labelled = g.partition_.assign(rides)
print(duckdb.sql("SELECT region, count(*) AS rows FROM labelled GROUP BY region ORDER BY region"))

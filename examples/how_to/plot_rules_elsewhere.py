"""
Rules that run elsewhere: SQL in DuckDB, pandas, polars, plain Python
=====================================================================

Regions are found once, and used where the data live. Every rule can be written in the language of the place; missing
values, quotes in names and labels, and dates are taken care of.
"""

import duckdb
import polars as pl

import granite_xai as gx

X, y = gx.datasets.load_diabetes()
g = gx.Granite(lambda X: X["bmi"] * (X["sex"] > 1) + X["bp"] * X["s5"] / 100, max_depth=2).fit(X)
print(g.partition_.to_sql(dialect="duckdb").replace(" WHEN", "\n  WHEN"))

# %%
# One expression with its alias: put it into any query.

query = f"SELECT {g.partition_.to_sql(dialect='duckdb')}, count(*) AS patients FROM X GROUP BY 1 ORDER BY 1"
print(duckdb.sql(query))

# %%
# The rule of one region in other languages.

rule = g.partition_[0].rule
print(rule)
print(rule.to_pandas())
print(rule.to_python("in_region_0"))

# %%
# All of them choose the same rows.

inside = rule.contains(X)
assert X.query(rule.to_pandas(), engine="python").index.tolist() == X.index[inside].tolist()
assert len(pl.from_pandas(X).filter(rule.to_polars())) == inside.sum()
scope = {}
exec(rule.to_python("in_region_0"), scope)
assert [scope["in_region_0"](row) for row in X.to_dict("records")] == inside.tolist()
print(inside.sum(), "rows in region 0")

# %%
# All regions at once: an expression for each in pandas, one expression in polars, one function in Python.

for number, expression in g.partition_.to_pandas().items():
    print(number, len(X.query(expression, engine="python")))
print(pl.from_pandas(X).with_columns(g.partition_.to_polars())["region"].value_counts(sort=True))
exec(g.partition_.to_python("region_of"), scope)
print(scope["region_of"](X.iloc[0].to_dict()))

"""
4. Use them
===========

Regions are rules. They can be named, applied to new rows, written as SQL, kept in a file, and
handed over as a report.
"""

import tempfile
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

X, y = gx.datasets.make_rentals()
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
g = gx.Granite(model, "ice-pdp", max_depth=1).fit(X, y)
print(g.partition_)

# %%
# **Name the regions.** The names are used in every figure, table and file.

g.partition_.rename({0: "day off", 1: "working day"})
g.partition_.frame()

# %%
# **The region of new rows:**

new_rows, _ = gx.datasets.make_rentals(n=5, random_state=1)
g.apply(new_rows)

# %%
# **Why this row?** Its prediction, told against the rows of its region.

print(g.explain_row(new_rows.iloc[[0]]))

# %%
# **The rules where the data live:** one SQL expression (also pandas, polars and plain Python).

print(g.partition_.to_sql())

# %%
# **Instead of the model:** one curve per feature and region, added up. How close is that on rows
# nobody has seen?

unseen, _ = gx.datasets.make_rentals(n=2000, random_state=2)
error = model.predict(unseen) - g.predict(unseen)
print(f"describes {1 - error.var() / model.predict(unseen).var():.0%} of the model")

# %%
# **Keep it.** Files are JSON and never run code; pass the model again to ask new questions.

with tempfile.TemporaryDirectory() as folder:
    gx.save(g, Path(folder) / "regions.json")
    again = gx.load(Path(folder) / "regions.json", model=model)
print(again.partition_.rules[0])

# %%
# **Hand it over.** ``g.report(X, y).show()`` opens a page with all of this; ``.html(path)``
# writes it as one file.

report = g.report(X, y)
print(str(report)[:400])

# %%
# **In short.** A region is a rule that runs anywhere.

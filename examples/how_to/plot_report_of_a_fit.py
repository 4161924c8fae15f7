"""
The report of a fit you have, and what a notebook shows
=======================================================

A fit can tell its own story at any time: as a page, as text, or as Markdown for a model card.
"""

from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx

X, y = gx.datasets.load_diabetes()
model = RandomForestRegressor(30, min_samples_leaf=10, random_state=0).fit(X, y)
g = gx.Granite(model, max_depth=1, max_samples=200).fit(X, y)
report = g.report(X, y, title="Diabetes, one year on")
print(str(report)[:900], "…")

# %%
# ``report.show()`` opens the page in the browser, or shows it in the notebook. For a model card, Markdown:

print(report.markdown()[:600], "…")

# %%
# In a notebook every object shows itself: the tree as a tree, tables of at most a screen.

g.partition_

# %%
g.explain(X.iloc[:50])

# %%
gx.questions()

"""
Reading the report
==================

One line makes a report that can be read in a terminal, in a notebook, or mailed as a single file.
"""

from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

import granite_xai as gx

X, y = gx.datasets.load_diabetes()
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X_train, y_train)
test = (X_test, y_test)
report = gx.explain(model, X_train, y_train, test=test, max_depth=2, title="Diabetes progression")

# %%
# The text says, from top to bottom: how far single rows stray from the average curves, in units of the prediction, and
# what the regions leave of it; how sure that is; how much of the model's variance curves explain, without and with
# regions and pairs; which features show more than they hide; the tree of regions, and what to read in each.

print(report)

# %%
# The page has the same order, and pictures: all regions' curves together, each region beside it. Choose a node of the
# tree and every figure follows; point at a chart, or use the arrow keys, to read values; every figure can be saved, and
# its numbers. It loads nothing from anywhere: ``report.html("report.html")`` writes a file that can be mailed, with a
# link to a region (``report.html#region-1``) if you like.

report

# %%
# For further work: a frame with one line per region, feature and question (region -1 stands for all rows), the same as
# JSON, and the fitted estimator, from which every display can be made.

gx.EffectDisplay.from_estimator(report.granite, X_train, features=["bmi"]).plot()
columns = ["region", "rule", "set", "first", "second", "disagreement"]
report.frame().query("set == 'bmi'")[columns].round(1)

# %%
# **What you learn.** Read the first sentence. If it says that there is nothing to explain, one curve per feature is the
# whole story and you may stop. Otherwise look at what the regions leave on held-out rows: where little is left, quote
# the region's explanation; where much is left, say that the feature acts together with others and show the ICE band.

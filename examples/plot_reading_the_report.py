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
# The text says, from top to bottom: how far the two explanations are apart and what the regions leave; how much of the
# model's variance curves explain, without and with regions and pairs; which columns disagree, by question; the tree of
# regions; what to read in each; and how all that looks on held-out rows.

print(report)

# %%
# The page has the same order, and pictures. Choose a region in it to see its own curves and rankings, and open a table
# to see the numbers behind a picture. It loads nothing from anywhere: ``report.html("report.html")`` writes a file that
# can be mailed.

report

# %%
# For further work: a frame with one line per region, column and question (region -1 stands for all rows), the same as
# JSON, and the fitted estimator, from which every display can be made.

gx.EffectDisplay.from_estimator(report.granite, X_train, features=["bmi"]).plot()
columns = ["region", "rule", "set", "first", "second", "disagreement"]
report.frame().query("set == 'bmi'")[columns].round(1)

# %%
# **What you learn.** Read the first sentence. If it says that there is nothing to explain, one curve per column is the
# whole story and you may stop. Otherwise look at what the regions leave on held-out rows: where little is left, quote
# the region's explanation; where much is left, say that the column acts together with others and show the ICE band.

"""
Bike rentals, from the table to held-out figures
================================================

How many bikes are rented in an hour? The hour matters most, but not in the same way on every day.
"""

from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

import granite_xai as gx

# %%
# The table comes from the folder ``GRANITE_DATA`` or from OpenML. Without either, this page goes on with the diabetes
# data, which come with scikit-learn, so that it always runs; the feature that is drawn changes accordingly.

try:
    X, y = gx.datasets.load_bike_sharing()
    X, y, column = X.sample(6000, random_state=0), y.sample(6000, random_state=0), "hr"
except gx.InputError as error:
    print(error, "The diabetes data follow instead.", sep="\n")
    (X, y), column = gx.datasets.load_diabetes(), "bmi"

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X_train, y_train)
print(f"R² on held-out rows: {model.score(X_test, y_test):.2f}")

# %%
# Five hundred rows are enough to find the regions.

g = gx.Granite(model, question="ice-pdp", max_depth=2, max_samples=500).fit(X_train, y_train)
print(g.partition_)

# %%
gx.EffectDisplay.from_estimator(g, X_train, features=[column]).plot()

# %%
# Do the regions hold on rows that neither the model nor the search has seen? ``remaining`` is what they leave of the
# disagreement there, region by region.

evaluation = g.evaluate(X_test.head(400), y_test.head(400))
print(f"left: {g.remaining_:.0%} on the fitting rows, {evaluation.remaining:.0%} on held-out rows")
evaluation.frame().round(2)

# %%
# Which features matter is a question per region, too.

gx.ImportanceDisplay.from_estimator(g, X_train, max_features=5).plot()

# %%
# **What you learn.** On all bike rows the mean curve of the hour describes a day that does not exist: half working day,
# half day off. The first rule separates the two, and inside the regions one curve is closer to every row's own. Expect
# the held-out figure to be somewhat larger than the fitted one; if it is much larger, the regions describe the sample.

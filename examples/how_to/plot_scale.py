"""
Probabilities or log-odds?
==========================

A logistic regression adds up its terms: it has no interactions. In probabilities it seems to have some, because
near 0 and 1 no feature can move them much, and in between every feature can.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import granite_xai as gx

# %%
# Is a tumor benign? Six measurements, to keep the tree readable.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[[column for column in X if column.startswith("mean")][:6]]
y = y.map({0: "malignant", 1: "benign"}).rename("tumor")
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)

# %%
# The default explains probabilities and finds regions. Its first sentence says that another scale needs none. The fit
# saw that in predictions it had already; the model was not asked again.

g = gx.Granite(model, output="malignant").fit(X)
print(g)

# %%
# On log-odds one curve per feature is the whole model, and rows do not differ: all ICE curves are one straight line.

on_log_odds = gx.Granite(model, output="malignant", scale="log-odds").fit(X)
print(on_log_odds)
gx.EffectDisplay.from_estimator(on_log_odds, X, max_features=2).plot()

# %%
# ``predict`` adds the curves up on the scale and turns the sum back: probabilities, here those of the model.

print(abs(on_log_odds.predict(X) - model.predict_proba(X)[:, 1]).max().round(3))

# %%
# **What you learn.** Which scale to choose depends on the reader. If you decide by probability, you need to know that
# texture matters most for tumors in between, and regions say where these are. If you want to know how the
# model computes, read it on log-odds. ``scale="log"`` does the same for counts and prices,
# ``scale="log-log"`` for survival.

"""The picture of the README: how the effect of the hour on bike rentals differs between regions."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

X, y = gx.datasets.load_bike_sharing()
model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
g = gx.Granite(model, question="ice-pdp", max_depth=2).fit(X, y)
display = gx.EffectDisplay.from_estimator(g, X, features=["hr"]).plot()
display.figure_.savefig(Path(__file__).parent / "images" / "bike-hour.png", dpi=110)

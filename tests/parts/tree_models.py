"""Tree ensembles of every library, with their tables and options."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")

RNG = np.random.default_rng(7)
N = 60
X = RNG.normal(size=(N, 4))
X[:, 2] = np.round(X[:, 2], 1)
X[:, 3] = RNG.integers(0, 5, N)
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + (X[:, 3] == 2)
LABELS = np.digitize(Y, [-0.5, 0.8])
HOLES = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    d=pd.Categorical.from_codes(X[:, 3].astype(int), ["v", "w", "x", "y", "z"]),
    n=RNG.integers(0, 9, N),
)
FRAME_HOLES = FRAME.assign(a=HOLES[:, 0], d=FRAME["d"].where(X[:, 0] < 1))

LGB = {
    "n_estimators": 12,
    "min_child_samples": 3,
    "min_data_per_group": 3,
    "cat_smooth": 1,
    "verbose": -1,
}
XGB = {"n_estimators": 12, "max_depth": 4}


def _stopped_xgboost():
    model = xgboost.XGBRegressor(
        n_estimators=60, max_depth=4, learning_rate=0.6, early_stopping_rounds=3
    )
    return model.fit(X[:40], Y[:40], eval_set=[(X[40:], Y[40:])], verbose=False)


def _stopped_lightgbm():
    model = lightgbm.LGBMRegressor(**LGB | {"n_estimators": 80, "learning_rate": 0.5})
    return model.fit(
        X[:40],
        Y[:40],
        eval_set=[(X[40:], Y[40:])],
        callbacks=[lightgbm.early_stopping(2, verbose=False)],
    )


def _codes_xgboost():
    kinds = ["q", "q", "q", "c"]
    data = xgboost.DMatrix(X, Y, feature_types=kinds, enable_categorical=True)
    return xgboost.train({"max_depth": 4, "max_cat_to_onehot": 1}, data, 10)


MODELS = {
    "tree": (lambda: DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y), X, {}),
    "deep tree": (lambda: DecisionTreeRegressor(random_state=0).fit(X, Y), X, {}),
    "tree, missing": (lambda: DecisionTreeRegressor(random_state=0).fit(HOLES, Y), HOLES, {}),
    "constant tree": (lambda: DecisionTreeRegressor().fit(X, np.ones(N)), X, {}),
    "extra tree": (lambda: ExtraTreeRegressor(random_state=0).fit(X, Y), X, {}),
    "tree, classes": (lambda: DecisionTreeClassifier(max_depth=3).fit(X, LABELS), X, {"output": 2}),
    "forest": (lambda: RandomForestRegressor(9, random_state=0).fit(X, Y), X, {}),
    "forest, missing": (lambda: RandomForestRegressor(9, random_state=0).fit(HOLES, Y), HOLES, {}),
    "forest, frame": (
        lambda: RandomForestRegressor(5).fit(FRAME[["a", "b", "n"]], Y),
        FRAME[["a", "b", "n"]],
        {},
    ),
    "forest, two targets": (
        lambda: RandomForestRegressor(5).fit(X, np.stack([Y, -Y], 1)),
        X,
        {"output": 1},
    ),
    "forest, classes": (lambda: RandomForestClassifier(9).fit(X, LABELS), X, {"output": 1}),
    "forest, two classes": (lambda: RandomForestClassifier(9).fit(X, LABELS > 0), X, {}),
    "extra trees": (lambda: ExtraTreesRegressor(9, max_depth=5).fit(X, Y), X, {}),
    "extra trees, classes": (
        lambda: ExtraTreesClassifier(9, max_depth=5).fit(X, LABELS),
        X,
        {"output": 0},
    ),
    "boosting": (lambda: GradientBoostingRegressor(n_estimators=12).fit(X, Y), X, {}),
    "boosting, init zero": (
        lambda: GradientBoostingRegressor(n_estimators=12, init="zero").fit(X, Y),
        X,
        {},
    ),
    "boosting, stopped": (
        lambda: GradientBoostingRegressor(
            n_estimators=90, learning_rate=0.9, n_iter_no_change=2
        ).fit(X, Y),
        X,
        {},
    ),
    "boosting, logistic": (
        lambda: GradientBoostingClassifier(n_estimators=9).fit(X, LABELS > 0),
        X,
        {},
    ),
    "boosting, first class": (
        lambda: GradientBoostingClassifier(n_estimators=9).fit(X, LABELS > 0),
        X,
        {"output": False},
    ),
    "boosting, raw": (
        lambda: GradientBoostingClassifier(n_estimators=9).fit(X, LABELS > 0),
        X,
        {"response": "raw", "output": False},
    ),
    "boosting, exponential loss": (
        lambda: GradientBoostingClassifier(n_estimators=9, loss="exponential").fit(X, LABELS > 0),
        X,
        {},
    ),
    "boosting, softmax": (
        lambda: GradientBoostingClassifier(n_estimators=5).fit(X, LABELS),
        X,
        {"output": 1},
    ),
    "histogram": (
        lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=3).fit(X, Y),
        X,
        {},
    ),
    "histogram, missing": (
        lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=3).fit(HOLES, Y),
        HOLES,
        {},
    ),
    "histogram, only missing": (
        lambda: HistGradientBoostingRegressor(max_iter=5).fit(
            np.where(HOLES == HOLES, 1.0, np.nan), Y
        ),
        np.where(HOLES == HOLES, 1.0, np.nan),
        {},
    ),
    "histogram, codes": (
        lambda: HistGradientBoostingRegressor(
            max_iter=12, min_samples_leaf=3, categorical_features=[3]
        ).fit(HOLES, Y),
        HOLES,
        {},
    ),
    "histogram, categories": (
        lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=3).fit(FRAME_HOLES, Y),
        FRAME_HOLES,
        {},
    ),
    "histogram, poisson": (
        lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=9, min_samples_leaf=3).fit(
            X, np.abs(Y)
        ),
        X,
        {},
    ),
    "histogram, stopped": (
        lambda: HistGradientBoostingRegressor(
            max_iter=90,
            learning_rate=0.9,
            min_samples_leaf=3,
            early_stopping=True,
            n_iter_no_change=2,
        ).fit(X, Y),
        X,
        {},
    ),
    "histogram, constant": (
        lambda: HistGradientBoostingRegressor(max_iter=3).fit(X, np.ones(N)),
        X,
        {},
    ),
    "histogram, softmax": (
        lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3).fit(X, LABELS),
        X,
        {"output": 2},
    ),
    "xgboost": (lambda: xgboost.XGBRegressor(**XGB).fit(X, Y), X, {}),
    "xgboost, missing": (lambda: xgboost.XGBRegressor(**XGB).fit(HOLES, Y), HOLES, {}),
    "xgboost, frame": (
        lambda: xgboost.XGBRegressor(**XGB).fit(FRAME[["a", "b", "n"]], Y),
        FRAME[["a", "b", "n"]],
        {},
    ),
    "xgboost, stopped": (_stopped_xgboost, X, {}),
    "xgboost, codes": (_codes_xgboost, X, {}),
    "xgboost, booster": (
        lambda: xgboost.train({"max_depth": 4}, xgboost.DMatrix(HOLES, Y), 10),
        HOLES,
        {},
    ),
    "xgboost, dart": (
        lambda: xgboost.XGBRegressor(**XGB, booster="dart", rate_drop=0.3).fit(X, Y),
        X,
        {},
    ),
    "xgboost, forest": (lambda: xgboost.XGBRFRegressor(**XGB).fit(X, Y), X, {}),
    "xgboost, logistic": (lambda: xgboost.XGBClassifier(**XGB).fit(X, LABELS > 0), X, {}),
    "xgboost, raw": (
        lambda: xgboost.XGBClassifier(**XGB).fit(X, LABELS > 0),
        X,
        {"response": "raw"},
    ),
    "xgboost, softmax": (lambda: xgboost.XGBClassifier(**XGB).fit(X, LABELS), X, {"output": 1}),
    "xgboost, poisson": (
        lambda: xgboost.XGBRegressor(**XGB, objective="count:poisson").fit(X, np.abs(Y)),
        X,
        {},
    ),
    "lightgbm": (lambda: lightgbm.LGBMRegressor(**LGB).fit(X, Y), X, {}),
    "lightgbm, missing": (lambda: lightgbm.LGBMRegressor(**LGB).fit(HOLES, Y), HOLES, {}),
    "lightgbm, whole numbers": (
        lambda: lightgbm.LGBMRegressor(**LGB).fit((X * 9).astype(int), Y),
        (X * 9).astype(int),
        {},
    ),
    "lightgbm, categories": (
        lambda: lightgbm.LGBMRegressor(**LGB).fit(FRAME_HOLES, Y),
        FRAME_HOLES,
        {},
    ),
    "lightgbm, stopped": (_stopped_lightgbm, X, {}),
    "lightgbm, forest": (
        lambda: lightgbm.LGBMRegressor(
            **LGB, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7
        ).fit(X, Y),
        X,
        {},
    ),
    "lightgbm, logistic": (lambda: lightgbm.LGBMClassifier(**LGB).fit(X, LABELS > 0), X, {}),
    "lightgbm, softmax": (lambda: lightgbm.LGBMClassifier(**LGB).fit(X, LABELS), X, {"output": 1}),
    "lightgbm, booster": (lambda: lightgbm.LGBMRegressor(**LGB).fit(HOLES, Y).booster_, HOLES, {}),
}

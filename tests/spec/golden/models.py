"""The models of the golden fits: closed-form functions, and small trained models.

A closed-form function gives the same numbers everywhere. What a trained model predicts depends on
the version of its library, so its record carries a fingerprint of the predictions
(`prediction_fingerprint`), and the case is skipped where that differs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from golden.tables import COLORS, FIRST_DAY, LABELS, SIZES, TOWNS, Split, table

COLOR_SLOPES = dict(zip(COLORS, (2.0, -1.0, 0.5, -2.5), strict=True))
SIZE_SHIFTS = dict(zip(SIZES, (-1.0, 0.25, 1.5), strict=True))
TOWN_SLOPES = dict(zip(TOWNS, (2.0, -1.0, 0.5, -2.5, 1.5, 3.0, -2.0, 0.0, 1.0), strict=True))
IF_MISSING = 0.75  # what a missing cell counts as


# ------------------------------------------------------------------- closed forms, of arrays


def gated(X: np.ndarray) -> np.ndarray:
    """The slope of x0, and whether x2 counts, depend on x1; x3 changes x2 where x0 is large."""
    x0, x1, x2, x3 = X[:, :4].T
    return np.where(x1 > 0.2, 4 * x0, -2 * x0 + 3 * x2) + 2 * x2 * x3 * (x0 > -0.3) + x3**2


def smooth(X: np.ndarray) -> np.ndarray:
    """Two smooth interactions and a slope."""
    x0, x1, x2, x3 = X[:, :4].T
    return 3 * x0 * x1 + 2 * np.sin(2 * x2) * x3 + x0


def smooth_in_three(X: np.ndarray) -> np.ndarray:
    """One smooth and one sharp interaction of three columns."""
    x0, x1, x2 = X[:, :3].T
    return 3 * x0 * x1 + 2 * x2 * (x0 > 0.3)


def three_way(X: np.ndarray) -> np.ndarray:
    """An interaction of three columns that no single split lowers, stronger where x3 is large."""
    x0, x1, x2, x3 = X[:, :4].T
    return (4 + x3) * (x0 + 0.3) * np.sign(x1 - 0.1) * np.sign(x2 + 0.2) + x3 * x0


def additive(X: np.ndarray) -> np.ndarray:
    """No interaction at all."""
    return 3 * X[:, 0] + np.sin(2 * X[:, 1])


def constant(X: np.ndarray) -> np.ndarray:
    """The same answer for every row."""
    return np.full(len(X), 2.5)


def neighbors(X: np.ndarray) -> np.ndarray:
    """Every column interacts with the next one."""
    strengths = np.linspace(2.0, 0.5, X.shape[1] - 1)
    return (X[:, :-1] * X[:, 1:]) @ strengths + X[:, 0]


def two_outputs(X: np.ndarray) -> np.ndarray:
    """Two outputs in different units."""
    return np.column_stack([gated(X), 100 * smooth(X)])


class ThreeClasses:
    """Softmax of three closed-form scores."""

    classes_ = np.array(LABELS)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([gated(X), smooth(X), X[:, 2] * X[:, 3] - X[:, 0]])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        odds = np.exp(self.decision_function(X))
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[np.argmax(self.decision_function(X), axis=1)]


class TwoClasses:
    """A logistic curve of one closed-form score."""

    classes_ = np.array(["no", "yes"])

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return gated(X) - 0.5

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        second = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - second, second])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


# ------------------------------------------------------------------- closed forms, of frames


def mixed_effects(X: Any) -> np.ndarray:
    """Colors set the slope of heat, opening the effect of the hour, sizes the trend over days."""
    heat = _as_numbers(X, "heat")
    hour = _as_numbers(X, "hour")
    is_open = _as_numbers(X, "open")
    slope = _as_numbers(X, "color", COLOR_SLOPES)
    shift = _as_numbers(X, "size", SIZE_SHIFTS)
    days = _as_numbers(X, "day")
    return slope * heat + 0.5 * hour * is_open + shift * days / 30 + 0.2 * shift


def slope_by_town(X: pd.DataFrame) -> np.ndarray:
    """Every town has its own slope of heat."""
    heat = _as_numbers(X, "heat")
    return _as_numbers(X, "town", TOWN_SLOPES) * heat + _as_numbers(X, "wind") * (heat > 0.2)


def _as_numbers(X: Any, name: str, worth: dict[str, float] | None = None) -> np.ndarray:
    """A column of a pandas or polars frame as numbers, missing cells included."""
    cells = X[name].to_numpy()
    if worth is not None:
        return np.array([worth.get(cell, IF_MISSING) for cell in cells])
    if cells.dtype.kind == "M":
        days = (cells - FIRST_DAY) / np.timedelta64(1, "D")
        return np.where(np.isnat(cells), IF_MISSING, days)
    values = cells.astype(float)
    return np.where(np.isnan(values), IF_MISSING, values)


CLOSED_FORMS: dict[str, Any] = {
    "gated": gated,
    "smooth": smooth,
    "smooth in three": smooth_in_three,
    "three-way": three_way,
    "additive": additive,
    "constant": constant,
    "neighbors": neighbors,
    "two outputs": two_outputs,
    "three classes": ThreeClasses(),
    "two classes": TwoClasses(),
    "mixed effects": mixed_effects,
    "slope by town": slope_by_town,
}


# ------------------------------------------------------------------- trained models


def decision_tree(rows: Any) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows.X, rows.y)


def forest(rows: Any) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=6, max_depth=4, random_state=0).fit(rows.X, rows.y)


def forest_classifier(rows: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    learner = RandomForestClassifier(n_estimators=6, max_depth=4, random_state=0)
    return learner.fit(rows.X, rows.labels)


def gradient_boosting(rows: Any) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    learner = GradientBoostingRegressor(n_estimators=12, max_depth=3, random_state=0)
    return learner.fit(rows.X, rows.y)


def histogram_boosting(rows: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    learner = HistGradientBoostingRegressor(max_iter=12, max_leaf_nodes=6, min_samples_leaf=8)
    return learner.fit(rows.X, rows.y)


def polynomial(rows: Any) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    return make_pipeline(PolynomialFeatures(2), LinearRegression()).fit(rows.X, rows.y)


def logistic(rows: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression().fit(rows.X, rows.labels)


def network(rows: Any) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    # So few steps that rounding in the matrix products cannot grow.
    learner = MLPRegressor(hidden_layer_sizes=(8,), solver="sgd", max_iter=30, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(rows.X, rows.y)


def lightgbm_boosting(rows: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    learner = lightgbm.LGBMRegressor(
        n_estimators=10, num_leaves=6, min_child_samples=8, n_jobs=1, verbose=-1
    )
    return learner.fit(rows.X, rows.y)


def xgboost_tree(rows: Any) -> Any:
    """One tree: single precision adds nothing up."""
    xgboost = pytest.importorskip("xgboost")
    learner = xgboost.XGBRegressor(
        n_estimators=1, max_depth=4, learning_rate=1.0, base_score=0.0, n_jobs=1
    )
    return learner.fit(rows.X, rows.y)


def xgboost_boosting(rows: Any) -> Any:
    """Several trees: their sum, in single precision, depends on its order in the last digits."""
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRegressor(n_estimators=8, max_depth=3, n_jobs=1).fit(rows.X, rows.y)


TRAINED: dict[str, Callable[[Any], Any]] = {
    "decision tree": decision_tree,
    "forest": forest,
    "forest classifier": forest_classifier,
    "gradient boosting": gradient_boosting,
    "histogram boosting": histogram_boosting,
    "polynomial": polynomial,
    "logistic": logistic,
    "network": network,
    "LightGBM": lightgbm_boosting,
    "one XGBoost tree": xgboost_tree,
    "XGBoost": xgboost_boosting,
}


@cache
def model(name: str, table_name: str) -> Any:
    """A model by its name; a trained one has learned from the fitting rows of the table."""
    if name in CLOSED_FORMS:
        return CLOSED_FORMS[name]
    return TRAINED[name](table(table_name).fitting)


def prediction_fingerprint(name: str, table_name: str) -> list[float] | None:
    """Mean and mean square of all predictions on a table; None for a closed form."""
    if name in CLOSED_FORMS:
        return None
    predictions = _predictions(model(name, table_name), table(table_name))
    return [float(np.mean(predictions)), float(np.mean(np.square(predictions)))]


def _predictions(trained: Any, split: Split) -> np.ndarray:
    ask = getattr(trained, "predict_proba", trained.predict)
    answers = [np.asarray(ask(rows.X), dtype=float) for rows in (split.fitting, split.other)]
    return np.concatenate(answers)

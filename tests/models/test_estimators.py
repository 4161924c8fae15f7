"""Estimators in the manner of scikit-learn: which method is asked, and what it says of missing values."""

from __future__ import annotations

import types
import warnings

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from granite_xai.base.errors import Diagnostics, InputError, ModelWarning
from granite_xai.models import accepts_missing, as_predictor
from models.border import THREE, YES, X, refused
from models.small_boosters import lgb, xgb


def test_M02_scores_of_pairs_are_not_scores_of_classes():
    model = SVC(decision_function_shape="ovo").fit(X, THREE)
    assert "ovr" in refused("M02", as_predictor, model, response="raw", output="low").hint


def test_M22_a_classifier_without_probabilities_says_what_is_explained():
    model = LinearSVC().fit(X, (YES == "yes").astype(int))
    record = Diagnostics()
    with pytest.warns(ModelWarning, match="M22: LinearSVC .*response='raw'"):
        F = as_predictor(model, record=record)
    assert F.label == "predict"
    assert record.warnings[0].startswith("M22")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_predictor(model, response="predict")
        as_predictor(model, response="raw")


@pytest.mark.parametrize("response", ["probability", "raw"])
def test_P03_a_response_that_the_model_cannot_give_is_refused(response):
    error = refused("P03", as_predictor, LinearRegression(), response=response, error=InputError)
    assert error.hint == "It offers response='predict'."


def test_raw_scores_of_boosted_estimators_come_before_the_link():
    count = np.round(np.exp(X[:, 0]))
    model = xgboost.XGBRegressor(n_estimators=5, objective="count:poisson").fit(X, count)
    assert np.allclose(
        np.exp(as_predictor(model, response="raw")(X)), as_predictor(model)(X), rtol=1e-5
    )
    model = lightgbm.LGBMRegressor(n_estimators=5, objective="poisson", verbose=-1).fit(X, count)
    assert np.allclose(np.exp(as_predictor(model, response="raw")(X)), as_predictor(model)(X))


def test_predict_proba_without_classes_speaks_for_the_second_of_two_columns():
    class Bare:
        def predict_proba(self, X):
            return np.column_stack([np.full(len(X), 0.25), np.full(len(X), 0.75)])

    F = as_predictor(Bare())
    assert F(X).tolist() == [0.75] * 60
    assert as_predictor(Bare(), output=0)(X).tolist() == [0.25] * 60
    assert F.label == "probability"


@pytest.mark.parametrize(
    ("model", "accepts"),
    [
        (HistGradientBoostingRegressor(), True),
        (DecisionTreeClassifier(), True),
        (LinearRegression(), False),
        (make_pipeline(StandardScaler(), LinearRegression()), False),
        (make_pipeline(StandardScaler(), HistGradientBoostingRegressor()), True),
        (make_pipeline(SimpleImputer(), "passthrough", LinearRegression()), True),
        (make_pipeline(PolynomialFeatures(), SimpleImputer(), LinearRegression()), False),
        (xgboost.XGBRegressor(), True),
        (lightgbm.LGBMRegressor(), True),
        (xgb("reg:squarederror", "number"), True),
        (lgb("regression", "number"), True),
        (lambda X: X, False),
        (types.SimpleNamespace(predict=lambda X: X), False),
    ],
)
def test_models_say_themselves_whether_they_take_missing_values(model, accepts):
    assert accepts_missing(model) is accepts

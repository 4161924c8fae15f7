"""The border to models: what is one, what is none, and which frames reach it."""

from __future__ import annotations

import math
import subprocess
import sys
import types
import warnings

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from granite_xai import Granite
from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import as_predictor
from models.border import refused, table
from models.zoo import numbers, two


def test_a_predictor_is_its_own_predictor():
    F = as_predictor(lambda X: X[:, 0])
    assert as_predictor(F) is F


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (None, "None"),
        (LinearRegression, "the class LinearRegression"),
        (math, "the module math"),
        (types.ModuleType("mine"), "the module mine"),
        ("model.pkl", "a str"),
        ({"predict": 1}, "a dict"),
        ([LinearRegression()], "a list"),
        (types.SimpleNamespace(predict=3), "a SimpleNamespace"),
        (StandardScaler(), "a StandardScaler"),
    ],
)
def test_M21_what_is_no_model_is_named(model, words):
    error = refused("M21", as_predictor, model)
    assert words in str(error)
    assert (error.argument, error.hint is None) == ("model", False)


def test_P01_an_unknown_response_lists_the_valid_ones():
    error = refused("P01", as_predictor, LinearRegression(), response="proba", error=InputError)
    assert error.argument == "response"
    assert "'probability'" in str(error)


def mixed_frame():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "rooms": rng.integers(1, 5, 60),
            "town": pd.Categorical(
                rng.choice(["a", "b", "c"], 60), categories=["c", "a", "b", "unused"]
            ),
            "new": rng.random(60) > 0.5,
        }
    )


def frame_models():
    frame, target = mixed_frame(), np.arange(60.0)
    encoder = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    yield make_pipeline(encoder, LinearRegression()).fit(frame, target)
    yield HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype").fit(
        frame, target
    )
    yield xgboost.XGBRegressor(n_estimators=5, enable_categorical=True).fit(frame, target)
    yield lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(frame, target)
    yield lightgbm.train({"verbose": -1}, lightgbm.Dataset(frame, target), 5)
    yield xgboost.train({}, xgboost.DMatrix(frame, target, enable_categorical=True), 5)


@pytest.mark.parametrize(
    "model",
    list(frame_models()),
    ids=lambda model: type(model).__name__ + type(model).__module__[:3],
)
def test_M14_models_trained_on_frames_are_asked_with_frames_and_nobody_warns(model):
    frame = mixed_frame()
    data, rows = table(frame), np.arange(60)
    F = as_predictor(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = F.on_rows(data)
        swapped = F.recombined(data, rows, data, rows[::-1].copy(), [2, 3])
    expected = frame.assign(
        town=pd.Categorical(frame["town"][::-1], categories=frame["town"].cat.categories),
        new=frame["new"].to_numpy()[::-1],
    )
    assert np.array_equal(own, F(frame))
    assert np.array_equal(swapped, F(expected))


@pytest.mark.parametrize("library", [pl.DataFrame, lambda d: pa.table(d)])
def test_frames_of_other_libraries_reach_the_model_as_they_are(library):
    data = library({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    seen = []

    def model(X):
        seen.append(type(X))
        return np.asarray(X["a"]) * 10 + np.asarray(X["b"])

    F = as_predictor(model)
    assert F.on_rows(table(data)).tolist() == [13.0, 24.0]
    assert F.recombined(table(data), [0, 1], table(data), [1, 1], [1]).tolist() == [14.0, 24.0]
    assert F(data).tolist() == [13.0, 24.0]
    assert set(seen) == {type(data)}


def test_M21_an_object_that_answers_everything_is_refused():
    from unittest.mock import MagicMock

    with pytest.raises(ModelError, match="M21: this MagicMock cannot be asked"):
        as_predictor(MagicMock())


FRAME = numbers(40)
ARRAY = FRAME.to_numpy()


def test_no_package_is_imported_to_find_out_what_a_model_is():
    code = """
import sys
from granite_xai.models import as_predictor, accepts_missing
model = lambda X: X[:, 0]
as_predictor(model), accepts_missing(model)
packages = {"torch", "catboost", "xgboost", "lightgbm"}
sys.exit(str(packages & set(sys.modules)) if packages & set(sys.modules) else 0)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        ).stderr
        == ""
    )


def test_M02_a_fit_on_one_of_several_outputs_is_the_fit_on_that_output():
    model = LinearRegression().fit(ARRAY, two(FRAME))
    chosen = Granite(lambda X: two(pd.DataFrame(X, columns=["a", "b", "c"])), output=0).fit(ARRAY)
    alone = Granite(lambda X: two(pd.DataFrame(X, columns=["a", "b", "c"]))[:, 0]).fit(ARRAY)
    assert chosen.disagreement_ == alone.disagreement_
    assert str(chosen.partition_) == str(alone.partition_)
    refused("M02", Granite(model).fit, ARRAY, error=ModelError)

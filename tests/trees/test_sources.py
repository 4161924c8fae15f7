"""Which call of which model is read as trees."""

from __future__ import annotations

import sys
from functools import partial
from types import MethodType

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression

from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.model_numbers import NUMBERS
from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.sources import model_call, source_of
from trees.tree_models import XGB, X, Y, lightgbm, xgboost

FOREST = RandomForestRegressor(2, random_state=0).fit(X, Y)
BOOSTING = GradientBoostingClassifier(n_estimators=2).fit(X, Y > 0)


def test_a_predictor_calls_a_method_of_its_model():
    call = model_call(as_predictor(FOREST))
    assert (call.model, call.method, call.raw) == (FOREST, "predict", False)


def test_the_score_before_the_link_is_raw():
    assert model_call(as_predictor(BOOSTING, response="raw")).raw
    assert not model_call(as_predictor(BOOSTING)).raw
    booster = xgboost.XGBClassifier(**XGB).fit(X, Y > 0)
    assert model_call(as_predictor(booster, response="raw")).raw


@pytest.mark.parametrize(
    "function", [FOREST.predict.__func__, partial(FOREST.predict), lambda data: data[:, 0]]
)
def test_functions_are_not_looked_through(function):
    with pytest.raises(RefusalError, match="the model is a function"):
        model_call(as_predictor(function))


def test_a_method_that_was_bound_to_the_object_is_a_function():
    bound = RandomForestRegressor(2, random_state=0).fit(X, Y)
    bound.predict = MethodType(lambda self, data: data[:, 0], bound)
    with pytest.raises(RefusalError, match="the model is a function"):
        model_call(as_predictor(bound))


def test_a_class_that_is_not_known_is_refused_without_a_warning():
    with pytest.raises(RefusalError, match="LinearRegression is no tree ensemble") as caught:
        source_of(model_call(as_predictor(LinearRegression().fit(X, Y))))
    assert caught.value.code is None


def test_trees_of_forests_see_single_precision_and_histograms_double():
    numbers = np.full((1, 4), 0.1)
    table = read_table(numbers, missing="error")
    assert source_of(model_call(as_predictor(FOREST))).view is NUMBERS
    histogram = HistGradientBoostingRegressor(max_iter=2).fit(X, Y)
    seen = source_of(model_call(as_predictor(histogram))).view(table)
    np.testing.assert_array_equal(seen, numbers)


@pytest.mark.parametrize("build", [xgboost.XGBRegressor, lightgbm.LGBMRegressor])
def test_other_libraries_need_treelite_only_when_trees_are_read(build, monkeypatch):
    model = build(n_estimators=2, verbosity=0 if build is xgboost.XGBRegressor else -1).fit(X, Y)
    source = source_of(model_call(as_predictor(model)))
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(RefusalError, match="treelite is not installed"):
        source.load()
    monkeypatch.undo()
    assert source.load().n_features == 4


def test_trees_after_the_best_round_are_left_out():
    model = xgboost.XGBRegressor(
        n_estimators=40, max_depth=3, learning_rate=0.9, early_stopping_rounds=2
    )
    model.fit(X[:40], Y[:40], eval_set=[(X[40:], Y[40:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    loaded = source_of(model_call(as_predictor(model))).load()
    assert len(loaded.trees_of(0)) == model.best_iteration + 1

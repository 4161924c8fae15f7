"""Boosters are asked in the ways of their libraries."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from granite_xai.base.errors import InputError, ModelError, ModelWarning
from granite_xai.models import as_predictor
from models.border import X, refused
from models.small_boosters import lgb, xgb
from models.zoo import numbers, yes_no


def test_xgboost_boosters_are_asked_through_their_own_matrix():
    model = xgb("reg:squarederror", "number")
    F = as_predictor(model)
    assert np.array_equal(F(X), model.predict(xgboost.DMatrix(X)).astype(float))
    assert (F.native_float32, F.label, F.is_probability) == (True, "predict", False)


@pytest.mark.parametrize(("build", "objective"), [(xgb, "binary:logistic"), (lgb, "binary")])
def test_binary_boosters_give_probabilities_and_scores(build, objective):
    model = build(objective, "binary")
    F = as_predictor(model)
    assert (F.label, F.classes) == ("probability of class 1", (0, 1))
    assert np.allclose(as_predictor(model, output=0)(X), 1 - F(X))
    score = as_predictor(model, response="raw")(X)
    assert np.allclose(1 / (1 + np.exp(-score)), F(X), atol=1e-6)
    assert np.array_equal(as_predictor(model, response="raw", output=0)(X), -score)
    assert as_predictor(model, response="predict").label == "predict"


@pytest.mark.parametrize(("build", "objective"), [(xgb, "multi:softprob"), (lgb, "multiclass")])
def test_boosters_of_several_classes_need_an_output(build, objective):
    model = build(objective, "three", num_class=3)
    refused("M02", as_predictor, model)
    shares = [as_predictor(model, output=k)(X) for k in range(3)]
    assert np.allclose(sum(shares), 1.0, atol=1e-6)


def test_M22_boosters_that_answer_with_labels_say_so():
    model = xgb("multi:softmax", "three", num_class=3)
    with pytest.warns(ModelWarning, match="M22"):
        as_predictor(model)


@pytest.mark.parametrize("model", [xgb("reg:squarederror", "number"), lgb("regression", "number")])
def test_P03_boosters_of_numbers_have_no_probabilities(model):
    refused("P03", as_predictor, model, response="probability", error=InputError)


FRAME = numbers(40)


def test_M20_P03_catboost_says_what_it_cannot_do():
    catboost = pytest.importorskip("catboost")
    refused("M20", as_predictor, catboost.CatBoost(), error=ModelError)
    quick = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(**quick).fit(FRAME, FRAME["a"])
    refused("P03", as_predictor, model, response="probability", error=InputError)
    assert as_predictor(model).classes is None
    classifier = catboost.CatBoostClassifier(**quick).fit(FRAME, yes_no(FRAME))
    assert as_predictor(classifier).label == "probability of class 'yes'"
    refused("M05", as_predictor(classifier, response="predict"), FRAME, error=ModelError)


def test_a_model_loaded_from_a_file_knows_its_classes(tmp_path):
    catboost = pytest.importorskip("catboost")
    quick = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**quick).fit(FRAME, yes_no(FRAME))
    model.save_model(str(tmp_path / "model.cbm"))
    loaded = catboost.CatBoost().load_model(str(tmp_path / "model.cbm"))
    F = as_predictor(loaded, output="no")
    assert F(FRAME) == pytest.approx(model.predict_proba(FRAME)[:, 0])

"""What is a model, how each kind is asked, and which of its outputs is explained."""

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
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from granite_xai import Granite
from granite_xai.base.errors import Diagnostics, InputError, ModelError, ModelWarning
from granite_xai.models import accepts_missing, as_predictor
from granite_xai.models.kinds import number_matrix
from parts.border import THREE, YES, X, refused, table
from parts.model_zoo import numbers, two, yes_no
from parts.small_boosters import lgb, xgb


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


# Estimators


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


# Boosters


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


# Outputs


def test_M02_several_outputs_and_none_chosen_ask_for_one():
    error = refused("M02", as_predictor(lambda X: X), X)
    assert error.argument == "output"
    assert "output= one of 0, 1, 2" in str(error)


def test_M02_an_output_is_chosen_by_position():
    F = as_predictor(lambda X: X, output=2)
    assert np.array_equal(F(X), X[:, 2])
    assert F.label == "output 2 of function"


@pytest.mark.parametrize("response", ["auto", "probability", "raw"])
def test_M02_an_output_beyond_the_last_is_told_their_numbers(response):
    error = refused("M02", as_predictor(lambda X: X, output=9, response=response), X)
    assert "output=9 is not known: the model has 3 outputs, numbered 0 to 2." in str(error)
    assert "class" not in str(error)


def test_M02_several_classes_are_listed_before_the_first_call():
    model = LogisticRegression().fit(X, THREE)
    error = refused("M02", as_predictor, model)
    assert "'high', 'low', 'middle'" in str(error)
    assert error.argument == "output"


def test_M02_a_class_is_chosen_by_name():
    model = LogisticRegression().fit(X, THREE)
    F = as_predictor(model, output="low")
    assert np.array_equal(F(X), model.predict_proba(X)[:, 1])
    assert (F.label, F.classes, F.is_probability) == (
        "probability of class 'low'",
        ("high", "low", "middle"),
        True,
    )


def test_M02_one_output_has_no_second():
    refused("M02", as_predictor(LinearRegression().fit(X, X[:, 0]), output=1), X)


def test_M02_classifiers_of_several_targets_are_refused():
    model = RandomForestClassifier(2, random_state=0).fit(X, np.column_stack([YES, THREE]))
    assert "2 targets" in str(refused("M02", as_predictor, model))


def test_M02_two_unnamed_scores_are_not_guessed():
    class Scores:
        def decision_function(self, X):
            return X[:, :2]

    refused("M02", as_predictor(Scores(), response="raw"), X)


@pytest.mark.parametrize(
    ("output", "column", "label"),
    [
        (None, 1, "class 'yes'"),
        ("yes", 1, "class 'yes'"),
        ("no", 0, "class 'no'"),
        (0, 0, "class 'no'"),
    ],
)
def test_C18_a_binary_classifier_explains_its_second_class_or_the_named_one(output, column, label):
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, YES)
    F = as_predictor(model, output=output)
    assert F.label == f"probability of {label}"
    assert np.array_equal(F(X), model.predict_proba(X)[:, column])
    assert np.allclose(
        as_predictor(model, output=output, response="raw")(X),
        (2 * column - 1) * model.decision_function(X),
    )


def test_C18_numbers_name_classes_and_are_never_guessed_as_positions():
    model = LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]) + 1)
    assert np.array_equal(as_predictor(model, output=2)(X), model.predict_proba(X)[:, 1])
    assert as_predictor(model, output=np.int64(2)).label == "probability of class 2"
    refused("P01", as_predictor, model, output=0, error=InputError)


def test_C18_truth_values_name_their_own_classes():
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    assert as_predictor(model).label == "probability of class True"
    assert as_predictor(model, output=False).label == "probability of class False"


def test_C18_a_single_class_has_probability_one():
    assert as_predictor(DummyClassifier().fit(X, ["a"] * 60))(X).tolist() == [1.0] * 60


def test_P01_an_unknown_class_lists_the_classes_and_the_closest():
    error = refused(
        "P01", as_predictor, LogisticRegression().fit(X, THREE), output="midle", error=InputError
    )
    assert error.argument == "output"
    assert "'high', 'low', 'middle'" in str(error)
    assert error.hint == "Did you mean 'middle'?"


def test_P01_outputs_without_names_are_asked_for_by_position():
    for output in (-1, 1.0, True):
        refused("P01", as_predictor, LinearRegression(), output=output, error=InputError)
    by_name = as_predictor(
        lambda X: X, output="yes"
    )  # a frame that it returned could have the name
    refused("P01", by_name, X, error=InputError)


def test_M02_two_classes_of_the_same_name_are_refused():
    class Twice:
        classes_ = np.array(["yes", "yes"])

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    with pytest.raises(ModelError, match="M02: Twice names a class twice"):
        as_predictor(Twice())


def test_M07_classes_that_raise_are_an_error_of_the_model():
    class Broken:
        @property
        def classes_(self):
            raise RuntimeError("no classes today")

        def predict(self, X):
            return X[:, 0]

    with pytest.raises(
        ModelError, match=r"M07: Broken.classes_ raised RuntimeError \(no classes today\)"
    ):
        as_predictor(Broken())


# Cells as numbers


def test_truth_values_are_0_and_1_and_missing_cells_are_nan():
    frame = pd.DataFrame({"a": [1.5, None], "b": [True, False]})
    np.testing.assert_array_equal(number_matrix(frame, "it"), [[1.5, 1.0], [np.nan, 0.0]])


def test_an_array_of_numbers_keeps_its_type():
    assert number_matrix(np.ones((2, 3), dtype=np.float32), "it").dtype == np.float32


def test_M14_a_column_of_text_is_named_with_its_reader():
    with pytest.raises(InputError, match="the net takes numbers") as caught:
        number_matrix(pd.DataFrame({"a": [1.0], "t": ["x"]}), "the net")
    assert caught.value.code == "M14"
    assert caught.value.columns == ("t",)

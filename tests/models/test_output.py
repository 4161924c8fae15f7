"""Which output is explained: classes by name, numbers by position."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import as_predictor
from models.border import THREE, YES, X, refused


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
    for output in ("yes", -1, 1.0, True):
        refused("P01", as_predictor, LinearRegression(), output=output, error=InputError)


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

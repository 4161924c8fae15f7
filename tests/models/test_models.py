"""The border to models: every kind is read, every answer checked, every failing row named."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import time
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
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError, ModelError, ModelWarning
from granite_xai.models import accepts_missing, as_predictor
from granite_xai.tables import read_table

X = np.random.default_rng(0).normal(size=(60, 3))
YES = np.where(X[:, 0] > 0, "yes", "no")
THREE = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
ONE = np.ones(1)


def table(data, missing="error"):
    return read_table(data, missing=missing)


def refused(code, function, *arguments, error=ModelError, **options):
    """Run something that must be refused with this code; the text starts with it and ends in a remedy."""
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    assert caught.value.code == code
    assert str(caught.value).startswith(f"{code}: ")
    return caught.value


def answer(value, rows=X, **options):
    return as_predictor(lambda X: value, **options)(rows)


# M01 - M03: shapes ----------------------------------------------------------------------------------------------------


def test_M01_a_single_column_counts_as_one_number_a_row():
    assert np.array_equal(as_predictor(lambda X: X[:, [1]])(X), X[:, 1])


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


def test_M02_scores_of_pairs_are_not_scores_of_classes():
    model = SVC(decision_function_shape="ovo").fit(X, THREE)
    assert "ovr" in refused("M02", as_predictor, model, response="raw", output="low").hint


def test_M02_two_unnamed_scores_are_not_guessed():
    class Scores:
        def decision_function(self, X):
            return X[:, :2]

    refused("M02", as_predictor(Scores(), response="raw"), X)


@pytest.mark.parametrize(
    "value",
    [
        np.ones(59),
        1.0,
        np.ones((60, 2, 2)),
        None,
        np.ones((1, 60)),
        np.ones((60, 0)),
        object(),
        [[1.0], [1.0, 2.0]],
    ],
)
def test_M03_a_wrong_shape_is_named_with_the_expected_one(value):
    error = refused("M03", answer, value)
    assert error.argument == "model"
    if isinstance(value, np.ndarray):
        assert f"shape {value.shape}" in str(error)
        assert "expected (60,)" in str(error)


def test_M03_one_number_for_one_row_must_still_be_an_array():
    refused("M03", answer, 1.0, X[:1])
    assert answer([1.0], X[:1]).tolist() == [1.0]


class Tensor:
    """Behaves like a tensor on a device: no array until it is detached and brought to the host."""

    def __init__(self, values, ready=0):
        self.values, self.ready = values, ready

    def detach(self):
        return Tensor(self.values, self.ready + 1)

    def cpu(self):
        return Tensor(self.values, self.ready + 1)

    def __array__(self, dtype=None, copy=None):
        if self.ready < 2:
            raise RuntimeError("tensor needs detach and cpu")
        return self.values


class DeviceArray:
    __cuda_array_interface__ = {}

    def __init__(self, values):
        self.values = values

    def get(self):
        return self.values

    def __array__(self, dtype=None, copy=None):
        raise TypeError("implicit conversion is not allowed")


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        pd.Series,
        pd.DataFrame,
        pl.Series,
        lambda v: pl.DataFrame({"p": v}),
        pa.array,
        lambda v: pd.Series(v, dtype="Float64"),
        lambda v: v.astype(object),
        np.ma.masked_array,
        Tensor,
        DeviceArray,
    ],
)
def test_M03_array_likes_are_read(convert):
    values = X[:, 0].copy()
    got = answer(convert(values))
    assert type(got) is np.ndarray
    assert got.dtype == np.float64
    assert np.array_equal(got, values)


def test_M03_more_columns_than_classes_are_refused():
    class Odd:
        classes_ = np.array(["a", "b"])

        def predict_proba(self, X):
            return np.full((len(X), 3), 1 / 3)

    assert "3 columns for 2 classes" in str(refused("M03", as_predictor(Odd()), X))


# M04 - M06, T08: values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_M04_values_that_are_not_finite_are_counted_and_their_rows_named(bad):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{n}" for n in range(60)])

    def model(X):
        values = X["a"].to_numpy(copy=True)
        values[[3, 18, 20, 21, 22, 40]] = bad
        return values

    error = refused("M04", as_predictor(model).on_rows, table(frame))
    assert error.rows == ("r3", "r18", "r20", "r21", "r22")
    assert "6 values" in str(error)
    assert "rows 'r3', 'r18', 'r20', 'r21', 'r22', …" in str(error)


def test_M04_the_recombination_behind_a_value_is_named():
    data = table(pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 0.0, 5.0, 0.0]}))

    def model(
        X,
    ):  # fails only where a comes from row 3 and b from row 2: no row of the data is like that
        return np.where((X["a"] == 3) & (X["b"] == 5), np.nan, 1.0)

    F = as_predictor(model)
    F.on_rows(data)
    base, donor = (grid.ravel() for grid in np.mgrid[0:4, 0:4])
    error = refused("M04", F.recombined, data, base, data, donor, [0])
    assert "row 3 on column 'a', row 2 elsewhere" in str(error)
    assert (error.columns, error.rows) == (("a",), (2,))


def test_M04_rows_of_later_batches_are_named_right():
    data = table(np.arange(20.0).reshape(10, 2))
    F = as_predictor(lambda X: np.where(X[:, 0] == 14, np.inf, 0.0), batch_size=3)
    assert refused("M04", F.on_rows, data).rows == (7,)


def test_M04_masked_answers_are_missing_answers():
    refused("M04", answer, np.ma.masked_array(np.ones(60), mask=np.arange(60) == 1))
    refused("M04", answer, [None] + [1.0] * 59)


@pytest.mark.parametrize(
    "value",
    [
        ["yes"] * 60,
        np.array(["yes"] * 60, dtype=object),
        np.ones(60, dtype=complex),
        np.ones(60, dtype="datetime64[s]"),
    ],
)
def test_M05_values_that_are_no_numbers_are_refused(value):
    error = refused("M05", answer, value)
    if isinstance(value, list):
        assert "predict_proba or decision_function" in str(error)


@pytest.mark.parametrize(
    "value", [["a"] * 60, np.array(["a"] * 60), np.array([np.str_("a")] * 60, dtype=object)]
)
def test_M05_text_is_shown_as_it_was_written(value):
    assert "(first: 'a')" in str(refused("M05", answer, value))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, bool, np.float16, np.longdouble])
def test_M05_whole_numbers_and_truth_values_are_read_as_float64(dtype):
    values = (X[:, 0] > 0).astype(dtype)
    got = answer(values)
    assert got.dtype == np.float64
    assert np.array_equal(got, values.astype(float))


def test_M05_text_labels_of_a_classifier_are_refused():
    F = as_predictor(SVC().fit(X, YES), response="predict")
    refused("M05", F, X)


@pytest.mark.parametrize(
    ("dtype", "single"), [(np.float32, True), (np.float16, True), (np.float64, False), (int, False)]
)
def test_M06_single_precision_is_upcast_and_noticed(dtype, single):
    F = as_predictor(lambda X: X[:, 0].astype(dtype))
    assert F(X).dtype == np.float64
    assert F.native_float32 is single


@pytest.mark.parametrize("bad", [1.0001, -1e-6, 2.0])
def test_T08_probabilities_outside_the_unit_interval_are_refused(bad):
    values = np.full(60, 0.5)
    values[7] = bad
    error = refused("T08", answer, values, response="probability")
    assert error.rows == (7,)
    assert f"{bad:g}" in str(error)
    assert answer(values)[7] == bad  # a plain prediction may be any number


def test_T08_round_off_at_the_ends_is_not_held_against_a_model():
    assert answer([1.0 + 2**-52], ONE, response="probability").tolist() == [1.0 + 2**-52]


# M07, M20: models that raise ------------------------------------------------------------------------------------------


def raising(poisoned):
    def model(X):
        if poisoned(X):
            raise KeyError("no such level")
        return X[:, 0]

    return model


def test_M07_the_smallest_failing_set_is_one_row_and_the_cause_is_chained():
    data = table(np.arange(2000.0).reshape(1000, 2))
    F = as_predictor(raising(lambda X: (X[:, 0] == 2 * 617).any()))
    error = refused("M07", F.on_rows, data)
    assert error.rows == (617,)
    assert isinstance(error.__cause__, KeyError)
    assert "KeyError" in str(error)
    assert "no such level" in str(error)
    assert F.usage.calls <= 1 + 2 * math.ceil(math.log2(1000))


def test_M07_a_failure_of_recombined_rows_alone_is_named_as_recombination():
    data = table(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    F = as_predictor(raising(lambda X: (X == 1).all(axis=1).any()))
    assert np.array_equal(F.on_rows(data), [0.0, 1.0, 0.0])
    base, donor = (grid.ravel() for grid in np.mgrid[0:3, 0:3])
    error = refused("M07", F.recombined, data, base, data, donor, [1])
    assert "row 2 on column 'x1', row 1 elsewhere" in str(error)
    assert (error.columns, error.rows) == (("x1",), (1,))


def test_M07_rows_that_fail_only_together_are_named_together():
    data = table(np.arange(16.0).reshape(8, 2))
    F = as_predictor(raising(lambda X: {4.0, 6.0} <= set(X[:, 0])))
    assert refused("M07", F.on_rows, data).rows == (2, 3)
    F = as_predictor(raising(lambda X: {0.0, 14.0} <= set(X[:, 0])))
    assert "8 rows" in str(refused("M07", F.on_rows, data))


def test_M07_a_failure_on_a_given_frame_is_chained_too():
    error = refused("M07", as_predictor(raising(lambda X: True)), X)
    assert isinstance(error.__cause__, KeyError)


def test_M07_interrupts_are_not_failures_of_the_model():
    def interrupted(X):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        as_predictor(interrupted)(X)


def test_M07_lack_of_memory_is_not_searched_for():
    def greedy(X):
        raise MemoryError

    F = as_predictor(greedy)
    assert "batch_size" in refused("M07", F.on_rows, table(X)).hint
    assert F.usage.calls == 1


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
        xgboost.XGBRegressor(),
        lightgbm.LGBMClassifier(),
    ],
)
def test_M20_models_that_are_not_fitted_say_so(model):
    F = as_predictor(model)
    error = refused("M20", F.on_rows, table(X))
    assert isinstance(error.__cause__, NotFittedError)
    assert F.usage.calls == 1


# M09, M11, M15: buffers, batches, threads, counts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        X.copy(),
        np.asfortranarray(X),
        pd.DataFrame(X, columns=["a", "b", "c"]),
        pl.DataFrame(X, schema=["a", "b", "c"]),
        X.tolist(),
    ],
)
def test_M11_the_model_never_gets_the_users_own_buffer(data):
    before = copy.deepcopy(data)
    kept = []

    def vandal(X):
        kept.append(X)
        values = np.array(X)[:, 0]
        if isinstance(X, pl.DataFrame):
            X.insert_column(0, pl.Series("mine", values))
        elif isinstance(X, pd.DataFrame):
            X.iloc[:, :] = -1.0
            X["mine"] = 0.0
        else:
            np.asarray(X)[:] = -1.0
        return values

    F = as_predictor(vandal)
    read = table(data)
    first = F.on_rows(read)
    assert np.array_equal(F.on_rows(read), first)
    if not isinstance(data, list):
        assert np.array_equal(F(data), first)
    assert all(sent is not data for sent in kept)
    if isinstance(data, pd.DataFrame | pl.DataFrame):
        assert data.equals(before)
    else:
        assert np.array_equal(data, before)


def test_M11_an_answer_in_a_reused_buffer_is_copied():
    buffer = np.empty(60)

    def model(X):
        np.copyto(buffer, X[:, 0])
        return buffer

    F = as_predictor(model)
    first = F(X)
    F(-X)
    assert np.array_equal(first, X[:, 0])
    assert not np.shares_memory(first, buffer)


def test_M11_an_answer_that_is_a_view_of_the_input_is_copied():
    data = table(X)
    F = as_predictor(lambda X: X[:, 0])
    first = F.on_rows(data)
    first[:] = 0.0
    assert np.array_equal(F.on_rows(data), X[:, 0])


def test_M15_batches_have_the_size_asked_for_and_only_the_last_is_shorter():
    sizes = []

    def model(X):
        sizes.append(len(X))
        return X[:, 0]

    F = as_predictor(model, batch_size=25)
    assert np.array_equal(F.on_rows(table(X)), X[:, 0])
    assert sizes == [25, 25, 10]


def test_M15_default_batches_are_a_fixed_number_of_rows():
    sizes = []

    def model(X):
        sizes.append(len(X))
        return np.zeros(len(X))

    rows = np.zeros(2**13 + 5, dtype=np.intp)
    as_predictor(model).recombined(table(X), rows, table(X), rows, [0])
    assert sizes == [2**13, 5]


@pytest.mark.parametrize("batch_size", [0, -3, 2.5, True])
def test_P02_a_senseless_batch_size_is_refused(batch_size):
    assert (
        refused("P02", as_predictor, abs, batch_size=batch_size, error=InputError).argument
        == "batch_size"
    )


def test_calls_rows_and_seconds_are_counted_exactly():
    F = as_predictor(lambda X: time.sleep(0.01) or X[:, 0], batch_size=25)
    assert (F.usage.calls, F.usage.rows, F.usage.seconds) == (0, 0, 0.0)
    F.on_rows(table(X))
    F(X[:5])
    assert (F.usage.calls, F.usage.rows) == (4, 65)
    assert F.usage.seconds >= 0.04


def test_no_rows_need_no_call():
    F = as_predictor(lambda X: X[:, 0])
    none = np.empty(0, dtype=np.intp)
    assert F.recombined(table(X), none, table(X), none, [0]).shape == (0,)
    assert F.usage.calls == 0


def test_M16_the_model_is_called_from_one_thread_at_a_time():
    inside, most = [], []

    def model(X):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.002)
        inside.pop()
        return X[:, 0]

    F, data = as_predictor(model), table(X)
    threads = [threading.Thread(target=F.on_rows, args=(data,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert F.usage.calls == 8


def test_recombined_rows_are_those_of_the_definition():
    other = np.random.default_rng(1).normal(size=(20, 3))
    base, donor = np.array([5, 5, 7, 0]), np.array([19, 0, 3, 3])
    F = as_predictor(lambda X: X @ [1.0, 10.0, 100.0])
    expected = X[base].copy()
    expected[:, [0, 2]] = other[donor][:, [0, 2]]
    got = F.recombined(table(X), base, table(other), donor, (0, 2))
    assert np.allclose(got, expected @ [1.0, 10.0, 100.0], rtol=1e-14)


def test_a_predictor_is_pickled_with_its_model_and_counts():
    F = as_predictor(LogisticRegression().fit(X, YES), output="no", batch_size=7)
    F(X)
    for G in (pickle.loads(pickle.dumps(F)), copy.deepcopy(F)):
        assert np.array_equal(G(X), F.model_output.send(X)[:, 0])
        assert (G.label, G.batch_size, G.usage.calls) == (F.label, 7, 2)
    assert F.usage.calls == 1


def test_a_predictor_is_its_own_predictor():
    F = as_predictor(lambda X: X[:, 0])
    assert as_predictor(F) is F


# M21, M22, C18: what is explained -------------------------------------------------------------------------------------


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


def test_P01_an_unknown_response_lists_the_valid_ones():
    error = refused("P01", as_predictor, LinearRegression(), response="proba", error=InputError)
    assert error.argument == "response"
    assert "'probability'" in str(error)


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


# Boosters -------------------------------------------------------------------------------------------------------------

TARGETS = {
    "number": X[:, 0] * X[:, 1],
    "binary": (X[:, 0] > 0).astype(int),
    "three": np.digitize(X[:, 0], [-0.5, 0.5]),
}


def xgb(objective, target, **options):
    parameters = {"objective": objective, "max_depth": 2, "nthread": 1, **options}
    return xgboost.train(parameters, xgboost.DMatrix(X, TARGETS[target]), 5)


def lgb(objective, target, **options):
    parameters = {
        "objective": objective,
        "verbose": -1,
        "num_threads": 1,
        "min_data_in_leaf": 2,
        **options,
    }
    return lightgbm.train(parameters, lightgbm.Dataset(X, TARGETS[target]), 5)


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


# Frames ---------------------------------------------------------------------------------------------------------------


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


# Missing values -------------------------------------------------------------------------------------------------------


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


def test_M07_an_error_without_a_text_and_one_that_acts_on_a_terminal_are_told_plainly():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    def mute(X):
        raise Mute

    def colourful(X):
        raise ValueError("\x1b[31mred\x07")

    with pytest.raises(ModelError, match=r"M07: the model raised Mute \(\(no message\)\)"):
        as_predictor(mute)(np.ones((2, 1)))
    with pytest.raises(ModelError, match=r"M07: the model raised ValueError \(�\[31mred�\)"):
        as_predictor(colourful)(np.ones((2, 1)))


def test_M21_an_object_that_answers_everything_is_refused():
    from unittest.mock import MagicMock

    with pytest.raises(ModelError, match="M21: this MagicMock cannot be asked"):
        as_predictor(MagicMock())


def test_M07_a_failure_at_random_is_blamed_on_no_row():
    calls = []

    def moody(X):
        calls.append(len(X))
        if len(calls) == 1:
            raise RuntimeError("busy")
        return X[:, 0]

    table = read_table(np.arange(8.0)[:, None], missing="error")
    with pytest.raises(ModelError, match="M07: .* asked again, it did not: it fails at random"):
        as_predictor(moody).on_rows(table)

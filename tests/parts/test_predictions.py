"""What a model returned is one checked number a row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.svm import SVC

from granite_xai.models import as_predictor
from parts.border import ONE, YES, X, answer, refused


def test_M01_a_single_column_counts_as_one_number_a_row():
    assert np.array_equal(as_predictor(lambda X: X[:, [1]])(X), X[:, 1])


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

"""Tables in the numbers that trees compare."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from granite_xai.tables import read_table
from granite_xai.trees.model_numbers import (
    LIGHTGBM_ZERO,
    NUMBERS,
    histogram_matrix,
    lightgbm_matrix,
    single_precision,
)
from granite_xai.trees.refusal import RefusalError


def table(frame):
    return read_table(frame, missing="allow")


def test_single_precision_rounds_as_float32_does():
    numbers = np.array([[0.1, 1e300], [np.nan, 16777217.0]])
    found = NUMBERS(table(numbers))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, numbers.astype(np.float32).astype(float))
    assert found.dtype == np.float64


def test_truth_values_are_numbers():
    assert NUMBERS(table(pd.DataFrame({"flag": [True, False]}))).tolist() == [[1.0], [0.0]]


def test_labels_become_the_codes_of_the_model():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": pd.Categorical(["b", "a", None])})
    found = single_precision({1: ["a", "b"]}, table(frame))
    np.testing.assert_array_equal(found, [[1.0, 1.0], [2.0, 0.0], [3.0, np.nan]])
    with pytest.raises(RefusalError, match="has not seen") as caught:
        single_precision({1: ["a"]}, table(frame))
    assert caught.value.code == "M25"


@pytest.mark.filterwarnings("ignore:D20")
@pytest.mark.parametrize(
    ("column", "reason"),
    [(["u", "v"], "does not hold numbers"), ([2**53 + 2, 1], "beyond 2\\^53")],
)
def test_what_is_no_exact_number_is_refused(column, reason):
    with pytest.raises(RefusalError, match=reason):
        NUMBERS(table(pd.DataFrame({"x": column})))


def test_lightgbm_takes_tiny_numbers_for_zero():
    numbers = np.array([[LIGHTGBM_ZERO, -LIGHTGBM_ZERO], [1e-30, np.nan]])
    found = lightgbm_matrix(None, table(numbers))
    np.testing.assert_array_equal(found, [[0.0, 0.0], [1e-30, np.nan]])


def test_histogram_boosting_sees_codes_in_the_order_of_the_table():
    frame = pd.DataFrame(
        {
            "x": np.linspace(0, 1, 60),
            "label": pd.Categorical(["b", "a", "c"] * 20, categories=["c", "b", "a"]),
        }
    )
    model = HistGradientBoostingRegressor(max_iter=2, categorical_features="from_dtype")
    model.fit(frame, frame["x"] * (frame["label"] == "a"))
    rows = frame.iloc[:4].copy()
    rows.loc[3, "label"] = np.nan
    found = histogram_matrix(model, table(rows))
    np.testing.assert_array_equal(found[:, 0], rows["x"])
    encoder = model._preprocessor.transformers_[0][1]
    labels = list(encoder.categories_[0])
    expected = [labels.index(label) for label in ("b", "a", "c")]
    np.testing.assert_array_equal(found[:, 1], [*expected, np.nan])

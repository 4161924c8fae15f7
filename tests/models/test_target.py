"""The target: what is read, what is refused (T01-T06)."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import oracle
from granite_xai.base.errors import InputError
from granite_xai.explanation.behavior import Local, Risk
from granite_xai.explanation.behavior.losses import LOSSES
from granite_xai.explanation.behavior.target import target_for
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from models.border import refused_argument

N = 6


X = np.arange(2.0 * N).reshape(N, 2)


Y = np.array([0.5, -1.0, 2.0, 0.0, 3.0, 1.5])


TABLE = read_table(X, missing="error")


REGRESSOR = as_predictor(lambda X: X[:, 0])


LABELS = np.array(["no", "yes", "no", "yes", "maybe", "no"])


SQUARED = Risk("squared")


CLASSIFIER = as_predictor(DecisionTreeClassifier(random_state=0).fit(X, LABELS), output="yes")


def read(y, predictor=REGRESSOR, table=TABLE, behavior=SQUARED):
    return target_for(y, table, predictor, behavior)


def test_T01_risk_needs_a_target():
    error = refused_argument("T01", read, None)
    assert error.argument == "y"
    assert "a question about risk needs y: it is about losses" in str(error)


def test_T01_other_behaviors_need_none():
    assert read(None, behavior=Local()) is None
    assert read(["anything"] * N, behavior=Local()) is None


def test_T01_one_question_about_risk_among_several_needs_it():
    with pytest.raises(InputError, match="T01"):
        target_for(None, TABLE, REGRESSOR, Local(), Risk("squared"))


@pytest.mark.parametrize("behavior", [Risk("squared"), Local()], ids=["needed", "not needed"])
@pytest.mark.parametrize("y", [Y[:-1], np.append(Y, 1.0), Y[:0], pd.Series(Y[:2])])
def test_T02_the_wrong_length_names_both_lengths(y, behavior):
    error = refused_argument("T02", read, y, behavior=behavior)
    assert f"y has {len(y)} values, X has {N} rows" in str(error)


HOLES = {
    "NaN": np.array([0.5, np.nan, 2.0, 0.0, np.nan, 1.5]),
    "infinity": np.array([0.5, np.inf, 2.0, 0.0, -np.inf, 1.5]),
    "None": [0.5, None, 2.0, 0.0, None, 1.5],
    "infinity among objects": np.array([1, np.inf, 2, 0, -np.inf, 1], dtype=object),
    "pandas NA": pd.Series([1, pd.NA, 2, 0, pd.NA, 1], dtype="Int64"),
    "pandas NA among objects": pd.Series([1, pd.NA, 2, 0, pd.NA, 1], dtype=object),
    "polars null": pl.Series([0.5, None, 2.0, 0.0, None, 1.5]),
    "arrow null": pa.array([0.5, None, 2.0, 0.0, None, 1.5]),
    "arrow chunks": pa.chunked_array([[0.5, None, 2.0], [0.0, None, 1.5]]),
    "NaT": pd.Series(pd.to_datetime(["2020", None, "2020", "2020", None, "2020"])),
}


@pytest.mark.parametrize("y", HOLES.values(), ids=HOLES)
def test_T03_missing_and_infinite_values_are_named_by_row(y):
    error = refused_argument("T03", read, y)
    assert error.rows == (1, 4)
    assert "2 missing or infinite values (rows 1, 4)" in str(error)


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA])
def test_T03_missing_labels_are_named_too(hole):
    y = pd.Series([hole, *LABELS[1:]], dtype=object)
    error = refused_argument("T03", read, y, CLASSIFIER)
    assert "1 missing or infinite value (row 0)" in str(error)


def test_T03_rows_are_called_what_the_table_calls_them():
    table = read_table(pd.DataFrame(X, index=list("abcdef")), missing="error")
    assert refused_argument("T03", read, HOLES["NaN"], table=table).rows == ("b", "e")


COLUMN = {
    "array": Y[:, None],
    "list": [[value] for value in Y],
    "pandas": pd.DataFrame({"y": Y}),
    "polars": pl.DataFrame({"y": Y}),
    "pyarrow": pa.table({"y": Y}),
    "plain list": Y.tolist(),
    "tuple": tuple(Y),
    "Series": pd.Series(Y),
    "polars Series": pl.Series(Y),
    "arrow array": pa.array(Y),
    "nullable": pd.Series(Y, dtype="Float64"),
    "objects": Y.astype(object),
    "float32": Y.astype(np.float32),
}


@pytest.mark.parametrize("y", COLUMN.values(), ids=COLUMN)
def test_T04_one_column_is_a_target(y):
    read_values = read(y)
    assert read_values.dtype == np.float64
    assert read_values.shape == (N,)
    np.testing.assert_array_equal(read_values, Y)


def test_T04_whole_numbers_and_booleans_are_numbers():
    np.testing.assert_array_equal(read([1, 0, 2, 3, 4, 5]), [1, 0, 2, 3, 4, 5])
    np.testing.assert_array_equal(read([True, False, True, True, False, False]), [1, 0, 1, 1, 0, 0])


NO_COLUMN = {
    "two columns": (np.c_[Y, Y], "shape (6, 2)"),
    "three axes": (Y[:, None, None], "shape (6, 1, 1)"),
    "a number": (3.0, "float"),
    "text": ("target", "str"),
    "a dict": ({"y": 1}, "dict"),
    "a generator": ((value for value in Y), "generator"),
    "ragged lists": ([[1.0], [1.0, 2.0]] * 3, "different lengths"),
    "a masked array": (np.ma.array(Y, mask=Y > 1), "masked array"),
}


@pytest.mark.parametrize(("y", "text"), NO_COLUMN.values(), ids=NO_COLUMN)
def test_T04_what_is_not_one_column_is_refused_argument(y, text):
    assert text in str(refused_argument("T04", read, y))


NO_NUMBERS = {
    "text": (["a"] * N, "'a'"),
    "text that looks like numbers": (["1"] * N, "'1'"),
    "text among numbers": (np.array([1, 2, "x", 3, 4, 5], dtype=object), "'x'"),
    "complex numbers": (Y + 1j, "(0.5+1j)"),
    "dates": (pd.date_range("2020-01-01", periods=N), "2020-01-01"),
    "decimals": ([Decimal("1.5")] * N, "1.5"),
}


@pytest.mark.parametrize(("y", "text"), NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_T05_a_regression_loss_needs_real_numbers(y, text):
    error = refused_argument("T05", read, y)
    assert text in str(error)
    assert "np." not in str(error)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (["no", "yes"] * 3, "'no'"),
        ([0, 1, 2, 1, 0, 2], "y holds 2"),
        ([0, 1, -1] * 2, "y holds -1"),
    ],
)
def test_T05_labels_mean_nothing_where_the_classes_have_no_names(y, text):
    """A probability whose class is not known has a target between 0 and 1; labels 1, 2 would be read as numbers."""
    nameless = as_predictor(lambda X: X[:, 0] / 20, response="probability")
    error = refused_argument("T05", read, y, nameless)
    assert text in str(error)
    assert "1 where the explained one holds, 0 elsewhere" in error.hint
    assert np.array_equal(read([0, 1, 0, 0.25, 1, 0], nameless), [0, 1, 0, 0.25, 1, 0])


def test_T05_labels_that_the_model_does_not_know_are_listed():
    error = refused_argument("T05", read, ["no", "yes", "never", "yes", "Yes", "no"], CLASSIFIER)
    assert "'never', 'Yes'; its classes are 'maybe', 'no', 'yes'" in str(error)


@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, pl.Series, pd.Categorical, lambda y: np.array(y, object)]
)
def test_C18_a_target_of_labels_is_1_where_it_is_the_explained_class(make):
    np.testing.assert_array_equal(
        read(make(LABELS.tolist()), CLASSIFIER), (LABELS == "yes").astype(float)
    )


def test_C18_the_second_of_two_classes_is_explained():
    model = DecisionTreeClassifier().fit(X, [0, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(
        read([0.0, 1.0, 0.0, 0.0, 1.0, 1.0], as_predictor(model)), [0, 1, 0, 0, 1, 1]
    )


def test_T06_labels_of_other_rows_are_refused_argument():
    table = read_table(pd.DataFrame(X), missing="error")
    for y in (pd.Series(Y)[::-1], pd.DataFrame({"y": Y}, index=range(1, N + 1))):
        assert "y.to_numpy()" in str(refused_argument("T06", read, y, table=table))
    np.testing.assert_array_equal(read(pd.Series(Y), table=table), Y)
    np.testing.assert_array_equal(
        read(pd.Series(Y, index=range(1, N + 1)).to_numpy(), table=table), Y
    )


def test_T06_arrays_have_no_labels_to_differ_from():
    np.testing.assert_array_equal(read(pd.Series(Y, index=list("abcdef"))), Y)


def test_P03_losses_of_probabilities_need_probabilities():
    assert refused_argument("P03", read, Y, behavior=Risk("log")).argument == "risk_loss"
    assert read(LABELS, CLASSIFIER, behavior=Risk("log")) is not None


def test_the_target_is_never_written():
    y = Y.copy()
    read(y)[:] = 0.0
    np.testing.assert_array_equal(y, Y)


def test_the_log_loss_of_a_target_between_0_and_1_is_the_cross_entropy():
    """Labels that are probabilities themselves are not rounded to a class."""
    prediction, y = np.array([0.25, 0.25, 0.9, 0.5]), np.array([0.0, 1.0, 0.75, 0.3])
    found = LOSSES["log"].of_predictions(prediction, y)
    assert found == pytest.approx(
        [oracle.risk_loss("log", p, t) for p, t in zip(prediction, y, strict=True)], rel=1e-12
    )

"""The target, weights, clusters and chosen rows: what is read, what is refused (T01 to T10, D43, P04)."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import granite_xai as gx
import oracle
from granite_xai.algebra.behavior import LOSSES, Local, Risk
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.models import as_predictor
from granite_xai.models.targets import (
    FEWEST_ROWS,
    note_columns_that_are_y,
    read_clusters,
    read_rows,
    read_target,
    read_weights,
)
from granite_xai.tables import read_table
from parts.border import refused_argument

N = 6


X = np.arange(2.0 * N).reshape(N, 2)


Y = np.array([0.5, -1.0, 2.0, 0.0, 3.0, 1.5])


TABLE = read_table(X, missing="error")


REGRESSOR = as_predictor(lambda X: X[:, 0])


LABELS = np.array(["no", "yes", "no", "yes", "maybe", "no"])


SQUARED = Risk("squared")


CLASSIFIER = as_predictor(DecisionTreeClassifier(random_state=0).fit(X, LABELS), output="yes")


def read(y, predictor=REGRESSOR, table=TABLE, behavior=SQUARED):
    return read_target(y, table, predictor, behavior.needs_y, behavior.needs_probability)


def test_T01_risk_needs_a_target():
    error = refused_argument("T01", read, None)
    assert error.argument == "y"
    assert "a question about risk needs y: it is about losses" in str(error)


def test_T01_other_behaviors_need_none():
    assert read(None, behavior=Local()) is None
    assert read(["anything"] * N, behavior=Local()) is None


def test_T01_one_question_about_risk_among_several_needs_it():
    with pytest.raises(InputError, match="T01"):
        read_target(None, TABLE, REGRESSOR)


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


# Weights, clusters, chosen rows


WEIGHTS = {
    "negative": ([1, -1, 1, 1, 1, 1], "1 negative, missing or infinite value", (1,)),
    "NaN": ([1, 1, np.nan, 1, 1, np.nan], "(rows 2, 5)", (2, 5)),
    "infinite": ([np.inf, 1, 1, 1, 1, 1], "(row 0)", (0,)),
    "missing": (pd.array([pd.NA, 1, 1, 1, 1, 1], dtype="Float64"), "(row 0)", (0,)),
    "all zero": ([0.0] * N, "zero for every row", ()),
    "too short": ([1.0] * 3, "shape (3,); X has 6 rows", ()),
    "two columns": (np.ones((N, 2)), "shape (6, 2)", ()),
    "a number": (2.0, "shape ()", ()),
    "text": (["1"] * N, "'1'", ()),
    "text among numbers": (
        np.array([1, "a", 1, 1, 1, 1], dtype=object),
        "not a list of numbers",
        (),
    ),
    "complex": (np.ones(N) + 1j, "(1+1j)", ()),
    "dates": (pd.date_range("2020", periods=N), "2020", ()),
    "masked": (np.ma.array(np.ones(N), mask=Y > 1), "masked array", ()),
    "too large to add": (np.full(N, 1e308), "1e+308", ()),
    "too small to divide by": (np.full(N, 1e-320), "e-321", ()),
}


@pytest.mark.parametrize(("weights", "text", "rows"), WEIGHTS.values(), ids=WEIGHTS)
def test_D43_weights_that_weigh_nothing_are_refused_argument(weights, text, rows):
    error = refused_argument("D43", read_weights, weights, TABLE)
    assert error.argument == "sample_weight"
    assert error.rows == rows
    assert text in str(error)


def test_D43_weights_with_labels_of_other_rows_are_refused_argument():
    table = read_table(pd.DataFrame(X), missing="error")
    assert "sample_weight.to_numpy()" in str(
        refused_argument("D43", read_weights, pd.Series(Y + 1)[::-1], table)
    )


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_D43_weights_are_read_from_any_column(make):
    np.testing.assert_array_equal(
        read_weights(make([1.0, 0.0, 2.5, 1.0, 1.0, 3.0]), TABLE), [1, 0, 2.5, 1, 1, 3]
    )


def test_D43_no_weights_are_ones_and_booleans_choose():
    np.testing.assert_array_equal(read_weights(None, TABLE), np.ones(N))
    np.testing.assert_array_equal(read_weights(Y > 0, TABLE), (Y > 0).astype(float))


@pytest.mark.parametrize(
    "rows", [[], [0, 6], [-7], [1, 1], [0, -6], [0.5], ["a"], [[0, 1]], [True, False], 3]
)
def test_P04_rows_are_different_positions(rows):
    assert refused_argument("P04", read_rows, rows, np.ones(N)).argument == "rows"


def test_P04_rows_may_be_counted_from_the_end_or_marked():
    np.testing.assert_array_equal(read_rows([-1, 0], np.ones(N)), [5, 0])
    np.testing.assert_array_equal(read_rows(Y > 1, np.ones(N)), [2, 4, 5])
    np.testing.assert_array_equal(read_rows(None, np.ones(3)), [0, 1, 2])


def test_D43_clusters_with_labels_of_other_rows_are_refused_argument():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 8, 9])
    table = read_table(frame, missing="error")
    labels = pd.Series(["u", "v", "u"], index=[7, 8, 9])
    assert read_clusters(labels, table).tolist() == [0, 1, 0]
    error = refused_argument("D43", read_clusters, labels[::-1], table)
    assert error.argument == "clusters"
    assert "clusters.loc[X.index]" in str(error)
    assert read_clusters(labels[::-1].to_numpy(), table).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan, 2.0],
        ["u", None, "v"],
        pd.array([1, None, 2], dtype="Int64"),
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"),
        np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
    ],
    ids=["nan", "None", "NA", "NaT", "masked"],
)
def test_D43_missing_labels_of_clusters_are_refused_argument(labels):
    """NaN would make clusters of one row, None one large cluster."""
    table = read_table([[1.0], [2.0], [3.0]], missing="error")
    error = refused_argument("D43", read_clusters, labels, table)
    assert error.rows == (1,)
    assert "1 missing label (row 1)" in str(error)


@pytest.mark.parametrize("labels", [[1, 2], "abc", [[1], [2], [3]], [[1], [2, 3], [4]]], ids=repr)
def test_D43_clusters_are_one_label_for_each_row(labels):
    table = read_table([[1.0], [2.0], [3.0]], missing="error")
    assert "one label for each row" in str(refused_argument("D43", read_clusters, labels, table))


def test_D43_fit_refuses_clusters_of_other_rows():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    labels = pd.Series(np.arange(60) % 6, index=np.arange(60)[::-1])
    granite = gx.Granite(lambda X: X["a"].to_numpy() * X["b"].to_numpy())
    with pytest.raises(gx.InputError, match="D43: the row labels of clusters differ"):
        granite.fit(X, clusters=labels)
    granite.fit(X, clusters=labels.loc[X.index])
    with pytest.raises(gx.InputError, match="D43: the row labels of clusters differ"):
        granite.evaluate(X, clusters=labels)


# Columns that are y


N_COLUMN = 60
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "temp": DRAW.normal(size=N_COLUMN),
        "cnt": DRAW.integers(1, 30, N_COLUMN),
        "color": DRAW.choice(["red", "blue"], N_COLUMN),
        "new": DRAW.choice([True, False], N_COLUMN),
    }
)


def words_about(y, frame=FRAME):
    record = Diagnostics()
    note_columns_that_are_y(y, read_table(frame, missing="allow"), record)
    return " ".join(record.warnings)


@pytest.mark.filterwarnings("ignore:T10:granite_xai.DataWarning")
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (FRAME["cnt"], "column cnt is y."),
        (FRAME["cnt"].to_numpy(dtype=float), "column cnt is y."),
        (FRAME["cnt"].tolist(), "column cnt is y."),
        (FRAME["cnt"] / 7 * 7 * (1 + 1e-15 * DRAW.normal(size=N_COLUMN)), "column cnt is y."),
        (FRAME["temp"].astype("float32"), "column temp is y."),
        (FRAME[["cnt"]], "column cnt is y."),
        (FRAME["color"], "column color is y."),
        (FRAME["color"].to_numpy(dtype=object), "column color is y."),
        (FRAME["new"], "column new is y."),
        (~FRAME["new"], "column new is y in another unit or scale."),
        (100 * FRAME["temp"] - 3, "column temp is y in another unit or scale."),
        (5 - 2 * FRAME["cnt"], "column cnt is y in another unit or scale."),
        (np.log(FRAME["cnt"]), "column cnt is y in another unit or scale."),
    ],
)
def test_T10_a_column_that_is_y_is_named(y, words):
    found = words_about(y)
    assert f"T10: {words}" in found
    assert found.count("T10") == 1


@pytest.mark.parametrize(
    "y",
    [
        None,
        DRAW.normal(size=N_COLUMN),
        FRAME["cnt"] + (np.arange(N_COLUMN) == 7),
        FRAME["cnt"].where(np.arange(N_COLUMN) != 7),
        FRAME["temp"].round(1),
        np.ones(N_COLUMN),
        FRAME[["cnt", "temp"]],
        [[1], [2, 3]] * (N_COLUMN // 2),
        "cnt",
    ],
    ids=["none", "other", "one row", "a gap", "rounded", "constant", "two", "ragged", "a name"],
)
def test_nothing_is_said_of_columns_that_are_not_y(y):
    assert words_about(y) == ""


def test_nothing_is_said_of_few_rows():
    few = FRAME.iloc[: FEWEST_ROWS - 1]
    assert words_about(few["cnt"], few) == ""


def test_a_constant_column_and_a_constant_target_are_not_one():
    assert words_about(np.ones(N_COLUMN), FRAME.assign(temp=1.0)) == ""


@pytest.mark.filterwarnings("ignore:T10:granite_xai.DataWarning")
def test_T10_several_columns_are_named_together():
    doubled = FRAME.assign(count=FRAME["cnt"])
    assert "T10: columns 'cnt', 'count' are y." in words_about(FRAME["cnt"], doubled)


def product(X):
    return np.asarray(X["temp"]) * (np.asarray(X["cnt"]) > 12)


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk"])
def test_T10_a_fit_warns_whether_or_not_it_reads_y(question):
    with pytest.warns(gx.DataWarning, match=re.escape("T10: column cnt is y.")):
        g = gx.Granite(product, question, max_depth=0).fit(FRAME, FRAME["cnt"])
    assert any(text.startswith("T10") for text in g.diagnostics_["warnings"])


def test_T10_an_explanation_warns():
    with pytest.warns(gx.DataWarning, match=re.escape("T10: column cnt is y.")):
        gx.Explainer("marginal", "local", "pure").explain(product, FRAME, FRAME["cnt"])

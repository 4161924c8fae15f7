"""Weights, clusters and chosen rows: what is read, what is refused (D43, P04)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import granite_xai as gx
from granite_xai.models.targets import read_clusters, read_rows, read_weights
from granite_xai.tables import read_table
from models.border import refused_argument

N = 6


X = np.arange(2.0 * N).reshape(N, 2)


Y = np.array([0.5, -1.0, 2.0, 0.0, 3.0, 1.5])


TABLE = read_table(X, missing="error")


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

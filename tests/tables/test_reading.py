"""D-cases that end in an error: it names argument, column, index, count, rows and the remedy."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.base.errors import InputError
from granite_xai.tables import read_table


def refused(X, code, *parts, missing="error", **options):
    with pytest.raises(InputError) as caught:
        read_table(X, missing=missing, **options)
    error = caught.value
    assert error.code == code, str(error)
    assert error.argument == options.get("argument", "X") or code.startswith("P")
    for part in parts:
        assert part in str(error), str(error)
    return error


def test_D01_missing_values_are_named_by_column_index_count_and_rows():
    X = pd.DataFrame({"hr": np.arange(100.0), "temp": 1.0}, index=np.arange(100) + 1000)
    X.loc[[1003, 1018, 1042, 1077, 1090, 1095], "temp"] = np.nan
    error = refused(
        X, "D01", "X column 'temp' (index 1) has 6 NaN (rows 1003, 1018, 1042, 1077, 1090, …)."
    )
    assert error.columns == ("temp",)
    assert error.rows == (1003, 1018, 1042, 1077, 1090)
    assert error.hint.startswith("The model is not declared to accept missing values")
    assert 'missing="allow"' in str(error)


def test_D01_all_columns_with_missing_values_are_named():
    X = np.array([[np.nan, 1, np.nan], [1, 1, 2]])
    error = refused(X, "D01", "'x0' (index 0) has 1 NaN (row 0)", "'x2' (index 2)")
    assert error.columns == ("x0", "x2")
    many = refused(np.full((2, 8), np.nan), "D01", "and 3 more columns")
    assert len(many.columns) == 8


@pytest.mark.parametrize(
    "cells",
    [
        ["a", None, "b"],
        pd.Series(["a", None, "b"]),
        pd.Categorical(["a", None, "b"]),
        pd.array([True, None, False], dtype="boolean"),
        pd.array([1, None, 2], dtype="Int64"),
        pd.to_datetime(["2020-01-01", None, "2020-01-02"]),
        np.array([1.0, None, pd.NA], dtype=object),
        np.array([1.0, pd.NaT, 2], dtype=object),
    ],
)
def test_D01_D04_none_na_and_nat_are_missing(cells):
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": cells})
    error = refused(X, "D01", "column 'b' (index 1) has ")
    assert error.rows[0] == 1
    assert read_table(X, missing="allow").columns[1].missing.any()


def test_D03_infinity_is_named_even_where_missing_values_are_allowed():
    X = np.ones((4, 2))
    X[[1, 3], 1] = np.inf, -np.inf
    error = refused(
        X, "D03", "column 'x1' (index 1) has 2 infinity values (rows 1, 3)", missing="allow"
    )
    assert error.rows == (1, 3)
    refused(pl.DataFrame({"a": [1.0, np.inf]}), "D03", "infinity")
    refused(pd.DataFrame({"a": pd.array([1.0, np.inf], dtype="Float64")}), "D03", "infinity")
    refused(np.array([[1.0], [float("inf")]], dtype=object), "D03", "infinity")


@pytest.mark.skipif(
    np.finfo(np.longdouble).max <= np.finfo(float).max, reason="long double is double here"
)
def test_D03_a_long_double_beyond_float64_is_refused():
    refused(np.array([[np.longdouble(10) ** 400]]), "D03", "infinity")


def test_D07_duplicate_names_are_listed_with_positions():
    X = pd.DataFrame(np.ones((3, 4)), columns=["a", "b", "a", "b"])
    error = refused(X, "D07", "'a' at [0, 2]", "'b' at [1, 3]")
    assert error.columns == ("a", "b")
    refused(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "D07", "'a' at [0, 1]")


def test_D09_names_that_are_neither_text_nor_whole_numbers():
    columns = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    refused(pd.DataFrame(np.ones((2, 2)), columns=columns), "D09", '"_".join(map(str, c))')
    refused(
        pd.DataFrame(np.ones((2, 2)), columns=[1.5, 2.5]), "D09", "X.columns.astype(str)", "1.5"
    )
    refused(pd.DataFrame(np.ones((2, 2)), columns=[True, False]), "D09")
    refused(pd.DataFrame(np.ones((2, 2)), columns=[1, "1"]), "D09", "the same as text", "'1'")


def test_D12_text_and_numbers_in_one_column():
    X = pd.DataFrame(
        {"a": [1.0, 2, 3], "b": np.array([None, "blue", 4], dtype=object)}, index=["p", "q", "r"]
    )
    error = refused(
        X,
        "D12",
        "column 'b' (index 1)",
        "'blue' (str)",
        "4 (int)",
        "rows 'q', 'r'",
        missing="allow",
    )
    assert error.rows == ("q", "r")


@pytest.mark.parametrize("cell", [{"foo": "bar"}, [1, 2], {1}, (1, 2), object(), b"bytes"])
def test_D12_cells_that_are_no_numbers_and_no_text(cell):
    X = np.empty((2, 2), dtype=object)
    X[:] = 0.5
    X[0, 0] = cell
    error = refused(X, "D12", "column 'x0' (index 0)", "argument must be a string or a number")
    assert isinstance(error, TypeError)
    assert error.rows[0] == 0


def test_D12_dtypes_that_hold_no_numbers_and_no_text():
    refused(pl.DataFrame({"a": [[1], [2]]}), "D12", "List")
    refused(np.array([[b"a"]]), "D12", "bytes")
    refused(pd.DataFrame({"a": pd.arrays.IntervalArray.from_breaks([0, 1, 2])}), "D12", "interval")
    refused(pd.DataFrame({"a": pd.array([b"x"], dtype=pd.ArrowDtype(pa.binary()))}), "D12")


def test_D12_categories_that_read_the_same():
    stamps = [pd.Timestamp("2020-01-01"), "2020-01-01 00:00:00"]
    refused(pd.DataFrame({"a": pd.Categorical(stamps, categories=stamps)}), "D12", "read the same")


def test_D18_periods_times_and_mixed_zones():
    refused(
        pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="M")}), "D18", "to_timestamp"
    )
    refused(np.array([[pd.Period("2020")]], dtype=object), "D18", "periods")
    zones = [pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020", tz="Asia/Tokyo")]
    refused(pd.DataFrame({"a": np.array(zones, dtype=object)}), "D18", "time zones", "Asia/Tokyo")
    refused(pl.DataFrame({"a": [dt.time(1), dt.time(2)]}), "D18", "times of day")
    refused(np.array([[dt.time(1)]], dtype=object), "D18", "times of day")


@pytest.mark.parametrize(
    "X",
    [
        np.array([[Decimal("1.5")]], dtype=object),
        pd.DataFrame({"a": pd.array([Decimal("1.5")], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))}),
        pl.DataFrame({"a": [Decimal("1.5")]}),
        pa.table({"a": [Decimal("1.5")]}),
        np.array([[10**30]], dtype=object),
        [[10**30]],
    ],
)
def test_D20_decimals_and_big_integers(X):
    refused(X, "D20", "(index 0)", "astype(float)")


def test_D22_complex_numbers():
    refused(np.ones((2, 2), dtype=complex), "D22", "Complex data not supported", "complex128")
    refused(
        pd.DataFrame({"a": [1.0], "b": [1j]}),
        "D22",
        "Complex data not supported",
        "'b' (index 1)",
        "complex128",
    )
    refused([[1j]], "D22", "Complex data not supported")
    refused(np.array([[1j]], dtype=object), "D22", "Complex data not supported")


def test_D23_sparse_columns():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": pd.arrays.SparseArray([0.0, 1.0])})
    refused(X, "D23", "column 'b' (index 1) is sparse", "16 bytes", "to_dense")


def test_D28_no_rows_and_D32_no_columns():
    refused(
        np.empty((0, 3)),
        "D28",
        "X has 0 rows",
        "0 sample(s) (shape=(0, 3)) while a minimum of 1 is required.",
    )
    refused(
        np.empty((12, 0)), "D32", "0 feature(s) (shape=(12, 0)) while a minimum of 1 is required."
    )
    refused(pd.DataFrame({"a": []}), "D28", "X has 0 rows")
    refused(pd.DataFrame(index=[1, 2]), "D32", "X has 0 columns")
    refused(pl.DataFrame({"a": []}), "D28")
    refused([[], []], "D32")


def test_the_argument_is_named_as_the_caller_names_it():
    refused(np.full((1, 1), np.nan), "D01", "test X column", argument="test X")


def test_D39_labels_of_any_index_are_named():
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)])
    X = pd.DataFrame({"v": [1.0, np.nan, np.nan]}, index=index)
    assert refused(X, "D01", "('a', 1), ('b', 2)").rows == (("a", 1), ("b", 2))


def test_D12_structs_in_a_dictionary_and_lists_as_cells_are_named():
    structs = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([{"k": 1}, {"k": 2}]))
    refused(pa.table({"a": structs}), "D12", "'a' (index 0)", "no single values")
    refused([[[1], 2.0], [[1], 3.0]], "D12", "'x0' (index 0)", "[1] (list)")


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no integers of 128 bits")
def test_D20_integers_of_128_bits_are_read_where_64_suffice():
    table = read_table(
        pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.Int128)}), missing="allow"
    )
    np.testing.assert_array_equal(table.columns[0].values, [1.0, np.nan, 3.0])
    refused(pl.DataFrame({"a": pl.Series([1, 2**100], dtype=pl.Int128)}), "D20", "beyond 64 bits")

"""Columns of pandas, polars and pyarrow by their dtype; one kind and the same values in each."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.tables import UnreadableError
from granite_xai.tables.cells import native_dtype, read_series


def read(native):
    return read_series(nw.from_native(native, series_only=True))


def pyarrow(cells, dtype=None):
    return pa.chunked_array([pa.array(cells, type=dtype)])


@pytest.mark.parametrize(
    "native",
    [
        pd.Series([1, None, 3], dtype="Int16"),
        pd.Series([1, None, 3], dtype=pd.ArrowDtype(pa.int32())),
        pl.Series([1, None, 3], dtype=pl.UInt8),
        pyarrow([1, None, 3]),
    ],
)
def test_whole_numbers_are_floats_that_remember_to_be_whole(native):
    cells = read(native)
    assert cells.kind == "numeric"
    assert cells.integer
    assert not cells.inexact
    np.testing.assert_array_equal(cells.values, [1.0, np.nan, 3.0])


def test_D20_a_whole_number_beyond_2_to_the_53_is_noted_but_not_a_missing_one():
    assert read(pl.Series([2**53 + 1, None])).inexact
    assert not read(pl.Series([2**53, None])).inexact


@pytest.mark.parametrize(
    "native",
    [
        pd.Series([0.5, np.nan]),
        pd.Series([0.5, None], dtype="Float32"),
        pl.Series([0.5, None]),
        pyarrow([0.5, None]),
    ],
)
def test_fractions(native):
    cells = read(native)
    assert (cells.kind, cells.integer) == ("numeric", False)
    np.testing.assert_array_equal(cells.values, [0.5, np.nan])


@pytest.mark.parametrize(
    "native",
    [
        pd.Series(["b", None, "a"], dtype=object),
        pd.Series(["b", None, "a"], dtype="string"),
        pl.Series(["b", None, "a"]),
        pyarrow(["b", None, "a"]),
    ],
)
def test_texts_are_nominal_without_declared_labels(native):
    cells = read(native)
    assert (cells.kind, cells.text, cells.declared) == ("nominal", True, None)
    assert cells.values.tolist() == ["b", None, "a"]


@pytest.mark.parametrize(
    "native",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([True, None, False]),
        pyarrow([True, None, False]),
    ],
)
def test_truth_values(native):
    cells = read(native)
    assert cells.kind == "boolean"
    assert cells.values.tolist() == [True, None, False]


@pytest.mark.parametrize(
    ("native", "kind", "declared"),
    [
        (pd.Series(pd.Categorical(["b", None], ["c", "b"])), "nominal", ("c", "b")),
        (pd.Series(pd.Categorical(["b", None], ["c", "b"], ordered=True)), "ordinal", ("c", "b")),
        (pl.Series(["b", None], dtype=pl.Enum(["c", "b"])), "ordinal", ("c", "b")),
        # Its categories are those of every frame of the process: no declaration.
        (pl.Series(["b", None], dtype=pl.Categorical), "nominal", None),
        (pyarrow(["b", None]).dictionary_encode(), "nominal", ("b",)),
    ],
)
def test_categories_are_ordered_as_their_library_says(native, kind, declared):
    cells = read(native)
    assert (cells.kind, cells.declared, cells.text) == (kind, declared, False)
    assert cells.values.tolist() == ["b", None]


def test_dictionaries_of_several_chunks_have_all_their_labels():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()]
    assert read(pa.chunked_array(chunks)).declared == ("b", "a", "c")


@pytest.mark.parametrize(
    "native",
    [
        pd.Series(pd.to_datetime(["2020-01-02", None])),
        pl.Series([dt.date(2020, 1, 2), None]),
        pyarrow([dt.datetime(2020, 1, 2), None]),
    ],
)
def test_dates(native):
    cells = read(native)
    assert cells.kind == "date"
    assert cells.values[0] == np.datetime64("2020-01-02")
    assert np.isnat(cells.values[1])


def test_a_column_of_nulls_is_missing_whatever_its_dtype():
    for native in (pl.Series([None, None]), pyarrow([None, None])):
        cells = read(native)
        assert cells.kind == "numeric"
        assert np.isnan(cells.values).all()


@pytest.mark.parametrize(
    ("native", "code", "part"),
    [
        (pl.Series([Decimal("1.5")]), "D20", "Decimal"),
        (pl.Series([dt.time(1)]), "D18", "times of day"),
        (pl.Series([[1, 2]]), "D12", "List"),
        (pd.Series(pd.period_range("2020", periods=1, freq="M")), "D18", "periods (period[M])"),
        (pd.Series(pd.arrays.SparseArray([0.0, 1.0, 2.0])), "D23", "24 bytes when dense"),
        (pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1])), "D12", "interval[int64"),
    ],
)
def test_dtypes_that_are_not_read_name_themselves(native, code, part):
    with pytest.raises(UnreadableError) as caught:
        read(native)
    assert caught.value.code == code
    assert part in caught.value.reason
    assert caught.value.hint


def test_categories_of_any_type_are_labels_while_their_texts_differ():
    assert read(pd.Series(pd.Categorical([1, "1"]))).values.tolist() == [1, "1"]
    day = dt.date(2020, 1, 1)
    assert read(pd.Series(pd.Categorical([day]))).values.tolist() == ["2020-01-01"]
    with pytest.raises(UnreadableError, match="read the same as text"):
        read(pd.Series(pd.Categorical([day, "2020-01-01"], [day, "2020-01-01"])))


def test_the_dtype_is_that_of_the_library():
    assert native_dtype(nw.from_native(pd.Series([1]), series_only=True)) == np.dtype("int64")
    assert native_dtype(nw.from_native(pl.Series([1]), series_only=True)) == pl.Int64
    assert native_dtype(nw.from_native(pyarrow([1]), series_only=True)) == pa.int64()

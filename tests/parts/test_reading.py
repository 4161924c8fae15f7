"""Tables of any library are read, or refused with what is wrong (D01-D39)."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import granite_xai as gx
from granite_xai.base.errors import DataWarning, InputError
from granite_xai.models.columns import read_input
from granite_xai.search.levels import MOST_LEVELS, _frequent_levels
from granite_xai.tables import Column, open_table, read_table, row_like


def column(cells, **options):
    """The only column of a pandas frame of these cells."""
    return read_table(pd.DataFrame({"a": cells}), missing="allow", **options).columns[0]


def column_of(native):
    """A single column of any library, as it is read."""
    if isinstance(native, pd.Series):
        frame = native.to_frame("a")
    elif isinstance(native, pl.Series):
        frame = pl.DataFrame({"a": native})
    elif isinstance(native, np.ndarray):
        frame = native[:, None]
    else:
        frame = pa.table({"a": native})
    return read_table(frame, missing="allow").columns[0]


def test_D02_missing_values_are_allowed_and_equal_each_other():
    table = read_table(np.array([[np.nan, 1], [2, 1], [np.nan, 1]]), missing="allow")
    assert table.columns[0].codes.tolist() == [-1, 0, -1]
    codes, first = table.distinct([0, 1])
    assert codes.tolist() == [0, 1, 0]
    assert first.tolist() == [0, 1]


DAYS = [dt.date(2020, 3, 1), None, dt.date(2020, 1, 1)]
TIMES = [dt.datetime(2020, 3, 1), None, dt.datetime(2020, 1, 1)]
DATES = ["2020-03-01", None, "2020-01-01"]
SPANS = [dt.timedelta(2), None, dt.timedelta(1)]
TEXTS = ["b", None, "a"]
TRUTHS = [True, None, False]


def objects(cells):
    return pd.Series(np.array(cells, dtype=object))


def of_pandas(cells, dtype):
    return pd.Series(cells, dtype=dtype)


@pytest.mark.parametrize(
    ("kind", "natives"),
    [
        (
            "numeric",
            [
                *(of_pandas([3, None, 1], d) for d in ("Int64", "UInt8", "Float64", "Float32")),
                *(of_pandas([3, None, 1], d) for d in ("int64[pyarrow]", "double[pyarrow]")),
                *(objects(cells) for cells in ([3, None, 2.5], [np.float32(3), pd.NA, 2])),
                *(objects(cells) for cells in ([3, np.nan, True], [3, pd.NaT, 1.0])),
                pl.Series([3, None, 1]),
                pa.array([3.0, None, 1.0]),
            ],
        ),
        (
            "nominal",
            [
                *(
                    of_pandas(TEXTS, d)
                    for d in (object, "str", "string", pd.ArrowDtype(pa.string()))
                ),
                pd.Series(pd.Categorical(TEXTS)),
                pl.Series(TEXTS),
                pl.Series(TEXTS, dtype=pl.Categorical),
                pa.array(TEXTS),
            ],
        ),
        (
            "ordinal",
            [
                pd.Series(pd.Categorical(TEXTS, ["a", "c", "b"], ordered=True)),
                pl.Series(TEXTS, dtype=pl.Enum("acb")),
            ],
        ),
        (
            "boolean",
            [
                *(of_pandas(TRUTHS, d) for d in (object, "boolean", "bool[pyarrow]")),
                pl.Series(TRUTHS),
                pa.array(TRUTHS),
            ],
        ),
        (
            "date",
            [
                pd.Series(pd.to_datetime(DATES)),
                pd.Series(pd.to_datetime(DATES).astype("datetime64[s]")),
                *map(
                    objects, (TIMES, DAYS, [None if d is None else np.datetime64(d) for d in DATES])
                ),
                of_pandas(DAYS, pd.ArrowDtype(pa.date32())),
                of_pandas(pd.to_datetime(DATES), pd.ArrowDtype(pa.timestamp("us"))),
                np.array(["2020-03-01", "NaT", "2020-01-01"], dtype="datetime64[D]"),
                *map(pl.Series, (DAYS, TIMES, SPANS)),
                *map(pa.array, (DAYS, TIMES, SPANS)),
                pd.Series(pd.to_timedelta([2, None, 1], "D")),
                objects(SPANS),
            ],
        ),
    ],
)
def test_D04_to_D19_columns_of_any_library_and_dtype(kind, natives):
    """The first value is the larger one, the second is missing."""
    for native in natives:
        read = column_of(native)
        assert read.kind == kind
        assert read.codes.tolist() == [1, -1, 0]
        assert read.is_ordered == (kind not in ("nominal", "boolean"))
        if kind == "date":
            assert read.values.dtype.kind in "mM"
        elif kind != "numeric":
            assert [type(label) for label in read.levels] == [
                bool if kind == "boolean" else str
            ] * 2
            assert read.values[1] is None


@pytest.mark.parametrize(
    "native",
    [
        *(pd.Series([None, None], dtype=dtype) for dtype in (object, float, "Int64")),
        pl.Series([None, None]),
        pa.array([None, None]),
    ],
)
def test_D04_a_column_without_any_value_is_numeric_and_missing(native):
    read = column_of(native)
    assert (read.kind, len(read.levels), read.codes.tolist()) == ("numeric", 0, [-1, -1])
    assert np.isnan(read.values).all()


@pytest.mark.parametrize(
    "dtype", ["Int64", "UInt8", "Float64", "int64[pyarrow]", "double[pyarrow]"]
)
def test_D19_whole_numbers_are_known_by_their_dtype(dtype):
    assert column(pd.array([3, None, 1], dtype=dtype)).integer == ("nt" in dtype)


def test_D19_a_nan_inside_a_nullable_column_is_missing_too():
    cells = pd.arrays.FloatingArray(np.array([1.0, np.nan, 2.0]), np.array([False, False, True]))
    assert column(cells).codes.tolist() == [0, -1, -1]


def test_D05_D34_constant_columns_have_one_level():
    table = read_table(np.ones((5, 2)), missing="error")
    assert table.columns[0].levels.tolist() == [1.0]
    assert table.distinct([0, 1])[1].tolist() == [0]


def test_D06_neighbouring_values_at_a_large_offset_stay_apart():
    values = 1.7e9 + np.arange(5) * np.spacing(1.7e9)
    assert column(values).levels.tolist() == values.tolist()


def test_D09_whole_numbers_as_names_become_text():
    table = read_table(pd.DataFrame(np.ones((2, 2)), columns=[2, 0]), missing="error")
    assert table.names == ("2", "0")
    assert table.resolve(0, "features") == 1
    assert table.resolve(1, "features") == 1
    assert table.resolve("2", "features") == 0


def test_D10_each_column_of_a_mixed_frame_has_its_own_kind():
    X = pd.DataFrame(
        {
            "f": [0.5, 1.5],
            "i": [1, 2],
            "b": [True, False],
            "s": ["y", "x"],
            "o": pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True),
            "d": pd.to_datetime(["2020-01-02", "2020-01-01"]),
        }
    )
    columns = read_table(X, missing="error").columns
    assert [c.kind for c in columns] == [
        "numeric",
        "numeric",
        "boolean",
        "nominal",
        "ordinal",
        "date",
    ]
    assert [c.integer for c in columns] == [False, True, False, False, False, False]


def test_D11_whole_numbers_as_objects_are_known_to_be_whole():
    assert column(np.array([1, 2], dtype=object)).integer
    assert not column(np.array([1, 2.0], dtype=object)).integer


def test_categories_that_are_numbers_or_intervals_have_plain_labels():
    assert column(pd.Categorical([3, 1])).levels.tolist() == [1, 3]
    binned = column(pd.cut([0.5, 1.5], [0, 1, 2]))
    assert binned.kind == "ordinal"
    assert binned.order == ("(0, 1]", "(1, 2]")


@pytest.mark.parametrize("ordered", [False, True])
def test_pyarrow_dictionaries_keep_their_nulls_and_their_order(ordered):
    cells = pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0]), pa.array(["z", "a", "m"]), ordered=ordered
    )
    for X in (pa.table({"a": cells}), pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(cells)})):
        read = read_table(X, missing="allow").columns[0]
        assert read.kind == ("ordinal" if ordered else "nominal")
        assert read.values.tolist() == ["a", None, "z"]
        assert read.levels.tolist() == ["z", "a"]
        assert read.order == (("z", "a", "m") if ordered else None)


def test_D18_dates_with_one_zone_are_read_in_utc():
    stamps = pd.to_datetime(DATES).tz_localize("Asia/Tokyo")
    expected = np.array(["2020-02-29T15", "NaT", "2019-12-31T15"], dtype="datetime64[s]")
    for cells in (
        stamps,
        np.array(stamps, dtype=object),
        stamps.astype(pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo"))),
    ):
        np.testing.assert_array_equal(column(cells).values.astype("datetime64[s]"), expected)


@pytest.mark.parametrize(
    "cells",
    [
        np.array([2**53 + 1, 5]),
        np.array([-(2**60), 5]),
        np.array([2**64 - 1, 5], dtype=np.uint64),
        pd.array([2**60, None], dtype="Int64"),
        pd.array([2**60, None], dtype="int64[pyarrow]"),
        np.array([2**60, 5], dtype=object),
        pl.Series([2**60, None]).to_arrow(),
    ],
)
def test_D20_integers_beyond_float64_are_warned_about(cells):
    X = pa.table({"a": cells}) if isinstance(cells, pa.Array) else pd.DataFrame({"a": cells})
    with pytest.warns(
        DataWarning, match=r"D20: X column 'a' \(index 0\) holds integers beyond 2\^53"
    ):
        table = read_table(X, missing="allow")
    assert table.columns[0].values[0] == float(pd.Series(cells).dropna().iloc[0])
    assert table.notices[0].startswith("D20")


def test_D20_two_to_the_53_is_still_exact():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert column(np.array([2**53, -(2**53)])).levels.tolist() == [-(2.0**53), 2.0**53]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", ">f8", ">i4", "u1", "i8"])
def test_D21_D27_numbers_of_every_width_and_byte_order(dtype):
    X = np.array([[1, 2], [3, 1]], dtype=dtype)
    table = read_table(X, missing="error")
    assert table.native is X
    assert table.columns[0].values.dtype == np.float64
    assert [c.values.tolist() for c in table.columns] == [[1, 3], [2, 1]]


def layouts():
    X = np.arange(24.0).reshape(6, 4)
    locked = X.copy()
    locked.setflags(write=False)
    return [X, np.asfortranarray(X), X[::-1], X[:, ::-1], np.repeat(X, 2, axis=1)[:, ::2], locked]


@pytest.mark.parametrize("X", layouts())
def test_D27_every_layout_is_read_and_never_written(X):
    before = X.copy()
    table = read_table(X, missing="error")
    assert [c.values.tolist() for c in table.columns] == X.T.tolist()
    np.testing.assert_array_equal(X, before)
    X_was_writeable = X.flags.writeable
    assert table.native is X
    assert X.flags.writeable == X_was_writeable
    assert not table.columns[0].values.flags.writeable
    assert not np.shares_memory(table.columns[0].values, X)


def test_D27_memory_maps_are_read(tmp_path):
    X = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=(3, 2))
    X[:] = 1.5
    assert read_table(X, missing="error").columns[1].levels.tolist() == [1.5]


def test_lists_of_lists_keep_numbers_and_text_apart():
    table = read_table([[1, "a", True], [2.5, "b", False]], missing="error")
    assert [c.kind for c in table.columns] == ["numeric", "nominal", "boolean"]
    assert read_table([(1, 2), (3, 4)], missing="error").native.dtype.kind == "i"
    assert read_table([[1, None]], missing="allow").columns[1].kind == "numeric"


def test_text_arrays_are_nominal():
    assert read_table(np.array([["a", "b"]]), missing="error").columns[0].levels.tolist() == ["a"]


def test_D36_both_zeros_are_one_value_and_denormals_are_others():
    read = column([-0.0, 0.0, 5e-324, -5e-324])
    assert read.levels.tolist() == [-5e-324, 0.0, 5e-324]
    assert not np.signbit(read.levels[1])
    assert np.signbit(read.values[0])


def test_D39_positions_count_whatever_the_index():
    X = pd.DataFrame({"a": [3.0, 1.0, 2.0]}, index=["r", "r", "q"])
    table = read_table(X, missing="error")
    assert table.columns[0].codes.tolist() == [2, 0, 1]
    assert table.row_labels([2, 0]) == ["q", "r"]
    part = table.take([2, 1])
    assert part.row_labels([0]) == ["q"]
    assert read_table(X.to_numpy(), missing="error").take([2, 1]).take([1]).row_labels([0]) == [1]


class TestKinds:
    def test_numbers_as_levels(self):
        X = np.array([[3, 1], [1, 1]])
        nominal, ordinal = read_table(
            X, kinds={"x0": "nominal", 1: "ordinal"}, missing="error"
        ).columns
        assert (nominal.kind, nominal.levels.tolist()) == ("nominal", [1, 3])
        assert (ordinal.kind, ordinal.order) == ("ordinal", (1,))
        assert type(nominal.levels[0]) is int

    def test_both_zeros_as_one_level(self):
        assert column([-0.0, 0.0], kinds={"a": "nominal"}).levels.tolist() == [0.0]

    def test_zeros_and_ones_as_booleans(self):
        assert column([0.0, 1.0, np.nan], kinds={"a": "boolean"}).values.tolist() == [
            False,
            True,
            None,
        ]

    def test_booleans_and_numeric_categories_as_numbers(self):
        assert column([True, False], kinds={"a": "numeric"}).values.tolist() == [1.0, 0.0]
        read = column(pd.Categorical([3, None, 1]), kinds={"a": "numeric"})
        assert read.codes.tolist() == [1, -1, 0]
        assert read.integer

    def test_categories_can_gain_and_lose_their_order(self):
        cells = pd.Categorical(["z", "a"], ["z", "q", "a"])
        assert column(cells, kinds={"a": "ordinal"}).order == ("z", "q", "a")
        assert column(cells.as_ordered(), kinds={"a": "nominal"}).order is None
        assert column(["b", "a"], kinds={"a": "ordinal"}).order == ("a", "b")

    @pytest.mark.parametrize(
        ("cells", "kind", "code"),
        [
            (["a", "b"], "numeric", "P03"),
            ([1.0, 2.0], "boolean", "P03"),
            (["a", "b"], "boolean", "P03"),
            (pd.to_datetime(["2020"]), "numeric", "P03"),
            ([1.0], "date", "P03"),
            ([1.0], "nominl", "P01"),
        ],
    )
    def test_P03_a_kind_that_the_cells_cannot_have(self, cells, kind, code):
        with pytest.raises(InputError, match=code) as caught:
            column(cells, kinds={"a": kind})
        assert caught.value.code == code

    def test_P04_a_kind_for_an_unknown_column(self):
        with pytest.raises(InputError, match="P04: kinds='b' is not known. Features: 'a'"):
            column([1.0], kinds={"b": "nominal"})


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


def test_D07_duplicate_names_are_listed_with_positions():
    X = pd.DataFrame(np.ones((3, 4)), columns=["a", "b", "a", "b"])
    error = refused(X, "D07", "'a' at [0, 2]", "'b' at [1, 3]")
    assert error.columns == ("a", "b")
    refused(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "D07", "'a' at [0, 1]")


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


def named(columns, shape=(2, 2)):
    return pd.DataFrame(np.ones(shape), columns=columns)


def cell(value):
    """A table of one cell, which is any object."""
    X = np.empty((1, 1), dtype=object)
    X[0, 0] = value
    return X


def frame(cells):
    return pd.DataFrame({"a": cells})


def of_arrow(value, dtype):
    return frame(pd.array([value], dtype=pd.ArrowDtype(dtype)))


STAMPS = [pd.Timestamp("2020-01-01"), "2020-01-01 00:00:00"]
ZONES = [pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020", tz="Asia/Tokyo")]
STRUCTS = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([{"k": 1}, {"k": 2}]))
IS_LONG = np.finfo(np.longdouble).max > np.finfo(float).max
COMPLEX = "Complex data not supported"


@pytest.mark.parametrize(
    ("code", "X", "parts"),
    [
        ("D03", pl.DataFrame({"a": [1.0, np.inf]}), ["infinity"]),
        ("D03", frame(pd.array([1.0, np.inf], dtype="Float64")), ["infinity"]),
        ("D03", cell(float("inf")), ["infinity"]),
        ("D03", np.array([[np.longdouble(10) ** 400 if IS_LONG else np.inf]]), ["infinity"]),
        (
            "D09",
            named(pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
            ['"_".join(map(str, c))'],
        ),
        ("D09", named([1.5, 2.5]), ["X.columns.astype(str)", "1.5"]),
        ("D09", named([True, False]), []),
        ("D09", named([1, "1"]), ["the same as text", "'1'"]),
        ("D12", pl.DataFrame({"a": [[1], [2]]}), ["List"]),
        ("D12", np.array([[b"a"]]), ["bytes"]),
        ("D12", frame(pd.arrays.IntervalArray.from_breaks([0, 1, 2])), ["interval[int64"]),
        ("D12", of_arrow(b"x", pa.binary()), []),
        ("D12", frame(pd.Categorical(STAMPS, categories=STAMPS)), ["read the same as text"]),
        ("D12", pa.table({"a": STRUCTS}), ["'a' (index 0)", "no single values"]),
        ("D12", [[[1], 2.0], [[1], 3.0]], ["'x0' (index 0)", "[1] (list)"]),
        ("D18", frame(pd.period_range("2020", periods=2, freq="M")), ["period[M]", "to_timestamp"]),
        ("D18", cell(pd.Period("2020")), ["periods"]),
        ("D18", frame(np.array(ZONES, dtype=object)), ["time zones", "Asia/Tokyo"]),
        ("D18", pl.DataFrame({"a": [dt.time(1), dt.time(2)]}), ["times of day"]),
        ("D18", cell(dt.time(1)), ["times of day"]),
        ("D18", np.array([["2020-01-01T00:00:00.000000000001"]], "M8[ps]"), ["finer than nano"]),
        ("D20", cell(Decimal("1.5")), ["(index 0)", "astype(float)"]),
        ("D20", of_arrow(Decimal("1.5"), pa.decimal128(5, 2)), ["Decimal", "astype(float)"]),
        ("D20", pl.DataFrame({"a": [Decimal("1.5")]}), ["Decimal", "astype(float)"]),
        ("D20", pa.table({"a": [Decimal("1.5")]}), ["astype(float)"]),
        ("D20", cell(10**30), ["(index 0)", "astype(float)"]),
        ("D20", [[10**30]], ["astype(float)"]),
        ("D22", np.ones((2, 2), dtype=complex), [COMPLEX, "complex128"]),
        ("D22", pd.DataFrame({"a": [1.0], "b": [1j]}), [COMPLEX, "'b' (index 1)", "complex128"]),
        ("D22", [[1j]], [COMPLEX]),
        ("D22", cell(1j), [COMPLEX]),
        ("D23", frame(pd.arrays.SparseArray([0.0, 1.0])), ["'a' (index 0) is sparse", "to_dense"]),
        ("D23", frame(pd.arrays.SparseArray([0.0, 1.0, 2.0])), ["24 bytes when dense"]),
        (
            "D28",
            np.empty((0, 3)),
            ["X has 0 rows", "0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."],
        ),
        ("D28", pd.DataFrame({"a": []}), ["X has 0 rows"]),
        ("D28", pl.DataFrame({"a": []}), []),
        ("D32", np.empty((12, 0)), ["0 feature(s) (shape=(12, 0)) while a minimum of 1 is"]),
        ("D32", pd.DataFrame(index=[1, 2]), ["X has 0 columns"]),
        ("D32", [[], []], []),
    ],
)
def test_D03_to_D32_what_cannot_be_read_is_refused_by_name(code, X, parts):
    error = refused(X, code, *parts)
    assert error.hint or code in ("D28", "D32")


def test_the_argument_is_named_as_the_caller_names_it():
    refused(np.full((1, 1), np.nan), "D01", "test X column", argument="test X")


def test_D39_labels_of_any_index_are_named():
    index = pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)])
    X = pd.DataFrame({"v": [1.0, np.nan, np.nan]}, index=index)
    assert refused(X, "D01", "('a', 1), ('b', 2)").rows == (("a", 1), ("b", 2))


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no integers of 128 bits")
def test_D20_integers_of_128_bits_are_read_where_64_suffice():
    table = read_table(
        pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.Int128)}), missing="allow"
    )
    np.testing.assert_array_equal(table.columns[0].values, [1.0, np.nan, 3.0])
    refused(pl.DataFrame({"a": pl.Series([1, 2**100], dtype=pl.Int128)}), "D20", "beyond 64 bits")


def test_dictionaries_of_several_chunks_have_all_their_labels():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c"]).dictionary_encode()]
    assert column_of(pa.chunked_array(chunks)).declared == ("b", "a", "c")


def test_categories_of_any_type_are_labels_while_their_texts_differ():
    assert column_of(pd.Series(pd.Categorical([1, "1"]))).values.tolist() == [1, "1"]
    day = dt.date(2020, 1, 1)
    assert column_of(pd.Series(pd.Categorical([day]))).values.tolist() == ["2020-01-01"]


@pytest.mark.parametrize(
    ("native", "kind", "declared", "order"),
    [
        (pd.Series(pd.Categorical(["b", None], ["c", "b"])), "nominal", ("c", "b"), None),
        (
            pd.Series(pd.Categorical(["b", None], ["c", "b"], ordered=True)),
            "ordinal",
            None,
            ("c", "b"),
        ),
        (pl.Series(["b", None], dtype=pl.Enum(["c", "b"])), "ordinal", None, ("c", "b")),
        # Its categories are those of every frame of the process: no declaration.
        (pl.Series(["b", None], dtype=pl.Categorical), "nominal", None, None),
        (pa.array(["b", None]).dictionary_encode(), "nominal", ("b",), None),
    ],
)
def test_categories_are_ordered_as_their_library_says(native, kind, declared, order):
    column = column_of(native)
    assert (column.kind, column.declared, column.order) == (kind, declared, order)
    assert column.values.tolist() == ["b", None]


TWO_COLUMNS = {"a": [1.5, 2.5], "b": [3.0, 4.0]}


@pytest.mark.parametrize(
    ("X", "library"),
    [
        (np.array([[1.5, 3.0], [2.5, 4.0]]), "numpy"),
        ([[1.5, 3.0], [2.5, 4.0]], "numpy"),
        (((1.5, 3.0), np.array([2.5, 4.0])), "numpy"),
        (pd.DataFrame(TWO_COLUMNS), "pandas"),
        (pl.DataFrame(TWO_COLUMNS), "polars"),
        (pa.table(TWO_COLUMNS), "pyarrow"),
    ],
)
def test_a_table_is_opened_in_its_own_library(X, library):
    container = open_table(X, "X")
    assert container.library == library
    assert container.names == (("x0", "x1") if library == "numpy" else ("a", "b"))
    assert container.n_rows == 2
    assert container.cells(0).values.tolist() == [1.5, 2.5]
    assert container.cells(1).values.tolist() == [3.0, 4.0]


def test_lists_of_numbers_become_an_array_and_mixed_lists_stay_objects():
    numbers = open_table([[1, 2.5], [3, 4]], "X").matrix
    assert numbers.dtype == np.float64
    mixed = open_table([[1, "a"], [2.5, "b"]], "X").matrix
    assert mixed.dtype == object
    assert mixed.tolist() == [[1, "a"], [2.5, "b"]]
    assert type(mixed[0, 0]) is int


def test_only_an_index_of_row_numbers_is_one_that_new_rows_get_anew():
    X = pd.DataFrame(TWO_COLUMNS)
    assert open_table(X, "X").has_range_index
    assert not open_table(X.set_axis([0, 1]), "X").has_range_index
    assert not open_table(pl.DataFrame(TWO_COLUMNS), "X").has_range_index


def test_ragged_rows_are_named_up_to_five():
    ragged = [[1, 2], *([[3]] * 7)]
    assert refused(ragged, "D25", "row 0 has 2 cells, row 1 has 1").rows == (1, 2, 3, 4, 5)


def test_the_argument_is_part_of_the_message_and_of_the_hint():
    with pytest.raises(InputError, match="reference is a dict.*pandas.DataFrame\\(reference\\)"):
        open_table({"a": [1]}, "reference")


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_D23_sparse_matrices(kind):
    refused(kind(np.eye(40, 3)), "D23", kind.__name__, "sparse", "960 bytes", ".toarray()")


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        (
            np.ones(3),
            ["Expected 2D array, got 1D array instead", "shape (3,)", "Reshape your data"],
        ),
        ([1.0, 2.0], ["Expected 2D array, got 1D array instead", "Reshape your data"]),
        ([], ["Expected 2D array, got 1D array instead"]),
        (pd.Series([1.0]), ["Expected 2D array", "Reshape your data", "to_frame"]),
        (pl.Series([1.0]), ["Expected 2D array", "Reshape your data", "to_frame"]),
        (np.float64(3), ["float64"]),
        (np.array(3.0), ["got 0D array"]),
        (np.ones((2, 2, 2)), ["got 3D array", "reshape(len(X), -1)"]),
        (({} for _ in range(3)), ["generator", "list(X)"]),
        ({"a": [1]}, ["dict", "pandas.DataFrame(X)"]),
        ([{"a": 1}], ["list of dicts", "pandas.DataFrame(X)"]),
        (np.matrix([[1.0]]), ["numpy.matrix", "numpy.asarray(X)"]),
        (np.ma.masked_array([[1.0]], mask=[[True]]), ["masked", "filled"]),
        (np.zeros(2, dtype=[("a", float), ("b", int)]), ["structured", "DataFrame(X)"]),
        ([[1, 2], [3]], ["row 0 has 2 cells, row 1 has 1"]),
        ("text", ["builtins.str"]),
        (None, ["NoneType"]),
    ],
)
def test_D25_what_is_no_table(X, parts):
    error = refused(X, "D26" if isinstance(X, np.float64) else "D25", *parts)
    assert error.hint


class Tensor:
    shape = (2, 2)

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 2))


def test_D26_tables_of_other_libraries():
    refused(Tensor(), "D26", "Tensor", "pandas, polars or pyarrow")
    refused(pl.LazyFrame({"a": [1]}), "D26", "LazyFrame", "X.collect()")


class Holder:
    """scikit-learn's checks pass such an object: it is an array by its own word, and nothing else."""

    def __array__(self, dtype=None, copy=None):
        return np.ones((2, 3))


def test_a_plain_holder_of_an_array_is_read():
    assert read_table(Holder(), missing="error").n_columns == 3


FIT = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [True, False]})


def again(X, fit=FIT, missing="error"):
    return read_table(X, missing=missing, like=read_table(fit, missing="allow"))


@pytest.mark.parametrize(
    ("columns", "text", "remedy"),
    [
        (["b", "a"], "X lacks 'c'.", "Add the missing columns to X."),
        (["d", "c", "b"], "X lacks 'a' and has 'd', which the fit had not.", "columns to X."),
        (
            ["a", "b", "c", "d"],
            "X has 'd', which the fit had not.",
            "Pass X[list(g.feature_names_in_)], g being the fit.",
        ),
    ],
)
def test_D37_columns_that_are_missing_or_new_are_named(columns, text, remedy):
    X = FIT.assign(d=1.0)[columns]
    message = f"D37: {text} The fit had 'a', 'b', 'c'."
    for frame in (X, pl.from_pandas(X)):
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            again(frame)
        assert set(caught.value.columns) == set("abc") ^ set(columns)
        assert str(caught.value).endswith(remedy)


def test_columns_in_another_order_are_taken_by_name():
    X = FIT[["c", "a", "b"]]
    for frame in (X, pl.from_pandas(X), pa.Table.from_pandas(X)):
        table = again(frame)
        assert table.names == ("a", "b", "c")
        assert table.columns[1].values.tolist() == ["x", "y"]
        assert list(table.native.columns if frame is X else table.native.to_pandas()) == [*"abc"]
    assert list(X.columns) == ["c", "a", "b"]
    numbers = pd.DataFrame([[1.0, 2.0]], columns=[5, 6])
    assert again(numbers[[6, 5]], numbers).columns[0].values.tolist() == [1.0]


def test_D37_at_most_five_names_are_listed_and_control_characters_escaped():
    X = pd.DataFrame(np.ones((1, 7)), columns=[f"n{i}\x1b" for i in range(7)])
    with pytest.raises(InputError, match=r"'n4\\x1b', … \(7 in all\)") as caught:
        again(X)
    assert "\x1b" not in str(caught.value)


def test_D37_the_number_of_columns():
    fit = np.ones((3, 4))
    with pytest.raises(
        InputError, match="X has 3 features, but Granite is expecting 4 features as input."
    ):
        again(np.ones((2, 3)), fit)
    with pytest.raises(
        InputError, match="X has 2 features, but Granite is expecting 3 features as input."
    ):
        again(np.ones((2, 2)))


def test_D37_integer_names_of_two_frames_are_compared():
    fit = pd.DataFrame(np.ones((2, 2)), columns=[5, 6])
    with pytest.raises(InputError, match="X lacks '5'"):
        again(fit[[6]], fit)
    assert again(fit, fit).names == ("5", "6")


def test_D37_a_column_that_changed_its_kind():
    with pytest.raises(
        InputError, match=r"D37: X column 'a' \(index 0\) .* numeric, as it was at fit"
    ) as caught:
        again(FIT.assign(a=["x", "y"]))
    assert caught.value.columns == ("a",)


def test_D38_an_array_after_a_frame_and_a_frame_after_an_array():
    fit = pd.DataFrame(np.ones((2, 2)), columns=["a", "b"])
    text = "X does not have valid feature names, but Granite was fitted with feature names"
    with pytest.warns(UserWarning, match=text):
        table = again(fit.to_numpy(), fit)
    assert table.names == ("a", "b")
    assert table.notices == (text,)
    with pytest.warns(
        UserWarning, match="X has feature names, but Granite was fitted without feature names"
    ):
        table = again(fit, fit.to_numpy())
    assert table.names == ("x0", "x1")


def test_kinds_are_those_of_the_fit_whatever_the_dtype_is_now():
    fit = read_table(
        np.array([[0, 1, 3], [1, 1, 2]]), kinds={0: "boolean", 2: "nominal"}, missing="error"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(np.array([[1.0, 2.5, 3.0]]), missing="error", like=fit)
    assert [c.kind for c in table.columns] == ["boolean", "numeric", "nominal"]
    assert table.columns[2].levels.tolist() == [3]


def test_a_column_without_values_takes_the_kind_of_the_fit():
    with pytest.warns(DataWarning, match="D02: X has 3 missing values in features 'a', 'b', 'c'"):
        table = again(pd.DataFrame({"a": [None], "b": [None], "c": [None]}), missing="allow")
    assert [c.kind for c in table.columns] == ["numeric", "nominal", "boolean"]
    assert [c.codes.tolist() for c in table.columns] == [[-1]] * 3
    dates = pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])})
    with pytest.warns(DataWarning, match="D02: X has 1 missing value in feature 'a', where no"):
        table = again(pd.DataFrame({"a": [None]}), dates, missing="allow")
    assert table.columns[0].kind == "date"


def test_D02_missing_values_where_the_fit_had_some_are_not_warned_about():
    gaps = FIT.assign(a=[np.nan, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = again(gaps, gaps, missing="allow")
    assert table.columns[0].missing.tolist() == [True, False]


def test_D15_new_levels_are_warned_about_by_label():
    with pytest.warns(
        DataWarning,
        match=r"D15: X column 'b' \(index 1\) has 1 level that was not seen at fit: 'z'",
    ):
        table = again(FIT.assign(b=["z", "y"]))
    assert table.columns[1].levels.tolist() == ["y", "z"]


def test_D15_labels_of_rows_that_the_fit_did_not_draw_are_not_new():
    table = read_table(FIT, missing="error")
    drawn = table.take([0]).take([0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(FIT, like=drawn, missing="error")
    with pytest.warns(DataWarning, match="1 level that was not seen at fit: 'z'"):
        read_table(FIT.assign(b=["z", "y"]), like=drawn, missing="error")


def test_D15_codes_that_differ_between_frames_do_not_matter():
    fit = pd.DataFrame({"a": pd.Categorical(["x", "y"], ["x", "y"])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = again(pd.DataFrame({"a": pd.Categorical(["y", "x"], ["y", "x"])}), fit)
    assert table.columns[0].values.tolist() == ["y", "x"]


def test_D14_D15_ordered_labels_keep_the_order_of_the_fit():
    fit = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "mid" was declared: it has its place
        table = again(pd.DataFrame({"a": ["hi", "mid"]}), fit)
    assert table.columns[0].order == ("lo", "mid", "hi")
    assert table.columns[0].levels.tolist() == ["mid", "hi"]
    with pytest.warns(DataWarning, match="'top'"):
        table = again(pd.DataFrame({"a": ["top", "lo"]}), fit)
    assert table.columns[0].levels.tolist() == ["lo", "top"]
    assert table.columns[0].order == ("lo", "mid", "hi")


def test_D11_texts_are_not_counted_after_the_fit():
    with pytest.warns(DataWarning, match="has 200 levels that were not seen"):
        again(pd.DataFrame({"a": 1.0, "b": [f"t{i}" for i in range(200)], "c": True}))


N = 60


def rows(n=N):
    rng = np.random.default_rng(0)
    text = [f"row {i}" for i in range(n)]
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "text": text,
            "b": rng.normal(size=n),
            "c": rng.choice([*"pq"], n),
        }
    )


def product(X):
    """A model that needs the texts: their length counts."""
    frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
    return (frame["a"] * (frame["b"] > 0) + 0.01 * frame["text"].str.len()).to_numpy()


@pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas])
def test_D11_a_column_of_different_texts_passes_through_and_is_said_once(convert):
    with pytest.warns(gx.DataWarning, match="D11: .*'text' of X") as caught:
        g = gx.Granite(product, min_samples_leaf=5).fit(convert(rows()))
    assert len(caught) == 1
    assert [str(region.rule) for region in g.partition_] == ["b ≤ 0", "b > 0"]
    assert g.diagnostics_["warnings"] == [str(caught[0].message)]
    effects = g.explain(convert(rows()))
    assert {name for names in effects.sets for name in names} == {"a", "b", "c"}
    assert g.apply(convert(rows().assign(text=None))).tolist() == g.apply(convert(rows())).tolist()


@pytest.mark.parametrize(
    "named",
    [
        {"features": ["text"]},
        {"split_features": ["text", "a"]},
        {"partitioner": gx.partitioners.Tree(split_features=["text", "a"])},
        {"kinds": {"text": "nominal"}},
    ],
)
def test_D11_a_column_that_is_asked_for_by_name_is_nominal(named):
    g = gx.Granite(product, **named).fit(rows())
    assert g.diagnostics_["warnings"] == []


def test_D11_texts_are_levels_while_they_are_half_of_the_rows():
    X = pd.DataFrame({"a": np.arange(100.0), "t": [f"t{i % 50}" for i in range(100)]})
    assert read_input(X, product).passing == frozenset()
    X.loc[0, "t"] = "another"
    with pytest.warns(gx.DataWarning, match="D11"):
        assert read_input(X, product).passing == {1}
    assert read_input(X.assign(t=X["t"].astype("category")), product).passing == frozenset()


def test_D11_what_passes_is_a_player_without_an_effect_of_its_own():
    """Full effects keep the text of the row, pure ones average over all texts: the gap is that of a joint player."""
    X = rows(24)
    with pytest.warns(gx.DataWarning, match="D11"):
        pdp = gx.Explainer(interaction="pure").explain(product, X).values
    with pytest.warns(gx.DataWarning, match="D11"):
        ice = gx.Explainer(interaction="full").explain(product, X).values
    grid = [[product(X.assign(a=a))[m] for m in range(24)] for a in X["a"]]
    assert np.allclose(pdp[:, 0], np.mean(grid, axis=1) - product(X).mean())
    hidden = [[product(X.iloc[[n]].assign(a=a))[0] for a in X["a"]] for n in range(24)]
    assert np.allclose(ice[:, 0], product(X) - np.mean(hidden, axis=1))


def test_D11_columns_that_a_pipeline_drops_pass_through():
    X = rows().assign(id=np.arange(N))
    first = make_column_transformer((FunctionTransformer(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(first, LinearRegression()).fit(X, X["a"])
    with pytest.warns(gx.DataWarning, match="does not use 'text', 'id'"):
        table = read_input(X, model)
    assert table.passing == {1, 4}
    assert read_input(X, model, requested=["id", "text"]).passing == frozenset()
    with pytest.warns(gx.DataWarning, match="D11"):
        assert read_input(X.drop(columns="text")[["id", "b", "c", "a"]], model).passing == {
            0
        }  # any order by name


def test_D11_only_texts_cannot_all_pass():
    X = pd.DataFrame({"t": [f"t{i}" for i in range(30)]})
    assert read_input(X, product).passing == frozenset()


def test_D11_levels_beyond_the_hundred_most_frequent_share_a_group_of_splits():
    rng = np.random.default_rng(0)
    common, rare = [f"c{i:03}" for i in range(MOST_LEVELS)], [f"r{i:03}" for i in range(50)]
    city = np.array([*np.repeat(common, 3), *rare], dtype=object)
    X = pd.DataFrame({"x": rng.normal(size=len(city)), "city": city})
    column = read_table(X, missing="error").columns[1]
    classes = _frequent_levels(column)[0]
    assert classes[:MOST_LEVELS].tolist() == list(range(MOST_LEVELS))
    assert set(classes[MOST_LEVELS:]) == {MOST_LEVELS}

    def model(X):
        return X["x"].to_numpy() * X["city"].str.startswith("r").to_numpy()

    g = gx.Granite(model, min_samples_leaf=5, max_depth=1).fit(X)
    assert len(g.partition_) == 2
    assert g.remaining_ < 1e-12
    assert len(g.explain(X).parts) > 0


def test_D11_few_levels_stay_as_they_are():
    column = Column("x", 0, "nominal", np.array(["b", "a", None], dtype=object))
    assert _frequent_levels(column)[0].tolist() == [0, 1]


def test_D11_what_passes_is_saved_without_its_texts(tmp_path):
    with pytest.warns(gx.DataWarning):
        g = gx.Granite(product, min_samples_leaf=5).fit(rows())
    path = gx.save(g, tmp_path / "g.json")
    assert "row 17" not in path.read_text()
    again = gx.load(path, model=product)
    assert again.apply(rows()).tolist() == g.apply(rows()).tolist()
    full = gx.load(path, model=product, X=rows())
    assert full.evaluate(rows()).remaining == g.evaluate(rows()).remaining


DATA = {
    "i": [1, 2],
    "s": ["x", "y"],
    "t": pd.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("Asia/Tokyo"),
}
X = pd.DataFrame(DATA).assign(c=pd.Categorical(["p", "q"], ["q", "p"]))
CELLS = {"i": 7, "s": "y", "t": pd.Timestamp("2022-06-01", tz="Asia/Tokyo"), "c": "q"}


@pytest.mark.parametrize("make", [lambda x: x, pl.from_pandas])
def test_a_row_has_the_dtypes_of_the_table(make):
    table = read_table(make(X), missing="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [row_like(table, CELLS, "row"), row_like(table, list(CELLS.values()), "row")]
    for row in rows:
        assert list(row.native.dtypes) == list(table.native.dtypes)
        assert row.kinds == table.kinds
        assert [row.native[name][0] for name in CELLS] == list(CELLS.values())


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("make", [lambda x: x, pl.from_pandas, pa.Table.from_pandas])
def test_a_row_with_a_date_of_any_unit(make, unit):
    """Nanoseconds become plain integers in a NumPy list: polars and pyarrow refused the row as a number."""
    dates = pd.to_datetime(["2020-01-01", "2021-01-01"]).as_unit(unit)
    table = read_table(make(pd.DataFrame({"t": dates, "i": [1, 2]})), missing="error")
    row = row_like(table, [pd.Timestamp("2020-06-01 12:00").as_unit(unit), 7], "row")
    assert row.kinds == table.kinds
    assert row.columns[0].values[0] == np.datetime64("2020-06-01T12:00")


def test_a_cell_that_the_dtype_cannot_hold_is_not_rounded():
    row = row_like(read_table(X, missing="error"), CELLS | {"i": 1.5}, "row")
    assert row.native["i"].tolist() == [1.5]
    assert row.native["s"].tolist() == ["y"]


def test_columns_left_out_stay_only_in_a_single_row():
    table = read_table(np.array([[1.0, 2.0], [3.0, 4.0]]), missing="error")
    assert row_like(table.take([1]), {"x0": 9.0}, "row").native.tolist() == [[9.0, 4.0]]
    with pytest.raises(InputError, match="row has no cell for the columns 'x1'"):
        row_like(table, {"x0": 9.0}, "row")
    with pytest.raises(InputError, match="row has 3 cells, the table has 2 columns"):
        row_like(table, [1, 2, 3], "row")
    with pytest.raises(InputError, match="P04"):
        row_like(table, {"x7": 1}, "row")
    with pytest.raises(
        InputError, match=r"P03: row column 'x0' \(index 0\) .* cannot be read as numeric"
    ):
        row_like(table, {"x0": "text", "x1": 1}, "row")

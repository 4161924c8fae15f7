"""D-cases that are handled: what each dtype of each library is read as."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.base.errors import DataWarning, InputError
from granite_xai.tables import read_table


def column(cells, **options):
    """The only column of a frame of these cells."""
    return read_table(pd.DataFrame({"a": cells}), missing="allow", **options).columns[0]


def test_D02_missing_values_are_allowed_and_equal_each_other():
    table = read_table(np.array([[np.nan, 1], [2, 1], [np.nan, 1]]), missing="allow")
    assert table.columns[0].codes.tolist() == [-1, 0, -1]
    codes, first = table.distinct([0, 1])
    assert codes.tolist() == [0, 1, 0]
    assert first.tolist() == [0, 1]


def test_D04_a_column_without_any_value_is_numeric_and_missing():
    for cells in ([None, None], [np.nan, np.nan], pd.array([None, None], dtype="Int64")):
        read = column(cells)
        assert read.kind == "numeric"
        assert len(read.levels) == 0
        assert read.codes.tolist() == [-1, -1]
    assert (
        read_table(pl.DataFrame({"a": [None, None]}), missing="allow").columns[0].kind == "numeric"
    )
    assert read_table(pa.table({"a": [None, None]}), missing="allow").columns[0].kind == "numeric"


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


@pytest.mark.parametrize("cells", [[1, 2.5, None], [np.float32(1), 2, pd.NA], [True, 2, np.nan]])
def test_D11_objects_that_are_all_numbers_are_numeric(cells):
    read = column(np.array(cells, dtype=object))
    assert read.kind == "numeric"
    assert read.values[1] == float(cells[1])
    assert np.isnan(read.values[2])


def test_D11_whole_numbers_as_objects_are_known_to_be_whole():
    assert column(np.array([1, 2], dtype=object)).integer
    assert not column(np.array([1, 2.0], dtype=object)).integer


@pytest.mark.parametrize("dtype", [object, "str", "string", pd.ArrowDtype(pa.string())])
def test_D11_text_is_nominal_with_sorted_levels(dtype):
    read = column(pd.Series(["b", "a", None, "1"], dtype=dtype))
    assert read.kind == "nominal"
    assert read.levels.tolist() == ["1", "a", "b"]
    assert read.codes.tolist() == [2, 1, -1, 0]
    assert read.values[2] is None
    assert type(read.values[0]) is str


def test_D13_unordered_categories_keep_the_declared_order():
    read = column(pd.Categorical(["z", "a", None], ["z", "unused", "a"]))
    assert read.kind == "nominal"
    assert read.levels.tolist() == ["z", "a"]
    assert read.order is None


def test_D14_ordered_categories_keep_unused_labels_in_their_order():
    read = column(pd.Categorical(["hi", "lo", None], ["lo", "mid", "hi"], ordered=True))
    assert read.kind == "ordinal"
    assert read.order == ("lo", "mid", "hi")
    assert read.levels.tolist() == ["lo", "hi"]
    assert read.codes.tolist() == [1, 0, -1]


def test_categories_that_are_numbers_or_intervals_have_plain_labels():
    assert column(pd.Categorical([3, 1])).levels.tolist() == [1, 3]
    binned = column(pd.cut([0.5, 1.5], [0, 1, 2]))
    assert binned.kind == "ordinal"
    assert binned.order == ("(0, 1]", "(1, 2]")


def test_polars_enum_is_ordered_and_categorical_is_not():
    X = pl.DataFrame(
        {"e": ["a", "b", None], "c": ["b", None, "a"]},
        schema={"e": pl.Enum("bza"), "c": pl.Categorical},
    )
    enum, categorical = read_table(X, missing="allow").columns
    assert (enum.kind, enum.order) == ("ordinal", ("b", "z", "a"))
    assert enum.codes.tolist() == [1, 0, -1]
    assert (categorical.kind, categorical.levels.tolist()) == ("nominal", ["a", "b"])
    assert categorical.codes.tolist() == [1, -1, 0]


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


@pytest.mark.parametrize(
    "cells",
    [
        np.array([True, False]),
        pd.array([True, False], "boolean"),
        pd.array([True, False], "bool[pyarrow]"),
    ],
)
def test_D17_booleans(cells):
    read = column(cells)
    assert read.kind == "boolean"
    assert read.levels.tolist() == [False, True]
    assert all(type(label) is bool for label in read.values)
    assert column(np.array([True, None, False], dtype=object)).values.tolist() == [
        True,
        None,
        False,
    ]


DATES = ["2020-03-01", None, "2020-01-01"]


@pytest.mark.parametrize(
    "cells",
    [
        pd.to_datetime(DATES),
        pd.to_datetime(DATES).astype("datetime64[s]"),
        np.array([dt.datetime(2020, 3, 1), None, dt.datetime(2020, 1, 1)], dtype=object),
        np.array([dt.date(2020, 3, 1), None, dt.date(2020, 1, 1)], dtype=object),
        np.array([np.datetime64("2020-03-01"), None, np.datetime64("2020-01-01")], dtype=object),
        pd.array(
            [dt.date(2020, 3, 1), None, dt.date(2020, 1, 1)], dtype=pd.ArrowDtype(pa.date32())
        ),
        pd.array(pd.to_datetime(DATES), dtype=pd.ArrowDtype(pa.timestamp("us"))),
    ],
)
def test_D18_dates_are_ordered(cells):
    read = column(cells)
    assert read.kind == "date"
    assert (
        read.levels.tolist()
        == np.array(["2020-01-01", "2020-03-01"], dtype=read.levels.dtype).tolist()
    )
    assert read.codes.tolist() == [1, -1, 0]


def test_D18_dates_with_one_zone_are_read_in_utc():
    stamps = pd.to_datetime(DATES).tz_localize("Asia/Tokyo")
    expected = np.array(["2020-02-29T15", "NaT", "2019-12-31T15"], dtype="datetime64[s]")
    for cells in (
        stamps,
        np.array(stamps, dtype=object),
        stamps.astype(pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo"))),
    ):
        np.testing.assert_array_equal(column(cells).values.astype("datetime64[s]"), expected)


def test_D18_durations_are_ordered():
    for cells in (
        pd.to_timedelta([2, None, 1], "D"),
        np.array([dt.timedelta(2), None, dt.timedelta(1)], dtype=object),
    ):
        read = column(cells)
        assert read.kind == "date"
        assert read.values.dtype.kind == "m"
        assert read.codes.tolist() == [1, -1, 0]


def test_dates_of_polars_pyarrow_and_arrays():
    X = pl.DataFrame(
        {
            "d": [dt.date(2020, 1, 2), None],
            "t": [dt.datetime(2020, 1, 1), None],
            "u": [dt.timedelta(1), None],
        }
    )
    for table in (X, X.to_arrow()):
        assert [c.kind for c in read_table(table, missing="allow").columns] == ["date"] * 3
        assert [c.codes.tolist() for c in read_table(table, missing="allow").columns] == [
            [0, -1]
        ] * 3
    read = read_table(np.array([["2020-01-02"], ["NaT"]], dtype="datetime64[D]"), missing="allow")
    assert read.columns[0].codes.tolist() == [0, -1]


@pytest.mark.parametrize(
    "dtype", ["Int64", "UInt8", "Float64", "Float32", "int64[pyarrow]", "double[pyarrow]"]
)
def test_D19_nullable_and_arrow_numbers(dtype):
    read = column(pd.array([3, None, 1], dtype=dtype))
    assert read.kind == "numeric"
    assert read.levels.tolist() == [1.0, 3.0]
    assert read.codes.tolist() == [1, -1, 0]
    assert read.integer == ("nt" in dtype)


def test_D19_a_nan_inside_a_nullable_column_is_missing_too():
    cells = pd.arrays.FloatingArray(np.array([1.0, np.nan, 2.0]), np.array([False, False, True]))
    assert column(cells).codes.tolist() == [0, -1, -1]


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

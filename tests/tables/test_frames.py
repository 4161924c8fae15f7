"""Frames of pandas, polars and pyarrow: labels of rows, adopted columns, donors of another dtype."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.tables import Column, FrameContainer, open_table

DATA = {"a": [0.5, 1.5, 2.5], "s": ["x", "y", "x"]}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def lists(native):
    if isinstance(native, pa.Table):
        return native.to_pydict()
    return {name: native[name].to_list() for name in native.columns}


@pytest.mark.parametrize("library", FRAMES)
def test_rows_and_columns_are_taken_in_the_order_given(library):
    container = open_table(FRAMES[library](DATA), "X")
    part = container.take(np.array([2, 0, 2]))
    assert type(part.native) is type(container.native)
    assert lists(part.native) == {"a": [2.5, 0.5, 2.5], "s": ["x", "x", "x"]}
    assert list(lists(part.select([1, 0]))) == ["s", "a"]
    assert part.row_labels(np.array([1, 2])) == [0, 2]


def test_rows_of_pandas_are_called_by_their_index():
    container = open_table(pd.DataFrame(DATA, index=["p", "q", "r"]), "X")
    assert container.row_labels(np.array([2, 0])) == ["r", "p"]
    assert container.take(np.array([2, 1])).row_labels(np.array([0])) == ["r"]


@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_another_library_get_the_names_of_this_one(library):
    container = open_table(FRAMES[library](DATA), "X")
    columns = [
        Column("x0", 0, "numeric", np.array([1.0, np.nan])),
        Column("x1", 1, "nominal", np.array(["x", None], dtype=object)),
    ]
    adopted = container.adopt(columns)
    assert adopted.library == library
    assert adopted.labels == ("a", "s")
    np.testing.assert_array_equal(adopted.cells(0).values, [1.0, np.nan])
    assert adopted.cells(1).values.tolist() == ["x", None]


@pytest.mark.parametrize("library", FRAMES)
def test_nanoseconds_survive_the_way_into_another_library(library):
    container = open_table(FRAMES[library]({"t": [1.0]}), "X")
    instant = np.array(["2020-01-01T00:00:00.000000001"], dtype="M8[ns]")
    adopted = container.adopt([Column("t", 0, "date", instant)])
    assert adopted.cells(0).values.tolist() == instant.tolist()


@pytest.mark.parametrize("library", FRAMES)
def test_a_donor_has_the_dtype_of_the_base_only_where_it_holds_the_cells(library):
    base = open_table(FRAMES[library]({"a": [1, 2], "s": ["x", "y"]}), "X")
    rows = np.array([0, 1])
    for cell, is_whole in ((7.0, True), (7.5, False)):
        donor = open_table(FRAMES[library]({"a": [cell, 0.25], "s": ["z", "z"]}), "X")
        made = base.recombined(rows, donor, np.array([0, 0]), [0])
        assert lists(made) == {"a": [cell, cell], "s": ["x", "y"]}
        assert open_table(made, "X").cells(0).integer == is_whole


def test_order_of_categories_counts_although_pandas_calls_such_dtypes_equal():
    base = pd.DataFrame({"c": pd.Categorical(["x", "y"], ["x", "y"])})
    donor = pd.DataFrame({"c": pd.Categorical(["y", "x"], ["y", "x"])})
    assert base["c"].dtype == donor["c"].dtype
    made = open_table(base, "X").recombined(
        np.array([0, 1]), open_table(donor, "X"), np.array([0, 1]), [0]
    )
    assert made["c"].tolist() == ["y", "x"]
    assert made["c"].cat.categories.tolist() == ["x", "y"]


def test_a_donor_in_utc_comes_in_the_time_zone_of_the_base():
    base = pd.DataFrame(
        {"t": pd.to_datetime(["2020-01-01", "2020-07-01"]).tz_localize("Asia/Tokyo")}
    )
    donor = pd.DataFrame({"t": pd.to_datetime(["2021-01-01 12:00"])})
    rows = np.array([0, 1])
    made = open_table(base, "X").recombined(rows, open_table(donor, "X"), np.array([0, 0]), [0])
    assert made["t"].tolist() == [pd.Timestamp("2021-01-01 21:00", tz="Asia/Tokyo")] * 2


def test_one_dtype_of_numbers_is_one_matrix():
    assert open_table(pd.DataFrame({"a": [1.0], "b": [2.0]}), "X").matrix.tolist() == [[1.0, 2.0]]
    for X in (
        pd.DataFrame({"a": [1.0], "b": [2]}),
        pd.DataFrame({"a": ["x"], "b": ["y"]}),
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")}),
        pl.DataFrame({"a": [1.0], "b": [2.0]}),
    ):
        assert open_table(X, "X").matrix is None


def test_a_new_frame_has_row_numbers_only_where_the_table_had_them():
    X = pd.DataFrame(DATA, index=[5, 6, 7])
    rows = np.array([2, 2])
    by_label = FrameContainer(X, "pandas").recombined(rows, FrameContainer(X, "pandas"), rows, [0])
    assert by_label.index.tolist() == [7, 7]
    numbered = FrameContainer(X, "pandas", has_range_index=True)
    assert numbered.recombined(rows, numbered, rows, [0]).index.tolist() == [0, 1]


@pytest.mark.parametrize("library", FRAMES)
def test_nudged_moves_floats_of_the_columns_that_are_named(library):
    data = {"a": [0.5, 1.5], "b": [2.5, 3.5], "s": ["x", "y"]}
    container = open_table(FRAMES[library](data), "X")
    made = lists(container.nudged(np.array([1, 0]), 1, [1, 2]))
    assert made["a"] == [1.5, 0.5]
    assert made["b"] == [np.nextafter(3.5, 4), np.nextafter(2.5, 3)]
    assert made["s"] == ["y", "x"]

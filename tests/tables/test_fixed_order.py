"""The fixed order of rows: by what they hold, not by where they stand or how they are stored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from granite_xai.tables import read_table
from granite_xai.tables.fixed_order import cell_keys, fixed_row_order

N = 200
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "number": DRAW.normal(size=N),
        "count": DRAW.integers(0, 4, N),
        "town": pd.Categorical(DRAW.choice(["Graz", "Linz", "Wien"], N)),
        "new": DRAW.choice([True, False], N),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(DRAW.integers(0, 50, N), unit="D"),
        "wait": pd.to_timedelta(DRAW.integers(0, 50, N), unit="h"),
    }
)
FRAME.loc[::7, "number"] = np.nan
Y = DRAW.normal(size=N)
WEIGHTS = DRAW.choice([1.0, 2.0], N)
CLUSTERS = np.arange(N) // 5


def order_of(frame, y=Y, weights=WEIGHTS, clusters=CLUSTERS):
    return fixed_row_order(read_table(frame, missing="allow"), y, weights, clusters)


def test_permuted_rows_have_the_same_order():
    order = order_of(FRAME)
    assert sorted(order) == list(range(N))
    assert not np.array_equal(order, np.arange(N))
    for seed in range(5):
        moved = np.random.default_rng(seed).permutation(N)
        again = order_of(FRAME.iloc[moved], Y[moved], WEIGHTS[moved], CLUSTERS[moved])
        np.testing.assert_array_equal(moved[again], order)


def test_permuted_columns_have_the_same_order():
    np.testing.assert_array_equal(order_of(FRAME[FRAME.columns[::-1]]), order_of(FRAME))


def test_other_numbers_of_the_same_clusters_have_the_same_order():
    np.testing.assert_array_equal(order_of(FRAME, clusters=1000 - 3 * CLUSTERS), order_of(FRAME))


@pytest.mark.parametrize(
    "stored",
    [
        pl.from_pandas,
        lambda frame: pl.from_pandas(frame).to_arrow(),
        lambda frame: frame.astype({"day": "datetime64[s]", "wait": "timedelta64[ms]"}),
        lambda frame: frame.astype({"town": object, "count": "int8"}),
    ],
    ids=["polars", "arrow", "other units", "other dtypes"],
)
def test_another_container_of_the_same_cells_has_the_same_order(stored):
    np.testing.assert_array_equal(order_of(stored(FRAME)), order_of(FRAME))


def test_rows_that_differ_in_one_cell_alone_have_other_keys():
    for column in read_table(FRAME, missing="allow").columns:
        keys = cell_keys(column)
        codes = np.where(column.missing, -1, column.codes)
        for code in np.unique(codes):
            assert len(np.unique(keys[codes == code])) == 1
        assert len(np.unique(keys)) == len(np.unique(codes))


def test_equal_rows_are_told_apart_by_target_weight_and_cluster():
    same = pd.DataFrame({"a": np.zeros(6), "b": np.ones(6)})
    moved = np.array([3, 1, 5, 0, 4, 2])
    apart = np.arange(6.0)
    nothing = np.ones(6)
    alone = np.arange(6)
    for y, weights in ((apart, nothing), (None, apart + 1)):
        order = order_of(same, y, weights, alone)
        again = order_of(same, None if y is None else y[moved], weights[moved], alone)
        np.testing.assert_array_equal(moved[again], order)
    clusters = np.array([0, 0, 0, 1, 1, 2])  # of three rows, of two, of one
    order = order_of(same, None, nothing, clusters)
    again = order_of(same, None, nothing, clusters[moved])
    np.testing.assert_array_equal(clusters[moved][again], clusters[order])


UNITS = {
    "another unit": lambda y: 100 * y,
    "another zero": lambda y: y + 3,
    "its logarithm": np.log,
    "the other direction": lambda y: 5 - 2 * y,
}


@pytest.mark.parametrize("in_units", UNITS.values(), ids=UNITS)
def test_the_target_moves_no_rows_that_differ_otherwise(in_units):
    order = order_of(FRAME, y=None)
    np.testing.assert_array_equal(order_of(FRAME, in_units(np.exp(Y))), order)


@pytest.mark.parametrize("in_units", UNITS.values(), ids=UNITS)
def test_equal_rows_are_told_apart_by_a_target_in_any_unit(in_units):
    same = pd.DataFrame({"a": np.arange(N) % 3})
    moved = np.random.default_rng(2).permutation(N)
    y = np.exp(Y)
    alone = np.arange(N)
    order = order_of(same, y, np.ones(N), alone)
    again = order_of(same.iloc[moved], in_units(y[moved]), np.ones(N), alone)
    np.testing.assert_array_equal(moved[again], order)
    assert not np.array_equal(order, order_of(same, None, np.ones(N), alone))


def test_clusters_of_equal_rows_are_told_apart_by_their_targets():
    same = pd.DataFrame({"a": np.zeros(6)})
    y = np.array([0.0, 1.0, 0.0, 2.0, 0.0, 3.0])  # the rows with 0 differ by their clusters alone
    clusters = np.array([0, 0, 1, 1, 2, 2])
    moved = np.array([4, 3, 5, 2, 0, 1])
    order = order_of(same, y, np.ones(6), clusters)
    again = order_of(same, y[moved], np.ones(6), clusters[moved])
    np.testing.assert_array_equal(moved[again], order)


def test_several_targets_count():
    y = np.column_stack([np.zeros(N), Y])
    moved = np.random.default_rng(1).permutation(N)
    constant = pd.DataFrame({"a": np.zeros(N)})
    alone = np.arange(N)
    order = order_of(constant, y, np.ones(N), alone)
    np.testing.assert_array_equal(moved[order_of(constant, y[moved], np.ones(N), alone)], order)


def test_zeros_of_either_sign_are_one_value():
    column = read_table(np.array([[0.0, 1.0], [-0.0, 2.0]]), missing="error").columns[0]
    assert len(np.unique(cell_keys(column))) == 1

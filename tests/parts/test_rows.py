"""Rows: their fixed order, by what they hold and not by where they stand or how they are stored; draws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from granite_xai.tables import Rows, fixed_row_order, read_table
from granite_xai.tables.rows import cell_keys

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


def rows_of(frame, **given):
    return Rows.of(read_table(frame, missing="allow"), **given)


def test_rows_are_those_of_positive_weight_with_what_belongs_to_them():
    weights = np.where(np.arange(N) % 4 == 0, 0.0, WEIGHTS)
    rows = rows_of(FRAME, y=Y, weights=weights, clusters=CLUSTERS)
    assert sorted(rows.positions) == [row for row in range(N) if row % 4]
    np.testing.assert_array_equal(rows.y, Y[rows.positions])
    np.testing.assert_array_equal(rows.weights, weights[rows.positions])
    expected = read_table(FRAME, missing="allow").take(rows.positions)
    assert rows.table.same_rows(expected)
    is_together = rows.clusters[:, None] == rows.clusters
    np.testing.assert_array_equal(
        is_together, CLUSTERS[rows.positions][:, None] == CLUSTERS[rows.positions]
    )
    assert set(rows.clusters) == set(range(rows.clusters.max() + 1))


def test_some_rows_are_the_same_whether_they_are_taken_once_or_twice():
    rows = rows_of(FRAME, y=Y, clusters=CLUSTERS)
    some = rows.take(np.arange(0, N, 2)).take(np.arange(3, 50))
    at_once = rows.take(np.arange(6, 100, 2))
    _, first_rows = np.unique(at_once.clusters, return_index=True)
    assert first_rows.tolist() == sorted(first_rows)  # numbered by their first rows
    assert at_once.clusters.max() + 1 == len(first_rows)
    assert some.table.same_rows(at_once.table)
    for name in ("y", "weights", "clusters", "positions"):
        np.testing.assert_array_equal(getattr(some, name), getattr(at_once, name))


def test_what_is_written_into_the_array_later_changes_no_rows_taken_before():
    X = np.random.default_rng(3).normal(size=(50, 2))
    rows = rows_of(X).take(np.arange(50))
    before = rows.table.native.copy()
    X[:] = 0
    np.testing.assert_array_equal(rows.table.native, before)


def many_rows(n_rows, rows_of_a_cluster=1):
    X = np.arange(n_rows, dtype=float)[:, None]
    return rows_of(X, clusters=np.arange(n_rows) // rows_of_a_cluster)


@pytest.mark.parametrize(
    ("n_rows", "n_search", "holdout", "expected"),
    [
        (599, None, "auto", (599, 0)),
        (600, None, "auto", (400, 200)),
        (600, 58, "auto", (58, 0)),  # 29 rows are too few to judge
        (600, 60, "auto", (60, 30)),
        (20_000, None, "auto", (16_000, 4_000)),
        (20_000, 3_000, "auto", (3_000, 1_500)),
        (600, None, False, (600, 0)),
        (600, 100, False, (100, 0)),
        (100, None, 0.3, (70, 30)),
        (1_000, 50, 0.1, (50, 100)),
    ],
)
def test_so_many_rows_search_and_are_held_out(n_rows, n_search, holdout, expected):
    search, held_out = many_rows(n_rows).draw(seed=0).first(n_search, holdout)
    assert (len(search), len(held_out)) == expected
    assert not set(search) & set(held_out)


def test_fewer_rows_are_a_beginning_of_the_same_draw():
    draw = many_rows(3_000).draw(seed=5)
    search, held_out = draw.first(1_500)
    for n_search in (100, 700):
        fewer, fewer_held_out = draw.first(n_search)
        assert set(fewer) < set(search)
        assert set(fewer_held_out) < set(held_out)


@pytest.mark.parametrize("holdout", ["auto", False, 0.2])
def test_clusters_are_drawn_whole(holdout):
    rows = many_rows(1_400, rows_of_a_cluster=7)
    for places in rows.draw(seed=1).first(500, holdout):
        counts = np.bincount(rows.clusters[places], minlength=200)
        assert set(counts) <= {0, 7}
    assert set(np.bincount(rows.clusters[rows.random_places(100, seed=1)])) <= {0, 7}


def test_a_draw_takes_the_same_rows_of_a_permuted_table():
    moved = np.random.default_rng(4).permutation(N)
    rows = rows_of(FRAME, clusters=CLUSTERS)
    again = rows_of(FRAME.iloc[moved], clusters=CLUSTERS[moved])
    for places in (rows.draw(seed=2).first(60, 0.3)[0], rows.random_places(40, seed=2)):
        np.testing.assert_array_equal(moved[again.positions[places]], rows.positions[places])


def test_order_and_draws_stay_what_they_were():
    rows = many_rows(1_000)
    assert rows.positions[:8].tolist() == [44, 951, 90, 937, 665, 161, 316, 418]
    draw = rows.draw(seed=0)
    assert draw.search[:8].tolist() == [601, 845, 911, 768, 727, 981, 765, 648]
    assert draw.held_out[:8].tolist() == [60, 246, 33, 858, 651, 520, 397, 210]
    assert rows.random_places(6, seed=0).tolist() == [40, 269, 307, 509, 634, 846]

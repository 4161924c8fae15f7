"""Rows of a table in a fixed order, with targets, weights and clusters."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.table_rows import TableRows, lacking_clusters_warning

from granite_xai.tables import read_table

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
Y = RNG.normal(size=40)
WEIGHTS = RNG.integers(1, 4, 40).astype(float)
CLUSTERS = np.arange(40) // 2


def rows_of(order):
    """The same rows, given in some order."""
    return TableRows(
        table=read_table(X[order], missing="error"),
        y=Y[order],
        weights=WEIGHTS[order],
        clusters=CLUSTERS[order],
    )


def cells(rows):
    return np.column_stack([rows.table.columns[j].values for j in range(3)])


def test_a_row_of_a_fixed_order_is_the_same_however_the_rows_were_given():
    places = np.array([0, 5, 17, 39])
    given = [np.arange(40), RNG.permutation(40), np.arange(40)[::-1]]
    taken = [rows_of(order).in_fixed_order().take(places) for order in given]
    for other in taken[1:]:
        assert np.array_equal(cells(other), cells(taken[0]))
        assert np.array_equal(other.y, taken[0].y)
        assert np.array_equal(other.weights, taken[0].weights)
        assert np.array_equal(other.clusters, taken[0].clusters)


def test_targets_weights_and_clusters_stay_with_their_row():
    taken = rows_of(RNG.permutation(40)).in_fixed_order().take(np.arange(40))
    for place, row in enumerate(cells(taken)):
        (original,) = np.flatnonzero((row == X).all(axis=1))
        assert taken.y[place] == Y[original]
        assert taken.weights[place] == WEIGHTS[original]
    partners = [np.flatnonzero(taken.clusters == number) for number in taken.clusters]
    assert all(len(pair) == 2 for pair in partners)


def test_places_undo_positions():
    rows = rows_of(np.arange(40)).in_fixed_order()
    assert np.array_equal(rows.places(rows.positions), np.arange(40))
    assert np.array_equal(rows.positions[rows.places([3, 11])], [3, 11])


def test_without_an_order_rows_stand_as_they_were_given():
    rows = rows_of(np.arange(40))
    assert np.array_equal(rows.positions, np.arange(40))
    assert np.array_equal(cells(rows.take(np.array([7]))), X[[7]])


def test_taken_rows_are_a_copy():
    table = X.copy()
    rows = TableRows(read_table(table, missing="error"), None, np.ones(40), np.arange(40))
    taken = rows.take(np.arange(40))
    table[:] = 0.0
    assert np.array_equal(taken.table.native, X)
    assert taken.y is None


@pytest.mark.parametrize(("weights", "count"), [([0, 1, 2], 2), ([0, 0, 0], 0)])
def test_only_rows_with_weight_are_counted(weights, count):
    rows = TableRows(
        read_table(X[:3], missing="error"), None, np.array(weights, dtype=float), np.arange(3)
    )
    assert rows.n_weighted == count


def test_D47_the_warning_about_clusters_names_the_remedy():
    text = lacking_clusters_warning("evaluate(X, y, clusters=…)")
    assert text.startswith("D47: ")
    assert text.endswith("Pass evaluate(X, y, clusters=…).")

"""Which matrices are asked of the model."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.value_grid import ValueGrid

from granite_xai.evaluations.request import request_matrices
from granite_xai.tables import read_table

CHANCE = np.random.default_rng(1)
X = np.column_stack(
    [CHANCE.normal(size=40), CHANCE.integers(0, 3, 40), CHANCE.integers(0, 2, 40)]
).astype(float)
TABLE = read_table(X, missing="error")
ALL = frozenset({0, 1, 2})


def sets(*columns):
    return [frozenset(one) for one in columns]


def test_a_set_and_its_complement_share_the_matrix_with_fewer_values():
    request = request_matrices(TABLE, sets({0}, {1, 2}))
    assert list(request.stores) == sets({1, 2})  # six values, column 0 has 40
    assert request.stored_as[frozenset({1, 2})] == (frozenset({1, 2}), True)
    assert request.stored_as[frozenset({0})] == (frozenset({1, 2}), False)
    assert request.n_model_rows == 40 * 6


def test_the_empty_and_the_full_set_need_no_matrix():
    request = request_matrices(TABLE, [frozenset(), ALL])
    assert not request.stores
    assert request.n_model_rows == 0


def test_a_column_on_a_grid_has_its_own_matrix_that_serves_its_complement():
    grid = ValueGrid.of(TABLE, 8)
    request = request_matrices(TABLE, sets({0}, {1, 2}, {1}), grid)
    assert list(request.stores) == sets({0}, {1})
    assert len(request.stores[frozenset({0})]) == 8
    assert frozenset({1, 2}) not in request.stored_as  # only in the gap of column 0, on_grid
    compared = request_matrices(TABLE, sets({0}, {1, 2}), grid, compared={frozenset({1, 2})})
    assert set(compared.stores) == set(sets({0}, {1, 2}))


def test_values_of_one_cell_are_evaluated_once_unless_bins_tell_them_apart():
    cells = np.stack([(X[:, 0] > 0).astype(int), X[:, 1].astype(int), X[:, 2].astype(int)], 1)
    request = request_matrices(TABLE, sets({0}), cells=cells)
    assert len(request.stores[frozenset({0})]) == 2
    values = request.stores[frozenset({0})]
    np.testing.assert_array_equal(cells[values.representatives][values.codes, 0], cells[:, 0])
    binned = request_matrices(TABLE, sets({0}), cells=cells, binned={frozenset({0})})
    assert sum(len(values) for values in binned.stores.values()) == 6


@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_which_sets_are_named_does_not_matter(seed):
    named = sets({0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2})
    order = np.random.default_rng(seed).permutation(len(named))
    first = request_matrices(TABLE, named)
    second = request_matrices(TABLE, [named[place] for place in order])
    assert list(first.stores) == list(second.stores)
    assert first.stored_as == second.stored_as

"""What a search costs in model rows: linear in sets, in pairs of columns, and in rows up to a limit."""

from __future__ import annotations

import pytest
from granite_xai.search.followed_cuts import AHEAD_COLUMNS, AHEAD_CUTS, AHEAD_ROWS
from granite_xai.search.price import NODES_AHEAD, NUMBERS_PER_MODEL_ROW, PRODUCTS, search_price


def test_a_price_is_the_numbers_of_one_look_ahead_of_three_nodes():
    pairs = 3 * 4 / 2
    numbers = PRODUCTS * pairs * (100 + 4 * AHEAD_CUTS**2)
    expected = NODES_AHEAD * numbers / NUMBERS_PER_MODEL_ROW
    assert search_price(100, n_sets=1, n_columns=3) == pytest.approx(expected)


def test_twice_the_sets_cost_twice_as_much():
    assert search_price(500, 8, 4) == pytest.approx(2 * search_price(500, 4, 4))


def test_rows_and_columns_beyond_those_that_look_ahead_cost_nothing():
    assert search_price(AHEAD_ROWS + 1, 3, 4) == search_price(AHEAD_ROWS, 3, 4)
    assert search_price(AHEAD_ROWS - 1, 3, 4) < search_price(AHEAD_ROWS, 3, 4)
    assert search_price(500, 3, AHEAD_COLUMNS + 5) == search_price(500, 3, AHEAD_COLUMNS)

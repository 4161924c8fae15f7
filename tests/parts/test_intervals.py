"""Levels of a fit in other tables, and intervals with about as many rows in each, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.algebra.conditional import interval_edges, level_codes, ranks_among, rows_stood_for
from granite_xai.curves.curves import ascending
from granite_xai.tables import read_table


def column_of(values):
    return read_table(np.array(values, dtype=float)[:, None], missing="allow").columns[0]


def test_an_edge_is_the_smallest_value_with_its_share_of_the_rows_at_or_below():
    assert interval_edges(column_of(range(20)), count=4).tolist() == [4, 9, 14, 19]


def test_a_column_with_few_values_has_an_edge_at_each():
    assert interval_edges(column_of([3, 1, 1, 2]), count=3).tolist() == [0, 1, 2]


def test_a_value_with_many_rows_takes_the_edges_of_several_intervals():
    """Half of the rows have the first of five values: two of four quarters end there."""
    assert interval_edges(column_of([0] * 4 + [1, 2, 3, 4]), count=4).tolist() == [0, 2, 4]


def test_missing_values_do_not_count():
    with_missing = column_of([*range(20), *[np.nan] * 30])
    assert interval_edges(with_missing, count=4).tolist() == [4, 9, 14, 19]


def test_edges_lie_at_shares_of_the_weight():
    """Eleven values, the last of weight 9 of 19: tenths of the weight."""
    weights = np.array([1.0] * 10 + [9.0])
    assert interval_edges(column_of(range(11)), weights).tolist() == [1, 3, 5, 7, 9, 10]


def test_weights_that_rounding_keeps_below_a_share_reach_it():
    """Ten rows of weight 0.1 weigh 0.9999999999999999 together."""
    weights = np.array([0.1] * 10 + [1.0])
    assert interval_edges(column_of(range(11)), weights, count=2).tolist() == [9, 10]


@pytest.mark.parametrize(
    ("weights", "rows"),
    [
        ([1.0, 1.0], None),
        ([0.02, 0.02], None),
        ([1.0, 3.0], [1.0, 3.0]),
        ([0.25, 0.75], [0.5, 1.5]),
    ],
)
def test_small_weights_are_scaled_to_one_row_on_average(weights, rows):
    stood_for = rows_stood_for(np.array(weights))
    assert (None if stood_for is None else stood_for.tolist()) == rows


def levels_of(values):
    return read_table(pd.DataFrame({"x": values}), missing="allow").columns[0]


FITTED = levels_of([10.0, 20.0, 30.0, 20.0])
NEW = levels_of([20.0, 25.0, 5.0, 99.0, np.nan])


@pytest.mark.parametrize(
    ("side", "ranks"), [("left", [1, 2, 0, 3, -1]), ("right", [1, 1, -1, 2, -1])]
)
def test_a_value_between_two_levels_counts_as_the_one_of_its_side(side, ranks):
    assert ranks_among(NEW, FITTED, side=side).tolist() == ranks


def test_ordinal_values_stand_by_their_declared_order_and_unseen_ones_behind():
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    other_sizes = pd.CategoricalDtype(["large", "giant", "small"], ordered=True)
    fitted = levels_of(pd.Series(["large", "small"], dtype=sizes))
    new = levels_of(pd.Series(["large", "giant", "small"], dtype=other_sizes))
    assert list(ascending(fitted.levels, fitted)) == [0, 2]
    places = ascending(new.levels, fitted)
    assert dict(zip(new.levels, places, strict=True)) == {"small": 0, "large": 2, "giant": 3}


def test_missing_values_and_each_unseen_level_have_codes_behind_those_of_the_fit():
    fitted = levels_of(["a", "b"])
    codes = level_codes(levels_of(["b", "z", None, "a", "y", "z"]), fitted)
    assert codes[[0, 2, 3]].tolist() == [1, 2, 0]
    assert codes[1] == codes[5]
    assert len({2, codes[1], codes[4]}) == 3
    assert min(codes[1], codes[4]) > 2

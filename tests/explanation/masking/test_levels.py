"""Values among the levels of a fit, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.explanation.masking.levels import carriers, level_codes, ranks_among, sortable

from granite_xai.tables import read_table


def column_of(values):
    return read_table(pd.DataFrame({"x": values}), missing="allow").columns[0]


FITTED = column_of([10.0, 20.0, 30.0, 20.0])
NEW = column_of([20.0, 25.0, 5.0, 99.0, np.nan])


@pytest.mark.parametrize(
    ("side", "ranks"), [("left", [1, 2, 0, 3, -1]), ("right", [1, 1, -1, 2, -1])]
)
def test_a_value_between_two_levels_counts_as_the_one_of_its_side(side, ranks):
    assert ranks_among(NEW, FITTED, side=side).tolist() == ranks


def test_ordinal_values_stand_by_their_declared_order_and_unseen_ones_behind():
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    other_sizes = pd.CategoricalDtype(["large", "giant", "small"], ordered=True)
    fitted = column_of(pd.Series(["large", "small"], dtype=sizes))
    new = column_of(pd.Series(["large", "giant", "small"], dtype=other_sizes))
    fitted_places, places = sortable(new, fitted)
    assert list(fitted_places) == [0, 2]
    assert dict(zip(new.levels, places, strict=True)) == {"small": 0, "large": 2, "giant": 3}


def test_missing_values_and_each_unseen_level_have_codes_behind_those_of_the_fit():
    fitted = column_of(["a", "b"])
    codes = level_codes(column_of(["b", "z", None, "a", "y", "z"]), fitted)
    assert codes[[0, 2, 3]].tolist() == [1, 2, 0]
    assert codes[1] == codes[5]
    assert len({2, codes[1], codes[4]}) == 3
    assert min(codes[1], codes[4]) > 2


def test_the_carrier_of_a_level_is_the_first_row_that_has_it():
    column = column_of([30.0, 20.0, 10.0, 20.0])
    assert carriers(column, np.array([1, 0])).tolist() == [1, 2]

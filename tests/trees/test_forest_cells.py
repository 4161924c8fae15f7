"""The cells of a table send every row the way of its numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from granite_xai.trees.forest_cells import ForestCells
from granite_xai.trees.refusal import RefusalError
from trees.hand_made import FOREST, MATRIX, SUMS

NO_COLUMN = np.zeros(3, dtype=bool)


def _reached(cells, free):
    packed = cells.leaves_of_rows(free, slice(0, len(MATRIX)))
    return np.unpackbits(packed, axis=1, count=len(MATRIX), bitorder="little").astype(bool)


def test_rows_reach_the_leaves_that_were_found_by_hand():
    cells = ForestCells(FOREST, MATRIX)
    reached = _reached(cells, NO_COLUMN)
    np.testing.assert_array_equal(reached.sum(axis=0), 2)  # one of each tree
    leaf_values = FOREST.value[FOREST.leaves]
    np.testing.assert_array_equal(leaf_values @ reached + FOREST.base, SUMS)


@pytest.mark.parametrize("block", [1, 10**6])
def test_walking_gives_the_same_sums_whatever_the_block(block):
    np.testing.assert_array_equal(ForestCells(FOREST, MATRIX).sums(block), SUMS)


def test_a_free_column_leaves_every_leaf_that_some_value_reaches():
    cells = ForestCells(FOREST, MATRIX)
    free = np.array([False, False, True])
    reached = _reached(cells, free)
    for row, line in enumerate(MATRIX):
        by_value = set()
        for category in (2.0, 3.0):
            changed = line.copy()
            changed[2] = category
            alone = ForestCells(FOREST, np.array([changed]))
            by_value.update(np.flatnonzero(_reached_of_one(alone)).tolist())
        assert set(np.flatnonzero(reached[:, row]).tolist()) == by_value


def _reached_of_one(cells):
    return np.unpackbits(cells.leaves_of_rows(NO_COLUMN, slice(0, 1)), axis=1)[:, -1:].any(axis=1)


def test_what_is_not_kept_is_the_same():
    cells = ForestCells(FOREST, MATRIX)
    kept = cells.leaves_of_rows(NO_COLUMN, slice(0, 8), keep_packed=True)
    np.testing.assert_array_equal(
        cells.leaves_of_rows(NO_COLUMN, slice(0, 8), keep_packed=False), kept
    )


def test_values_meet_the_leaves_whose_conditions_on_their_columns_they_meet():
    cells = ForestCells(FOREST, MATRIX)
    others_free = np.array([False, True, True])
    reached = cells.leaves_of_values(np.array([0, 2, 6]), others_free)  # x0: 1.5, above, missing
    left = FOREST.leaves < 4
    single = FOREST.leaves == 7
    np.testing.assert_array_equal(reached[:, 0], left | single)
    np.testing.assert_array_equal(reached[:, 1], ~left)
    np.testing.assert_array_equal(reached[:, 2], left | single)


def test_thresholds_and_categories_of_one_column_are_refused():
    feature = np.where(FOREST.feature == 2, 0, FOREST.feature)
    with pytest.raises(RefusalError, match="by thresholds and by categories"):
        ForestCells(replace(FOREST, feature=feature), MATRIX)

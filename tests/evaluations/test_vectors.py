"""Vectors of rows, and curves that are cut with their region."""

from __future__ import annotations

import numpy as np
from granite_xai.evaluations.vectors import Vectors, centred

CURVES = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, 4.0], [3.0, 2.0, 1.0], [0.0, 0.0, 3.0]])
ALONG = Vectors(
    values=CURVES,
    column=2,
    grid=np.array([10.0, 20.0, 30.0]),
    column_values=np.array([12.0, 18.0, 24.0, 30.0]),
)
IS_LEFT = np.array([True, True, False, False])


def test_a_cut_along_the_column_divides_its_grid_halfway_between_the_neighbours():
    assert ALONG.left_entries(IS_LEFT, 2).tolist() == [True, True, False]  # up to 21
    nearly = ALONG.left_entries(np.array([True, False, False, False]), 2)
    assert nearly.tolist() == [True, False, False]  # up to 15


def test_other_cuts_leave_the_grid_whole():
    assert ALONG.left_entries(IS_LEFT, 1) is None
    assert ALONG.left_entries(np.ones(4, dtype=bool), 2) is None
    assert Vectors(values=CURVES).left_entries(IS_LEFT, 2) is None


def test_curves_on_a_part_of_their_grid_are_centred_again():
    part = ALONG.restrict(np.array([0, 1])).restrict_entries(np.array([True, True, False]))
    np.testing.assert_array_equal(part.values, [[-0.5, 0.5], [0.0, 0.0]])
    assert part.grid.tolist() == [10.0, 20.0]
    assert part.column_values.tolist() == [12.0, 18.0]
    whole = ALONG.restrict(np.array([2]))
    np.testing.assert_array_equal(whole.values, CURVES[[2]])


def test_rows_are_centred_by_their_own_mean_and_no_entries_stay_none():
    np.testing.assert_allclose(centred(CURVES).sum(axis=1), 0.0, atol=1e-15)
    assert centred(np.zeros((3, 0))).shape == (3, 0)

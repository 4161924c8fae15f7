"""Candidates as sets of segments: one table of all, and how each follows from the one before."""

from __future__ import annotations

import numpy as np

from granite_xai.compute.families import Families
from granite_xai.compute.primitives import ArrayNamespace

NESTED = np.tri(3, 4, dtype=bool)  # each sends one segment more to the left
CROSSING = np.array([[True, False, True], [False, True, True], [True, True, True]])
FAMILIES = Families([np.zeros((0, 1), dtype=bool), NESTED, CROSSING])


def test_segments_of_all_columns_are_numbered_through():
    assert FAMILIES.sizes == (1, 4, 3)
    assert FAMILIES.starts.tolist() == [0, 1, 5, 8]
    table = FAMILIES.table
    assert table.shape == (6, 8)
    np.testing.assert_array_equal(table[:3, 1:5], NESTED)
    np.testing.assert_array_equal(table[3:, 5:], CROSSING)
    assert table.sum() == NESTED.sum() + CROSSING.sum()


def test_additions_give_the_left_side_of_every_candidate():
    additions = FAMILIES.additions
    begin = 0
    segments: set[int] = set()
    for candidate, end in enumerate(additions.ends):
        if additions.begins_again[candidate]:
            segments = set()
        added = additions.segments[begin:end].tolist()
        assert segments.isdisjoint(added)
        segments.update(added)
        begin = end
        assert segments == set(np.flatnonzero(FAMILIES.table[candidate]).tolist())
    assert begin == len(additions.segments)


def test_only_a_candidate_that_lacks_a_segment_begins_again():
    """Of nested ones the first alone; of the others the first, and the one that gives a segment back."""
    assert FAMILIES.additions.begins_again.tolist() == [True, False, False, True, True, False]
    assert FAMILIES.additions.ends.tolist() == [1, 2, 3, 5, 7, 8]


def test_the_table_is_moved_once_to_each_library():
    here = ArrayNamespace()
    families = Families([NESTED])
    first = families.table_on(here)
    assert families.table_on(here) is first
    np.testing.assert_array_equal(first, NESTED.astype(float))
    assert families.table_on(ArrayNamespace()) is not first

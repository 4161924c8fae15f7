"""What is counted of a forest."""

from __future__ import annotations

import numpy as np

from trees.hand_made import FOREST, MATRIX, SUMS, walk


def test_the_walk_by_hand_gives_the_sums_that_were_written_down():
    np.testing.assert_array_equal([walk(row) for row in MATRIX], SUMS)


def test_nodes_are_inner_or_leaves():
    assert FOREST.n_trees == 2
    assert FOREST.inner.tolist() == [0, 1, 4]
    assert FOREST.leaves.tolist() == [2, 3, 5, 6, 7]
    assert FOREST.most_leaves == 4


def test_levels_hold_the_inner_nodes_of_each_depth_over_all_trees():
    assert [sorted(level.tolist()) for level in FOREST.levels] == [[0], [1, 4]]
    assert FOREST.n_steps == 4


def test_the_reach_is_the_largest_sum_of_sizes():
    """The base, the largest leaf of the first tree, and the leaf of the second."""
    assert FOREST.reach == 0.5 + 8.0 + 100.0

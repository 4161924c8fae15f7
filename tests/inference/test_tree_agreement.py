"""Agreement of trees: adjusted Rand index, overlaps, halves and how many are searched."""

from __future__ import annotations

import numpy as np
from granite_xai.inference.tree_agreement import (
    affordable_pairs,
    halves,
    stability_of,
)

from granite_xai.tables import read_table
from inference.known_trees import tree


def test_equal_trees_agree_entirely():
    partition = tree(0.0)
    found = stability_of(
        partition,
        read_table(np.random.default_rng(1).normal(size=(200, 2)), missing="error"),
        [(partition, partition)] * 3,
    )
    assert (found.score, found.low, found.high) == (1.0, 1.0, 1.0)
    (split,) = found.splits
    assert (split.share, split.instead) == (1.0, None)
    assert split.low == split.high


def test_halves_share_no_row_and_leave_none_out():
    clusters = np.repeat(np.arange(10), 3)
    for one, two in halves(clusters, 5, 0):
        assert sorted([*one, *two]) == list(range(30))
        assert set(clusters[one]).isdisjoint(clusters[two])
        assert len(one) == len(two) == 15


def test_the_number_of_searches_follows_from_prices():
    """As many as cost no more than the fit: two a pair, from 8 to 50 searches."""
    assert affordable_pairs(1.0, 1e6) == 25
    assert affordable_pairs(100.0, 2000.0) == 10
    assert affordable_pairs(100.0, 10.0) == 4

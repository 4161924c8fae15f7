"""Agreement of trees: adjusted Rand index, overlaps, halves and how many are searched."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
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
    assert found.overlaps == (1.0, 1.0)
    (split,) = found.splits
    assert (split.share, split.instead) == (1.0, None)
    assert split.low == split.high


def test_a_region_that_is_cut_elsewhere_overlaps_by_its_jaccard_index():
    table = read_table(np.column_stack([np.zeros(100), np.linspace(0, 1, 100)]), missing="error")
    ours = gx.Partition.from_rules(["x1 ≤ 0.5", "x1 > 0.5"])
    theirs = gx.Partition.from_rules(["x1 ≤ 0.25", "x1 > 0.25"])
    found = stability_of(ours, table, [(theirs, theirs)])
    assert found.overlaps[0] == pytest.approx(0.5, abs=0.02)
    assert found.overlaps[1] == pytest.approx(50 / 75, abs=0.02)


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

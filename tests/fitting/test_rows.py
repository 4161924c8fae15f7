"""Which rows search and which are held out: counts, whole clusters, beginnings of one draw."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from granite_xai.fitting.rows import (
    MOST_HELD_OUT,
    SMALL_TABLE,
    draw_rows,
    held_out_share,
    numbered_by_first_row,
    rows_within_budget,
)
from granite_xai.inference.sample_size import LEAST_HELD_OUT
from hypothesis import given, strategies as st


def drawn(n_rows, seed=0, cluster_size=1, weights=None):
    clusters = np.arange(n_rows) // cluster_size
    return draw_rows(np.ones(n_rows) if weights is None else weights, clusters, seed)


@pytest.mark.parametrize(
    ("n_rows", "n_search", "n_held_out"),
    [
        (SMALL_TABLE - 1, SMALL_TABLE - 1, 0),
        (SMALL_TABLE, 400, 200),
        (3000, 2000, 1000),
        (12_000, 8000, 4000),
        (20_000, 16_000, MOST_HELD_OUT),
    ],
)
def test_a_third_of_all_rows_is_held_out_none_of_few_and_no_more_than_enough(
    n_rows, n_search, n_held_out
):
    choice = drawn(n_rows).beginning(n_rows)
    assert (len(choice.search_rows), len(choice.held_out_rows)) == (n_search, n_held_out)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([choice.search_rows, choice.held_out_rows])), np.arange(n_rows)
    )


@pytest.mark.parametrize(
    ("n_search", "n_held_out"),
    [(59, 0), (60, LEAST_HELD_OUT), (61, 30), (1000, 500), (15_000, MOST_HELD_OUT)],
)
def test_half_as_many_as_search_are_held_out(n_search, n_held_out):
    choice = drawn(30_000).beginning(n_search)
    assert (len(choice.search_rows), len(choice.held_out_rows)) == (n_search, n_held_out)


@given(
    st.integers(1, 2500),
    st.integers(1, 7),
    st.integers(0, 5),
    st.lists(st.integers(1, 2500), min_size=2, max_size=2),
)
def test_rows_search_or_are_held_out_never_both_and_clusters_stay_whole(
    n_rows, cluster_size, seed, sizes
):
    draw = drawn(n_rows, seed, cluster_size)
    fewer, more = (draw.beginning(size) for size in sorted(sizes))
    for choice in (fewer, more):
        clusters = [set(draw.clusters[rows]) for rows in choice]
        assert not clusters[0] & clusters[1]
        for rows in choice:
            assert np.all(np.diff(rows) > 0)
            members = np.flatnonzero(np.isin(draw.clusters, draw.clusters[rows]))
            np.testing.assert_array_equal(members, rows)
    assert min(sorted(sizes)[0], draw.most_searching()) <= len(fewer.search_rows)
    assert len(fewer.search_rows) < sorted(sizes)[0] + cluster_size


def test_fewer_rows_are_a_beginning_of_the_same_draw():
    draw = drawn(9000, cluster_size=3)
    choices = [draw.beginning(size) for size in (250, 500, 1000, 6000)]
    for fewer, more in pairwise(choices):
        assert set(fewer.search_rows) < set(more.search_rows)
        assert set(fewer.held_out_rows) < set(more.held_out_rows)


def test_rows_without_weight_are_never_used():
    weights = np.tile([1.0, 0.0, 2.0], 400)
    choice = drawn(1200, weights=weights).beginning(1200)
    used = np.concatenate(choice)
    assert len(used) == 800
    assert np.all(weights[used] > 0)


def test_the_seed_decides_on_the_draw():
    first, again, other = (drawn(2000, seed).beginning(500) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.search_rows, again.search_rows)
    assert len(set(first.search_rows) & set(other.search_rows)) < 250


def test_all_rows_are_as_likely_to_search():
    counts = np.zeros(60)
    for seed in range(600):
        counts[drawn(60, seed).beginning(20).search_rows] += 1
    # 600 draws of a third: 200 ± 11.5
    assert np.all(np.abs(counts - 200) < 5 * 11.5)


def test_a_share_of_all_rows_is_held_out_however_many_search():
    draw = drawn(1000, cluster_size=2)
    most = held_out_share(draw, 0.3, 1000)
    fewer = held_out_share(draw, 0.3, 101)
    assert (len(most.search_rows), len(most.held_out_rows)) == (700, 300)
    assert len(fewer.search_rows) == 102  # clusters stay whole
    np.testing.assert_array_equal(fewer.held_out_rows, most.held_out_rows)
    assert set(fewer.search_rows) < set(most.search_rows)
    assert not set(most.search_rows) & set(most.held_out_rows)


@pytest.mark.parametrize("cost_of_row", [1.0, 17.0, 481.0])
@pytest.mark.parametrize("budget", [10_000, 1_000_000, 10**8])
def test_rows_that_the_budget_pays_for_and_no_more(cost_of_row, budget):
    n_search = rows_within_budget(cost_of_row, 5000, budget)

    def cost(n_search):
        return 5000 + cost_of_row * (n_search + min(n_search / 2, MOST_HELD_OUT))

    assert cost(n_search) <= budget < cost(n_search + 1)


def test_a_budget_that_is_spent_pays_for_no_row():
    assert rows_within_budget(10.0, 2000, 1000) == 0


def test_clusters_are_numbered_by_their_first_row():
    assert numbered_by_first_row(np.array([7, 7, 2, 9, 2])).tolist() == [0, 0, 1, 2, 1]
    assert numbered_by_first_row(np.array([], dtype=int)).tolist() == []

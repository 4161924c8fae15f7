"""Which rows search and which are held out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from granite_xai.fitting.rows import (
    draw_rows,
    held_out_share,
    numbered_by_first_row,
    rows_within_budget,
)

import granite_xai as gx
from strategies import quiet


def alone(n):
    """So many rows that stand for themselves."""
    return draw_rows(np.ones(n), np.arange(n), 0)


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + 0.6 * X[:, 0] * X[:, 2]


@pytest.mark.parametrize(
    ("n", "search", "held_out"),
    [(599, 599, 0), (600, 400, 200), (1200, 800, 400), (12000, 8000, 4000), (20000, 16000, 4000)],
)
def test_a_third_of_all_rows_is_held_out_but_no_more_than_4000(n, search, held_out):
    draw = alone(n)
    choice = draw.beginning(draw.most_searching())
    assert (len(choice.search_rows), len(choice.held_out_rows)) == (search, held_out)
    assert set(choice.search_rows).isdisjoint(choice.held_out_rows)


@pytest.mark.parametrize(
    ("n", "wanted", "held_out"),
    [(1000, 300, 150), (1000, 900, 333), (700, 50, 0), (599, 300, 0), (20000, 9000, 4000)],
)
def test_beside_a_number_of_rows_half_as_many_are_held_out(n, wanted, held_out):
    """Where the table has them, and where they are enough to judge by."""
    choice = alone(n).beginning(wanted)
    assert len(choice.search_rows) == min(wanted, n - held_out)
    assert len(choice.held_out_rows) == held_out


def test_larger_samples_hold_the_smaller_ones():
    draw = alone(5000)
    found = [draw.beginning(count) for count in (250, 500, 1000, 2000, 3000)]
    for small, large in pairwise(found):
        assert set(small.search_rows) < set(large.search_rows)
        assert set(small.held_out_rows) < set(large.held_out_rows)
        assert set(large.search_rows).isdisjoint(large.held_out_rows)


def test_clusters_are_drawn_whole():
    days = np.repeat(np.arange(60), 25)
    draw = draw_rows(np.ones(1500), days, 0)
    for count in (250, 500, 1000):
        search, held_out = draw.beginning(count)
        assert set(days[search]).isdisjoint(days[held_out])
        for rows in (search, held_out):
            assert np.all(np.bincount(days[rows])[np.unique(days[rows])] == 25)
    search, held_out = held_out_share(draw, 0.4, 300)
    assert (len(search), len(held_out)) == (300, 600)
    assert set(days[search]).isdisjoint(days[held_out])


def test_rows_without_weight_are_not_drawn():
    weights = np.tile([1.0, 0.0], 700)
    draw = draw_rows(weights, np.arange(1400), 0)
    assert draw.n_rows == 700
    assert np.all(weights[np.concatenate([draw.search_rows, draw.held_out_rows])] > 0)


def test_clusters_are_numbered_by_their_first_row():
    assert numbered_by_first_row(np.array([7, 3, 7, 9, 3])).tolist() == [0, 1, 0, 2, 1]


def test_what_is_affordable_counts_the_held_out_rows():
    assert rows_within_budget(100, 10_000, 160_000) == 1000  # 1,000 search, 500 are held out
    assert rows_within_budget(10, 0, 200_000) == 16_000  # no more than 4,000 are held out


def test_rows_in_any_order_give_the_same_fit():
    """Also the rows that are drawn: those of the table, wherever they stand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    order = rng.permutation(900)
    with quiet():
        one = gx.Granite(step, max_samples=300).fit(X)
        other = gx.Granite(step, max_samples=300).fit(X[order])
    drawn = [set(g.diagnostics_["rows"]["search"]) for g in (one, other)]
    assert drawn[0] == {int(order[place]) for place in drawn[1]}
    assert [str(rule) for rule in one.partition_.rules] == [
        str(rule) for rule in other.partition_.rules
    ]
    assert other.remaining_ == pytest.approx(one.remaining_, rel=1e-9)
    assert other.fidelity_ == pytest.approx(one.fidelity_, rel=1e-9)
    assert other.estimate_.low == pytest.approx(one.estimate_.low, rel=1e-9)


@pytest.mark.parametrize("max_samples", ["auto", 150])
def test_clusters_of_a_partitioner_are_those_of_the_users_rows(max_samples):
    """In the order of the table, also where the fit used some of its rows."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    model = lambda X: X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)  # noqa: E731
    g = gx.frameworks.vine(model, "x0", n_clusters=2)
    g.set_params(max_samples=max_samples).fit(X)
    used = np.array(g.diagnostics_["rows"]["search"])
    assert len(g.clusters_) == len(used)
    above = X[used, 1] > 0
    assert np.mean(g.clusters_ == above) in (0.0, 1.0)


def test_the_target_stays_beside_its_row():
    """Risk reads y: the figures of a fit are those of the rows in their own order."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = step(X) + rng.normal(size=200)
    fits = [
        gx.Granite(
            step,
            "pfi-risk",
            max_depth=0,
            confidence_level=level,
            resources=gx.Resources(max_grid=None),
        ).fit(X, y)
        for level in (0.95, None)
    ]
    assert fits[0].disagreement_ == pytest.approx(fits[1].disagreement_, rel=1e-9)


@pytest.mark.parametrize(("factor", "offset"), [(100.0, 0.0), (1.0, 20.0), (-0.5, 3.0)])
def test_another_unit_of_the_target_draws_the_same_rows(factor, offset):
    """Squared gaps of squared errors: in another unit the same, up to the factor to the fourth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = step(X) + rng.normal(size=1200)
    options = {"max_samples": 300, "random_state": 0}
    one = gx.Granite(step, "pfi-risk", **options).fit(X, y)
    other = gx.Granite(lambda X: factor * step(X) + offset, "pfi-risk", **options)
    other.fit(X, factor * y + offset)
    assert [str(region.rule) for region in other.partition_] == [
        str(region.rule) for region in one.partition_
    ]
    assert other.remaining_ == pytest.approx(one.remaining_, rel=1e-9)
    assert other.disagreement_ == pytest.approx(factor**4 * one.disagreement_, rel=1e-9)


def test_a_target_that_no_question_reads_draws_the_same_rows():
    X = np.random.default_rng(0).normal(size=(1200, 3))
    options = {"max_samples": 300, "random_state": 0}
    with_target = gx.Granite(step, "ice-pdp", **options).fit(X, np.arange(1200.0))
    without = gx.Granite(step, "ice-pdp", **options).fit(X)
    assert with_target.partition_.to_dict() == without.partition_.to_dict()
    one, other = (fit.estimate_.remaining for fit in (with_target, without))
    assert one == other

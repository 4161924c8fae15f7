"""Which rows search and which are held out."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from strategies import quiet


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + 0.6 * X[:, 0] * X[:, 2]


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

"""Stability: half samples and refits, against partitions whose agreement is known."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import granite_xai as gx
from granite_xai.chance.stability import halves, refit_interval, stability_of
from granite_xai.tables import read_table
from strategies import quiet


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def tree(*cuts):
    """The partition by one column at some thresholds, as a fit finds it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = lambda X: X[:, 0] * np.searchsorted(cuts, X[:, 1])  # noqa: E731
    return gx.Granite(model, confidence_level=None, split_features=["x1"], max_depth=1).fit(X).partition_


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


def test_a_clear_split_comes_back_and_asks_the_model_nothing():
    calls = []

    def model(X):
        calls.append(len(X))
        return step(X)

    X = np.random.default_rng(0).normal(size=(300, 3))
    g = gx.Granite(model).fit(X)
    before = len(calls)
    found = g.stability(n_resamples=5)
    assert len(calls) == before
    assert found.searches == 10
    assert found.splits[0].column == "x1"
    assert found.splits[0].share == 1.0
    assert found.splits[0].low < 0.1 < found.splits[0].high + 0.2
    assert found.score > 0.7
    assert str(found) == str(g.stability(n_resamples=5))
    assert g.stability_.score == found.score
    assert gx.StabilityDisplay.from_estimator(g).frame().shape[0] == len(found.splits) + len(found.rules)


def test_pure_noise_does_not_come_back():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    additive = lambda X: X[:, 0] + X[:, 1] ** 2 + X[:, 2]  # noqa: E731
    y = additive(X) + rng.normal(size=200)
    with quiet():
        g = gx.Granite(additive, "pfi-risk", confidence_level=None).fit(X, y)
        assert len(g.partition_) > 1
        assert g.stability(n_resamples=5).score < 0.6


def test_evaluations_stay_with_the_object_that_was_fitted():
    X = np.random.default_rng(0).normal(size=(100, 3))
    g = gx.Granite(step).fit(X)
    for other in (pickle.loads(pickle.dumps(g.set_params(model=None))),):
        with pytest.raises(gx.InputError, match="evaluations of the fit"):
            other.stability()
    assert "_run" not in vars(clone(g))


def test_refits_give_the_learner_s_interval():
    """The interval is Nadeau and Bengio's: the variance over refits times 1/m + n_test/n_train."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    g = gx.Granite(step).fit(X)
    refits = [
        ((lambda X, a=a: step(X) + a * X[:, 0] * X[:, 1]), rng.normal(size=(200, 2)), None) for a in (0.1, 0.2, 0.3)
    ]
    with quiet():
        found = g.stability(models=refits)
    assert found.searches == 3
    assert found.remaining_low < found.remaining < found.remaining_high
    mean, _, high = refit_interval([1.0, 3.0], 50, 100, 2.0)
    assert mean == 2.0
    assert high - mean == pytest.approx(2.0 * np.sqrt((1 / 2 + 0.5) * 2.0))
    with pytest.raises(gx.InputError, match="two refits"):
        g.stability(models=refits[:1])
    assert refit_interval([0.2, 0.3, 0.4], 100, 200, 1.96) == pytest.approx((0.3, 0.121, 0.479), abs=5e-4)

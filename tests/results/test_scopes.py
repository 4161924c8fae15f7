"""All rows, and those of every region."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.results.scopes import region_scopes, scopes_of

RNG = np.random.default_rng(23)
X = RNG.normal(size=(150, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def g():
    return gx.Granite(step, max_depth=1, max_samples=100).fit(X)


def test_all_rows_come_first_then_each_region(g):
    regions = g.apply(X)
    scopes = scopes_of(g.partition_, regions)
    assert [scope.region for scope in scopes] == [None, 0, 1]
    assert np.array_equal(scopes[2].rows, np.flatnonzero(regions == 1))
    assert scopes_of(g.partition_, np.zeros(150, dtype=np.intp))[-1].region == 0


def test_one_region_is_all_rows():
    g = gx.Granite(lambda X: X[:, 0]).fit(X)
    assert [scope.region for scope in scopes_of(g.partition_, g.apply(X))] == [None]


def test_a_region_is_called_by_its_name_or_else_by_its_rule_in_words(g):
    partition = gx.Partition.from_rules(["x0 ≤ 1", "x0 > 1"]).rename({1: "high"})
    first, second = region_scopes(partition, np.array([0, 1, 1]))
    assert (first.label, second.label) == ("x0 ≤ 1", "high")
    assert second.rule == "x0 > 1"
    assert second.rows.tolist() == [1, 2]

"""Searches on random halves of the rows of a fit."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from granite_xai.fitting.half_samples import stability_on_halves

import granite_xai as gx

X = np.random.default_rng(7).normal(size=(200, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 2.0, -2.0)


def test_every_half_is_searched_with_its_complement():
    stability = stability_on_halves(gx.Granite(step, max_depth=1).fit(X), 3)
    assert stability.searches == 6
    assert stability.score > 0.8


def test_a_half_and_its_complement_are_all_rows():
    g = gx.Granite(step, max_depth=1).fit(X)
    searched = []

    def search(inputs, evaluations, floors, error, rows):
        searched.append(set(rows.tolist()))
        return g.partition_

    with mock.patch("granite_xai.fitting.half_samples.search_again", search):
        stability_on_halves(g, 2)
    for half, complement in (searched[:2], searched[2:]):
        assert len(half) == len(complement) == 100
        assert half | complement == set(range(200))


def test_the_model_is_not_asked():
    asked = []

    def model(X):
        asked.append(len(X))
        return step(X)

    g = gx.Granite(model, max_depth=1).fit(X)
    asked.clear()
    stability_on_halves(g, 2)
    assert asked == []


def test_halves_without_room_for_two_regions_are_not_searched():
    g = gx.Granite(step, min_samples_leaf=51).fit(X)
    assert stability_on_halves(g, 2).searches == 0
    assert stability_on_halves(gx.Granite(step, min_samples_leaf=50).fit(X), 2).searches == 4


def test_by_default_at_least_four_pairs_are_searched():
    assert stability_on_halves(gx.Granite(step, max_depth=1).fit(X), None).searches >= 8


def test_given_regions_have_no_stability():
    rules = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])
    with pytest.raises(gx.InputError, match="P03"):
        stability_on_halves(gx.Granite(step, partitioner=rules).fit(X), 2)


@pytest.mark.parametrize(("rows", "clusters", "what"), [(1, None, "row"), (50, 50, "cluster")])
def test_D30_rows_that_cannot_be_halved(rows, clusters, what):
    g = gx.Granite(step).fit(X[:rows], clusters=None if clusters is None else np.zeros(rows))
    with pytest.raises(gx.InputError, match=f"D30.*one {what}"):
        stability_on_halves(g, 2)

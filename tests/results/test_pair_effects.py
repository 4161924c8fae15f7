"""Pairs of features that interact most."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.estimator import fit_with_evaluations
from granite_xai.results.fit_values import known_values
from granite_xai.results.pair_effects import pair_effects, strongest_pairs

RNG = np.random.default_rng(26)
COARSE = np.column_stack([RNG.integers(0, 2, (200, 2)), RNG.integers(0, 9, (200, 3))]).astype(float)
FINE = RNG.normal(size=(200, 4))


def columns(*positions):
    return tuple(frozenset({position}) for position in positions)


def values_of(model, X, **options):
    g = gx.Granite(model, confidence_level=None, **options)
    return known_values(g, fit_with_evaluations(g, X))[0]


def test_the_strongest_pair_comes_first_and_additive_columns_not_at_all():
    values = values_of(
        lambda X: X[:, 0] * X[:, 2] + 0.3 * X[:, 1] * X[:, 2] + X[:, 3], FINE, max_depth=0
    )
    assert strongest_pairs(values)[:2] == [columns(0, 2), columns(1, 2)]
    assert not any(columns(3)[0] in pair for pair in strongest_pairs(values))
    assert strongest_pairs(values, n_pairs=1) == [columns(0, 2)]


def test_a_column_that_merely_depends_on_one_that_interacts_is_in_no_pair():
    X = np.column_stack([FINE[:, :2], FINE[:, 1] + 0.1 * FINE[:, 2], FINE[:, 3]])
    values = values_of(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, max_depth=0)
    assert strongest_pairs(values) == [columns(0, 1)]


def test_a_pair_that_regions_resolve_is_not_told():
    values = values_of(lambda X: X[:, 0] * (X[:, 1] > 0) + X[:, 2], COARSE, max_depth=1)
    assert len(values.regions) == 2
    assert strongest_pairs(values) == []


def test_curves_and_the_pair_describe_a_model_of_one_pair():
    values = values_of(lambda X: 5 * X[:, 0] * X[:, 1] + X[:, 2], COARSE, max_depth=0)
    found = pair_effects(values)
    assert found.pairs == (columns(0, 1),)
    assert found.explained == pytest.approx(1.0)
    assert found.needed == 0


def test_what_the_pair_does_not_describe_is_left():
    def model(X):
        return 5 * X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4] / 30

    values = values_of(model, COARSE, max_depth=0)
    found = pair_effects(values)
    if found.explained is not None:
        assert 0.5 < found.explained < 0.999
    else:
        assert found.needed > found.spent


def test_pairs_that_cost_more_than_the_fit_are_left_out_with_their_price():
    X = RNG.integers(0, 3, (200, 4)).astype(float)
    values = values_of(
        lambda X: X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 0] * X[:, 2], X, max_depth=0
    )
    found = pair_effects(values)
    assert found.explained is None
    assert found.pairs == ()
    assert found.needed == 3 * 9 * 200
    assert found.spent == 4 * 3 * 200


def test_two_columns_have_no_further_pair():
    values = values_of(lambda X: X[:, 0] * X[:, 1], FINE[:, :2], max_depth=0)
    found = pair_effects(values)
    assert (found.explained, found.pairs, found.needed) == (None, (), 0)

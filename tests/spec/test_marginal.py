"""Marginal masking: hidden columns of all rows of the region."""

from __future__ import annotations

import numpy as np

import granite_xai as gx

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 2.0]])


def test_hidden_columns_are_those_of_all_rows_of_the_region():
    rows = [0, 1, 3]
    values = gx.Explainer(gx.Marginal(), "local", "full").explain(
        lambda X: X[:, 0] * X[:, 1], X, rows=rows
    )
    region = X[rows]
    expected = (region[:, 0] - region[:, 0].mean()) * region[:, 1]
    np.testing.assert_allclose(values.values[:, 0], expected, atol=1e-12)


def test_pairs_of_rows_are_needed_and_nothing_is_learned():
    coalitions = {frozenset({0}), frozenset({0, 1})}
    needed = gx.Marginal().needs(coalitions)
    assert needed.coalitions == coalitions
    assert not needed.facts
    assert not needed.attributions
    assert gx.Marginal().learn(None, coalitions, 0) == {}

"""Local effects of rows, on all rows and on the side of a split that they are on."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.search.local_effects import local_values

from problems import problem_of


def model(X):
    return X[:, 0] * X[:, 1] + X[:, 2]


def test_effects_are_those_of_the_region_that_a_row_is_in():
    """Pure effects under marginal masking, by hand."""
    X = np.random.default_rng(0).normal(size=(30, 3)).round(1)
    problem = problem_of(model, X)
    rows = np.column_stack([column.values for column in problem.table.columns])
    effect = problem.shares.comparisons[0].second
    is_left = rows[:, 2] <= 0
    everywhere = local_values(effect, problem.evaluations)
    splits = Splits.of(is_left[None], problem.evaluations.weights)
    by_side = local_values(effect, problem.evaluations, splits)
    assert everywhere.shape == by_side.shape == (3, 1, 30)
    for n in (0, 7, 21):
        same = is_left == is_left[n]
        for region, values in ((np.ones(30, dtype=bool), everywhere), (same, by_side)):
            inside = rows[region]
            moved = inside.copy()
            moved[:, 0] = rows[n, 0]
            effect_of_x0 = model(moved).mean() - model(inside).mean()
            assert values[0, 0, n] == pytest.approx(effect_of_x0, abs=1e-12)

"""The path of a fit is computed once."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.tree_path import path_of_fit

import granite_xai as gx

X = np.random.default_rng(9).normal(size=(160, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 2.0, -2.0)


def test_the_path_is_kept_with_the_fit():
    g = gx.Granite(step).fit(X)
    assert path_of_fit(g) is path_of_fit(g)


def test_the_path_that_chose_alpha_is_not_computed_again():
    g = gx.Granite(step, alpha="auto").fit(X)
    chosen = path_of_fit(g)
    del vars(g)["_run"]
    assert path_of_fit(g) is chosen


def test_P03_regions_without_a_price_have_no_path():
    rules = gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"])
    with pytest.raises(gx.InputError, match="P03: GivenRules has no path"):
        path_of_fit(gx.Granite(step, partitioner=rules).fit(X))

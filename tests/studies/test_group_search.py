"""Which features are merged, in which order, and where merging ends."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.algebra.disagreement import questions
from granite_xai.studies.group_search import Heterogeneity, group_name, merge_groups
from granite_xai.studies.groups import fit_and_part_rows


def integers(n=200, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, size=(n, 5)).astype(float)


def two_groups(X):
    return X[:, 0] * X[:, 3] + 0.8 * X[:, 1] * X[:, 4] + X[:, 2]


def rows_of(model, n=200):
    return fit_and_part_rows(model, integers(n), None, questions()["ice-pdp"]).search


def test_a_group_is_named_by_its_features():
    assert group_name(("temp", "hr")) == "temp + hr"


def test_the_error_of_a_difference_is_that_of_paired_moves():
    first = Heterogeneity(value=2.0, moves=np.array([3.0, -1.0]))
    second = Heterogeneity(value=1.0, moves=np.array([0.0, 3.0]))
    assert first.standard_error_of_difference(second) == pytest.approx(np.sqrt((9 + 16) / 2))


def test_heterogeneity_of_a_group_is_that_of_a_joint_explanation():
    rows = rows_of(two_groups)
    rows.measure([("x0",), ("x0", "x3")])
    X = integers()
    groups = {"pair": ("x0", "x3")}
    joint = gx.Granite(
        two_groups, influence=gx.Joint(groups, ["pair"]), max_depth=0, holdout=False
    ).fit(X)
    single = gx.Granite(two_groups, features=["x0"], max_depth=0, holdout=False).fit(X)
    pair = rows.total([("x0", "x3")]).value
    alone = rows.total([("x0",)]).value
    assert pair == pytest.approx(joint.estimate_.disagreement, abs=1e-12)
    assert alone == pytest.approx(single.estimate_.disagreement, rel=1e-9)
    both = rows.total([("x0",), ("x0", "x3")])
    assert both.value == pytest.approx(pair + alone)


def test_a_group_is_measured_once():
    n_asked = 0

    def counted(X):
        nonlocal n_asked
        n_asked += len(X)
        return two_groups(X)

    rows = rows_of(counted)
    rows.measure([("x0", "x3")])
    asked_before = n_asked
    rows.measure([("x0", "x3")])
    assert n_asked == asked_before


def test_the_strongest_pair_is_merged_first_and_merging_ends_without_heterogeneity():
    merged = merge_groups(rows_of(two_groups), [f"x{i}" for i in range(5)], 3, 1.96)
    assert len(merged.stages) == 3
    assert ("x0", "x3") in merged.stages[1]
    assert {("x0", "x3"), ("x1", "x4"), ("x2",)} == set(merged.stages[2])
    assert merged.reason == "No further features can be merged into groups of at most 3."


def test_groups_are_not_larger_than_asked():
    def product(X):
        return X[:, 0] * X[:, 1] * X[:, 2]

    features = ["x0", "x1", "x2"]
    pair = max(merge_groups(rows_of(product), features, 2, 1.96).stages[-1], key=len)
    triple = max(merge_groups(rows_of(product), features, 3, 1.96).stages[-1], key=len)
    assert len(pair) == 2
    assert set(triple) == set(features)


def test_a_gain_within_sampling_noise_ends_the_search():
    merged = merge_groups(rows_of(two_groups), ["x0", "x3"], 3, normal=1e9)
    assert merged.stages == [[("x0",), ("x3",)]]
    assert merged.reason == "Merging x0 + x3 would remove no more than sampling noise."


def test_a_gain_below_five_percent_ends_the_search():
    """Features that interact with others, but not with each other."""
    merged = merge_groups(rows_of(two_groups), ["x0", "x1"], 3, normal=0.0)
    assert merged.stages == [[("x0",), ("x1",)]]
    assert merged.reason == "Merging x0 + x1 would remove less than 5%."

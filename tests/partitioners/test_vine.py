"""VINE's second stage: the cut of a cluster, like cuts, and which clusters are kept."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.partitioners.vine import OneCut, best_cut, join_like_cuts, judge_cluster
from granite_xai.tables import read_table


def test_one_cut_tells_a_cluster_from_the_others_and_like_cuts_are_one():
    table = read_table([[0.0], [1.0], [2.0], [3.0]], missing="error")
    assert best_cut(table, np.array([True, True, False, False])) == OneCut(0, 1.5, True)
    cuts = [OneCut(0, 1.0, True), OneCut(0, 1.05, True), OneCut(0, 0.5, True), OneCut(1, 1.0, True)]
    assert join_like_cuts(cuts, [1.0, 1.0]) == [0, 0, 2, 3]


def test_a_cluster_that_nothing_tells_apart_has_no_threshold():
    table = read_table([[1.0], [1.0]], missing="error")
    assert best_cut(table, np.array([True, False])) == OneCut(0, np.inf, True)


def test_a_joined_cluster_is_not_joined_again():
    cuts = [OneCut(0, 1.0, True), OneCut(0, 1.2, True), OneCut(0, 1.4, False)]
    assert join_like_cuts(cuts, [10.0]) == [0, 0, 2]


@pytest.mark.parametrize(
    ("members", "height", "kept"),
    [
        ([True, True, False, False], 1.0, True),
        ([True, False, False, True], 1.0, False),  # the rule is right for half of the rows
        ([True, True, False, False], 0.1, False),  # the curves are near the mean of all
    ],
)
def test_a_cluster_is_kept_if_its_rule_is_right_and_its_curves_stand_apart(members, height, kept):
    table = read_table([[0.0], [1.0], [2.0], [3.0]], missing="error")
    members = np.array(members)
    curves = np.where(members, 1.0 + height, 1.0 - height)[:, None] * np.ones(3)
    rule = judge_cluster(OneCut(0, 1.5, True), members, table, curves)
    assert rule.rule == "x0 ≤ 1.5"
    assert rule.accuracy == np.mean(members == [True, True, False, False])
    assert rule.n_samples == 2
    assert rule.kept is kept

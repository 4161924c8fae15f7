"""Regions by rules that were written down: their rows, fractions and shares."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.given_rules import GivenRules, measured

import granite_xai as gx
from problems import problem_of


def posed():
    X = np.random.default_rng(0).normal(size=(80, 3)).round(1)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    step = lambda X: X[:, 0] * np.sign(X[:, 1]) + X[:, 2]  # noqa: E731
    return problem_of(step, X, sample_weight=weights)


def test_rules_have_the_rows_that_satisfy_them():
    problem = posed()
    partition = GivenRules(["x1 ≤ 0.1", "x1 > 0.1"]).partition(problem).partition
    below = problem.table.columns[1].values <= 0.1
    weights = problem.evaluations.weights
    first, second = partition
    assert (first.n_samples, second.n_samples) == (below.sum(), (~below).sum())
    assert first.fraction == pytest.approx(weights[below].sum() / weights.sum())
    members = np.stack([below, ~below]).astype(float)
    shares = [first.disagreement, second.disagreement]
    assert shares == pytest.approx(problem.measure(members).tolist())
    assert {first.stop_reason, second.stop_reason} == {"given"}


def test_P03_a_rule_without_rows_is_refused_by_name():
    problem = posed()
    with pytest.raises(gx.InputError, match="P03: no fitting row satisfies .*x1 > 99"):
        GivenRules(["x1 ≤ 0", "x1 > 0 and x1 ≤ 99", "x1 > 99"]).partition(problem)


def test_a_tree_from_elsewhere_is_measured_at_every_node():
    """The tree of a fit on other rows: its rules stay, its counts and shares are those of these rows."""
    problem = posed()
    step = lambda X: X[:, 0] * np.sign(X[:, 1] - 0.5)  # noqa: E731
    other = gx.Granite(step, confidence_level=None, max_depth=2, min_samples_leaf=5)
    tree = other.fit(np.random.default_rng(5).normal(size=(90, 3))).partition_
    partition = measured(tree.root, problem)
    assert [str(rule) for rule in partition.rules] == [str(rule) for rule in tree.rules]
    assert partition.root.n_samples == 80
    assert partition.root.disagreement == pytest.approx(1.0)
    again = GivenRules(gx.Partition.from_rules(tree.rules)).partition(problem).partition
    for region, one in zip(partition, again, strict=True):
        assert region.n_samples == one.n_samples
        assert region.fraction == pytest.approx(one.fraction)
        assert region.disagreement == pytest.approx(one.disagreement)

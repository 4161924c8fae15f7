"""What a partitioner is given and gives back; rules that were written down."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.search.growth import Tree
from granite_xai.search.problem import (
    GivenRules,
    OwnPartitioner,
    Partitioner,
    PartitionResult,
    measured,
)
from parts.by_hand import drawn, problem_of, steps

N = 150
FREE = {"alpha": 0.01, "min_samples_leaf": 8}


def posed(function=steps, question="ice-pdp", **options):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    return problem_of(function, drawn(N), question, Tree(**options), weights=weights)


def test_rules_have_the_rows_that_satisfy_them():
    problem = posed()
    partition = GivenRules(["x1 ≤ 0.1", "x1 > 0.1"]).partition(problem).partition
    below = problem.table.columns[1].values <= 0.1
    first, second = partition
    assert (first.n_samples, second.n_samples) == (below.sum(), (~below).sum())
    assert first.fraction == pytest.approx(problem.weights[below].sum() / problem.weights.sum())
    shares = [first.disagreement, second.disagreement]
    members = np.stack([below, ~below], axis=1).astype(float)
    assert shares == pytest.approx(problem.measure(members).tolist())
    assert shares == pytest.approx([problem.share(np.flatnonzero(k)) for k in (below, ~below)])
    assert {first.stop_reason, second.stop_reason} == {"given"}


def test_a_share_is_the_mass_times_the_disagreement_of_these_rows_alone():
    problem = posed()
    places = np.flatnonzero(problem.table.columns[1].values > 0)
    (measure,) = problem.measures
    (evaluations,) = problem.sample.outputs
    inside = evaluations.take(places)
    from granite_xai.algebra.region_weights import RegionWeights

    alone = measure.regional(inside, RegionWeights.whole(inside.weights))[0, 0]
    everywhere = measure.regional(evaluations, RegionWeights.whole(problem.weights))[0, 0]
    mass = inside.weights.sum() / problem.weights.sum()
    assert problem.share(places) == pytest.approx(mass * alone / everywhere)
    assert problem.share(problem.every_row) == pytest.approx(1.0)


def test_P03_a_rule_without_rows_is_refused_by_name():
    with pytest.raises(gx.InputError, match=r"P03: no fitting row satisfies .*x1 > 99"):
        GivenRules(["x1 ≤ 0", "x1 > 0 and x1 ≤ 99", "x1 > 99"]).partition(posed())


def test_a_tree_from_elsewhere_is_measured_at_every_node():
    """The tree of other rows: its rules stay, its counts and shares are those of these rows."""
    problem = posed()
    other = problem_of(steps, drawn(90, seed=5), tree=Tree(max_depth=2, **FREE))
    tree = other.tree.partition(other).partition
    partition = measured(tree.root, problem)
    assert [str(rule) for rule in partition.rules] == [str(rule) for rule in tree.rules]
    assert partition.root.n_samples == N
    assert partition.root.disagreement == pytest.approx(1.0)
    again = GivenRules(gx.Partition.from_rules(tree.rules)).partition(problem).partition
    for region, one in zip(partition, again, strict=True):
        assert region.n_samples == one.n_samples
        assert region.fraction == pytest.approx(one.fraction)
        assert region.disagreement == pytest.approx(one.disagreement)
    assert GivenRules(tree).partition(problem).partition.root == partition.root


def test_any_object_with_the_method_is_a_partitioner():
    class Halves:
        def partition(self, problem):
            return GivenRules(["x1 ≤ 0", "x1 > 0"]).partition(problem)

    result = OwnPartitioner(Halves()).partition(posed())
    assert [str(rule) for rule in result.partition.rules] == ["x1 ≤ 0", "x1 > 0"]
    assert dict(result.extra_attributes) == dict(result.row_attributes) == {}


def test_only_the_method_must_be_written():
    class Nothing(Partitioner):
        pass

    with pytest.raises(TypeError, match="partition"):
        Nothing()

    class Whole(Partitioner):
        def partition(self, problem):
            return PartitionResult(gx.Partition.from_rules([gx.Rule()]))

    assert Whole().extra_effects(None, None, 0) == ()
    assert not Whole.ignores_noise_floor
    assert GivenRules.ignores_noise_floor

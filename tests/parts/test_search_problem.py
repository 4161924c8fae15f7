"""What a partitioner is given and gives back; rules that were written down; other cuts of a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.search.plateau import other_cuts
from granite_xai.search.problem import (
    GivenRules,
    OwnPartitioner,
    Partitioner,
    PartitionResult,
    measured,
)
from granite_xai.search.tree import Tree
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


# Other cuts ------------------------------------------------------------------------------------------


def product(x):
    return x[:, 0] * x[:, 1]


def step(x):
    return x[:, 0] * np.sign(x[:, 1] - 0.3)


@pytest.mark.parametrize("question", ["ice-pdp", "coe"])
@pytest.mark.parametrize("search", ["greedy", "refined"])
def test_a_threshold_may_lie_elsewhere_where_effects_change_smoothly(question, search):
    """And not at a step: its values are few."""
    widths = {}
    for function in (product, step):
        problem = posed(function, question, max_depth=1, search=search)
        partition = problem.tree.partition(problem).partition
        (other,) = other_cuts(problem, partition.root)
        widths[function] = other.plateau
        assert other.split == partition.root.left.text(partition.root.column)
        assert all(text.startswith(other.column) for text in other.between)
    assert widths[product] > 0.15
    assert widths[step] < 0.1


@pytest.mark.parametrize("search", ["greedy", "refined"])
def test_records_come_parents_first_and_gain_what_the_tree_says(search):
    problem = posed(max_depth=3, search=search, **FREE)
    partition = problem.tree.partition(problem).partition
    records = [other.record() for other in other_cuts(problem, partition.root)]
    assert len(records) == len(partition) - 1 > 1
    assert records[0]["split"] == partition.root.left.text(partition.root.column)
    remaining = sum(region.disagreement for region in partition)
    assert 1.0 - sum(record["gain"] for record in records) == pytest.approx(remaining)


def test_trees_with_another_cut_are_whole_trees_that_cost_little_more():
    """What a note says of a cut is about the tree: all else stays as it is."""
    problem = posed(product, max_depth=2, **FREE)
    partition = problem.tree.partition(problem).partition
    remaining = sum(region.disagreement for region in partition)
    first, *_ = other_cuts(problem, partition.root)
    ends = [text for text in first.between if text != first.split]
    assert ends
    for text in ends:
        threshold = float(text.rpartition(" ")[2])
        left, right = partition.root.left, partition.root.right
        root = replace(
            partition.root, left=replace(left, high=threshold), right=replace(right, low=threshold)
        )
        assert root.left.text(root.column) == text
        left_by_tree = sum(region.disagreement for region in measured(root, problem))
        assert remaining - 1e-9 <= left_by_tree <= remaining + 0.1


def test_another_column_is_compared_by_its_best_cut():
    problem = posed(product, max_depth=2, **FREE)
    partition = problem.tree.partition(problem).partition
    first, *_ = other_cuts(problem, partition.root)
    assert first.second.startswith("x1" if first.column == "x0" else "x0")
    assert first.behind >= -1e-9


def test_a_column_that_alone_may_be_cut_has_no_second():
    problem = posed(step, max_depth=1, split_features=[1])
    partition = problem.tree.partition(problem).partition
    (other,) = other_cuts(problem, partition.root)
    assert other.second is other.behind is None


def test_one_region_has_no_other_cuts():
    problem = posed(max_depth=0)
    assert list(other_cuts(problem, problem.tree.partition(problem).partition.root)) == []

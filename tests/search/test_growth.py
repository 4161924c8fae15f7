"""Growing a tree: what its leaves leave, where it stops, and what is pruned."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.search.searches import TreeSearch

import granite_xai as gx
from problems import problem_of, random_model, random_table
from strategies import quiet

PLAIN = {"confidence_level": None}


def leaves_of(node):
    """The leaves of a tree, from the left."""
    children = getattr(node, "children", ())
    return [leaf for child in children for leaf in leaves_of(child)] or [node]


def test_the_objective_of_a_tree_is_that_of_its_leaves():
    """Leaves of the search, measured again by the engine; costs count the corrected share, never below 0."""
    generator = np.random.default_rng(2)
    X = random_table(generator, 120)
    problem = problem_of(
        random_model(generator), X, confidence_level=0.95, max_samples=None, holdout=False
    )
    tree = gx.partitioners.Tree(min_samples_leaf=8, alpha=0.01)
    search = TreeSearch.of(tree, problem)
    grown = search.search(np.arange(120), problem.evaluations)
    partition = tree.partition(problem).partition
    labels = partition.apply(problem.table)
    shown, counted = 0.0, 0.0
    for number in range(len(partition)):
        rows = np.flatnonzero(labels == number)
        members = (labels == number)[None]
        splits = Splits.of(members, problem.evaluations.weights)
        disagreements = problem.shares.disagreements(problem.evaluations, splits)
        shown += float(problem.shares.of(disagreements, splits.mass)[0, 0])
        chance = problem.chance.chance_in(problem.evaluations.restrict(rows), rows, None)
        counted += max(chance.corrected[0], 0.0) * problem.chance.factors[0] * len(rows) / 120
    assert sum(leaf.disagreement for leaf in leaves_of(grown.node)) == pytest.approx(shown)
    assert grown.remaining == pytest.approx(counted, rel=1e-9)
    assert grown.n_leaves == len(partition)


@pytest.mark.parametrize("search", ["greedy", "refined"])
def test_a_node_that_shows_only_chance_is_not_split(search):
    """On each side of x2 = 0 the other columns are independent: what M-plot and PDP differ by there is chance."""
    X = np.random.default_rng(0).normal(size=(600, 3))
    X[:, :2] += 2 * np.sign(X[:, [2]])
    options = {"question": "mplot-pdp", "search": search, "alpha": 0.0, "holdout": False}
    with quiet():
        g = gx.Granite(lambda X: X[:, 0] + X[:, 1], **options).fit(X)
        world = gx.Granite(lambda X: X[:, 0] + X[:, 1], **options, **PLAIN).fit(X)
    reasons = [region.stop_reason for region in g.partition_]
    assert reasons.count("no more than chance") == 2
    assert len(reasons) <= 3
    assert len(world.partition_) > 4


@pytest.mark.parametrize("weighting", ["mass", "uniform"])
@pytest.mark.parametrize("min_improvement", [0.0, 0.1, 0.9])
def test_C2_what_a_split_must_gain_does_not_depend_on_what_the_objective_is_divided_by(
    min_improvement, weighting
):
    """Of one question the objective is the same up to a factor, and so is every gain."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    tree = gx.partitioners.Tree(
        search="greedy", alpha=0.0, min_improvement=min_improvement, min_samples_leaf=10
    )

    def model(X):
        return X[:, 0] * np.sign(X[:, 1]) + 0.5 * X[:, 0] * X[:, 2] + 3 * X[:, 2]

    rules = {}
    for normalize in ("root", "variance"):
        objective = gx.Objective("ice-pdp", normalize=normalize, weighting=weighting)
        g = gx.Granite(model, objective, partitioner=tree, **PLAIN).fit(X)
        rules[normalize] = [str(rule) for rule in g.partition_.rules]
    assert rules["root"] == rules["variance"]
    if min_improvement == 0.0:
        assert len(rules["root"]) > 2

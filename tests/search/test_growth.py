"""Growing trees: never worse than the greedy search, two levels ahead, scored on the predictions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

import granite_xai as gx
from granite_xai.engine.splits import Splits
from granite_xai.search import growth as module
from granite_xai.search.finer import FinerCuts
from granite_xai.search.growth import Growth
from granite_xai.search.scoring import scored
from granite_xai.search.tables import region_tables
from problems import (
    MixedModel,
    mixed_table,
    options_of,
    problem_of,
    random_model,
    random_table,
)
from strategies import quiet

PLAIN = {"confidence_level": None}
PROBLEMS = 500 if settings.default.max_examples > 100 else 6  # in the deep profile, and by default
WITH_SUMS = ("ice-pdp", "pfi-risk", "variance", "mplot-pdp")
WITHOUT_SUMS = ("coe", "shap-pdp")


def cost(g):
    """Shares plus the price of the regions, on the fitting rows."""
    return g.remaining_ + g.alpha * len(g.partition_)


def fitted(model, X, question="ice-pdp", y=None, weights=None, **options):
    with quiet():
        return gx.Granite(model, question, **{**PLAIN, **options}).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_refined_is_never_worse_than_greedy(seed):
    """Questions with and without sums, labels, missing values, weights; the figures are those of the rules."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(40, 90))
    is_mixed = seed % 3 == 2
    X = mixed_table(generator, n) if is_mixed else random_table(generator, n)
    model = MixedModel(generator) if is_mixed else random_model(generator)
    weights = generator.choice([0.5, 1.0, 2.0], size=n) if seed % 2 else None
    y = generator.normal(size=n)
    options = {
        "alpha": float(generator.choice([0.0, 0.01, 0.05])),
        "max_depth": int(generator.integers(1, 4)),
        "min_samples_leaf": int(generator.choice([1, 3, 10])),
        "max_candidates": int(generator.choice([4, 10, 40])),
        "missing": "allow",
    }
    questions = [WITH_SUMS[seed % 4], WITHOUT_SUMS[seed % 2]]
    for question in questions:
        greedy, refined = (
            fitted(model, X, question, y, weights, search=search, **options)
            for search in ("greedy", "refined")
        )
        assert cost(refined) <= cost(greedy) + 1e-9
        smallest = min(region.n_samples for region in refined.partition_)
        assert smallest >= min(options["min_samples_leaf"], n)
        rules = gx.partitioners.GivenRules(refined.partition_)
        again = fitted(model, X, question, y, weights, partitioner=rules, missing="allow")
        assert again.remaining_ == pytest.approx(refined.remaining_, abs=1e-9)


def test_what_tables_choose_is_scored_on_the_predictions():
    """The shortlist of cuts near the best one by sums; the choice is the best of them by the engine."""
    generator = np.random.default_rng(5)
    X = generator.uniform(-1, 1, size=(120, 3))
    problem = problem_of(lambda X: np.exp(2 * X[:, 0] * X[:, 1]) + X[:, 2] * X[:, 0], X)
    tree = gx.partitioners.Tree(min_samples_leaf=5, max_candidates=10)
    growth = Growth(tree, problem, [0, 1, 2], tables=region_tables(problem, 5))
    rows = np.arange(120)
    root = growth.root(rows, problem.evaluations)
    options = [option for group in options_of(problem, rows, 10, 5) for option in group]
    (choice,) = growth._followed(root, options)
    disagreements, mass = scored(problem, rows, options, problem.evaluations, 10)
    left = problem.shares.of(disagreements, mass).sum(axis=1)
    assert root.shown - choice.gain == pytest.approx(left.min(), abs=1e-12)
    assert choice.candidate is options[int(np.argmin(left))]


def test_scores_of_tables_that_are_off_by_the_factoring_error_do_no_harm(monkeypatch):
    """Sums that are wrong by up to 2 % of the node: the best cut is still found among the shortlisted."""
    generator = np.random.default_rng(5)
    problem = problem_of(random_model(generator), random_table(generator, 100))
    tree = gx.partitioners.Tree(min_samples_leaf=5, max_candidates=5)
    growth = Growth(tree, problem, [0, 1, 2, 3], tables=region_tables(problem, 5))
    rows = np.arange(100)
    root = growth.root(rows, problem.evaluations)
    options = [option for group in options_of(problem, rows, 5, 5) for option in group]
    assert len(options) <= module.SHORTLISTED
    scores_of = Growth._table_scores

    def off(self, node, of_node, some):
        noise = generator.uniform(-0.0099, 0.0099, size=len(some))
        return scores_of(self, node, of_node, some) + noise

    monkeypatch.setattr(Growth, "_table_scores", off)
    disagreements, mass = scored(problem, rows, options, problem.evaluations, 10)
    left = problem.shares.of(disagreements, mass).sum(axis=1)
    for _ in range(20):
        (choice,) = growth._followed(root, options)
        assert root.shown - choice.gain == pytest.approx(left.min(), abs=1e-9)


def test_a_planted_step_is_cut_where_it_is():
    """Quantiles stop at 39 cuts; the refined search tries every value between the best one's neighbours."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 3))
    g = gx.Granite(lambda X: X[:, 0] * np.where(X[:, 1] > 0.1234, 1, -1), features=["x0"]).fit(X)
    below = X[X[:, 1] <= 0.1234, 1].max()
    above = X[X[:, 1] > 0.1234, 1].min()
    first_rule = str(next(iter(g.partition_)).rule)
    assert below <= float(first_rule.split()[-1]) < above
    assert g.remaining_ < 1e-12


def three_way(X):
    return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])


@pytest.mark.parametrize("options", [{}, {"split_features": ["x1", "x2", "x3", "x4"]}])
def test_interactions_of_three_columns_are_seen(options):
    """One split of x1 or x2 alone gains nothing: only two together do."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(300, 5))
    greedy, refined, optimal = (
        fitted(three_way, X, features=["x0"], min_samples_leaf=10, search=search, **options)
        for search in ("greedy", "refined", "optimal")
    )
    assert greedy.remaining_ > 0.03
    assert refined.remaining_ < 1e-10
    assert optimal.remaining_ < 1e-10


@pytest.mark.parametrize("weighting", ["mass", "uniform"])
def test_a_part_of_the_rows_of_a_large_node_looks_ahead(weighting, monkeypatch):
    """A third of the rows say where to begin; all of them decide. Small regions stay allowed."""
    monkeypatch.setattr(module, "AHEAD_ROWS", 100)
    X = np.random.default_rng(1).uniform(-1, 1, size=(300, 4))
    objective = gx.Objective("ice-pdp", weighting=weighting)
    options = {"features": ["x0"], "max_depth": 2, "min_samples_leaf": 40, "alpha": 0.01}
    g = fitted(three_way, X, objective, **options)
    columns = {column for rule in g.partition_.rules for column, _ in rule.conditions}
    assert columns == {"x1", "x2"}
    assert g.remaining_ < 0.05


def test_without_tables_three_columns_are_followed(monkeypatch):
    """A single cut of x3 gains most; two of x1 and x2 together gain more, and their columns are followed, too."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(200, 4))
    question = gx.question("ice-pdp", loss=lambda gap: gap**2)  # nobody knows that it is a square
    options = {"features": ["x0"], "max_depth": 2, "min_samples_leaf": 10}
    options["split_features"] = ["x1", "x2", "x3"]

    def model(X):
        return three_way(X) + 0.8 * X[:, 0] * np.sign(X[:, 3])

    refined = fitted(model, X, question, search="refined", **options)
    monkeypatch.setattr(module, "COLUMNS_WITHOUT_TABLES", 1)
    narrow = fitted(model, X, question, search="refined", **options)
    columns = {column for rule in refined.partition_.rules for column, _ in rule.conditions}
    assert columns == {"x1", "x2"}
    assert refined.remaining_ < 0.75 * narrow.remaining_


def test_of_many_columns_the_look_ahead_takes_those_with_the_best_single_cuts(monkeypatch):
    monkeypatch.setattr(module, "AHEAD_COLUMNS", 2)
    generator = np.random.default_rng(3)
    problem = problem_of(random_model(generator), random_table(generator))
    rows = np.arange(60)
    tables = region_tables(problem, 2)
    tree = gx.partitioners.Tree(min_samples_leaf=2, alpha=0.01)
    growth = Growth(tree, problem, [0, 1, 2, 3], FinerCuts(problem.table, 2), tables, True)
    root = growth.root(rows, problem.evaluations)
    options = [option for group in options_of(problem, rows) for option in group]
    for best in [(0, 1), (1, 3), (2, 3)]:
        scores = np.array([0.5 if option.column in best else 1.0 for option in options])
        cut = growth._first_of_two_levels(root, tables, tables.of_node(rows), options, scores)
        assert cut.column in best


def test_a_tree_that_costs_less_than_all_over_the_cuts_of_the_root_is_kept_and_named():
    """Children draw their own quantiles, and second thoughts try every value."""
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, size=(200, 2))
    t = np.random.default_rng(0).uniform(-1, 1, size=3)

    def model(X):
        upper = np.where(X[:, 1] > t[1], 3.0, 1.0)
        return X[:, 0] * np.where(X[:, 1] > t[0], upper, X[:, 0] > t[2])

    greedy, g = (
        fitted(model, X, search=search, max_depth=2, max_candidates=4)
        for search in ("greedy", "optimal")
    )
    found = g.diagnostics_["certificate"]
    assert cost(g) <= cost(greedy) + 1e-9
    assert found["found"] < found["objective"] - 0.01
    assert found["kept"] == "second thoughts"
    assert "The tree that was kept (second thoughts) draws other cuts" in found["text"]


def test_the_last_of_three_levels_takes_its_best_single_cut(monkeypatch):
    """A pair of cuts would begin with one that pays only with the second, for which there is no level left."""
    monkeypatch.setattr(module, "PASSES", 0)  # without second thoughts about the whole tree
    generator = np.random.default_rng(7)
    X = random_table(generator, 80)
    model = random_model(generator)
    options = {"max_candidates": 4, "min_samples_leaf": 5}
    g = fitted(model, X, search="optimal", max_depth=3, alpha=0.005, **options)
    assert g.diagnostics_["certificate"]["kept"] == "optimal"
    root = g.partition_.root
    checked = 0
    for upper, condition in zip(root.children, (root.left, root.right), strict=True):
        for node, last in zip(upper.children, (upper.left, upper.right), strict=True):
            if not hasattr(node, "column"):
                continue
            rule = gx.Rule().and_(root.column, condition).and_(upper.column, last)
            own = X[rule.contains(X, ["x0", "x1", "x2", "x3"])]
            alone = fitted(model, own, search="greedy", max_depth=1, alpha=0, **options)
            left = sum(leaf.disagreement for leaf in leaves_of(node)) / node.disagreement
            assert left <= alone.remaining_ + 1e-9
            checked += 1
    assert checked


def test_of_equally_good_trees_the_greedy_one_is_kept():
    """One cut of three values ends all disagreement: no search finds better."""
    x0 = np.random.default_rng(0).uniform(-1, 1, 120)
    X = np.column_stack([x0, np.arange(120) % 3])
    g = fitted(
        lambda X: X[:, 0] * np.sign(X[:, 1] - 1), X, search="optimal", features=["x0"], max_depth=2
    )
    found = g.diagnostics_["certificate"]
    assert len(g.partition_) == 3
    assert found["found"] == pytest.approx(3 * g.alpha) == found["objective"]
    assert found["kept"] == "greedy"


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
    growth = Growth(tree, problem, [0, 1, 2, 3])
    root = growth.root(np.arange(120), problem.evaluations)
    assert root.shown == pytest.approx(1.0)
    grown = growth.search(root)
    partition = tree.partition(problem).partition
    labels = partition.apply(problem.table)
    shown, counted = 0.0, 0.0
    for number in range(len(partition)):
        rows = np.flatnonzero(labels == number)
        members = (labels == number)[None]
        splits = Splits.of(members, problem.evaluations.weights)
        disagreements = problem.shares.disagreements(problem.evaluations, splits)
        shown += float(problem.shares.of(disagreements, splits.mass)[0, 0])
        chance = problem.chance.of(problem.evaluations.restrict(rows), rows, None)
        counted += max(chance.corrected[0], 0.0) * problem.chance.factors[0] * len(rows) / 120
    assert sum(leaf.disagreement for leaf in leaves_of(grown.node)) == pytest.approx(shown)
    assert grown.remaining == pytest.approx(counted, rel=1e-9)
    assert grown.leaves == len(partition)


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


def test_ties_of_a_greedy_search_are_counted():
    """Of two equal columns the first is cut, and the diagnostics say that it was a tie."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    twice = np.column_stack([X, X[:, 1]])
    options = {"search": "greedy", "max_depth": 1, "min_samples_leaf": 5, **PLAIN}
    with quiet():
        tied = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), **options).fit(twice)
        clear = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), **options).fit(X)
    assert tied.diagnostics_["ties"] == 1
    assert "ties" not in clear.diagnostics_

"""The best two levels over all cuts, and what the certificate says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.engine.splits import Splits
from granite_xai.inference.by_sums import closed_form
from granite_xai.inference.replicates import Chance
from granite_xai.moments import factors
from granite_xai.search import tables as tables_module
from granite_xai.search.finer import thinned
from granite_xai.search.lookahead import CutTree
from granite_xai.search.optimal import PAIR_BYTES, Optimum, best_two_levels
from granite_xai.search.tables import region_tables
from problems import (
    MixedModel,
    goes_left,
    mixed_table,
    options_of,
    problem_of,
    random_model,
    random_table,
)
from strategies import quiet

PLAIN = {"confidence_level": None}
SERVED = ("ice-pdp", "variance", "sobol", "pfi-risk", "mplot-pdp", "cfi-pfi", "csobol-sobol")
WITH_CHANCE = {
    "max_samples": None,
    "holdout": False,
    "max_depth": 2,
    "min_samples_leaf": 5,
    "max_candidates": 4,
}


@pytest.fixture
def exact(monkeypatch):
    """Searches read all directions and all sets: then a certificate is about the problem itself."""
    monkeypatch.setattr(factors, "KEPT_BY_SEARCH", 1.0)
    monkeypatch.setattr(tables_module, "NEGLIGIBLE", -1.0)


def plain_shares(problem, members):
    splits = Splits.of(members, problem.evaluations.weights)
    disagreements = problem.shares.disagreements(problem.evaluations, splits)
    return problem.shares.of(disagreements, splits.mass)[:, 0]


def exhaustive(problem, groups, alpha, least, shares=plain_shares, is_whole=None):
    """The least cost of a tree of two levels over some candidates, by trying all of them.

    ``is_whole`` says of the rows of a side, and its share, whether it must not be divided.
    """
    every = [option for group in groups for option in group]
    rows = np.arange(problem.table.n_rows)
    cuts = np.array([goes_left(problem, option, rows) for option in every])
    trees = []
    for cut in cuts:
        total = 0.0
        for side in (cut, ~cut):
            alone = float(shares(problem, side[None])[0])
            costs = [alone + alpha]
            parts = np.stack([side & cuts, side & ~cuts])  # (2, cuts, rows)
            enough = parts.sum(axis=2).min(axis=0) >= least
            if enough.any() and not (is_whole and is_whole(side, alone)):
                left, right = (shares(problem, part[enough]) for part in parts)
                costs.append(float(np.min(left + right)) + 2 * alpha)
            total += min(costs)
        trees.append(total)
    return min(trees)


def cost(g):
    return g.remaining_ + g.alpha * len(g.partition_)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", SERVED)
def test_the_certificate_is_the_least_of_all_trees_of_two_levels(name):
    """Over the root's cuts; the tree that is kept costs no more, and what it is said to cost."""
    generator = np.random.default_rng(7)
    X = random_table(generator)
    model = random_model(generator)
    y = generator.normal(size=60)
    options = {"max_depth": 2, "min_samples_leaf": 5, "max_candidates": 5, "alpha": 0.02}
    with quiet():
        g = gx.Granite(model, name, search="optimal", **PLAIN, **options).fit(X, y)
    problem = problem_of(model, X, name, y=y)
    least = exhaustive(problem, options_of(problem, np.arange(60), 5, 5), 0.02, 5)
    found = g.diagnostics_["certificate"]
    assert found["objective"] == pytest.approx(least, rel=1e-8)
    assert cost(g) == pytest.approx(found["found"], rel=1e-8)
    assert found["found"] <= found["objective"] + 1e-9
    assert found["text"].startswith("No tree of depth 2 over the root's cuts leaves less than")


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("seed", range(4))
def test_labels_missing_values_and_weights(seed):
    """The best two levels of a node by themselves, with their tree."""
    generator = np.random.default_rng(seed)
    problem = problem_of(
        MixedModel(generator),
        mixed_table(generator, 50),
        ["ice-pdp", "variance"],
        sample_weight=generator.choice([0.5, 1.0, 2.0], size=50),
    )
    rows = np.arange(50)
    groups = options_of(problem, rows, 4, 5)
    options = [option for group in groups for option in group]
    found = best_two_levels(problem, region_tables(problem, 5), rows, options, 0.03)
    assert found.all_cuts
    assert found.cost == pytest.approx(exhaustive(problem, groups, 0.03, 5), rel=1e-8)


def test_a_certificate_of_what_a_search_reads_is_near():
    """And says that it is about what a search reads: not all directions of each interaction."""
    generator = np.random.default_rng(7)
    X = random_table(generator)
    model = random_model(generator)
    options = {"max_depth": 2, "min_samples_leaf": 5, "max_candidates": 5, "alpha": 0.02}
    g = gx.Granite(model, search="optimal", **PLAIN, **options).fit(X)
    problem = problem_of(model, X)
    least = exhaustive(problem, options_of(problem, np.arange(60), 5, 5), 0.02, 5)
    found = g.diagnostics_["certificate"]
    assert found["objective"] == pytest.approx(least, abs=0.02)
    assert "by the strongest directions of each interaction" in found["text"]


@pytest.mark.usefixtures("exact")
def test_with_little_memory_fewer_cuts_are_looked_at_and_the_certificate_says_so():
    """The least over five cuts of each column, against every tree over them."""
    generator = np.random.default_rng(7)
    X = random_table(generator)
    model = random_model(generator)
    problem = problem_of(model, X)
    rows = np.arange(60)
    groups = options_of(problem, rows, 10, 5)
    options = [option for group in groups for option in group]
    little = 8 * PAIR_BYTES * 10 * 5**2  # ten pairs of columns, five cuts each
    problem = replace(problem, resources=replace(problem.resources, memory_limit=little))
    found = best_two_levels(problem, region_tables(problem, 5), rows, options, 0.02)
    some = [thinned(group, 5) for group in groups]
    assert [len(group) for group in some] == [5, 2, 5, 5]
    assert (found.n_cuts, found.all_cuts) == (5, False)
    assert found.cost == pytest.approx(exhaustive(problem, some, 0.02, 5), rel=1e-8)
    text = found.certificate(found.cost, "optimal", corrected=False)["text"]
    assert "at most 5 of the root's cuts a feature" in text


def corrected_shares(problem, members):
    """Shares without what chance adds, as growth counts them: summed over the columns, never negative."""
    (statistics,) = problem.statistics
    shares = []
    for inside in members:
        part = np.flatnonzero(inside)
        corrected = sum(closed_form([own.take(part)], None, 0.95).corrected for own in statistics)
        share = max(corrected, 0.0) * problem.chance.factors[0] * len(part) / problem.table.n_rows
        shares.append(share)
    return np.array(shares)


@pytest.mark.usefixtures("exact")
def test_the_certificate_is_the_least_of_all_trees_without_what_chance_adds():
    generator = np.random.default_rng(0)
    X = random_table(generator)
    model = random_model(generator)
    g = gx.Granite(model, search="optimal", alpha=0.002, **WITH_CHANCE).fit(X)
    problem = problem_of(model, X, **{**WITH_CHANCE, "confidence_level": 0.95})
    groups = options_of(problem, np.arange(60), 4, 5)
    found = g.diagnostics_["certificate"]
    least = exhaustive(problem, groups, 0.002, 5, corrected_shares)
    assert found["objective"] == pytest.approx(least, rel=1e-8)
    assert "without what chance adds" in found["text"]


class ChanceOfSmallParts:
    """Parts of fewer rows show no more than chance."""

    def __init__(self, least):
        self.least = least

    def chance_in(self, evaluations, rows, n_jobs):
        assert evaluations.n_rows == len(rows)
        bar = np.inf if len(rows) < self.least else 0.0
        return Chance(np.ones(1), np.zeros(1), np.array([bar]), np.ones(1))


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("alpha", "least"), [(0.0, 35), (0.002, 45)])
def test_parts_that_show_only_chance_or_little_are_not_divided(alpha, least):
    """A part is a region if it shows no more than chance, or less than a region costs."""
    generator = np.random.default_rng(1)
    X = random_table(generator)
    problem = problem_of(random_model(generator), X, **{**WITH_CHANCE, "confidence_level": 0.95})
    tables = region_tables(problem, 5, corrected=True)
    groups = options_of(problem, np.arange(60), 4, 5)
    options = [option for group in groups for option in group]
    ruled = replace(problem, chance=ChanceOfSmallParts(least))
    found = best_two_levels(ruled, tables, np.arange(60), options, alpha)

    def is_whole(side, share):
        return share < alpha or side.sum() < least

    wanted = exhaustive(problem, groups, alpha, 5, corrected_shares, is_whole)
    assert found.cost == pytest.approx(wanted, rel=1e-8)
    free = best_two_levels(
        replace(problem, chance=ChanceOfSmallParts(0)), tables, np.arange(60), options, alpha
    )
    assert found.cost > free.cost + 1e-6


def test_the_certificate_says_when_it_does_not_correct_for_chance():
    """Weights, clusters and gaps of regions have no closed form in every part."""
    generator = np.random.default_rng(7)
    X = random_table(generator, 120)
    model = random_model(generator)
    for name, given in [
        ("ice-pdp", {"sample_weight": generator.integers(1, 3, 120) * 1.0}),
        ("ice-pdp", {"clusters": np.arange(120) // 2}),
        ("variance", {}),
    ]:
        g = gx.Granite(model, name, search="optimal", **WITH_CHANCE).fit(X, **given)
        found = g.diagnostics_["certificate"]
        assert "not corrected for chance" in found["text"]
        assert ("draws other cuts" in found["text"]) == (
            found["found"] < found["objective"] - 1e-10
        )


def test_the_words_of_a_certificate():
    """Which tree was kept is said where it costs more or less than the proven one, and only there."""
    optimum = Optimum(cost=0.3, tree=CutTree(None), n_cuts=4, all_cuts=True, all_directions=True)
    same = optimum.certificate(0.3, "optimal", corrected=False)
    less = optimum.certificate(0.2, "second thoughts", corrected=False)
    more = optimum.certificate(0.4, "greedy", corrected=True)
    assert "kept" not in same["text"]
    assert "(second thoughts) draws other cuts or is deeper, and leaves 20" in less["text"]
    assert "(greedy) leaves 40" in more["text"]
    assert {key: less[key] for key in ("depth", "objective", "cuts", "found", "kept")} == {
        "depth": 2,
        "objective": 0.3,
        "cuts": 4,
        "found": 0.2,
        "kept": "second thoughts",
    }


@pytest.mark.parametrize(
    "question",
    ["ale", "coe", "shap-pdp", gx.question("ice-pdp", loss="absolute"), ["ice-pdp", "cice-mplot"]],
    ids=["ale", "coe", "shap-pdp", "absolute", "one-of-two"],
)
def test_questions_without_sums_are_refused(question):
    X = random_table(np.random.default_rng(0))
    model = random_model(np.random.default_rng(0))
    with quiet(), pytest.raises(gx.InputError, match='P03: search="optimal".*ice-pdp') as caught:
        gx.Granite(model, question, search="optimal", **PLAIN).fit(X)
    assert caught.value.argument == "search"

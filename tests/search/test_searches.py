"""Searches: never worse than the greedy one, two levels ahead, three columns at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

import granite_xai as gx
from granite_xai.search import followed_cuts, scoring, searches
from problems import (
    MixedModel,
    mixed_table,
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
    greedy, refined = (
        fitted(three_way, X, features=["x0"], min_samples_leaf=10, search=search, **options)
        for search in ("greedy", "refined")
    )
    assert greedy.remaining_ > 0.03
    assert refined.remaining_ < 1e-10


def test_without_tables_three_columns_are_followed(monkeypatch):
    """A single cut of x3 gains most; two of x1 and x2 together gain more, and their columns are followed, too."""
    X = np.random.default_rng(1).uniform(-1, 1, size=(200, 4))
    question = gx.question("ice-pdp", loss=lambda gap: gap**2)  # nobody knows that it is a square
    options = {"features": ["x0"], "max_depth": 2, "min_samples_leaf": 10}
    options["split_features"] = ["x1", "x2", "x3"]

    def model(X):
        return three_way(X) + 0.8 * X[:, 0] * np.sign(X[:, 3])

    refined = fitted(model, X, question, search="refined", **options)
    monkeypatch.setattr(searches, "COLUMNS_WITHOUT_TABLES", 1)
    narrow = fitted(model, X, question, search="refined", **options)
    columns = {column for rule in refined.partition_.rules for column, _ in rule.conditions}
    assert columns == {"x1", "x2"}
    assert refined.remaining_ < 0.75 * narrow.remaining_


def test_of_a_wide_table_without_sums_the_three_best_columns_are_followed(monkeypatch):
    """Wide tables drop columns early: none of those that the refined search follows may be dropped."""
    columns = []
    choice_of = followed_cuts.choice_of

    def noted(node, option, *scores):
        columns[-1].append(option.column)
        return choice_of(node, option, *scores)

    monkeypatch.setattr(followed_cuts, "choice_of", noted)
    X = np.random.default_rng(3).normal(size=(50, 30))
    size = 0.5 ** np.arange(29)  # one column stands out by far
    question = gx.question("ice-pdp", loss=lambda gap: gap**2)  # nobody knows that it is a square

    def model(X):
        X = X[:, ::-1]  # the first columns are the weakest
        return (X[:, :29] * size * np.sign(X[:, 1:])).sum(axis=1)

    for wide in (30, 1000):
        monkeypatch.setattr(scoring, "WIDE", wide)
        columns.append([])
        fitted(model, X, question, max_depth=1, max_candidates=4)
    assert columns[0] == columns[1]
    assert len(set(columns[0])) == 3

"""The base line of the benchmarks computes what the definitions say, so that its trees may be compared with ours."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from benchmarks import plain

QUESTIONS = sorted(plain.LOSSES)


def model(rows):
    X = np.asarray(rows, dtype=float)
    return X[:, 0] * (X[:, 1] > 0.5) + 0.5 * X[:, 1] * X[:, 2] - X[:, 2]


@pytest.fixture
def problem():
    """Eighteen rows with ties and dependent columns; exact bins keep the oracle small."""
    draw = np.random.default_rng(5)
    X = np.round(draw.normal(size=(18, 3)) + draw.normal(size=(18, 1)), 0)
    return oracle.Problem(model, X, model(X) + draw.normal(size=18))


def asked(name):
    return oracle.question(name, bins="exact")


@pytest.fixture
def data(problem):
    def bins(T):
        numbers = oracle.bins_of(problem, asked("mplot-pdp").first, frozenset(T))
        names = list(dict.fromkeys(numbers.values()))
        return np.array([names.index(numbers[n]) for n in problem.rows])

    columns = range(problem.d)
    shown = {i: bins({i}) for i in columns}
    hidden = {i: bins(problem.D - {i}) for i in columns}
    return plain.evaluate(
        model, np.array(problem.X), y=np.array(problem.y), shown_bins=shown, hidden_bins=hidden
    )


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("region", [range(18), range(0, 18, 2), [3, 4, 11, 12, 13]])
def test_the_disagreement_of_a_region_is_that_of_the_definitions(problem, data, name, region):
    expected = oracle.disagreement(asked(name), problem, list(region))
    assert plain.LOSSES[name](data, np.array(region)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.3])
def test_the_tree_is_that_of_the_definitions(problem, data, name, alpha):
    limits = {"max_depth": 3, "min_samples_leaf": 2, "alpha": alpha, "max_candidates": 5}
    expected = oracle.grow(asked(name), problem, **limits).root
    assert shape(plain.grow(data, name, plain.Options(**limits))) == shape(expected)


def test_a_model_without_interactions_has_one_region():
    X = np.random.default_rng(0).normal(size=(60, 3))
    tree = plain.grow(
        plain.evaluate(lambda rows: rows.sum(axis=1), X), options=plain.Options(floor=1e-20)
    )
    assert tree == plain.Node(60, 0.0)


def shape(node):
    """Rows, column and share of every node, whichever side wrote the tree."""
    n_rows = node.n_rows if isinstance(node, plain.Node) else len(node.rows)
    column = node.column if isinstance(node, plain.Node) else (node.split and node.split.column)
    children = [] if node.left is None else [shape(node.left), shape(node.right)]
    return n_rows, column, round(node.share, 9), children

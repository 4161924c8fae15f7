"""Bins or a copula, chosen by how well each predicts hidden columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.algebra.copula import choose_sampler
from granite_xai.tables import Rows, read_table

N = 500


def normal(rho: float, seed: int = 0, n: int = N) -> np.ndarray:
    z = np.random.default_rng(seed).normal(size=(n, 2))
    return np.column_stack([z[:, 0], rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]])


def one_shown(n_columns: int) -> list[frozenset]:
    return [frozenset({i}) for i in range(n_columns)]


def one_hidden(n_columns: int) -> list[frozenset]:
    everything = frozenset(range(n_columns))
    return [everything - {i} for i in range(n_columns)]


def chosen(X, coalitions=None, seed: int = 0):
    table = read_table(X, missing="allow")
    coalitions = one_shown(table.n_columns) if coalitions is None else coalitions
    return choose_sampler(Rows.of(table), coalitions, seed)


@pytest.mark.parametrize("rho", [0.9, 0.99, -0.95])
def test_strong_normal_dependence_takes_the_copula(rho):
    choice = chosen(normal(rho))
    assert choice.sampler == "copula"
    assert choice.errors["copula"] < choice.errors["bins"] < choice.errors["unconditional"]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("coalitions", [one_shown, one_hidden])
def test_independent_columns_keep_bins(seed, coalitions):
    X = np.random.default_rng(seed).normal(size=(300, 4))
    choice = chosen(X, coalitions(4))
    assert choice.sampler == "bins"
    assert "hardly depend" in choice.reason


def test_dependence_that_chance_shows_keeps_bins():
    """Few rows of independent columns are correlated by chance: a copula must not take that for known."""
    n_bins = 0
    for seed in range(60):
        X = np.random.default_rng([seed, 200]).integers(0, 2, size=(200, 4)).astype(float)
        n_bins += chosen(X, [*one_shown(4), *one_hidden(4)]).sampler == "bins"
    assert n_bins >= 57


def test_weak_dependence_of_many_rows_is_seen():
    assert "hardly depend" not in chosen(normal(0.3, n=1000)).reason


def test_clusters_are_one_observation_each():
    """Every row eight times: rows predict their copies, clusters do not."""
    for seed in range(5):
        X = np.repeat(np.random.default_rng(seed).normal(size=(60, 3)), 8, axis=0)
        table = read_table(X, missing="error")
        as_rows = choose_sampler(Rows.of(table), one_hidden(3), 0)
        in_clusters = Rows.of(table, clusters=np.repeat(np.arange(60), 8))
        assert "hardly depend" not in as_rows.reason
        assert "hardly depend" in choose_sampler(in_clusters, one_hidden(3), 0).reason


def test_the_errors_of_normal_columns_are_their_conditional_variances():
    """Of x: 1 - ρ²; of its standardized square: 1 - ρ⁴; here their mean."""
    rho = 0.9
    choice = chosen(normal(rho, n=1000))
    stated = (1 - rho**2 + 1 - rho**4) / 2
    assert choice.errors["copula"] == pytest.approx(stated, rel=0.15)
    assert choice.errors["unconditional"] == pytest.approx(1.0, rel=0.02)


def test_a_parabola_keeps_bins():
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    X = np.column_stack([x, x**2 + 0.3 * rng.normal(size=N)])
    choice = chosen(X)
    assert choice.sampler == "bins"
    assert choice.errors["bins"] < choice.errors["copula"]


def test_spread_that_depends_on_another_column_keeps_bins():
    rng = np.random.default_rng(1)
    x = rng.normal(size=N)
    X = np.column_stack([x, np.exp(x) * rng.normal(size=N)])
    assert chosen(X).sampler == "bins"


def test_errors_do_not_depend_on_where_rows_stand():
    X = normal(0.6)
    moved = np.random.default_rng(3).permutation(N)
    assert chosen(X).errors == pytest.approx(chosen(X[moved]).errors, rel=1e-12)


def test_monotone_transforms_change_nothing():
    X = normal(0.95)
    bent = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3])
    assert chosen(X).errors == pytest.approx(chosen(bent).errors, rel=1e-12)


@pytest.mark.parametrize(
    ("X", "coalitions", "words"),
    [
        (
            pd.DataFrame({"a": range(N), "c": pd.Categorical(list("ab") * (N // 2))}),
            one_shown(2),
            "feature c has no order",
        ),
        (
            pd.DataFrame({"a": [np.nan, *range(N - 1)], "b": range(N)}),
            one_shown(2),
            "feature a has missing values",
        ),
        (normal(0.95, n=60), one_shown(2), "fewer than 100 rows"),
        (
            np.random.default_rng(0).normal(size=(N, 4)),
            [frozenset({0, 1})],
            "several features are shown and several hidden",
        ),
        (normal(0.95), [frozenset(), frozenset({0, 1})], "nothing is conditioned on"),
    ],
    ids=["no order", "missing", "few rows", "groups", "nothing"],
)
def test_where_a_copula_cannot_be_had_the_reason_says_why(X, coalitions, words):
    choice = chosen(X, coalitions)
    assert choice.sampler == "bins"
    assert words in choice.reason
    assert choice.errors == {}


def test_a_column_of_ordered_levels_and_a_boolean_can_be_compared():
    z = normal(0.97)
    levels = pd.cut(pd.Series(z[:, 1]), 30, labels=False)
    X = pd.DataFrame({"a": z[:, 0], "b": levels, "c": z[:, 0] > 0.3})
    assert chosen(X).errors.keys() == {"unconditional", "bins", "copula"}

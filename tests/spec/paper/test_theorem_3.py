"""Theorem 3: conditional and marginal explanations differ by the explanation of ``delta``, the effect of dependence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from granite_xai import Conditional, Local, Risk, Sensitivity
from paper.games import (
    OPERATORS,
    Array,
    Coalition,
    Lookup,
    Values,
    close,
    dependent,
    effects,
    factorial,
    subsets,
)

LEVELS = (3, 2, 4)
MODEL = Lookup(LEVELS, seed=11)
EXACT = Conditional("exact")


def marginal_and_delta(X: Array) -> tuple[Values, Values]:
    """``E[F(x_S, X_{-S})]`` and ``delta(x, S) = E[(w_{x_S}(X_{-S}) - 1) F(x_S, X_{-S})]``."""
    d = X.shape[1]
    marginal, delta = {}, {}
    for S in subsets(range(d)):
        inside, outside = sorted(S), sorted(set(range(d)) - S)
        here = Counter(map(tuple, X[:, inside]))
        there = Counter(map(tuple, X[:, outside]))
        both = Counter((tuple(row[inside]), tuple(row[outside])) for row in X)
        marginal[S], delta[S] = np.zeros(len(X)), np.zeros(len(X))
        for n, row in enumerate(X):
            x_S = tuple(row[inside])
            for z, count in there.items():
                mixed = row.copy()
                mixed[outside] = z
                prediction = float(MODEL(mixed[None])[0])
                weight = (both[x_S, z] / here[x_S]) / (count / len(X))
                marginal[S][n] += count / len(X) * prediction
                delta[S][n] += count / len(X) * (weight - 1) * prediction
    return marginal, delta


def delta_game(behavior: Any, marginal: Values, delta: Values, y: Array) -> Values:
    """The three forms of ``delta`` in the proof: local, sensitivity, risk (squared loss)."""

    def value(S: Coalition) -> Any:
        F_S, d_S = marginal[S], delta[S]
        if isinstance(behavior, Local):
            return d_S
        if isinstance(behavior, Sensitivity):
            return np.var(d_S) + 2 * np.mean((F_S - F_S.mean()) * (d_S - d_S.mean()))
        return -np.mean(d_S**2 + 2 * (F_S - y) * d_S)

    return {S: value(S) for S in delta}


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array]:
    X = dependent(LEVELS, 40, seed=5)
    return X, MODEL(X) + np.random.default_rng(5).normal(size=40)


@pytest.mark.parametrize("region", [slice(None), slice(0, 25)], ids=["everywhere", "in a region"])
@pytest.mark.parametrize("interaction", OPERATORS)
@pytest.mark.parametrize("behavior", [Local(), Sensitivity(), Risk("squared")], ids=repr)
def test_the_gap_of_conditional_and_marginal_is_the_explanation_of_delta(
    behavior: Any, interaction: str, region: slice, data: tuple[Array, Array]
) -> None:
    X, y = data
    rows = np.arange(len(X))[region]
    game = delta_game(behavior, *marginal_and_delta(X[rows]), y[rows])
    conditional = effects(EXACT, behavior, interaction, MODEL, X, y, rows=rows)
    marginal = effects("marginal", behavior, interaction, MODEL, X, y, rows=rows)
    expected = np.stack([OPERATORS[interaction](game, i) for i in range(3)], axis=-1)
    assert close(conditional - marginal, expected, 10.0)
    assert np.max(np.abs(expected)) > 0.01


@pytest.mark.parametrize("interaction", OPERATORS)
@pytest.mark.parametrize("behavior", [Local(), Sensitivity(), Risk("squared")], ids=repr)
def test_independent_columns_have_no_delta(behavior: Any, interaction: str) -> None:
    X = factorial(LEVELS)
    y = np.random.default_rng(0).normal(size=len(X))
    conditional = effects(EXACT, behavior, interaction, MODEL, X, y)
    assert close(conditional, effects("marginal", behavior, interaction, MODEL, X, y), 10.0)

"""Theorem 1: explanations that share masking and behavior differ by their interactions alone."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from granite_xai import Baseline, Conditional, Local, Marginal, Risk, Sensitivity
from paper.games import Array, close, effects, mobius, size_of, subsets, value_game

WEIGHTS = {"pure": lambda s: 0.0, "partial": lambda s: 1 / s, "full": lambda s: 1.0}
FULLER_FIRST = [("full", "pure"), ("partial", "pure"), ("full", "partial")]
MASKINGS = [
    Marginal(),
    Conditional(),
    Conditional("exact"),
    Baseline("median"),
    Baseline("mean"),
    Baseline((0.5, 1.0, -0.25)),
]
BEHAVIORS = [
    Local(),
    Sensitivity(),
    Risk("squared"),
    Risk("absolute"),
    Risk("squared", average="loss"),
    Risk("squared", pointwise=True),
]
REGION = np.arange(10, 55)


def model(X: Array) -> Array:
    """Interactions of every order."""
    return np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 0] * X[:, 1] * X[:, 2] + np.exp(X[:, 2])


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array]:
    draw = np.random.default_rng(3)
    first = draw.integers(-2, 3, size=70) / 2
    X = np.column_stack(
        [first, draw.integers(0, 3, size=70) + (first > 0), first + draw.normal(size=70)]
    )
    return X, model(X) + draw.normal(size=70)


@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_the_gap_of_two_interaction_operators_is_a_sum_of_pure_interactions(
    masking: Any, behavior: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    nu = value_game(masking, behavior, model, X, y, rows=REGION)
    delta = mobius(nu)
    phi = {key: effects(masking, behavior, key, model, X, y, rows=REGION) for key in WEIGHTS}
    for first, second in FULLER_FIRST:
        for i in range(3):
            parts = [S for S in delta if i in S and len(S) >= 2]
            weights = [WEIGHTS[first](len(S)) - WEIGHTS[second](len(S)) for S in parts]
            expected = sum(w * delta[S] for w, S in zip(weights, parts, strict=True))
            assert close(phi[first][..., i] - phi[second][..., i], expected, size_of(nu), 1e-11)


@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_each_operator_is_its_own_main_effect_plus_weighted_interactions(
    masking: Any, data: tuple[Array, Array]
) -> None:
    X, _ = data
    nu = value_game(masking, "local", model, X)
    delta = mobius(nu)
    for key, weight in WEIGHTS.items():
        phi = effects(masking, "local", key, model, X)
        for i in range(3):
            expected = delta[frozenset({i})] + sum(
                weight(len(S)) * delta[S] for S in delta if i in S and len(S) > 1
            )
            assert close(phi[:, i], expected, size_of(nu), 1e-11)


@pytest.mark.parametrize(
    "S", [S for S in subsets(range(4)) if len(S) >= 2], ids=lambda S: "".join(map(str, sorted(S)))
)
def test_the_weights_are_never_negative_when_the_first_operator_is_the_fuller_one(
    S: frozenset[int],
) -> None:
    """Against the baseline 0, a row of ones plays the unanimity game of S: its gap is the weight itself."""
    X = np.vstack([np.zeros(4), np.ones(4)])
    phi = {
        key: effects(Baseline((0.0,) * 4), "local", key, lambda X: X[:, sorted(S)].prod(axis=1), X)
        for key in WEIGHTS
    }
    for first, second in FULLER_FIRST:
        gap = phi[first][1] - phi[second][1]
        expected = WEIGHTS[first](len(S)) - WEIGHTS[second](len(S))
        assert expected >= 0
        assert close(gap, [expected if i in S else 0.0 for i in range(4)])


@pytest.mark.parametrize("seed", range(3))
def test_pure_partial_and_full_are_ordered_where_no_interaction_is_negative(seed: int) -> None:
    coefficients = dict(
        zip(subsets(range(4)), np.random.default_rng(seed).exponential(size=16), strict=True)
    )

    def positive(X: Array) -> Array:
        return sum(c * X[:, sorted(S)].prod(axis=1) for S, c in coefficients.items())

    X = np.random.default_rng(seed).integers(0, 3, size=(12, 4)).astype(float)
    pure, partial, full = (
        effects(Baseline((0.0,) * 4), "local", key, positive, X) for key in WEIGHTS
    )
    assert np.all(pure <= partial + 1e-9)
    assert np.all(partial <= full + 1e-9)
    assert np.max(full - pure) > 1


def test_the_game_returns_from_its_pure_interactions(data: tuple[Array, Array]) -> None:
    nu = value_game("marginal", "local", model, data[0])
    delta = mobius(nu)
    for T in nu:
        assert close(sum(delta[S] for S in subsets(T)), nu[T], size_of(nu))


def test_the_matrix_of_the_others_is_the_transpose() -> None:
    """``R^{-S}`` is ``R^S`` transposed, and its diagonal is the prediction."""
    X = np.random.default_rng(0).normal(size=(15, 3))
    nu = value_game("marginal", "local", model, X)
    D = frozenset(range(3))
    for S in map(frozenset, combinations(range(3), 2)):
        R = np.array(
            [
                [float(model(np.where([j in S for j in range(3)], a, b)[None])[0]) for b in X]
                for a in X
            ]
        )
        assert np.allclose(np.diag(R), model(X), rtol=1e-14)
        assert close(nu[S], R.mean(axis=1), size_of(nu))
        assert close(nu[D - S], R.mean(axis=0), size_of(nu))

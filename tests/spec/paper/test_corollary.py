"""The corollary: Theorems 1 and 3 for groups of columns and for interactions.

The paper's sum for joint effects runs over ``T with T and S not in {nothing, S, T}``, which leaves out the supersets of
S. The right set is every T that meets S without lying in it; both forms are computed here.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest

from granite_xai import (
    Baseline,
    Conditional,
    Individual,
    Interactions,
    Joint,
    Local,
    Marginal,
    Partial,
    Risk,
    Sensitivity,
)
from paper.games import (
    Array,
    Coalition,
    Lookup,
    Values,
    close,
    dependent,
    effects,
    mobius,
    shapley,
    size_of,
    subsets,
    value_game,
)
from strategies import paper

LEVELS = (2, 3, 2, 2)
MODEL = Lookup(LEVELS, seed=6)
GROUP, D = frozenset({0, 1}), frozenset(range(4))
MASKINGS = [Marginal(), Conditional("exact"), Conditional(), Baseline("median")]
BEHAVIORS = [Local(), Sensitivity(), Risk("squared")]

# Weight of Delta(T) in the index of a pair, as a function of |T|: 1 at |T| = 2, then ever less.
TAU = {
    "shapley-taylor": lambda t: 1 / comb(t, 2),
    "sii": lambda t: 1 / (t - 1),
    "k-sii": lambda t: 1 / (t - 1),
    "fsii": lambda t: 1.0 if t == 2 else 0.5 * comb(t - 1, 2) / comb(t + 1, 4),
    "banzhaf": lambda t: 0.5 ** (t - 2),
}


ROWS = dependent(LEVELS, 50, seed=8)
TARGET = MODEL(ROWS) + np.random.default_rng(8).normal(size=50)


@cache
def game(masking: Any, behavior: Any) -> Values:
    """The game on all rows; computed once for each masking and behavior."""
    return value_game(masking, behavior, MODEL, ROWS, TARGET)


@pytest.fixture
def data() -> tuple[Array, Array]:
    return ROWS, TARGET


def corrected(S: Coalition, T: Coalition) -> bool:
    """T meets S without lying in it."""
    return bool(T & S) and not T <= S


def printed(S: Coalition, T: Coalition) -> bool:
    """The paper's index set, which misses the supersets of S."""
    return T & S not in (frozenset(), S, T)


def players_in(T: Coalition) -> int:
    """Players that T touches when the group counts as one."""
    return bool(T & GROUP) + len(T - GROUP)


@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_joint_effects_differ_by_the_interactions_between_the_group_and_the_others(
    masking: Any, behavior: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    nu = game(masking, behavior)
    delta = mobius(nu)
    influence = Joint({"body": sorted(GROUP)}, features=["body"])
    pure, partial, full = (
        effects(masking, behavior, key, MODEL, X, y, influence=influence)[..., 0]
        for key in ("pure", "partial", "full")
    )
    parts = [T for T in delta if corrected(GROUP, T)]
    assert close(full - pure, sum(delta[T] for T in parts), size_of(nu), 1e-11)
    assert close(partial - pure, sum(delta[T] / players_in(T) for T in parts), size_of(nu), 1e-11)
    assert close(
        full - partial, sum(delta[T] * (1 - 1 / players_in(T)) for T in parts), size_of(nu), 1e-11
    )


def test_the_printed_index_set_misses_the_supersets_of_the_group(data: tuple[Array, Array]) -> None:
    X, _ = data
    delta = mobius(game(Marginal(), Local()))
    influence = Joint({"body": sorted(GROUP)}, features=["body"])
    full, pure = (
        effects("marginal", "local", key, MODEL, X, influence=influence)[:, 0]
        for key in ("full", "pure")
    )
    as_printed = sum(delta[T] for T in delta if printed(GROUP, T))
    supersets = sum(delta[T] for T in delta if GROUP < T)
    assert close(full - pure - as_printed, supersets, 10.0)
    assert np.mean(np.abs(supersets)) > 0.1, "the printed form is far off, not off by rounding"


def test_a_random_game_shows_the_printed_sum_to_be_wrong() -> None:
    """On any game, not only on those of a model."""
    draw = np.random.default_rng(0)
    nu: Values = {S: float(draw.normal()) for S in subsets(D)}
    delta = mobius(nu)
    gap = (nu[D] - nu[D - GROUP]) - (nu[GROUP] - nu[frozenset()])
    assert sum(delta[T] for T in delta if corrected(GROUP, T)) == pytest.approx(gap, abs=1e-12)
    assert abs(sum(delta[T] for T in delta if printed(GROUP, T)) - gap) > 0.1


@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
def test_pairs_differ_by_the_interactions_of_their_supersets_as_printed(
    masking: Any, behavior: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    nu = game(masking, behavior)
    delta = mobius(nu)
    pure, partial, full = (
        effects(masking, behavior, key, MODEL, X, y, influence=Interactions(2))
        for key in ("pure", "partial", "full")
    )
    for column, S in enumerate(map(frozenset, combinations(range(4), 2))):
        above = [T for T in delta if S < T]
        assert close(pure[..., column], delta[S], size_of(nu), 1e-11)
        assert close(
            full[..., column] - pure[..., column], sum(delta[T] for T in above), size_of(nu), 1e-11
        )
        shares = sum(delta[T] * TAU["shapley-taylor"](len(T)) for T in above)
        assert close(partial[..., column] - pure[..., column], shares, size_of(nu), 1e-11)


@pytest.mark.parametrize("index", TAU)
def test_every_interaction_index_weighs_the_supersets_of_a_pair(
    index: str, data: tuple[Array, Array]
) -> None:
    X, _ = data
    nu = game(Marginal(), Local())
    delta = mobius(nu)
    partial = effects("marginal", "local", Partial(index), MODEL, X, influence=Interactions(2))
    for column, S in enumerate(map(frozenset, combinations(range(4), 2))):
        expected = sum(delta[T] * TAU[index](len(T)) for T in delta if S <= T)
        assert close(partial[:, column], expected, size_of(nu), 1e-11)


def test_triples_differ_by_the_interaction_of_all_four(data: tuple[Array, Array]) -> None:
    X, _ = data
    delta = mobius(game(Marginal(), Local()))
    full, pure = (
        effects("marginal", "local", key, MODEL, X, influence=Interactions(3))
        for key in ("full", "pure")
    )
    for column in range(4):
        assert close(full[:, column] - pure[:, column], delta[D], 20.0, 1e-11)


def test_pairs_of_three_columns_agree_up_to_the_one_interaction_of_order_three() -> None:
    """With three columns ``full - pure`` is the same for every pair: three times its mean square is R."""
    levels = (3, 2, 3)
    X, model = dependent(levels, 60, seed=1), Lookup(levels, seed=1)
    triple = mobius(value_game("marginal", "local", model, X))[frozenset(range(3))]
    fitted = paper(model, "ice-pdp", influence="interaction", max_depth=0).fit(X)
    assert fitted.disagreement_ == pytest.approx(3 * np.mean(triple**2), rel=1e-10)


@pytest.mark.parametrize("interaction", ["pure", "partial", "full"])
@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
@pytest.mark.parametrize(
    "influence", [Joint({"g": [0, 1]}), Interactions(2)], ids=["joint", "pairs"]
)
def test_theorem_3_holds_for_groups_and_pairs(
    influence: Any, behavior: Any, interaction: str, data: tuple[Array, Array]
) -> None:
    """The gap of two maskings is the explanation of the difference of their games, because operators are additive."""
    X, y = data
    exact = Conditional("exact")
    games = [game(masking, behavior) for masking in (exact, Marginal())]
    delta: Values = {T: games[0][T] - games[1][T] for T in games[0]}
    gap = np.subtract(
        *(
            effects(masking, behavior, interaction, MODEL, X, y, influence=influence)
            for masking in (exact, "marginal")
        )
    )
    expected = explained(delta, influence, interaction)
    assert close(gap, np.stack(expected, axis=-1), 20.0, 1e-11)
    assert np.max(np.abs(gap)) > 1e-3


def explained(nu: Values, influence: Any, interaction: str) -> list[Any]:
    """Joint effects of ({0, 1}, 2, 3) or of all pairs, from the definitions."""
    if isinstance(influence, Joint):
        blocks = [GROUP, frozenset({2}), frozenset({3})]
        merged = {
            part: nu[frozenset().union(*(blocks[i] for i in part))]
            for part in subsets(range(len(blocks)))
        }
        last = frozenset(range(3))
        chosen = {
            "pure": lambda i: merged[frozenset({i})] - merged[frozenset()],
            "full": lambda i: merged[last] - merged[last - {i}],
            "partial": lambda i: shapley(merged, i),
        }[interaction]
        return [chosen(i) for i in range(3)]
    delta = mobius(nu)
    weight = {
        "pure": lambda t: float(t == 2),
        "full": lambda t: 1.0,
        "partial": TAU["shapley-taylor"],
    }[interaction]
    return [
        sum(weight(len(T)) * delta[T] for T in delta if S <= T)
        for S in map(frozenset, combinations(range(4), 2))
    ]


@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
@pytest.mark.parametrize("interaction", ["pure", "partial", "full"])
@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
def test_groups_of_one_column_are_individual_effects(
    behavior: Any, interaction: str, masking: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    singletons = Joint({f"only {i}": [i] for i in range(4)})
    ours = effects(masking, behavior, interaction, MODEL, X, y, influence=singletons)
    theirs = effects(masking, behavior, interaction, MODEL, X, y, influence=Individual())
    assert close(ours, theirs, 10.0)


@pytest.mark.parametrize("masking", MASKINGS, ids=repr)
@pytest.mark.parametrize("behavior", BEHAVIORS, ids=repr)
def test_a_group_of_all_columns_leaves_no_disagreement(
    behavior: Any, masking: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    everyone = Joint({"everyone": list(range(4))})
    pure, partial, full = (
        effects(masking, behavior, key, MODEL, X, y, influence=everyone)
        for key in ("pure", "partial", "full")
    )
    assert close(pure, full, 10.0)
    assert close(partial, full, 10.0)

"""Interaction operators: effects as linear combinations of the values of a game."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from granite_xai.algebra.interaction import (
    INDICES,
    Additive,
    Full,
    Partial,
    Pure,
    Whole,
    derivative,
    weighted_sum,
)
from granite_xai.base.errors import InputError

PLAYERS = [frozenset({0}), frozenset({1, 3}), frozenset({2}), frozenset({4})]
EVERYTHING = frozenset(range(5))


def game():
    """A number for each coalition of players."""
    generator = np.random.default_rng(0)
    coalitions = [
        frozenset().union(*members)
        for size in range(len(PLAYERS) + 1)
        for members in combinations(PLAYERS, size)
    ]
    return dict(zip(coalitions, generator.normal(size=len(coalitions)), strict=True))


NU = game()


def effect(terms):
    return sum(coefficient * NU[term] for term, coefficient in terms.items())


def test_terms_that_cancel_are_left_out():
    terms = weighted_sum([(2.0, {"a": 1.0, "b": 1.0}), (-1.0, {"a": 2.0, "c": 3.0})])
    assert terms == {"b": 2.0, "c": -3.0}


def test_the_derivative_of_a_pair_adds_both_and_takes_each():
    pair = PLAYERS[:2]
    assert derivative(pair, frozenset({4})) == {
        frozenset({4}): 1.0,
        frozenset({0, 4}): -1.0,
        frozenset({1, 3, 4}): -1.0,
        frozenset({0, 1, 3, 4}): 1.0,
    }


def test_pure_full_and_whole_effects_are_differences_of_two_values_or_one_value():
    group = PLAYERS[1]
    assert effect(Pure().terms(PLAYERS, [group])) == NU[group] - NU[frozenset()]
    assert effect(Full().terms(PLAYERS, [group])) == NU[EVERYTHING] - NU[EVERYTHING - group]
    assert effect(Whole().terms(PLAYERS, ())) == NU[EVERYTHING]


@pytest.mark.parametrize("index", ["shapley-taylor", "sii", "k-sii", "fsii"])
@pytest.mark.parametrize("player", range(4))
def test_one_player_gets_its_mean_gain_over_all_orders_of_arrival(index, player):
    gains = []
    for order in permutations(PLAYERS):
        before = frozenset().union(*order[: order.index(PLAYERS[player])])
        gains.append(NU[before | PLAYERS[player]] - NU[before])
    terms = Partial(index).terms(PLAYERS, [PLAYERS[player]])
    assert effect(terms) == pytest.approx(np.mean(gains), abs=1e-12)


def test_banzhaf_weighs_all_coalitions_of_others_alike():
    others = PLAYERS[1:]
    gains = []
    for size in range(4):
        for members in combinations(others, size):
            present = frozenset().union(*members)
            gains.append(NU[present | PLAYERS[0]] - NU[present])
    terms = Partial("banzhaf").terms(PLAYERS, [PLAYERS[0]])
    assert effect(terms) == pytest.approx(np.mean(gains), abs=1e-12)
    assert not Partial("banzhaf").is_shapley


@pytest.mark.parametrize("members", [PLAYERS[:1], PLAYERS[:2], PLAYERS[1:]], ids=len)
def test_sampled_effects_have_the_exact_effect_as_their_mean_over_all_orders(members):
    partial = Partial("shapley-taylor")
    sampled = [effect(partial.sampled(order, members)) for order in permutations(PLAYERS)]
    exact = effect(partial.terms(PLAYERS, members))
    assert np.mean(sampled) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("index", sorted(INDICES))
def test_all_indices_of_all_players_are_their_one_derivative(index):
    terms = Partial(index).terms(PLAYERS[:2], PLAYERS[:2])
    assert terms == pytest.approx(derivative(PLAYERS[:2], frozenset()))


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_surrogate_of_the_top_order_is_the_model(order):
    terms = Additive(order).terms(PLAYERS, ())
    effects = [
        effect(derivative(members, frozenset()))
        for size in range(order + 1)
        for members in combinations(PLAYERS, size)
    ]
    assert effect(terms) == pytest.approx(sum(effects), abs=1e-12)
    if order == len(PLAYERS):
        assert terms == {EVERYTHING: 1.0}


def test_P01_an_unknown_index_is_refused():
    with pytest.raises(InputError, match="shapley-taylor") as refused:
        Partial("shap")
    assert refused.value.code == "P01"

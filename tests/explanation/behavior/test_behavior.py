"""Games: values of coalitions in the regions of splits, and their linear combinations."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.explanation.behavior import Local, Sensitivity
from granite_xai.explanation.behavior.behavior import Game, read_twice
from granite_xai.explanation.masking import Marginal

from explanation.evaluated import effect_on, evaluations_of, product
from granite_xai.tables import read_table

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0], [4.0, 5.0]])
INSIDE = np.array([[True, True, False, False, False], [True, False, True, False, True]])
NOTHING = frozenset[int]()
FIRST = frozenset({0})
BOTH = frozenset({0, 1})


def game_of(behavior):
    table = read_table(X, missing="error")
    effect = effect_on(table, "marginal", "sensitivity", "partial")
    evaluations = evaluations_of(product, table, [effect])
    return Game.of(behavior, Marginal(), evaluations, Splits.of(INSIDE, np.ones(5)))


def masked_prediction(row, members):
    """``F_{x0}`` of a row: its first value, with the second of all rows of its side."""
    return np.mean([X[row, 0] * X[m, 1] for m in members])


def sides():
    for k, inside in enumerate(INSIDE):
        for side in (0, 1):
            yield k, side, np.flatnonzero(inside == (side == 0))


def test_a_local_value_is_that_of_each_row_in_its_own_side():
    game = game_of(Local())
    values = game.values({FIRST: 1.0}) + game.evaluations.offset
    for k, _, members in sides():
        for row in members:
            assert values[k, row] == pytest.approx(masked_prediction(row, members), abs=1e-12)


def test_a_regional_value_is_one_for_each_side():
    values = game_of(Sensitivity()).values({FIRST: 1.0})
    for k, side, members in sides():
        predictions = [masked_prediction(row, members) for row in members]
        assert values[k, side] == pytest.approx(np.var(predictions), abs=1e-12)


@pytest.mark.parametrize("behavior", [Local(), Sensitivity()], ids=["local", "sensitivity"])
@pytest.mark.parametrize("kept", [(), (FIRST,), (NOTHING, FIRST, BOTH)], ids=["none", "one", "all"])
def test_a_combination_is_the_same_whichever_values_are_kept(behavior, kept):
    game = game_of(behavior)
    terms = {NOTHING: 0.5, FIRST: -2.0, BOTH: 3.0}
    expected = sum(value * game.values({term: 1.0}) for term, value in terms.items())
    game.keep_values(kept)
    np.testing.assert_allclose(game.values(terms), expected, atol=1e-12)


def test_predictions_and_their_mean_are_not_kept_where_values_are_predictions():
    game = game_of(Local())
    game.keep_values([NOTHING, FIRST, BOTH])
    assert set(game.kept_values) == {FIRST}


def test_no_terms_are_zero():
    assert game_of(Local()).values({}).tolist() == np.zeros((2, 5)).tolist()
    assert game_of(Sensitivity()).values({}).tolist() == np.zeros((2, 2)).tolist()


def test_a_term_is_read_twice_where_two_combinations_have_it():
    combinations = [{NOTHING: 1.0, FIRST: 1.0}, {FIRST: 2.0}, {BOTH: 1.0}]
    assert read_twice(combinations) == {FIRST}

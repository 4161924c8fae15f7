"""Influence: players and compared sets of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.algebra.influence import Individual, Interactions, Joint
from granite_xai.base.errors import DataWarning, InputError
from granite_xai.tables import read_table

TABLE = read_table(
    pd.DataFrame(np.arange(20.0).reshape(5, 4), columns=["hr", "temp", "wind", "day"]),
    missing="error",
)


def sets(*positions):
    return tuple(tuple(frozenset({i}) for i in members) for members in positions)


def test_columns_are_players_and_sets():
    layout = Individual().layout(TABLE)
    assert layout.players == tuple(frozenset({i}) for i in range(4))
    assert layout.sets == sets((0,), (1,), (2,), (3,))
    assert layout.labels == (("hr",), ("temp",), ("wind",), ("day",))
    assert layout.order == 1


def test_chosen_columns_are_compared_in_their_order_each_once():
    layout = Individual(["wind", 0, "wind"]).layout(TABLE)
    assert layout.sets == sets((2,), (0,))
    assert len(layout.players) == 4


def test_one_label_is_a_choice_of_one():
    assert Individual("wind").features == ("wind",)


def test_what_passes_through_is_a_player_that_has_no_effect():
    X = pd.DataFrame({"a": range(5), "note": list("vwxyz"), "b": range(5)})
    with pytest.warns(DataWarning, match="D11"):
        table = read_table(X, missing="error", requested=(), used=("a", "b"))
    layout = Individual().layout(table)
    assert layout.players == (frozenset({0}), frozenset({2}), frozenset({1}))
    assert layout.explained == (frozenset({0}), frozenset({2}))
    assert layout.passing == frozenset({1})


def test_groups_and_the_other_columns_are_players():
    layout = Joint({"weather": ["wind", "temp"]}).layout(TABLE)
    assert layout.players == (frozenset({1, 2}), frozenset({0}), frozenset({3}))
    assert layout.labels == (("weather",), ("hr",), ("day",))
    assert layout.sets == tuple((player,) for player in layout.players)


def test_chosen_players_are_compared():
    layout = Joint({"weather": ["wind", "temp"]}, features=["day", "weather"]).layout(TABLE)
    assert layout.labels == (("day",), ("weather",))
    assert layout.sets == ((frozenset({3}),), (frozenset({1, 2}),))


def test_the_name_of_a_group_wins_over_that_of_a_column():
    layout = Joint({"hr": ["wind"]}, features=["hr"]).layout(TABLE)
    assert layout.sets == ((frozenset({2}),),)
    assert frozenset({0}) in layout.players


@pytest.mark.parametrize(
    ("groups", "features", "words"),
    [
        ({"a": ["hr"], "b": ["temp", "hr"]}, None, "is in group 'a' and in group 'b'"),
        ({"a": []}, None, "has no features"),
        ({"a": ["rain"]}, None, "which X does not have"),
        ({"a": ["hr", "temp"]}, ["hr"], "belongs to a group"),
    ],
    ids=["overlap", "empty", "unknown", "member"],
)
def test_D41_groups_that_do_not_fit_the_table_are_refused(groups, features, words):
    with pytest.raises(InputError, match=words) as refused:
        Joint(groups, features=features).layout(TABLE)
    assert refused.value.code == "D41"


@pytest.mark.parametrize("groups", [{}, ["hr"], "hr", ("hr", "temp")], ids=str)
def test_D41_what_is_no_mapping_of_groups_is_refused(groups):
    with pytest.raises(InputError) as refused:
        Joint(groups)
    assert refused.value.code == "D41"


def test_all_sets_of_an_order_are_compared():
    layout = Interactions(order=3).layout(TABLE)
    assert layout.sets == sets((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))
    assert layout.order == 3


def test_sets_are_sorted_and_compared_once():
    layout = Interactions(sets=[("wind", "hr"), (0, 2), ("temp", "day")]).layout(TABLE)
    assert layout.sets == sets((0, 2), (1, 3))
    assert layout.labels == (("hr", "wind"), ("temp", "day"))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"order": 1}, "P02"),
        ({"order": True}, "P02"),
        ({"order": 5}, "P03"),
        ({"sets": ["hr", "temp"]}, "P04"),
        ({"sets": []}, "P04"),
        ({"sets": [("hr", "hr")]}, "P04"),
        ({"sets": [("hr", "temp", "day")]}, "P04"),
    ],
    ids=str,
)
def test_sets_that_are_none_of_the_order_are_refused(options, code):
    with pytest.raises(InputError) as refused:
        Interactions(**options).layout(TABLE)
    assert refused.value.code == code


def test_P04_no_column_is_no_choice():
    with pytest.raises(InputError, match="features is empty") as refused:
        Individual([]).layout(TABLE)
    assert refused.value.code == "P04"

"""Sets of features."""

from granite_xai.base.typing import subsets, union, without

A, B, C = frozenset([0]), frozenset([1, 3]), frozenset([2])


def test_the_union_of_players_is_all_their_columns():
    assert union([A, B]) == {0, 1, 3}
    assert union([]) == frozenset()


def test_every_subset_comes_once_and_small_ones_first():
    assert list(subsets([A, B, C])) == [
        (),
        (A,),
        (B,),
        (C,),
        (A, B),
        (A, C),
        (B, C),
        (A, B, C),
    ]


def test_players_without_members_keep_their_order():
    assert without([C, A, B], [A]) == (C, B)

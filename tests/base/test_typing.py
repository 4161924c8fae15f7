"""Terms: different ones are different keys of one linear combination, also after a pickle."""

import pickle
from typing import get_args

import numpy as np
import pytest

from granite_xai.base.typing import (
    AleColumn,
    AleDifference,
    BoolArray,
    FloatArray,
    IntArray,
    JansenTotal,
    PairwiseShapley,
    Term,
    subsets,
    union,
    without,
)

FIRST = frozenset({0})
SECOND = frozenset({1})
TERMS = [
    frozenset(),
    FIRST,
    JansenTotal(FIRST),
    JansenTotal(SECOND),
    PairwiseShapley("shapley", (FIRST,)),
    PairwiseShapley("shapley", (FIRST,), (FIRST, SECOND)),
    AleDifference(AleColumn(0), averaged=True),
    AleDifference(AleColumn(0), averaged=False),
    AleDifference(AleColumn(0, intervals=20), averaged=True),
    AleDifference(AleColumn(1), averaged=True),
]


def test_every_kind_of_term_is_a_key_of_its_own():
    """Named tuples of equal items are equal, whatever their classes: no two kinds may have them."""
    combination = {term: float(place) for place, term in enumerate(TERMS)}
    assert len(combination) == len(TERMS)
    assert {type(term) for term in TERMS} == set(get_args(Term)) - {frozenset[int]} | {frozenset}
    assert combination[AleDifference(AleColumn(0, intervals=10), averaged=True)] == 6.0


@pytest.mark.parametrize("term", TERMS)
def test_a_term_comes_back_from_a_pickle(term):
    back = pickle.loads(pickle.dumps(term))
    assert type(back) is type(term)
    assert back == term
    assert hash(back) == hash(term)


@pytest.mark.parametrize(
    ("array", "number"), [(FloatArray, np.float64), (IntArray, np.intp), (BoolArray, np.bool_)]
)
def test_arrays_hold_the_numbers_that_files_read_from_their_names(array, number):
    assert get_args(get_args(array)[-1]) == (number,)


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

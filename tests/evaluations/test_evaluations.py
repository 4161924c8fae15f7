"""The evaluations of a node, and of its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins
from granite_xai.evaluations.vectors import Vectors

from granite_xai.base.typing import PairwiseShapley
from granite_xai.evaluations.evaluations import Evaluations, GridColumn

CHANCE = np.random.default_rng(9)
N = 12
ALL, S = frozenset({0, 1, 2}), frozenset({1})
CODES = np.array([0, 1] * 6)
VALUES = CHANCE.normal(size=(2, N))


@pytest.fixture
def evaluations():
    grid = GridColumn(
        predictions=np.arange(N) * 1.0,
        ends=CHANCE.normal(size=(2, N)),
        fine=None,
        bins={("masking", S): Bins(CODES)},
        against={("masking", S): CHANCE.normal(size=(3, N))},
    )
    return Evaluations(
        predictions=CHANCE.normal(size=N),
        weights=CHANCE.uniform(1, 2, N),
        offset=0.5,
        y=np.arange(N) * 1.0,
        stored_as={S: (S, True), ALL - S: (S, False)},
        matrices={S: Matrix(values=VALUES, codes=CODES)},
        bins={("masking", S): Bins(np.arange(N))},
        against={("masking", S): np.zeros((3, N))},
        attributions={},
        errors={},
        ale={},
        everything=ALL,
        vectors=(Vectors(values=CHANCE.normal(size=(N, 2))),),
        snapped={S: grid},
    )


def test_a_set_and_its_complement_are_read_from_one_matrix(evaluations):
    matrix, shown = evaluations.stored(S)
    assert shown
    np.testing.assert_array_equal(matrix.values, VALUES)
    assert not evaluations.stored(ALL - S)[1]


@pytest.mark.parametrize("block", [1, 10**6])
def test_the_matrix_of_a_complement_is_turned_round(evaluations, block):
    turned = replace(evaluations, block=block).matrix(ALL - S)
    for n in range(N):
        for m in range(N):
            assert turned.values[turned.codes[n], m] == VALUES[CODES[m], n]
    assert evaluations.matrix(S) is evaluations.matrices[S]


def test_some_rows_keep_what_is_known_of_them(evaluations):
    rows = np.array([7, 0, 3, 4, 9, 2, 1, 11])
    part = evaluations.restrict(rows)
    assert part.n_rows == len(rows)
    np.testing.assert_array_equal(part.predictions, evaluations.predictions[rows])
    np.testing.assert_array_equal(part.target, rows)
    matrix = part.matrix(S)
    np.testing.assert_array_equal(matrix.values[matrix.codes], VALUES[CODES[rows]][:, rows])
    np.testing.assert_array_equal(part.vectors[0].values, evaluations.vectors[0].values[rows])
    np.testing.assert_array_equal(part.snapped[S].predictions, rows)
    assert part.offset == 0.5


def test_on_its_grid_a_column_is_snapped_in_every_term(evaluations):
    on_grid = evaluations.on_grid(S)
    np.testing.assert_array_equal(on_grid.predictions, np.arange(N))
    assert on_grid.stored(ALL - S)[1] is False
    assert on_grid.bins["masking", S].numbers.tolist() == CODES.tolist()
    assert on_grid.against["masking", S].any()
    other = frozenset({0})
    assert evaluations.on_grid(other) is evaluations


def test_both_sides_of_a_cut_are_the_rows_of_each(evaluations):
    is_left = np.arange(N) < 5
    left = evaluations.divide(is_left, column=0, left_side=True)
    right = evaluations.divide(is_left, column=0, left_side=False)
    np.testing.assert_array_equal(left.target, np.arange(5))
    np.testing.assert_array_equal(right.target, np.arange(5, N))


def test_vectors_along_the_cut_column_are_cut_with_it(evaluations):
    column_values = np.arange(N) * 1.0
    along = Vectors(
        values=np.tile([1.0, 3.0], (N, 1)),
        column=0,
        grid=np.array([2.0, 8.0]),
        column_values=column_values,
    )
    divided = replace(evaluations, vectors=(along,))
    is_left = column_values < 5
    for left_side, grid in ((True, [2.0]), (False, [8.0])):
        side = divided.divide(is_left, column=0, left_side=left_side)
        assert side.vectors[0].grid.tolist() == grid


def test_outputs_are_parted(evaluations):
    other = replace(evaluations, offset=2.0)
    both = replace(evaluations, others=(other,))
    assert [output.offset for output in both.outputs] == [0.5, 2.0]
    assert all(not output.others for output in both.outputs)
    assert evaluations.outputs == (evaluations,)


def test_y_is_refused_where_there_is_none(evaluations):
    with pytest.raises(ValueError, match="hold no y"):
        _ = replace(evaluations, y=None).target


def test_attributions_are_shown(evaluations):
    term = PairwiseShapley("shapley", (S,))
    matrix = Matrix(values=np.eye(N), codes=np.arange(N))
    assert replace(evaluations, attributions={term: matrix}).stored(term) == (matrix, True)

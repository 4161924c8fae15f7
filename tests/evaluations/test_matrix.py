"""The matrix E_S of all rows and of some."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.matrix import Matrix, cut_out, dense_numbers

from granite_xai.evaluations import matrix as module

CHANCE = np.random.default_rng(5)
CODES = np.array([2, 0, 2, 1, 0, 2, 3, 3, 0, 1, 2, 0, 0, 2, 2, 2, 0, 2, 0, 2])
FULL = Matrix(values=CHANCE.normal(size=(5, 20)), codes=CODES, levels=np.arange(5) * 10)


def hybrid(matrix, n, m):
    """The prediction with the value of row n and the other columns of row m."""
    return matrix.values[matrix.codes[n], matrix.pairs.columns[m]]


@pytest.mark.parametrize("rows", [[0, 2, 5, 1, 4], list(range(20)), [6, 3], [7] * 3 + [1]])
def test_some_rows_read_the_same_predictions(rows):
    """Cut out where there are few values, otherwise read through the columns."""
    part = FULL.restrict(np.array(rows))
    for n, row in enumerate(rows):
        for m, reference in enumerate(rows):
            assert hybrid(part, n, m) == FULL.values[CODES[row], reference]


def test_few_values_are_cut_out_and_many_are_not():
    few = FULL.restrict(np.flatnonzero(np.isin(CODES, (0, 2))))
    assert few.column_of_row is None
    assert few.values.shape == (2, 16)
    assert few.levels.tolist() == [0, 20]
    many = FULL.restrict(np.array([0, 1, 3, 6]))
    assert many.values is FULL.values
    assert many.has_many_values
    assert many.n_values == 4


def test_a_compact_matrix_holds_its_own_rows_alone():
    part = FULL.restrict(np.array([0, 1, 3, 6])).compact()
    np.testing.assert_array_equal(part.values, FULL.values[np.ix_([0, 1, 2, 3], [0, 1, 3, 6])])
    assert part.codes.tolist() == [2, 0, 1, 3]


def test_values_that_occur_are_told_with_their_first_rows():
    lines, first_rows, numbers = FULL.present
    assert lines.tolist() == [0, 1, 2, 3]  # no row has the fifth
    assert first_rows.tolist() == [1, 3, 0, 6]
    np.testing.assert_array_equal(lines[numbers], CODES)


def test_equal_neighbouring_lines_are_joined_and_others_are_not():
    lines = CHANCE.normal(size=(3, 12))
    almost = lines[1].copy()
    almost[-1] += 1.0  # differs beyond the cells that are compared first
    values = np.stack([lines[0], lines[0], lines[1], almost, lines[0]])
    matrix = Matrix(values=values, codes=np.array([0, 1, 2, 3, 4] * 2 + [0, 1]))
    joined = matrix.join_equal_lines()
    assert len(joined.values) == 4  # the last line equals the first, but is no neighbour
    np.testing.assert_array_equal(joined.values[joined.codes], values[matrix.codes])
    assert FULL.join_equal_lines() is FULL


@pytest.mark.parametrize("long_line", [1, 512])
def test_lines_and_columns_are_cut_out_in_any_order(long_line, monkeypatch):
    monkeypatch.setattr(module, "LONG_LINE", long_line)
    lines, columns = np.array([3, 0]), np.array([7, 7, 1])
    np.testing.assert_array_equal(
        cut_out(FULL.values, lines, columns), FULL.values[lines][:, columns]
    )


def test_numbers_without_gaps():
    occurring, numbers = dense_numbers(np.array([5, 2, 5]), 7)
    assert occurring.tolist() == [2, 5]
    assert numbers.tolist() == [1, 0, 1]

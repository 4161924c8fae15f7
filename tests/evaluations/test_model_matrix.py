"""E_S from the model's answers to recombined rows."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.model_matrix import (
    ANSWER_BYTES,
    INDEX_BYTES,
    MOST_ROWS,
    affordable_rows,
    evaluate_matrix,
)

from granite_xai.models import as_predictor
from granite_xai.models.model import CELL_BYTES
from granite_xai.tables import read_table

X = np.random.default_rng(2).normal(size=(7, 3))
DONORS = np.array([4, 0, 6])


def model(Z):
    return Z[:, 0] * Z[:, 1] + 10 * Z[:, 2]


@pytest.mark.parametrize("columns", [{0}, {1, 2}, {0, 1, 2}])
@pytest.mark.parametrize("block", [1, 600, 10**6])
def test_every_pair_is_the_prediction_of_one_recombined_row(columns, block):
    """In one call, line by line, or pair by pair."""
    predictor = as_predictor(model)
    table = read_table(X, missing="error")
    values = DistinctValues(codes=np.zeros(7, dtype=np.intp), representatives=DONORS)
    found = evaluate_matrix(predictor, table, frozenset(columns), values, block)
    for u, donor in enumerate(DONORS):
        mixed = X.copy()
        mixed[:, sorted(columns)] = X[donor, sorted(columns)]
        np.testing.assert_array_equal(found[u], model(mixed))
    assert predictor.usage.rows == 21  # each pair is sent once


def test_rows_are_affordable_by_their_bytes():
    row = CELL_BYTES * 3 + ANSWER_BYTES
    assert affordable_rows(100, 3, 50 * (INDEX_BYTES + row)) == 50  # less than a batch
    assert affordable_rows(100, 3, 100 * (INDEX_BYTES + row)) == 100
    assert affordable_rows(100, 3, 100 * row + 250 * INDEX_BYTES) == 250  # indices of 2.5 batches
    assert affordable_rows(100, 3, 1) == 1
    assert affordable_rows(100, 3, 2**60) == MOST_ROWS

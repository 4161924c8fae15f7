"""Values at which the model is asked, each given by a row that carries it."""

from __future__ import annotations

import numpy as np
from granite_xai.evaluations.distinct_values import DistinctValues, lowest_and_highest

from granite_xai.tables import read_table


def test_there_are_as_many_values_as_representatives():
    values = DistinctValues(codes=np.array([0, 1, 0]), representatives=np.array([2, 1]))
    assert len(values) == 2


def test_the_ends_of_a_column_are_carried_by_rows():
    X = np.array([[3.0, 0.0], [np.nan, 1.0], [-2.0, 2.0], [7.0, 3.0], [-2.0, 4.0]])
    ends = lowest_and_highest(read_table(X, missing="allow"), 0)
    assert X[ends.representatives, 0].tolist() == [-2.0, 7.0]
    assert len(ends.codes) == 0

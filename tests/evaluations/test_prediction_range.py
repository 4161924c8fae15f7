"""Sizes of predictions."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.evaluations.prediction_range import EvaluationRange, require_at_most

from granite_xai.base.errors import InputError
from granite_xai.evaluations import prediction_range as module


@pytest.mark.parametrize("cells", [2, 100])
def test_the_largest_size_and_the_precision_are_seen_part_by_part(cells, monkeypatch):
    monkeypatch.setattr(module, "CELLS_AT_ONCE", cells)
    values = np.array([[0.5, -3.0], [1.0, 2.0], [0.25, 0.0]])
    seen = EvaluationRange()
    passed_on = seen.note_values(values)
    np.testing.assert_array_equal(np.asarray(passed_on), values)
    assert (seen.scale, seen.float32, seen.integers) == (3.0, True, False)
    assert seen.single_precision
    last_differs = np.array([1.0, 2.0, 3.0, 0.1])
    seen.note_values(last_differs)
    assert not seen.single_precision


def test_whole_numbers_are_not_taken_for_single_precision():
    seen = EvaluationRange()
    seen.note_values(np.array([1.0, 2.0]))
    assert seen.integers
    assert not seen.single_precision


def test_N06_predictions_too_large_to_square_twice_are_refused():
    EvaluationRange().note_values(np.array([1e70]))
    with pytest.raises(InputError, match="predictions reach 1.1e\\+70") as caught:
        EvaluationRange().note_values(np.array([0.0, -1.1e70]))
    assert caught.value.code == "N06"
    with pytest.raises(InputError, match="y reaches"):
        require_at_most("y reaches", 1e71)


def test_N06_predictions_that_are_all_tiny_are_refused_and_zeros_are_not():
    tiny = EvaluationRange(scale=1e-71)
    with pytest.raises(InputError, match="no prediction is larger than 1e-71"):
        tiny.require_sizeable()
    EvaluationRange(scale=0.0).require_sizeable()
    EvaluationRange(scale=1e-71, others=(EvaluationRange(scale=1.0),)).require_sizeable()


def test_the_largest_change_of_an_answer_is_kept():
    seen = EvaluationRange()
    seen.note_change(np.array([1.0, 2.0]), np.array([1.0, 1.5]))
    seen.note_change(np.array([1.0]), np.array([1.1]))
    assert seen.largest_change == 0.5

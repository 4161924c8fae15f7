"""Which target the behaviors of some questions need."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.behavior import Local, Risk, Sensitivity
from granite_xai.explanation.behavior.target import target_for

from granite_xai.base.errors import InputError
from granite_xai.models import as_predictor
from granite_xai.tables import read_table

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0.5, -1.0, 2.0, 0.0, 3.0, 1.5])
TABLE = read_table(X, missing="error")
PREDICTOR = as_predictor(lambda X: X[:, 0])


def test_a_target_is_read_only_where_a_behavior_compares_with_it():
    assert target_for(Y, TABLE, PREDICTOR, Local(), Sensitivity()) is None
    np.testing.assert_array_equal(target_for(Y, TABLE, PREDICTOR, Local(), Risk("squared")), Y)


def test_T01_a_missing_target_is_told_by_the_label_of_the_first_question_that_needs_it():
    labels = ["curves", "losses", "further losses"]
    with pytest.raises(InputError, match="losses needs y") as refused:
        target_for(None, TABLE, PREDICTOR, Local(), Risk(), Risk("absolute"), labels=labels)
    assert refused.value.code == "T01"
    assert "further" not in str(refused.value)


def test_a_loss_of_probabilities_is_refused_also_behind_other_questions():
    with pytest.raises(InputError, match="log"):
        target_for(Y, TABLE, PREDICTOR, Risk("squared"), Risk("log"))

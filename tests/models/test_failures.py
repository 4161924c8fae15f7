"""Models that raise: the smallest set of rows is named, with the cause."""

from __future__ import annotations

import math

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from granite_xai.base.errors import ModelError
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from models.border import X, refused, table


def raising(poisoned):
    def model(X):
        if poisoned(X):
            raise KeyError("no such level")
        return X[:, 0]

    return model


def test_M07_the_smallest_failing_set_is_one_row_and_the_cause_is_chained():
    data = table(np.arange(2000.0).reshape(1000, 2))
    F = as_predictor(raising(lambda X: (X[:, 0] == 2 * 617).any()))
    error = refused("M07", F.on_rows, data)
    assert error.rows == (617,)
    assert isinstance(error.__cause__, KeyError)
    assert "KeyError" in str(error)
    assert "no such level" in str(error)
    assert F.usage.calls <= 1 + 2 * math.ceil(math.log2(1000))


def test_M07_a_failure_of_recombined_rows_alone_is_named_as_recombination():
    data = table(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    F = as_predictor(raising(lambda X: (X == 1).all(axis=1).any()))
    assert np.array_equal(F.on_rows(data), [0.0, 1.0, 0.0])
    base, donor = (grid.ravel() for grid in np.mgrid[0:3, 0:3])
    error = refused("M07", F.recombined, data, base, data, donor, [1])
    assert "row 2 on column 'x1', row 1 elsewhere" in str(error)
    assert (error.columns, error.rows) == (("x1",), (1,))


def test_M07_rows_that_fail_only_together_are_named_together():
    data = table(np.arange(16.0).reshape(8, 2))
    F = as_predictor(raising(lambda X: {0.0, 14.0} <= set(X[:, 0])))
    assert "8 rows" in str(refused("M07", F.on_rows, data))


def test_M07_a_failure_on_a_given_frame_is_chained_too():
    error = refused("M07", as_predictor(raising(lambda X: True)), X)
    assert isinstance(error.__cause__, KeyError)


def test_M07_interrupts_are_not_failures_of_the_model():
    def interrupted(X):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        as_predictor(interrupted)(X)


def test_M07_lack_of_memory_is_not_searched_for():
    def greedy(X):
        raise MemoryError

    F = as_predictor(greedy)
    assert "batch_size" in refused("M07", F.on_rows, table(X)).hint
    assert F.usage.calls == 1


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
        xgboost.XGBRegressor(),
        lightgbm.LGBMClassifier(),
    ],
)
def test_M20_models_that_are_not_fitted_say_so(model):
    F = as_predictor(model)
    error = refused("M20", F.on_rows, table(X))
    assert isinstance(error.__cause__, NotFittedError)
    assert F.usage.calls == 1


def test_M07_a_failure_at_random_is_blamed_on_no_row():
    calls = []

    def moody(X):
        calls.append(len(X))
        if len(calls) == 1:
            raise RuntimeError("busy")
        return X[:, 0]

    table = read_table(np.arange(8.0)[:, None], missing="error")
    with pytest.raises(ModelError, match="M07: .* asked again, it did not: it fails at random"):
        as_predictor(moody).on_rows(table)

"""The model is called in batches, counted, checked, and a row is named where it fails."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import time
import tracemalloc

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import granite_xai as gx
from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import DEFAULT_BATCH, as_predictor
from granite_xai.models.model import SentRows
from granite_xai.tables import read_table
from parts.border import YES, X, answer, refused, table

WIDE = np.random.default_rng(0).normal(size=(50, 2_000))


BLOCK = 2**24


def first_column(rows):
    return np.asarray(rows)[:, 0]


def peak_of_asking(predictor, table, count):
    """Bytes that are taken at most while so many recombined rows are made and answered."""
    base = np.arange(count) % table.n_rows
    donors = base[::-1].copy()
    tracemalloc.start()
    try:
        predictor.recombined(table, base, table, donors, [1])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_batches_of_a_wide_table_stay_within_their_block_of_bytes(container):
    """6,000 rows of 2,000 columns are 92 MiB in one container."""
    table = read_table(container(WIDE), missing="allow")
    predictor = as_predictor(first_column, block=BLOCK)
    as_predictor(first_column).on_rows(table)  # what is made once is not what a batch takes
    assert peak_of_asking(predictor, table, 6_000) <= 1.1 * BLOCK


def test_a_batch_has_as_many_rows_as_the_user_says():
    sizes = []
    predictor = as_predictor(
        lambda rows: sizes.append(len(rows)) or first_column(rows), batch_size=30, block=2**10
    )
    predictor.on_rows(read_table(WIDE, missing="allow"))
    assert sizes == [30, 20]


def test_the_user_may_ask_for_as_many_rows_as_the_default_has():
    predictor = as_predictor(first_column, batch_size=DEFAULT_BATCH, block=2**10)
    assert predictor.batch_rows(n_columns=10**6) == DEFAULT_BATCH
    assert as_predictor(first_column, block=2**10).batch_rows(n_columns=10**6) == 1


@pytest.mark.parametrize("n_columns", [0, 1, 10, 341])
def test_narrow_tables_have_batches_of_the_default_size(n_columns):
    assert as_predictor(first_column, block=2**26).batch_rows(n_columns) == DEFAULT_BATCH


def test_a_batch_has_a_row_however_small_the_block():
    assert as_predictor(first_column, block=1).batch_rows(10**6) == 1


def test_a_fit_sends_wide_rows_in_batches_that_its_memory_limit_allows():
    limit = 2**28
    sizes = []

    def model(rows):
        sizes.append(rows.nbytes)
        return rows[:, 0] * rows[:, 1]

    rows = np.random.default_rng(1).normal(size=(400, 700))
    granite = gx.Granite(
        model,
        features=[0, 1],
        split_features=[0, 1],  # the model gets all columns of a row in any case
        max_samples=200,
        resources=gx.Resources(memory_limit=limit, progress=False),
    )
    granite.fit(rows)
    assert max(sizes) <= limit // 8


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_M04_values_that_are_not_finite_are_counted_and_their_rows_named(bad):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{n}" for n in range(60)])

    def model(X):
        values = X["a"].to_numpy(copy=True)
        values[[3, 18, 20, 21, 22, 40]] = bad
        return values

    error = refused("M04", as_predictor(model).on_rows, table(frame))
    assert error.rows == ("r3", "r18", "r20", "r21", "r22")
    assert "6 values" in str(error)
    assert "rows 'r3', 'r18', 'r20', 'r21', 'r22', …" in str(error)


def test_M04_the_recombination_behind_a_value_is_named():
    data = table(pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 0.0, 5.0, 0.0]}))

    def model(
        X,
    ):  # fails only where a comes from row 3 and b from row 2: no row of the data is like that
        return np.where((X["a"] == 3) & (X["b"] == 5), np.nan, 1.0)

    F = as_predictor(model)
    F.on_rows(data)
    base, donor = (grid.ravel() for grid in np.mgrid[0:4, 0:4])
    error = refused("M04", F.recombined, data, base, data, donor, [0])
    assert "row 3 on column 'a', row 2 elsewhere" in str(error)
    assert (error.columns, error.rows) == (("a",), (2,))


def test_M04_rows_of_later_batches_are_named_right():
    data = table(np.arange(20.0).reshape(10, 2))
    F = as_predictor(lambda X: np.where(X[:, 0] == 14, np.inf, 0.0), batch_size=3)
    assert refused("M04", F.on_rows, data).rows == (7,)


def test_M04_masked_answers_are_missing_answers():
    refused("M04", answer, np.ma.masked_array(np.ones(60), mask=np.arange(60) == 1))
    refused("M04", answer, [None] + [1.0] * 59)


@pytest.mark.parametrize(
    "data",
    [
        X.copy(),
        np.asfortranarray(X),
        pd.DataFrame(X, columns=["a", "b", "c"]),
        pl.DataFrame(X, schema=["a", "b", "c"]),
        X.tolist(),
    ],
)
def test_M11_the_model_never_gets_the_users_own_buffer(data):
    before = copy.deepcopy(data)
    kept = []

    def vandal(X):
        kept.append(X)
        values = np.array(X)[:, 0]
        if isinstance(X, pl.DataFrame):
            X.insert_column(0, pl.Series("mine", values))
        elif isinstance(X, pd.DataFrame):
            X.iloc[:, :] = -1.0
            X["mine"] = 0.0
        else:
            np.asarray(X)[:] = -1.0
        return values

    F = as_predictor(vandal)
    read = table(data)
    first = F.on_rows(read)
    assert np.array_equal(F.on_rows(read), first)
    if not isinstance(data, list):
        assert np.array_equal(F(data), first)
    assert all(sent is not data for sent in kept)
    if isinstance(data, pd.DataFrame | pl.DataFrame):
        assert data.equals(before)
    else:
        assert np.array_equal(data, before)


def test_M11_an_answer_in_a_reused_buffer_is_copied():
    buffer = np.empty(60)

    def model(X):
        np.copyto(buffer, X[:, 0])
        return buffer

    F = as_predictor(model)
    first = F(X)
    F(-X)
    assert np.array_equal(first, X[:, 0])
    assert not np.shares_memory(first, buffer)


def test_M11_an_answer_that_is_a_view_of_the_input_is_copied():
    data = table(X)
    F = as_predictor(lambda X: X[:, 0])
    first = F.on_rows(data)
    first[:] = 0.0
    assert np.array_equal(F.on_rows(data), X[:, 0])


def test_M15_batches_have_the_size_asked_for_and_only_the_last_is_shorter():
    sizes = []

    def model(X):
        sizes.append(len(X))
        return X[:, 0]

    F = as_predictor(model, batch_size=25)
    assert np.array_equal(F.on_rows(table(X)), X[:, 0])
    assert sizes == [25, 25, 10]


def test_M15_default_batches_are_a_fixed_number_of_rows():
    sizes = []

    def model(X):
        sizes.append(len(X))
        return np.zeros(len(X))

    rows = np.zeros(2**13 + 5, dtype=np.intp)
    as_predictor(model).recombined(table(X), rows, table(X), rows, [0])
    assert sizes == [2**13, 5]


@pytest.mark.parametrize("batch_size", [0, -3, 2.5, True])
def test_P02_a_senseless_batch_size_is_refused(batch_size):
    assert (
        refused("P02", as_predictor, abs, batch_size=batch_size, error=InputError).argument
        == "batch_size"
    )


def test_calls_rows_and_seconds_are_counted_exactly():
    F = as_predictor(lambda X: time.sleep(0.01) or X[:, 0], batch_size=25)
    assert (F.usage.calls, F.usage.rows, F.usage.seconds) == (0, 0, 0.0)
    F.on_rows(table(X))
    F(X[:5])
    assert (F.usage.calls, F.usage.rows) == (4, 65)
    assert F.usage.seconds >= 0.04


def test_no_rows_need_no_call():
    F = as_predictor(lambda X: X[:, 0])
    none = np.empty(0, dtype=np.intp)
    assert F.recombined(table(X), none, table(X), none, [0]).shape == (0,)
    assert F.usage.calls == 0


def test_M16_the_model_is_called_from_one_thread_at_a_time():
    inside, most = [], []

    def model(X):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.002)
        inside.pop()
        return X[:, 0]

    F, data = as_predictor(model), table(X)
    threads = [threading.Thread(target=F.on_rows, args=(data,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert F.usage.calls == 8


def test_recombined_rows_are_those_of_the_definition():
    other = np.random.default_rng(1).normal(size=(20, 3))
    base, donor = np.array([5, 5, 7, 0]), np.array([19, 0, 3, 3])
    F = as_predictor(lambda X: X @ [1.0, 10.0, 100.0])
    expected = X[base].copy()
    expected[:, [0, 2]] = other[donor][:, [0, 2]]
    got = F.recombined(table(X), base, table(other), donor, (0, 2))
    assert np.allclose(got, expected @ [1.0, 10.0, 100.0], rtol=1e-14)


def test_a_predictor_is_pickled_with_its_model_and_counts():
    F = as_predictor(LogisticRegression().fit(X, YES), output="no", batch_size=7)
    F(X)
    for G in (pickle.loads(pickle.dumps(F)), copy.deepcopy(F)):
        assert np.array_equal(G(X), F.model_output.send(X)[:, 0])
        assert (G.label, G.batch_size, G.usage.calls) == (F.label, 7, 2)
    assert F.usage.calls == 1


# Models that raise


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


def test_M07_an_error_without_a_text_and_one_that_acts_on_a_terminal_are_told_plainly():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    def mute(X):
        raise Mute

    def colourful(X):
        raise ValueError("\x1b[31mred\x07")

    with pytest.raises(ModelError, match=r"M07: the model raised Mute \(\(no message\)\)"):
        as_predictor(mute)(np.ones((2, 1)))
    with pytest.raises(ModelError, match=r"M07: the model raised ValueError \(�\[31mred�\)"):
        as_predictor(colourful)(np.ones((2, 1)))


def test_M07_all_lines_of_a_models_error_are_told():
    def model(X):
        raise ValueError("The columns differ:\n- z\n\nStack trace:\n  [bt] (0) lib.so")

    with pytest.raises(gx.ModelError, match=r"M07.*\(The columns differ: - z\)"):
        gx.Granite(model).fit(X)


# The rows of a call, as an error names them


TABLE = read_table(
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=["x", "y", "z"]),
    missing="error",
)


def test_rows_are_called_what_the_table_calls_them():
    rows = SentRows(np.array([2, 0, 1]), TABLE)
    assert rows.labels() == ["z", "x", "y"]
    assert rows.part(slice(1, 3)).labels() == ["x", "y"]


def test_a_recombined_row_names_both_rows_and_the_replaced_column():
    rows = SentRows(np.array([0]), TABLE, np.array([2]), TABLE, columns=(1,))
    assert rows.names == ("b",)
    assert rows.text() == "1 recombined row (row 'z' on column 'b', row 'x' elsewhere)"


def test_without_a_table_rows_are_counted_from_0():
    assert SentRows(np.arange(2)).labels() == [0, 1]

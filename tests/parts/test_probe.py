"""The probe of a model (C4)."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.base.errors import Diagnostics, InputError, ModelError, ModelWarning
from granite_xai.evaluations.probe import (
    Extent,
    Probe,
    probe,
    require_at_most,
    require_sizeable,
)
from granite_xai.models import as_predictor
from granite_xai.tables import read_table

X = np.random.default_rng(0).normal(size=(100, 3))
QUIET = Probe()


def table(data=X, missing="error"):
    return read_table(data, missing=missing)


def quietly(model, data=X, **options):
    """Probe a model that gives no reason for a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return probe(as_predictor(model, **options), table(data))


# The five calls -------------------------------------------------------------------------------------------------------


def test_the_probe_is_exactly_five_calls_on_at_most_64_rows():
    sent = []

    def model(X):
        sent.append(X.copy())
        return X[:, 0]

    F = as_predictor(model)
    probe(F, table())
    first = X[:64]
    expected = [
        first,
        first,
        X[:7][::-1],
        np.nextafter(first, np.inf),
        np.nextafter(first, -np.inf),
    ]
    assert len(sent) == len(expected) == 5
    assert all(np.array_equal(got, want) for got, want in zip(sent, expected, strict=True))
    assert (F.usage.calls, F.usage.rows) == (5, 4 * 64 + 7)


@pytest.mark.parametrize("rows", [1, 2, 7, 8])
def test_small_tables_are_probed_whole(rows):
    F = as_predictor(lambda X: X[:, 0])
    probe(F, table(X[:rows]))
    assert (F.usage.calls, F.usage.rows) == (5, 4 * rows + min(rows, 7))


@pytest.mark.parametrize("batch_size", [1, 5, 32])
def test_M15_no_call_of_the_probe_is_larger_than_a_batch(batch_size):
    sizes = []

    def model(X):
        sizes.append(len(X))
        return X[:, 0]

    quietly(model, batch_size=batch_size)
    assert sizes == [batch_size, batch_size, min(7, batch_size), batch_size, batch_size]


def test_a_smooth_deterministic_model_gives_no_reason_to_warn():
    found = quietly(lambda X: 3 * X[:, 0] + X[:, 1]).outputs[0]
    assert (found.repeat, found.reorder) == (0.0, 0.0)
    assert 0.0 < found.moved < 1e-14


def test_a_model_that_fails_on_the_rows_themselves_is_an_error_naming_them():
    with pytest.raises(ModelError) as caught:
        probe(as_predictor(lambda X: np.where(X[:, 0] == X[5, 0], np.nan, 0.0)), table())
    assert (caught.value.code, caught.value.rows) == ("M04", (5,))


# M09, M11 and their like ----------------------------------------------------------------------------------------------


def test_M09_a_model_that_is_not_deterministic_is_warned_about_with_the_deviation():
    calls = []

    def model(X):
        calls.append(1)
        return X[:, 0] + 0.125 * (len(calls) == 2)

    record = Diagnostics()
    with pytest.warns(ModelWarning, match=r"M09: the model is not deterministic.* 0\.125 apart"):
        found = probe(as_predictor(model), table(), record).outputs[0]
    assert found.repeat == pytest.approx(0.125)
    assert record.as_dict()["warnings"][0].startswith("M09")
    assert found.error(1.0, is_single=False) == found.repeat


def test_M09_a_model_that_depends_on_its_batch_is_warned_about():
    with pytest.warns(ModelWarning, match="M09: .*other rows of the batch"):
        found = probe(as_predictor(lambda X: X[:, 0] - X[:, 0].mean()), table()).outputs[0]
    assert found.repeat == 0.0
    assert found.reorder == pytest.approx(abs(X[:64, 0].mean() - X[:7, 0].mean()))


def test_M09_a_model_that_depends_on_the_order_is_warned_about():
    with pytest.warns(ModelWarning, match="M09"):
        found = probe(as_predictor(lambda X: X[:, 0] + np.arange(len(X))), table()).outputs[0]
    assert found.reorder == pytest.approx(6.0)


def test_M09_differences_of_rounding_are_no_reason_to_warn():
    calls = []

    def model(X):
        calls.append(1)
        return X[:, 0] * (1 + 2.0**-52 * len(calls))

    assert 0.0 < quietly(model).outputs[0].repeat < 1e-14


def spoil(X):
    if isinstance(X, pd.DataFrame):
        X.iloc[0, 0] = 7.0
    elif isinstance(X, pl.DataFrame):
        X.insert_column(0, X.to_series(0).alias("mine"))
    else:
        X[0, 0] = 7.0


@pytest.mark.parametrize(
    "data", [X, pd.DataFrame(X), pl.DataFrame(X)], ids=["numpy", "pandas", "polars"]
)
def test_M11_a_model_that_writes_into_its_input_is_warned_about_once_and_the_data_survive(data):
    before = np.array(data)

    def model(X):
        values = np.array(X)[:, 1]
        spoil(X)
        return values

    with pytest.warns(ModelWarning, match="M11") as caught:
        probe(as_predictor(model), table(data))
    assert len(caught) == 1
    assert np.array_equal(np.array(data), before)


def test_M11_a_model_that_writes_into_its_first_input_alone_is_warned_about():
    calls = []

    def model(data):
        values = data[:, 1].copy()
        if not calls:
            data[:] = 0.0
        calls.append(len(data))
        return values

    with pytest.warns(ModelWarning, match="M11"):
        probe(as_predictor(model), table(X))


def test_M11_missing_values_are_not_mistaken_for_changes():
    holes = np.where(X > 1, np.nan, X)
    for data in (
        holes,
        pd.DataFrame(holes),
        pl.DataFrame(holes),
        pa.table({"a": holes[:, 0], "b": holes[:, 1]}),
    ):
        F = as_predictor(lambda X: np.zeros(len(X)))
        probe(F, table(data, missing="allow"))  # a warning would be an error


def test_M11_text_columns_are_compared_as_well():
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1.0, 2.0, 3.0]})
    quietly(lambda X: X["b"].to_numpy(), frame)
    objects = np.array([["x", 1.0], ["y", None], ["x", 3.0]], dtype=object)
    F = as_predictor(lambda X: np.zeros(len(X)))
    probe(F, table(objects, missing="allow"))


def test_a_lookup_of_exact_values_that_refuses_moved_ones_is_probed_all_the_same():
    data = np.tile([[1.5, 2.0], [2.5, 1.0]], (10, 1))
    effects = {1.5: 0.5, 2.5: -0.5}
    F = as_predictor(lambda X: np.array([effects[value] for value in X[:, 0]]))
    found = probe(F, table(data)).outputs[0]
    assert found.moved == 0.0
    assert F.usage.calls == 5


def test_N01_a_model_that_jumps_between_neighbouring_floats_is_warned_about():
    data = np.random.default_rng(1).integers(0, 5, size=(50, 2)) / 2
    with pytest.warns(ModelWarning, match="N01: the model jumps by 1"):
        probe(as_predictor(lambda X: np.floor(2 * X[:, 0])), table(data))
    assert quietly(lambda X: np.floor(X[:, 0]), (2 * data).astype(int)).outputs[0].moved == 0.0


def test_whole_numbers_stored_as_floats_do_not_move():
    """A column of codes carries no rounding: a model that looks codes up exactly keeps its small floor."""
    data = np.random.default_rng(1).integers(0, 5, size=(50, 2)).astype(float)
    assert quietly(lambda X: np.floor(X[:, 0]) * (X[:, 1] == 2.0), data).outputs[0].moved == 0.0


def test_the_larger_of_the_two_medians_counts_so_single_thresholds_do_not():
    data = np.linspace(0.0, 1.0, 50).reshape(-1, 1)
    assert (
        quietly(lambda X: np.where(X[:, 0] <= data[20, 0], 0.0, 1.0), data).outputs[0].moved == 0.0
    )
    halves = np.arange(50.0).reshape(-1, 1) / 2
    for one_sided in (np.floor, np.ceil):
        with pytest.warns(ModelWarning, match="N01"):
            assert (
                probe(as_predictor(lambda X, jump=one_sided: jump(2 * X[:, 0])), table(halves))
                .outputs[0]
                .moved
                == 1.0
            )


def test_integer_and_category_columns_do_not_move():
    frame = pd.DataFrame(
        {"n": [1, 2, 3], "town": pd.Categorical(["a", "b", "a"]), "new": [True, False, True]}
    )
    seen = []

    def model(X):
        seen.append(X)
        return X["n"].to_numpy()

    assert quietly(model, frame).outputs[0].moved == 0.0
    assert all(X.equals(frame) for X in (seen[3], seen[4]))


# Seconds --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the model moves, so that timings do not depend on the machine."""
    now = [0.0]
    monkeypatch.setattr(
        "granite_xai.models.model.time", SimpleNamespace(perf_counter=lambda: now[0])
    )
    return now


@pytest.mark.parametrize(("per_row", "per_call"), [(0.001, 0.0), (0.0, 0.5), (0.002, 0.25)])
def test_what_a_row_costs_is_told_from_what_a_call_costs(clock, per_row, per_call):
    def model(X):
        clock[0] += per_call + per_row * len(X)
        return X[:, 0]

    assert quietly(model).seconds_per_row == pytest.approx(per_row, abs=1e-12)


def test_a_slow_first_call_does_not_count(clock):
    def model(X):
        clock[0] += 100.0 if clock[0] == 0.0 else 0.01 * len(X)
        return X[:, 0]

    assert quietly(model).seconds_per_row == pytest.approx(0.01)


def test_tables_too_small_for_two_sizes_still_give_an_estimate(clock):
    def model(X):
        clock[0] += 0.01
        return X[:, 0]

    assert quietly(model, X[:5]).seconds_per_row == pytest.approx(0.002)


def test_delta_is_the_largest_of_rounding_and_what_the_probe_saw():
    assert QUIET.error(2.0, is_single=False) == 16 * 2.0**-52
    assert QUIET.error(2.0, is_single=True) == 16 * 2.0**-23
    for field in ("repeat", "reorder", "moved"):
        assert Probe(**{field: 0.5}).error(2.0, is_single=False) == 0.5


@pytest.mark.parametrize("failing", [4, 5])
def test_a_failure_on_moved_values_is_told_in_the_diagnostics(failing):
    """It may be a lookup of exact values, or a failure at random."""
    calls = []

    def model(X):
        calls.append(len(X))
        if len(calls) == failing:
            raise OSError("the line is busy")
        return X[:, 0]

    record = Diagnostics()
    probe(as_predictor(model), table(), record)
    assert "M07" in record.as_dict()["failed_on_moved_values"]
    assert "the line is busy" in record.as_dict()["failed_on_moved_values"]


# All evaluations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [2, 100])
def test_the_largest_size_and_the_precision_are_seen_part_by_part(cells, monkeypatch):
    monkeypatch.setattr("granite_xai.evaluations.probe.CELLS_AT_ONCE", cells)
    extent = Extent()
    extent.note_values(np.array([[0.5, -3.0], [1.0, 2.0], [0.25, 0.0]]))
    assert (extent.scale, extent.are_single, extent.are_whole) == (3.0, True, False)
    assert extent.is_single_precision
    extent.note_values(np.array([1.0, 2.0, 3.0, 0.1]))  # the last differs
    assert not extent.is_single_precision


def test_whole_numbers_are_not_taken_for_single_precision():
    extent = Extent()
    extent.note_values(np.array([1.0, 2.0]))
    assert extent.are_whole
    assert not extent.is_single_precision


def test_N06_predictions_that_cannot_be_squared_twice_are_refused_and_zeros_are_not():
    Extent().note_values(np.array([1e70]))
    with pytest.raises(InputError, match="predictions reach 1.1e\\+70") as caught:
        Extent().note_values(np.array([0.0, -1.1e70]))
    assert caught.value.code == "N06"
    with pytest.raises(InputError, match="y reaches"):
        require_at_most("y reaches", 1e71)
    with pytest.raises(InputError, match="no prediction is larger than 1e-71"):
        require_sizeable([Extent(scale=1e-71)])
    require_sizeable([Extent(scale=0.0)])
    require_sizeable([Extent(scale=1e-71), Extent(scale=1.0)])


def test_the_largest_change_of_an_answer_is_kept():
    extent = Extent()
    extent.note_change(np.array([1.0, 2.0]), np.array([1.0, 1.5]))
    extent.note_change(np.array([1.0]), np.array([1.1]))
    assert extent.largest_change == 0.5

"""Curves of columns on a grid at all their values, and what the grid leaves out of an effect."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.surrogate.grid_curves import as_numbers, cell_residuals, grid_curve, grid_residuals

import granite_xai as gx
from granite_xai.tables import read_table

N = 120
CHANCE = np.random.default_rng(4)
X = np.column_stack([CHANCE.uniform(-1, 1, N), CHANCE.uniform(-1, 1, N)])
FIRST = frozenset({0})


def model(rows):
    return 2.0 * rows[:, 0] + rows[:, 1] + np.where(rows[:, 1] > 0, 1.0, -1.0) * rows[:, 0]


def run_of(**options):
    return vars(gx.Granite(model, max_depth=0, max_samples=N, **options).fit(X))["_run"]


@pytest.fixture(scope="module")
def on_quantiles():
    return run_of(confidence_level=None, resources=gx.Resources(max_grid=7))


@pytest.fixture(scope="module")
def on_cells():
    return run_of(resources=gx.Resources(max_grid=7))


def mean_curve(run, rows):
    """The mean over some rows of the model along the first column, at its sorted values."""
    values = np.sort(run.inputs.table.columns[0].levels)
    table = np.column_stack([column.values for column in run.inputs.table.columns])[rows]
    curve = []
    for value in values:
        table[:, 0] = value
        curve.append(np.mean(model(table)))
    return np.array(curve)


def shares_of(run, rows):
    shares = np.zeros((1, run.evaluations.n_rows))
    shares[0, rows] = 1.0 / len(rows)
    return shares


@pytest.mark.parametrize("run", ["on_quantiles", "on_cells"])
def test_a_straight_curve_is_met_at_every_value(run, request):
    """Between the values of the grid, and up to both ends of the column."""
    run = request.getfixturevalue(run)
    rows = np.arange(10, 60)
    column = run.inputs.table.columns[0]
    assert FIRST in run.evaluations.snapped
    found = grid_curve(column, run.evaluations, shares_of(run, rows)[0]) + run.evaluations.offset
    np.testing.assert_allclose(found[1:], mean_curve(run, rows), atol=1e-2)


@pytest.mark.parametrize("run", ["on_quantiles", "on_cells"])
def test_residuals_are_the_curve_less_its_value_on_the_grid(run, request):
    run = request.getfixturevalue(run)
    shares = shares_of(run, np.arange(60))
    table, evaluations = run.inputs.table, run.evaluations
    found = grid_residuals(table, evaluations, FIRST, shares)
    column = table.columns[0]
    matrix = evaluations.matrices[FIRST]
    curve = grid_curve(column, evaluations, shares[0])
    for n in range(evaluations.n_rows):
        on_grid = shares[0] @ matrix.values[matrix.codes[n]]
        assert found[0, n] == pytest.approx(curve[1 + column.codes[n]] - on_grid, abs=1e-12)
    assert np.abs(found).max() > 0.01


def test_cells_leave_out_the_curve_of_pure_effects_and_the_prediction_of_full_ones(on_cells):
    table, evaluations = on_cells.inputs.table, on_cells.evaluations
    shares = shares_of(on_cells, np.arange(60))
    pure = cell_residuals(table, evaluations, FIRST, {FIRST: 2.0}, shares)
    np.testing.assert_allclose(pure, 2.0 * grid_residuals(table, evaluations, FIRST, shares))
    full = cell_residuals(table, evaluations, FIRST, {evaluations.everything: -1.0}, shares)
    moved = evaluations.snapped[FIRST].predictions - evaluations.predictions
    np.testing.assert_allclose(full, moved[None, :])


def test_a_grid_of_quantiles_leaves_out_nothing_that_is_shown(on_quantiles):
    shares = shares_of(on_quantiles, np.arange(60))
    found = cell_residuals(
        on_quantiles.inputs.table, on_quantiles.evaluations, FIRST, {FIRST: 1.0}, shares
    )
    assert not found.any()


def test_dates_are_counted_in_seconds_from_the_first():
    dates = np.array(["2020-01-02", "2020-01-01", "2020-01-01T00:00:30"], dtype="M8[s]")
    column = read_table(pd.DataFrame({"day": dates}), missing="error").columns[0]
    assert as_numbers(column.levels, column).tolist() == [0.0, 30.0, 86400.0]

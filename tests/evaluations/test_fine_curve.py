"""Curves run between the values at which they are known as those of the pilot rows do."""

from __future__ import annotations

import numpy as np
from granite_xai.evaluations.fine_curve import fit_fine_curve

from evaluations.learned import learned, numbers, waves
from granite_xai.evaluations.pilot import CELLS


def test_a_curve_is_what_is_known_at_the_standing_values():
    """For any curve and each of several outputs; between, those of the pilot rows are met closely."""
    frame = numbers()

    def outputs(frame):
        return np.column_stack([waves(frame), 100 * frame["x1"] * frame["x0"]])

    found, table, asked = learned(frame, outputs, [1])
    own = found.columns[1]
    assert asked.calls == [1]
    assert len(own.curves) == 2
    for output, curve in enumerate(own.curves):
        np.testing.assert_array_equal(curve.standing, own.standing)
        np.testing.assert_allclose(curve.weights.sum(axis=1), 1.0)
        places = np.searchsorted(curve.levels, curve.standing)
        some = np.random.default_rng(0).normal(size=CELLS)
        np.testing.assert_allclose(curve.at_levels(some)[places], some, atol=1e-9)
        row = frame.iloc[[7] * len(curve.levels)].assign(x1=table.columns[1].levels[curve.levels])
        wanted = outputs(row)[:, output]
        error = np.std(curve.at_levels(wanted[places]) - wanted)
        assert error < 0.05 * np.std(wanted)


def test_between_values_curves_run_as_those_of_the_pilot_rows_do():
    """A sum of two pilot curves, known at the standing values, is known everywhere."""
    values = np.linspace(-1, 1, 40)
    shapes = np.stack([np.sign(values - 0.217), values**2], axis=1)  # (values, shapes)
    curves = shapes @ np.random.default_rng(0).normal(size=(2, 30)) + np.sin(values)[:, None]
    typical = np.array([3, 12, 22, 26, 35])
    cell_of_value = np.searchsorted([8, 18, 24, 30], np.arange(40), side="right")
    fine = fit_fine_curve(curves, np.arange(40), typical, cell_of_value)
    wanted = shapes @ [2.0, -0.5] + np.sin(values) + 4.0
    np.testing.assert_allclose(fine.at_levels(wanted[typical]), wanted, atol=1e-3)
    np.testing.assert_allclose(fine.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(fine.weights[typical], np.eye(5), atol=1e-9)
    np.testing.assert_allclose(fine.offsets[typical], 0.0, atol=1e-9)
    jump = np.where(np.arange(40) == 12, 1.0, 0.0)  # what no pilot row does stays within its cell
    assert np.all(fine.weights[cell_of_value == 1] @ jump[typical] > 0.2)


def test_where_all_predictions_are_equal_so_is_the_curve():
    fine = fit_fine_curve(
        np.ones((6, 4)), np.arange(6), np.array([1, 4]), np.array([0] * 3 + [1] * 3)
    )
    assert fine.at_levels(np.array([1.0, 1.0])).tolist() == [1.0] * 6

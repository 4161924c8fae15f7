"""Local effects around a smooth curve of their feature, against plain least squares."""

from __future__ import annotations

import numpy as np

from granite_xai.partitioners.dependence_curve import spline_basis, sum_around_curve
from granite_xai.tables import read_table


def test_columns_of_few_values_are_read_by_value():
    column = read_table([[0.0], [1.0], [0.0]], missing="error").columns[0]
    assert spline_basis(column).tolist() == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def test_features_of_many_values_have_splines_that_add_up_to_one():
    column = read_table(np.arange(50.0)[:, None], missing="error").columns[0]
    basis = spline_basis(column)
    assert basis.shape == (50, 12)
    np.testing.assert_allclose(basis.sum(axis=1), 1.0)


def test_what_a_curve_leaves_is_the_weighted_sum_of_its_squared_residuals():
    """The curve minimises the weighted squares plus the price of its bends."""
    generator = np.random.default_rng(0)
    column = read_table(generator.normal(size=(60, 1)), missing="error").columns[0]
    basis = spline_basis(column)
    values = generator.normal(size=(2, 60))
    weights = generator.choice([0.0, 0.5, 2.0], size=(2, 60))
    n_coefficients = basis.shape[1]
    bends = np.diff(np.eye(n_coefficients), 2, axis=0) * np.sqrt(1e-3 * 100.0 / n_coefficients)
    ridge = np.sqrt(1e-9 * 100.0) * np.eye(n_coefficients)
    for region in range(2):
        roots = np.sqrt(weights[region])
        equations = np.vstack([roots[:, None] * basis, bends, ridge])
        right_side = np.append(roots * values[region], np.zeros(len(bends) + n_coefficients))
        coefficients = np.linalg.lstsq(equations, right_side, rcond=None)[0]
        residuals = values[region] - basis @ coefficients
        expected = weights[region] @ residuals**2
        np.testing.assert_allclose(
            sum_around_curve(values, basis, weights, mass=100.0)[region], expected, rtol=1e-8
        )


def test_values_have_no_bends():
    """Indicators: the curve is the mean at each value, however far apart these are."""
    column = read_table([[0.0], [0.0], [1.0], [1.0], [5.0]], missing="error").columns[0]
    values = np.array([[1.0, 3.0, 10.0, 10.0, -7.0]])
    left = sum_around_curve(values, spline_basis(column), np.ones((1, 5)), mass=5.0)
    np.testing.assert_allclose(left, [2.0], atol=1e-6)

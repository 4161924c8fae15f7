"""Local behavior: predictions of masked rows."""

from __future__ import annotations

import numpy as np

import granite_xai as gx
from granite_xai import Local

X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 2.0]])


def test_effects_are_differences_of_predictions_and_start_at_the_mean_prediction():
    explanation = gx.Explainer(gx.Marginal(), Local(), "pure").explain(
        lambda X: X[:, 0] * X[:, 1] + 7.0, X
    )
    mean = np.mean(X[:, 0] * X[:, 1]) + 7.0
    expected = X[:, 0] * X[:, 1].mean() + 7.0 - mean
    np.testing.assert_allclose(explanation.values[:, 0], expected, atol=1e-12)
    np.testing.assert_allclose(explanation.parts[0].base, mean, atol=1e-12)


def test_a_value_is_as_uncertain_as_a_prediction():
    assert Local().error(0.25, None) == 0.25

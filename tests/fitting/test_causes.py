"""Why two explanations differ, and what an additive model would show of it."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.causes import DEPEND, EITHER, INTERACT, additive_evaluations, cause

import granite_xai as gx
from problems import problem_of


def step(X):
    """ICE and PDP of x0 differ by the sign of x1; in both halves they agree."""
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + 0.6 * X[:, 0] * X[:, 2]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ice-pdp", INTERACT),
        ("mplot-pdp", DEPEND),
        ("cice-mplot", EITHER),
        ("variance", EITHER),
        ("pfi-risk", EITHER),
    ],
)
def test_the_cause_follows_from_the_maskings_and_the_behavior(name, reason):
    assert cause(gx.question(name)) == reason


def test_an_additive_model_with_dependent_columns_keeps_its_variance_gap_without_interactions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    additive = lambda X: X[:, 0] + X[:, 1] + np.sin(X[:, 2])  # noqa: E731
    found = gx.Granite(additive, "variance").fit(X).diagnostics_["cause"]["variance"]
    assert found["cause"] == "features interact or depend on each other"
    assert found["without_interactions"] == pytest.approx(1.0, abs=1e-9)
    plain = gx.Granite(step, "ice-pdp").fit(X).diagnostics_["cause"]["ice-pdp"]
    assert plain == {"cause": "features interact", "without_interactions": 0.0}
    independent = np.random.default_rng(1).normal(size=(400, 3))
    mixed = gx.Granite(step, "sobol").fit(independent).diagnostics_["cause"]["sobol"]
    assert mixed["without_interactions"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("grid", [None, 4])
def test_the_evaluations_of_an_additive_model_are_sums_of_its_curves(grid):
    """Of each pair of rows: the curves of the columns that are seen, and of the others where they stand."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3)).round(1)
    resources = gx.Resources(max_grid=grid)
    problem = problem_of(step, X, "sobol", resources=resources)
    question = problem.shares.comparisons[0]
    evaluations = problem.evaluations
    between = {column: np.zeros(30) for column in evaluations.snapped}
    additive = additive_evaluations(question, evaluations, between)
    curves = {}
    for player in question.first.layout.players:
        matrix = evaluations.matrices[player]
        line_of_row = matrix.present[2]
        # PDP: the mean over the rows that stand in the other columns, minus the mean prediction
        curves[player] = matrix.values.mean(axis=1)[line_of_row] - evaluations.predictions.mean()
    total = evaluations.predictions.mean() + sum(curves.values())
    np.testing.assert_allclose(additive.predictions, total, atol=1e-12)
    for player, matrix in additive.matrices.items():
        seen = curves[player]
        wanted = seen[:, None] + (total - seen)[None, :]
        found = matrix.values[matrix.present[2]]
        np.testing.assert_allclose(found, wanted, atol=1e-12)

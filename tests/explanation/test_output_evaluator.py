"""The evaluations of one output, against the model asked row by row."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.output_evaluator import OutputEvaluator
from granite_xai.explanation.request import request

import granite_xai as gx
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route

X = np.random.default_rng(53).normal(size=(30, 3))
TABLE = read_table(X, missing="error")
FIRST = frozenset({0})


def model(X):
    return X[:, 0] * X[:, 1] + X[:, 2] + 4.0


def evaluations_of(explainer, **options):
    resources = gx.Resources(max_grid=None)
    route = Route(as_predictor(model), TABLE)
    effect = explainer.effect(route, resources, 0)
    fitted = fit_maskings(effect.readings(), effect.changes(), TABLE, np.ones(30), 0)
    requested = request(TABLE, [effect], **options)
    evaluator = OutputEvaluator(
        route,
        requested,
        fitted,
        resources=resources,
        fast=False,
        weights=np.ones(30),
        y=None,
        n_jobs=None,
    )
    for store in requested.kept.stores:
        evaluator.keep(store)
    for store in requested.streamed.stores:
        evaluator.sum_up(store)
    return evaluator.finish(), fitted


def test_predictions_against_a_baseline_have_its_hidden_columns():
    masking = gx.Baseline("mean")
    evaluations, _ = evaluations_of(gx.Explainer(masking, "local", "pure"))
    rows = np.tile(X.mean(axis=0), (30, 1))
    rows[:, 0] = X[:, 0]
    (against,) = evaluations.against[masking, FIRST]
    np.testing.assert_allclose(against + evaluations.offset, model(rows))
    (nothing,) = evaluations.against[masking, frozenset()]
    np.testing.assert_allclose(nothing + evaluations.offset, model(X.mean(axis=0)[None])[0])


def test_changes_are_predictions_at_the_ends_of_intervals():
    evaluations, fitted = evaluations_of(gx.Explainer(gx.Accumulated(), "local", "full"))
    (ale_column,) = (column for column in evaluations.ale if column.column == 1)
    steps = evaluations.ale[ale_column]
    values = TABLE.columns[1].levels[fitted.steps[ale_column].parts]
    for row in range(5):
        for edge in steps.edges[steps.intervals[row] - 1 : steps.intervals[row] + 1]:
            moved = X[[row]].copy()
            moved[0, 1] = values[edge]
            assert steps.values[steps.starts[row] + edge] == pytest.approx(model(moved)[0])


def test_attributions_of_a_row_against_itself_are_nothing():
    evaluations, _ = evaluations_of(gx.Explainer("marginal", "local", "partial"))
    assert len(evaluations.attributions) == 3
    total = np.zeros((30, 30))
    for matrix in evaluations.attributions.values():
        np.testing.assert_allclose(np.diag(matrix.values), 0.0, atol=1e-12)
        total += matrix.values
    gaps = model(X)[:, None] - model(X)
    np.testing.assert_allclose(np.abs(total), np.abs(gaps), atol=1e-10)


def test_a_column_on_a_grid_has_the_predictions_at_its_grid_values():
    evaluations, _ = evaluations_of(gx.Explainer("marginal", "local", "full"), values=4)
    column = evaluations.snapped[FIRST]
    on_grid = np.sort(X[:, 0])
    for row in range(5):
        moved = np.repeat(X[[row]], 30, axis=0)
        moved[:, 0] = on_grid
        gaps = np.abs(model(moved) - evaluations.offset - column.predictions[row])
        assert gaps.min() < 1e-12
    lowest_and_highest = np.stack([X, X])
    lowest_and_highest[0, :, 0] = X[:, 0].min()
    lowest_and_highest[1, :, 0] = X[:, 0].max()
    ends = [model(rows) for rows in lowest_and_highest]
    np.testing.assert_allclose(column.ends + evaluations.offset, ends)

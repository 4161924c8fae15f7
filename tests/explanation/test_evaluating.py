"""Asking the model: every row of a request once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from granite_xai.evaluations.prediction_range import EvaluationRange
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.request import EvaluationRequest, request

import granite_xai as gx
from counted import CountedModel
from explanation.evaluated import fitted_to
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route

X = np.random.default_rng(52).normal(size=(40, 3))
TABLE = read_table(X, missing="error")


def function(X):
    return X[:, 0] * X[:, 1] + X[:, 2]


class Evaluated(NamedTuple):
    evaluations: Evaluations
    extent: EvaluationRange
    requested: EvaluationRequest
    model: CountedModel


def evaluated(*names, model=None, **limits):
    """What named explanations read of a model, within some limits."""
    resources = gx.Resources(**{"max_grid": None, **limits})
    model = model or CountedModel(function)
    route = Route(as_predictor(model), TABLE)
    explanations = gx.explanations()
    effects = [explanations[name].effect(route, resources, 0) for name in names]
    requested = request(TABLE, effects)
    evaluations, extent = evaluate(
        route,
        requested,
        fitted_to(effects, TABLE),
        resources=resources,
        weights=np.ones(40),
        y=None,
    )
    return Evaluated(evaluations, extent, requested, model)


def test_predictions_are_centred_by_their_mean():
    evaluations = evaluated("pdp").evaluations
    truth = function(X)
    assert evaluations.offset == pytest.approx(truth.mean())
    assert evaluations.predictions + evaluations.offset == pytest.approx(truth)


def test_a_matrix_has_the_predictions_of_recombined_rows():
    evaluations = evaluated("pdp").evaluations
    matrix = evaluations.matrix(frozenset({0}))
    for row in range(5):
        for donor in range(5):
            mixed = X[[row]].copy()
            mixed[0, 0] = X[donor, 0]
            value = matrix.values[matrix.codes[donor], row] + evaluations.offset
            assert value == pytest.approx(function(mixed)[0])


def test_the_model_is_asked_about_as_many_rows_as_the_request_counts():
    both = evaluated("ice", "pdp")
    assert both.model.rows == both.requested.n_model_rows(TABLE)


def test_what_two_effects_read_is_asked_once():
    assert evaluated("ice", "pdp").model.rows == evaluated("pdp").model.rows


def test_M13_a_request_beyond_the_limit_is_refused_before_the_model_is_asked():
    model = CountedModel(function)
    with pytest.raises(gx.ResourceError, match="M13"):
        evaluated("pdp", model=model, max_evaluations=100)
    assert model.rows == 0


def test_D33_a_request_beyond_the_memory_is_refused_before_the_model_is_asked():
    model = CountedModel(function)
    with pytest.raises(gx.ResourceError, match="D33"):
        evaluated("pdp", model=model, memory_limit=10_000)
    assert model.rows == 0


def test_the_range_of_the_predictions_is_noted():
    extent = evaluated("pdp").extent
    assert extent.scale >= np.abs(function(X)).max()
    assert extent.largest_change == 0.0

"""Asking the model: every row of a request once."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import fit_reference
from granite_xai.explanation.request import request
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route

X = np.random.default_rng(52).normal(size=(40, 3))
TABLE = read_table(X, missing="error")


class Counting:
    def __init__(self):
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return X[:, 0] * X[:, 1] + X[:, 2]


def evaluations_of(*names, model=None, **limits):
    resources = gx.Resources(**{"max_grid": None, **limits})
    model = model or Counting()
    route = Route(as_predictor(model), TABLE)
    explanations = gx.explanations()
    effects = [explanations[name].effect(route, resources, 0) for name in names]
    readings = set().union(*(effect.readings() for effect in effects))
    reference = fit_reference(readings, (), TABLE, np.ones(40), 0)
    asked = request(TABLE, effects)
    return (
        evaluate(route, asked, reference, resources=resources, weights=np.ones(40), y=None),
        asked,
        model,
    )


def test_predictions_are_centred_by_their_mean():
    (evaluations, _), _, _ = evaluations_of("pdp")
    truth = Counting()(X)
    assert evaluations.offset == pytest.approx(truth.mean())
    assert evaluations.predictions + evaluations.offset == pytest.approx(truth)


def test_a_matrix_has_the_predictions_of_recombined_rows():
    (evaluations, _), _, _ = evaluations_of("pdp")
    matrix = evaluations.matrix(frozenset({0}))
    for row in range(5):
        for donor in range(5):
            mixed = X[[row]].copy()
            mixed[0, 0] = X[donor, 0]
            value = matrix.values[matrix.codes[donor], row] + evaluations.offset
            assert value == pytest.approx(Counting()(mixed)[0])


def test_the_model_is_asked_about_as_many_rows_as_the_request_counts():
    _, asked, model = evaluations_of("ice", "pdp")
    assert model.rows == asked.rows(TABLE)


def test_what_two_effects_read_is_asked_once():
    _, _, both = evaluations_of("ice", "pdp")
    _, _, one = evaluations_of("pdp")
    assert both.rows == one.rows


def test_M13_a_request_beyond_the_limit_is_refused_before_the_model_is_asked():
    model = Counting()
    with pytest.raises(gx.ResourceError, match="M13"):
        evaluations_of("pdp", model=model, max_evaluations=100)
    assert model.rows == 0


def test_D33_a_request_beyond_the_memory_is_refused_before_the_model_is_asked():
    model = Counting()
    with pytest.raises(gx.ResourceError, match="D33"):
        evaluations_of("pdp", model=model, memory_limit=10_000)
    assert model.rows == 0


def test_the_range_of_the_predictions_is_noted():
    (_, extent), _, _ = evaluations_of("pdp")
    assert extent.scale >= np.abs(Counting()(X)).max()
    assert extent.largest_change == 0.0

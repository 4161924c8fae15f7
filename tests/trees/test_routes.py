"""Which way the evaluations of a table take."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from granite_xai.base.errors import ModelWarning
from granite_xai.evaluations.request import request_matrices
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route
from strategies import paper
from trees.tree_models import MODELS, RNG, X, Y, xgboost


def test_the_route_is_found_once_and_when_it_is_asked_for():
    """Effects and evaluations share a route; the audit's rows are sent once, and the trees are read once a model."""
    predictor = as_predictor(MODELS["forest"][0]())
    table = read_table(X, missing="allow")
    route = Route(predictor, table)
    assert predictor.usage.rows == 0
    assert route.trees is route.trees is not None
    assert predictor.usage.rows == route.note(1)["audited_rows"]
    assert Route(predictor, table).trees.ensemble is route.trees.ensemble


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp"])
def test_M26_is_told_and_remembered_whatever_the_question(question):
    """Also where the question itself looks at the trees before the evaluations are planned."""
    model = xgboost.XGBRegressor(n_estimators=3, max_depth=2, missing=-999.0).fit(X, Y)
    with pytest.warns(ModelWarning, match="M26"):
        fitted = paper(model, question, missing="allow").fit(X)
    assert any(text.startswith("M26") for text in fitted.diagnostics_["warnings"])


def test_without_the_compiler_deep_forests_stay_with_the_model(monkeypatch):
    from granite_xai.trees import routes

    monkeypatch.setattr(routes, "available", lambda: False)
    data = RNG.normal(size=(300, 4))
    data[:, 3] = data[:, 3] > 0
    predictor = as_predictor(RandomForestRegressor(9, random_state=0).fit(data, data[:, 0]))
    table = read_table(data, missing="allow")
    route = Route(predictor, table)
    assert route.for_requests(request_matrices(table, [frozenset({0})])).path(1) == "trees (numpy)"
    few = route.for_requests(request_matrices(table, [frozenset({3})]))
    assert few.path(1) == "model"
    assert "cheaper" in few.reason


def test_with_the_compiler_deep_forests_are_walked_where_a_column_has_some_values(monkeypatch):
    """By counts alone: a walk costs as much as three values by the model, however many leaves there are."""
    from granite_xai.trees import routes

    monkeypatch.setattr(routes, "available", lambda: True)
    data = RNG.normal(size=(300, 3))
    data[:, 1] = np.digitize(data[:, 1], [-0.5, 0.5])
    data[:, 2] = data[:, 2] > 0
    predictor = as_predictor(RandomForestRegressor(9, random_state=0).fit(data, data[:, 0]))
    table = read_table(data, missing="allow")
    route = Route(predictor, table)
    three_values = route.for_requests(request_matrices(table, [frozenset({1})]))
    assert three_values.reason is None
    two_values = route.for_requests(request_matrices(table, [frozenset({2})]))
    assert "cheaper" in two_values.reason

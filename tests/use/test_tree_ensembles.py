"""Tree ensembles answer for their models where they agree with them; otherwise the model is asked, and says why."""

from __future__ import annotations

import copy
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import granite_xai as gx
from strategies import paper

pytest.importorskip("treelite")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 4))
X[:, 3] = RNG.integers(0, 6, 120)
Y = X[:, 0] * X[:, 1] + 2.0 * np.isin(X[:, 3], (1, 4)) * X[:, 2]
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def _histogram(data, **options):
    return HistGradientBoostingRegressor(
        max_iter=15, min_samples_leaf=5, random_state=0, **options
    ).fit(data, Y)


def test_rows_sent_to_the_model_are_those_of_the_table_and_of_the_audit():
    fitted = paper(_histogram(X)).fit(X)
    probes_and_predictions = (
        fitted.diagnostics_["model"]["rows"] - fitted.diagnostics_["evaluations"]["audited_rows"]
    )
    # As they are, again, reversed; up and down: one step, a second one, and each of 4 columns alone.
    assert probes_and_predictions <= len(X) + 64 + 64 + 7 + 2 * (1 + 1 + 4) * 64


def test_limits_on_model_rows_do_not_hold_for_trees():
    fitted = paper(_histogram(X), resources=gx.Resources(max_evaluations=1000)).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"].startswith("trees")


def test_a_model_that_is_no_ensemble_says_so():
    fitted = paper(lambda X: X[:, 0] * X[:, 1]).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"] == "model"
    assert fitted.diagnostics_["evaluations"]["reason"] == "the model is a function"


def test_without_treelite_xgboost_is_asked_itself(monkeypatch):
    xgboost = pytest.importorskip("xgboost")
    monkeypatch.setitem(sys.modules, "treelite", None)
    fitted = paper(xgboost.XGBRegressor(n_estimators=3).fit(X, Y)).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"] == "model"
    assert "treelite is not installed" in fitted.diagnostics_["evaluations"]["reason"]


def _capped(model, data):
    return np.where(data[:, 0] > 2.4, 500.0, model.predict(data))


def _disguises():
    import types
    from functools import partial

    import xgboost

    forest = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    rebound = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    rebound.predict = types.MethodType(lambda self, data: _capped(forest, data), rebound)
    matrix = xgboost.DMatrix(X, Y)
    booster, plain = (xgboost.train({"max_depth": 2}, matrix, num_boost_round=3) for _ in range(2))
    booster.predict = lambda data, **options: plain.predict(data, **options) + 1.0
    return {
        "a function with its first argument": partial(_capped, forest),
        "a method of the object alone": rebound,
        "a function bound to a model": types.MethodType(_capped, forest),
        "a booster that answers otherwise": booster,
    }


@pytest.mark.parametrize(
    "name",
    [
        "a function with its first argument",
        "a method of the object alone",
        "a function bound to a model",
        "a booster that answers otherwise",
    ],
)
def test_a_function_around_a_tree_model_is_not_looked_through(name):
    """Only our own wrappers are, and a method only where its class defines it."""
    pytest.importorskip("xgboost")
    found = paper(_disguises()[name], max_depth=1).fit(X).diagnostics_["evaluations"]
    assert (found["path"], found["reason"]) == ("model", "the model is a function")


def test_methods_of_tree_models_are_read_as_trees():
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, Y)
    assert (
        paper(model.predict, max_depth=1)
        .fit(X)
        .diagnostics_["evaluations"]["path"]
        .startswith("trees")
    )


@pytest.mark.parametrize("corner", [(0,), (0, 1)])
def test_the_audit_looks_at_the_extremes_of_columns_and_of_pairs(corner):
    """A model that departs from its trees only at the largest values: one row in a thousand, or one in a million."""
    data = np.random.default_rng(3).normal(size=(1000, 4))
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(data, data[:, 0])
    largest = data.max(axis=0)

    class Rare(GradientBoostingRegressor):
        def predict(self, Z):
            rare = np.all([Z[:, j] >= largest[j] for j in corner], axis=0)
            return super().predict(Z) + 500.0 * rare

    Rare.__module__, Rare.__name__ = "sklearn.ensemble", "GradientBoostingRegressor"
    rare = Rare()
    rare.__dict__.update(model.__dict__)
    with pytest.warns(
        gx.ModelWarning, match="M23: the trees differ from the model's answers by up to 500"
    ):
        paper(rare, max_depth=0).fit(data)


@pytest.mark.parametrize(
    ("attribute", "model"),
    [
        ("_predictors", _histogram(X)),
        ("_baseline_prediction", _histogram(X)),
        ("estimators_", GradientBoostingRegressor(n_estimators=2).fit(X, Y)),
    ],
)
def test_a_model_of_a_version_that_names_its_parts_otherwise_is_asked(attribute, model):
    """Its answers are those of a model that kept them."""

    class Renamed(type(model)):
        def predict(self, Z):
            return model.predict(Z)

    Renamed.__module__, Renamed.__name__ = type(model).__module__, type(model).__name__
    renamed = Renamed()
    vars(renamed).update(copy.copy(vars(model)))
    vars(renamed)["renamed"] = vars(renamed).pop(attribute)
    with pytest.warns(gx.ModelWarning, match=f"M30: the trees .* cannot be read .*{attribute}"):
        fitted = paper(renamed, max_depth=0).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"] == "model"


class _Unusual(GradientBoostingRegressor):
    """Looks like the class of scikit-learn and predicts like it; its trees are kept elsewhere."""

    def predict(self, X):
        return X[:, 0]


_Unusual.__module__ = "sklearn.ensemble"
_Unusual.__name__ = "GradientBoostingRegressor"


def test_whatever_fails_while_trees_are_read_leaves_the_model():
    model = _Unusual()
    model.n_features_in_ = 4
    with pytest.warns(gx.ModelWarning, match="M30: the trees of this GradientBoosting"):
        fitted = paper(model, max_depth=1).fit(X)
    assert fitted.diagnostics_["evaluations"]["path"] == "model"


def test_dart_with_early_stopping_is_left_or_read_as_it_answers():
    """Some versions of xgboost write files of it that cannot be read, and say that it is deprecated."""
    xgboost = pytest.importorskip("xgboost")
    options = {"booster": "dart", "n_estimators": 9, "early_stopping_rounds": 1, "max_depth": 2}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = xgboost.XGBRegressor(**options).fit(X, Y, eval_set=[(X, -Y)], verbose=False)
        fitted = paper(model, max_depth=1).fit(X)
    left = fitted.diagnostics_["evaluations"]["path"] == "model"
    assert left == any(str(entry.message).startswith("M30") for entry in caught)
    assert fitted.disagreement_ == pytest.approx(
        paper(lambda Z: model.predict(Z), max_depth=1).fit(X).disagreement_
    )


def test_native_categories_of_xgboost_are_read_from_its_trees():
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    colors = pd.Categorical(rng.choice(["red", "green", "blue", "x"], 300))
    X = pd.DataFrame(
        {
            "a": rng.normal(size=300),
            "color": colors,
            "k": pd.Categorical(rng.choice([3, 7, 9], 300)),
        }
    )
    y = X["a"] * X["color"].isin(["red", "x"]) + (X["k"] == 7)
    for options in ({}, {"max_cat_to_onehot": 1}, {"booster": "dart"}):
        model = xgboost.XGBRegressor(
            n_estimators=8, max_depth=4, enable_categorical=True, **options
        ).fit(X, y)
        moved = X.assign(
            color=X["color"].cat.reorder_categories(["x", "blue", "red", "green"])
        )  # found by label
        for table in (X, moved):
            g = paper(model, max_samples=80).fit(table)
            assert g.diagnostics_["evaluations"]["path"].startswith("trees"), g.diagnostics_[
                "evaluations"
            ]


def test_a_deep_forest_with_few_values_is_asked_itself():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(1500, 4)).astype(float)
    noise = rng.normal(size=1500)
    deep = RandomForestRegressor(30, random_state=0).fit(
        np.column_stack([X, noise]), noise + X[:, 0] * X[:, 1]
    )
    table = np.column_stack([X, np.zeros(1500)])
    found = paper(deep, max_samples=100, max_depth=1).fit(table)
    assert found.diagnostics_["evaluations"]["reason"] == "the model's own predict is cheaper"
    shallow = RandomForestRegressor(30, max_depth=3, random_state=0).fit(
        np.column_stack([X, noise]), noise + X[:, 0]
    )
    found = paper(shallow, max_samples=100, max_depth=1).fit(
        np.column_stack([rng.normal(size=(1500, 4)), noise])
    )
    assert found.diagnostics_["evaluations"]["path"].startswith("trees")


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp"])
def test_is_told_and_remembered_whatever_the_question(question):
    """Also where the question itself looks at the trees before the evaluations are planned."""
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=3, max_depth=2, missing=-999.0).fit(X, Y)
    with pytest.warns(gx.ModelWarning, match="M26"):
        fitted = paper(model, question, missing="allow").fit(X)
    assert any(text.startswith("M26") for text in fitted.diagnostics_["warnings"])


def test_shapley_values_of_many_columns_are_exact_and_call_the_model_for_its_rows_only():
    """Thirteen columns would have to be sampled; by paths they add up to the prediction with no standard error."""
    wide = RNG.normal(size=(30, 13))
    target = wide[:, 0] * wide[:, 5] + wide[:, 9]
    model = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=3).fit(wide, target)
    explanation = gx.Explainer("marginal", "local", "partial").explain(model, wide)
    predictions = model.predict(wide)
    np.testing.assert_allclose(
        explanation.values.sum(axis=1), predictions - predictions.mean(), atol=1e-12
    )
    assert not explanation.parts[0].estimated


@pytest.mark.parametrize("masking", ["marginal", "baseline"])
@pytest.mark.parametrize("influence", ["individual", {"two": [0, 1]}, {"none": [0]}])
def test_partial_effects_by_paths_equal_those_by_coalitions(masking, influence):
    """The same explanation of the model as a function, which has no trees, for columns and for groups."""
    model = _histogram(X)
    if isinstance(influence, dict):
        influence = gx.Joint(influence)
    explainer = gx.Explainer(masking, "local", "partial", influence)
    by_paths = explainer.explain(model, X)
    enumerated = explainer.explain(lambda X: model.predict(X), X)
    np.testing.assert_allclose(by_paths.values, enumerated.values, atol=1e-12)


@pytest.mark.filterwarnings("ignore::granite_xai.GraniteWarning")
def test_an_array_is_evaluated_after_a_fit_on_a_frame():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "c"])
    y = X["a"] * np.sign(X["b"])
    g = gx.Granite(RandomForestRegressor(10, random_state=0).fit(X, y)).fit(X, y)
    assert g.evaluate(X.to_numpy(), y).remaining == g.evaluate(X, y).remaining


def test_a_default_fit_is_the_same_with_and_without_treelite(monkeypatch):
    model = RandomForestRegressor(5, random_state=0).fit(X, Y)
    with_extras = gx.Granite(model).fit(X)
    monkeypatch.setitem(sys.modules, "treelite", None)
    plain = gx.Granite(model).fit(X)
    assert plain.diagnostics_["evaluations"] == with_extras.diagnostics_["evaluations"]
    assert plain.diagnostics_["evaluations"]["path"].startswith("trees")
    assert str(plain.partition_) == str(with_extras.partition_)
    assert plain.disagreement_ == pytest.approx(with_extras.disagreement_, rel=1e-12)

"""Trees answer as their models do: on every recombined row, for every library."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from granite_xai.base.errors import ModelWarning
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.model_matrix import evaluate_matrix
from granite_xai.evaluations.request import request_matrices
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Joint
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees import forest_cells
from granite_xai.trees.audit import audit
from granite_xai.trees.ensembles import read_ensemble
from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.routes import Route
from strategies import paper

pytest.importorskip("treelite")
numba = pytest.importorskip("numba")
xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")

RNG = np.random.default_rng(7)
N = 60
X = RNG.normal(size=(N, 4))
X[:, 2] = np.round(X[:, 2], 1)
X[:, 3] = RNG.integers(0, 5, N)
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + (X[:, 3] == 2)
LABELS = np.digitize(Y, [-0.5, 0.8])
HOLES = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    d=pd.Categorical.from_codes(X[:, 3].astype(int), ["v", "w", "x", "y", "z"]),
    n=RNG.integers(0, 9, N),
)
FRAME_HOLES = FRAME.assign(a=HOLES[:, 0], d=FRAME["d"].where(X[:, 0] < 1))

LGB = {
    "n_estimators": 12,
    "min_child_samples": 3,
    "min_data_per_group": 3,
    "cat_smooth": 1,
    "verbose": -1,
}
XGB = {"n_estimators": 12, "max_depth": 4}


def _stopped_xgboost():
    model = xgboost.XGBRegressor(
        n_estimators=60, max_depth=4, learning_rate=0.6, early_stopping_rounds=3
    )
    return model.fit(X[:40], Y[:40], eval_set=[(X[40:], Y[40:])], verbose=False)


def _stopped_lightgbm():
    model = lightgbm.LGBMRegressor(**LGB | {"n_estimators": 80, "learning_rate": 0.5})
    return model.fit(
        X[:40],
        Y[:40],
        eval_set=[(X[40:], Y[40:])],
        callbacks=[lightgbm.early_stopping(2, verbose=False)],
    )


def _codes_xgboost():
    kinds = ["q", "q", "q", "c"]
    data = xgboost.DMatrix(X, Y, feature_types=kinds, enable_categorical=True)
    return xgboost.train({"max_depth": 4, "max_cat_to_onehot": 1}, data, 10)


MODELS = {
    "tree": (lambda: DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y), X, {}),
    "deep tree": (lambda: DecisionTreeRegressor(random_state=0).fit(X, Y), X, {}),
    "tree, missing": (lambda: DecisionTreeRegressor(random_state=0).fit(HOLES, Y), HOLES, {}),
    "constant tree": (lambda: DecisionTreeRegressor().fit(X, np.ones(N)), X, {}),
    "extra tree": (lambda: ExtraTreeRegressor(random_state=0).fit(X, Y), X, {}),
    "tree, classes": (lambda: DecisionTreeClassifier(max_depth=3).fit(X, LABELS), X, {"output": 2}),
    "forest": (lambda: RandomForestRegressor(9, random_state=0).fit(X, Y), X, {}),
    "forest, missing": (lambda: RandomForestRegressor(9, random_state=0).fit(HOLES, Y), HOLES, {}),
    "forest, frame": (
        lambda: RandomForestRegressor(5).fit(FRAME[["a", "b", "n"]], Y),
        FRAME[["a", "b", "n"]],
        {},
    ),
    "forest, two targets": (
        lambda: RandomForestRegressor(5).fit(X, np.stack([Y, -Y], 1)),
        X,
        {"output": 1},
    ),
    "forest, classes": (lambda: RandomForestClassifier(9).fit(X, LABELS), X, {"output": 1}),
    "forest, two classes": (lambda: RandomForestClassifier(9).fit(X, LABELS > 0), X, {}),
    "extra trees": (lambda: ExtraTreesRegressor(9, max_depth=5).fit(X, Y), X, {}),
    "extra trees, classes": (
        lambda: ExtraTreesClassifier(9, max_depth=5).fit(X, LABELS),
        X,
        {"output": 0},
    ),
    "boosting": (lambda: GradientBoostingRegressor(n_estimators=12).fit(X, Y), X, {}),
    "boosting, init zero": (
        lambda: GradientBoostingRegressor(n_estimators=12, init="zero").fit(X, Y),
        X,
        {},
    ),
    "boosting, stopped": (
        lambda: GradientBoostingRegressor(
            n_estimators=90, learning_rate=0.9, n_iter_no_change=2
        ).fit(X, Y),
        X,
        {},
    ),
    "boosting, logistic": (
        lambda: GradientBoostingClassifier(n_estimators=9).fit(X, LABELS > 0),
        X,
        {},
    ),
    "boosting, first class": (
        lambda: GradientBoostingClassifier(n_estimators=9).fit(X, LABELS > 0),
        X,
        {"output": False},
    ),
    "boosting, raw": (
        lambda: GradientBoostingClassifier(n_estimators=9).fit(X, LABELS > 0),
        X,
        {"response": "raw", "output": False},
    ),
    "boosting, exponential loss": (
        lambda: GradientBoostingClassifier(n_estimators=9, loss="exponential").fit(X, LABELS > 0),
        X,
        {},
    ),
    "boosting, softmax": (
        lambda: GradientBoostingClassifier(n_estimators=5).fit(X, LABELS),
        X,
        {"output": 1},
    ),
    "histogram": (
        lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=3).fit(X, Y),
        X,
        {},
    ),
    "histogram, missing": (
        lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=3).fit(HOLES, Y),
        HOLES,
        {},
    ),
    "histogram, only missing": (
        lambda: HistGradientBoostingRegressor(max_iter=5).fit(
            np.where(HOLES == HOLES, 1.0, np.nan), Y
        ),
        np.where(HOLES == HOLES, 1.0, np.nan),
        {},
    ),
    "histogram, codes": (
        lambda: HistGradientBoostingRegressor(
            max_iter=12, min_samples_leaf=3, categorical_features=[3]
        ).fit(HOLES, Y),
        HOLES,
        {},
    ),
    "histogram, categories": (
        lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=3).fit(FRAME_HOLES, Y),
        FRAME_HOLES,
        {},
    ),
    "histogram, poisson": (
        lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=9, min_samples_leaf=3).fit(
            X, np.abs(Y)
        ),
        X,
        {},
    ),
    "histogram, stopped": (
        lambda: HistGradientBoostingRegressor(
            max_iter=90,
            learning_rate=0.9,
            min_samples_leaf=3,
            early_stopping=True,
            n_iter_no_change=2,
        ).fit(X, Y),
        X,
        {},
    ),
    "histogram, constant": (
        lambda: HistGradientBoostingRegressor(max_iter=3).fit(X, np.ones(N)),
        X,
        {},
    ),
    "histogram, softmax": (
        lambda: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3).fit(X, LABELS),
        X,
        {"output": 2},
    ),
    "xgboost": (lambda: xgboost.XGBRegressor(**XGB).fit(X, Y), X, {}),
    "xgboost, missing": (lambda: xgboost.XGBRegressor(**XGB).fit(HOLES, Y), HOLES, {}),
    "xgboost, frame": (
        lambda: xgboost.XGBRegressor(**XGB).fit(FRAME[["a", "b", "n"]], Y),
        FRAME[["a", "b", "n"]],
        {},
    ),
    "xgboost, stopped": (_stopped_xgboost, X, {}),
    "xgboost, codes": (_codes_xgboost, X, {}),
    "xgboost, booster": (
        lambda: xgboost.train({"max_depth": 4}, xgboost.DMatrix(HOLES, Y), 10),
        HOLES,
        {},
    ),
    "xgboost, dart": (
        lambda: xgboost.XGBRegressor(**XGB, booster="dart", rate_drop=0.3).fit(X, Y),
        X,
        {},
    ),
    "xgboost, forest": (lambda: xgboost.XGBRFRegressor(**XGB).fit(X, Y), X, {}),
    "xgboost, logistic": (lambda: xgboost.XGBClassifier(**XGB).fit(X, LABELS > 0), X, {}),
    "xgboost, raw": (
        lambda: xgboost.XGBClassifier(**XGB).fit(X, LABELS > 0),
        X,
        {"response": "raw"},
    ),
    "xgboost, softmax": (lambda: xgboost.XGBClassifier(**XGB).fit(X, LABELS), X, {"output": 1}),
    "xgboost, poisson": (
        lambda: xgboost.XGBRegressor(**XGB, objective="count:poisson").fit(X, np.abs(Y)),
        X,
        {},
    ),
    "lightgbm": (lambda: lightgbm.LGBMRegressor(**LGB).fit(X, Y), X, {}),
    "lightgbm, missing": (lambda: lightgbm.LGBMRegressor(**LGB).fit(HOLES, Y), HOLES, {}),
    "lightgbm, whole numbers": (
        lambda: lightgbm.LGBMRegressor(**LGB).fit((X * 9).astype(int), Y),
        (X * 9).astype(int),
        {},
    ),
    "lightgbm, categories": (
        lambda: lightgbm.LGBMRegressor(**LGB).fit(FRAME_HOLES, Y),
        FRAME_HOLES,
        {},
    ),
    "lightgbm, stopped": (_stopped_lightgbm, X, {}),
    "lightgbm, forest": (
        lambda: lightgbm.LGBMRegressor(
            **LGB, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7
        ).fit(X, Y),
        X,
        {},
    ),
    "lightgbm, logistic": (lambda: lightgbm.LGBMClassifier(**LGB).fit(X, LABELS > 0), X, {}),
    "lightgbm, softmax": (lambda: lightgbm.LGBMClassifier(**LGB).fit(X, LABELS), X, {"output": 1}),
    "lightgbm, booster": (lambda: lightgbm.LGBMRegressor(**LGB).fit(HOLES, Y).booster_, HOLES, {}),
}


@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names", "ignore:The argument 'eval_set' is deprecated"
)
@pytest.mark.parametrize("name", MODELS)
def test_M23_M24_M25_M26_M29_trees_give_what_the_model_predicts_on_recombined_rows(
    name, monkeypatch
):
    """Every entry of E_S is the prediction of one recombined row: by products, by words of leaves, by the walk."""
    build, data, options = MODELS[name]
    predictor = as_predictor(build(), **options)
    table = read_table(data, missing="allow")
    ensemble = read_ensemble(predictor)
    checked = audit(predictor, table, ensemble)
    assert checked.difference <= checked.tolerance, checked
    assert checked.rows >= 64
    assert predictor.usage.rows == checked.rows
    trees, large = ensemble.on(table), ensemble.on(table)
    with monkeypatch.context() as patched:
        patched.setattr(forest_cells, "MOST_WORDS", -1)
        assert all(cells.masks is None for cells in large.cells)
    tolerance = 3e-6 if predictor.native_float32 else 1e-12
    for columns in ({0}, {table.n_columns - 1}, {0, 1}, set(range(1, table.n_columns))):
        distinct = DistinctValues(*table.distinct(sorted(columns)))
        expected = evaluate_matrix(predictor, table, frozenset(columns), distinct)
        product = trees.matrix_of(frozenset(columns), distinct.representatives, fast=False)
        np.testing.assert_allclose(product, expected, rtol=tolerance, atol=tolerance)
        for compiled in (trees, large):
            found = compiled.matrix_of(frozenset(columns), distinct.representatives, fast=True)
            np.testing.assert_allclose(found, product, rtol=1e-12, atol=1e-13)


@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names", "ignore:The argument 'eval_set' is deprecated"
)
@pytest.mark.parametrize("name", MODELS)
def test_values_of_one_cell_are_evaluated_once_and_every_bit_is_the_same(name, monkeypatch):
    """E_S of one value a cell, read through the cells, is E_S of all values: by products, by words, by the walk."""
    build, data, options = MODELS[name]
    predictor, table = as_predictor(build(), **options), read_table(data, missing="allow")
    ensemble = read_ensemble(predictor)
    trees, large = ensemble.on(table), ensemble.on(table)
    with monkeypatch.context() as patched:
        patched.setattr(forest_cells, "MOST_WORDS", -1)
        assert all(cells.masks is None for cells in large.cells)
    for columns in map(frozenset, ({0}, {1}, {0, 1}, set(range(1, table.n_columns)))):
        stores = request_matrices(table, [columns], cells=trees.cell_numbers).stores
        for side, joined in stores.items():
            every = DistinctValues(*table.distinct(side))
            assert len(joined) <= len(every)
            for way, fast in ((trees, True), (trees, False), (large, True)):
                by_cell = way.matrix_of(side, joined.representatives, fast=fast)[joined.codes]
                by_value = way.matrix_of(side, every.representatives, fast=fast)[every.codes]
                assert np.array_equal(by_cell, by_value)


FAMILIES = ("forest", "boosting", "histogram", "xgboost", "lightgbm")


@pytest.mark.parametrize("name", FAMILIES)
def test_M27_rows_on_a_threshold_and_next_to_it_go_the_models_way(name):
    """Rows are placed on thresholds, one unit in the last place beside them, in double and in single precision."""
    model = MODELS[name][0]()
    predictor = as_predictor(model)
    ensemble = read_ensemble(predictor)
    (trees,) = ensemble.forests
    nodes = np.flatnonzero(trees.feature >= 0)[:150]
    rows = []
    for node in nodes:
        limit = trees.threshold[node]
        single = np.float32(limit)
        beside = [np.nextafter(limit, end) for end in (-np.inf, np.inf)]
        beside += [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
        for value in (limit, single, *beside):
            row = X[node % N].copy()
            row[trees.feature[node]] = value
            rows.append(row)
    data = np.array(rows)
    found = ensemble.on(read_table(data, missing="allow")).predictions()
    tolerance = 1e-6 if name == "xgboost" else 1e-12
    np.testing.assert_allclose(found, predictor(data), rtol=tolerance, atol=tolerance)


def _enumerated(predictor, table, players, member):
    """The definition: every coalition of players, every pair of rows."""
    n, p = table.n_rows, len(players)
    total = np.zeros((n, n))
    rows, references = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    others = [i for i in range(p) if i != member]
    for size in range(p):
        for chosen in combinations(others, size):
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            for sign, visible in ((1, (*chosen, member)), (-1, chosen)):
                columns = sorted(c for i in visible for c in players[i])
                values = predictor.recombined(table, references, table, rows, columns)
                total += sign * weight * values.reshape(n, n)
    return total


@pytest.mark.parametrize("groups", [[{0}, {1}, {2}, {3}], [{0, 3}, {1}, {2}]])
@pytest.mark.parametrize(
    "name", ["tree", "histogram, codes", "forest, classes", "xgboost, raw", "boosting, raw"]
)
def test_attributions_of_pairs_equal_the_enumeration(name, groups):
    """Phi from the paths is the Shapley value of row n against the single reference m, for groups as well."""
    build, data, options = MODELS[name]
    predictor = as_predictor(build(), **options)
    table = read_table(data[:12], missing="allow")
    trees = read_ensemble(predictor).on(table)
    players = [frozenset(group) for group in groups]
    wanted = [2, 0]
    by_leaves = trees.attributions(players, wanted, fast=False)
    walked = trees.attributions(players, wanted, fast=True)
    np.testing.assert_allclose(walked, by_leaves, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(walked, -walked.transpose(0, 2, 1), atol=1e-15)
    tolerance = 1e-6 if "xgboost" in name else 1e-12
    for phi, member in zip(by_leaves, wanted, strict=True):
        np.testing.assert_allclose(
            phi, _enumerated(predictor, table, players, member), rtol=0, atol=tolerance
        )


def test_shapley_values_of_many_columns_are_exact_and_call_the_model_for_its_rows_only():
    """Thirteen columns would have to be sampled; by paths they add up to the prediction with no standard error."""
    wide = RNG.normal(size=(30, 13))
    model = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=3).fit(
        wide, wide[:, 0] * wide[:, 5] + wide[:, 9]
    )
    explanation = Explainer("marginal", "local", "partial").explain(model, wide)
    predictions = model.predict(wide)
    np.testing.assert_allclose(
        explanation.values.sum(axis=1), predictions - predictions.mean(), atol=1e-12
    )
    assert not explanation.parts[0].estimated


def test_partial_effects_by_paths_equal_those_by_coalitions():
    """The same explanation of the model as a function, which has no trees, for columns and for groups."""
    model = MODELS["histogram"][0]()
    for influence in ("individual", Joint({"two": [0, 1]}), Joint({"none": [0]})):
        explainer = Explainer("marginal", "local", "partial", influence)
        by_paths, enumerated = (
            explainer.explain(model, X),
            explainer.explain(lambda X: model.predict(X), X),
        )
        np.testing.assert_allclose(by_paths.values, enumerated.values, atol=1e-12)
    regional = Explainer("baseline", "local", "partial")
    np.testing.assert_allclose(
        regional.explain(model, X).values,
        regional.explain(lambda X: model.predict(X), X).values,
        atol=1e-12,
    )


class _Subclass(RandomForestRegressor):
    def predict(self, X):
        return super().predict(X) + 1.0


REFUSED = {
    "linear": lambda: LinearRegression().fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), RandomForestRegressor(3)).fit(X, Y),
    "subclass": lambda: _Subclass(3).fit(X, Y),
    "linear leaves": lambda: lightgbm.LGBMRegressor(**LGB, linear_tree=True).fit(X, Y),
    "zero is missing": lambda: lightgbm.LGBMRegressor(**LGB, zero_as_missing=True).fit(HOLES, Y),
    "other missing": lambda: xgboost.XGBRegressor(**XGB, missing=0.0).fit(X, Y),
    "linear booster": lambda: xgboost.XGBRegressor(n_estimators=3, booster="gblinear").fit(X, Y),
    "custom init": lambda: GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(
        X, Y
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_M25_M30_what_is_not_read_exactly_is_refused_with_a_reason(name):
    with pytest.raises(RefusalError) as caught:
        read_ensemble(as_predictor(REFUSED[name]()))
    assert len(caught.value.reason) > 10


def test_a_function_and_labels_are_refused():
    model = RandomForestClassifier(3).fit(X, LABELS)
    for predictor in (as_predictor(lambda X: X[:, 0]), as_predictor(model, response="predict")):
        with pytest.raises(RefusalError):
            read_ensemble(predictor)


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
    from granite_xai.evaluations.request import request_matrices
    from granite_xai.trees import routes

    monkeypatch.setattr(routes, "available", lambda: False)
    data = RNG.normal(size=(300, 4))
    data[:, 3] = data[:, 3] > 0
    predictor = as_predictor(RandomForestRegressor(9, random_state=0).fit(data, data[:, 0]))
    table = read_table(data, missing="allow")
    route = Route(predictor, table)
    assert route.for_requests(request_matrices(table, [frozenset({0})])).name(1) == "trees (numpy)"
    few = route.for_requests(request_matrices(table, [frozenset({3})]))
    assert few.name(1) == "model"
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


@pytest.mark.parametrize("fast", [False, True])
def test_M28_trees_of_forty_thousand_nodes_and_of_depth_ninety(fast):
    """More nodes than 16 bits can count, and a chain deeper than 64 levels."""
    wide = RNG.normal(size=(20_000, 1))
    many = DecisionTreeRegressor(random_state=0).fit(wide, RNG.normal(size=20_000))
    chain = np.arange(100.0)[:, None]
    deep = DecisionTreeRegressor(random_state=0).fit(chain, 8.0 ** np.arange(100))
    assert many.tree_.node_count > 2**15
    assert deep.tree_.max_depth > 64
    for model, rows in ((many, wide[:40]), (deep, chain[::3])):
        table = read_table(rows, missing="error")
        trees = read_ensemble(as_predictor(model)).on(table)
        found = trees.matrix_of(frozenset({0}), np.arange(len(rows)), fast=fast)
        np.testing.assert_allclose(
            found, np.repeat(model.predict(rows)[:, None], len(rows), axis=1), rtol=1e-12
        )


def test_M28_many_values_and_large_trees_keep_their_digits():
    """More values than one anchor of the running sums, more leaves than one word, rows in several chunks."""
    data = RNG.normal(size=(1100, 2))
    model = RandomForestRegressor(3, random_state=0).fit(data, np.exp(data[:, 0]) * data[:, 1])
    predictor = as_predictor(model)
    table = read_table(data, missing="error")
    trees = read_ensemble(predictor).on(table)
    assert trees.cells[0].masks is None
    donors = np.arange(0, 1100, 2)
    product = trees.matrix_of(frozenset({0}), donors, fast=False)
    walked = trees.matrix_of(frozenset({0}), donors, fast=True, n_jobs=2)
    np.testing.assert_allclose(walked, product, rtol=1e-12, atol=1e-12)
    pairs = RNG.integers(0, [len(donors), 1100], size=(200, 2))
    rows = np.stack([data[donors[pairs[:, 0]], 0], data[pairs[:, 1], 1]], axis=1)
    np.testing.assert_allclose(product[pairs[:, 0], pairs[:, 1]], model.predict(rows), rtol=1e-12)

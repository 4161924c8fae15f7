"""scikit-learn's ensembles are read from their own arrays, with and without treelite."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
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
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from granite_xai import Granite
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import read_ensemble
from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.sklearn_arrays import (
    read_forest,
    read_gradient_boosting,
    read_histogram_boosting,
    read_single_tree,
)
from strategies import quiet

RNG = np.random.default_rng(11)
N = 600  # histogram boosting splits on categories of at least ten rows
X = RNG.normal(size=(N, 4))
X[:, 3] = RNG.integers(0, 40, N)  # more categories than the bits of one word
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 2 * (X[:, 3] % 7 == 2)
TWO = Y > 0
THREE = np.digitize(Y, [-0.5, 0.8])
HOLES = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
# A label column last: histogram boosting sees it first.
FRAME = pd.DataFrame(HOLES[:, :3], columns=list("abc")).assign(
    label=pd.Categorical([f"v{code:.0f}" for code in X[:, 3]]).set_categories(
        [f"v{code}" for code in RNG.permutation(40)]
    )
)
FRAME.loc[::9, "label"] = np.nan
WEIGHTS = RNG.exponential(size=N)
HISTOGRAM = {"max_iter": 6, "min_samples_leaf": 3, "random_state": 0}


def _classes(number):
    return {"output": number, "response": "probability"}


MODELS = {
    "a tree": (DecisionTreeRegressor(max_depth=5), X, Y, {}),
    "a tree by best first": (DecisionTreeRegressor(max_leaf_nodes=9), X, Y, {}),
    "a tree with missing values": (DecisionTreeRegressor(), HOLES, Y, {}),
    "a tree of two targets": (
        DecisionTreeRegressor(),
        X,
        np.stack([Y, -X[:, 2]], 1),
        {"output": 1},
    ),
    "a tree of classes": (DecisionTreeClassifier(min_samples_leaf=9), X, THREE, _classes(2)),
    "an extra tree": (ExtraTreeRegressor(), X, Y, {}),
    "an extra tree of classes": (ExtraTreeClassifier(min_samples_leaf=9), X, TWO, _classes(True)),
    "a forest": (RandomForestRegressor(5), X, Y, {}),
    "a forest with missing values": (RandomForestRegressor(5), HOLES, Y, {}),
    "a forest of two classes": (RandomForestClassifier(5), X, TWO, _classes(False)),
    "a forest of classes": (RandomForestClassifier(5, max_depth=4), HOLES, THREE, _classes(1)),
    "a forest of one class": (RandomForestClassifier(2), X, np.zeros(N), {"output": 0}),
    "extra trees": (ExtraTreesRegressor(5), X, Y, {}),
    "extra trees of classes": (ExtraTreesClassifier(5), X, THREE, _classes(0)),
    "boosting": (GradientBoostingRegressor(n_estimators=6), X, Y, {}),
    "boosting, huber": (GradientBoostingRegressor(n_estimators=6, loss="huber"), X, Y, {}),
    "boosting, a median first": (
        GradientBoostingRegressor(n_estimators=6, init=DummyRegressor(strategy="median")),
        X,
        Y,
        {},
    ),
    "boosting, quantile": (GradientBoostingRegressor(n_estimators=6, loss="quantile"), X, Y, {}),
    "boosting from zero": (GradientBoostingRegressor(n_estimators=6, init="zero"), X, Y, {}),
    "boosting of two classes": (GradientBoostingClassifier(n_estimators=6), X, TWO, _classes(True)),
    "boosting of classes": (GradientBoostingClassifier(n_estimators=6), X, THREE, _classes(1)),
    "boosting of classes from zero": (
        GradientBoostingClassifier(n_estimators=6, init="zero"),
        X,
        THREE,
        _classes(1),
    ),
    "boosting, exponential loss": (
        GradientBoostingClassifier(n_estimators=6, loss="exponential"),
        X,
        TWO,
        _classes(True),
    ),
    "histogram": (HistGradientBoostingRegressor(**HISTOGRAM), X, Y, {}),
    "histogram with missing values": (HistGradientBoostingRegressor(**HISTOGRAM), HOLES, Y, {}),
    "histogram with codes": (
        HistGradientBoostingRegressor(**HISTOGRAM, categorical_features=[3]),
        HOLES,
        Y,
        {},
    ),
    "histogram with labels": (HistGradientBoostingRegressor(**HISTOGRAM), FRAME, Y, {}),
    "histogram, poisson": (
        HistGradientBoostingRegressor(**HISTOGRAM, loss="poisson"),
        X,
        np.abs(Y),
        {},
    ),
    "histogram, gamma": (
        HistGradientBoostingRegressor(**HISTOGRAM, loss="gamma"),
        X,
        np.abs(Y) + 0.1,
        {},
    ),
    "histogram, absolute error": (
        HistGradientBoostingRegressor(**HISTOGRAM, loss="absolute_error"),
        X,
        Y,
        {},
    ),
    "histogram of two classes": (
        HistGradientBoostingClassifier(**HISTOGRAM),
        FRAME,
        TWO,
        _classes(True),
    ),
    "histogram of classes": (
        HistGradientBoostingClassifier(**HISTOGRAM),
        FRAME,
        THREE,
        _classes(2),
    ),
    "histogram of classes, raw": (
        HistGradientBoostingClassifier(**HISTOGRAM),
        X,
        THREE,
        {"output": 2, "response": "raw"},
    ),
}


@pytest.fixture
def without_treelite(monkeypatch):
    """As in a plain install."""
    monkeypatch.setitem(sys.modules, "treelite", None)


@pytest.mark.usefixtures("without_treelite")
@pytest.mark.parametrize("name", MODELS)
def test_the_trees_predict_what_the_model_predicts(name):
    """On the rows of the table and on recombined ones, fitted with weights."""
    estimator, data, target, options = MODELS[name]
    model = estimator.fit(data, target, sample_weight=WEIGHTS)
    predictor = as_predictor(model, **options)
    columns = [np.asarray(column)[RNG.permutation(N)] for column in np.asarray(data, object).T]
    if isinstance(data, pd.DataFrame):
        mixed = pd.DataFrame(dict(zip(data, columns, strict=True))).astype(data.dtypes)
    else:
        mixed = np.stack(columns, axis=1).astype(float)
    ensemble = read_ensemble(predictor)
    splits_on_categories = any(forest.categories for forest in ensemble.forests)
    assert splits_on_categories == (isinstance(data, pd.DataFrame) or "codes" in name)
    for rows in (data, mixed):
        by_trees = ensemble.on(read_table(rows, missing="allow")).predictions()
        np.testing.assert_allclose(by_trees, predictor(rows), rtol=1e-12, atol=1e-12)


def test_a_category_that_only_validation_rows_carried_goes_the_way_of_missing_values():
    pytest.importorskip("sklearn", "1.7")  # the first that takes validation rows
    labels = np.array(["u", "v", "w"] * 40)
    numbers = RNG.normal(size=120)
    frame = pd.DataFrame({"x": numbers, "label": pd.Categorical(labels)})
    target = numbers * (labels == "v") + (labels == "w")
    seen = labels != "w"
    model = HistGradientBoostingRegressor(**HISTOGRAM, early_stopping=True)
    model.fit(frame[seen], target[seen], X_val=frame[~seen], y_val=target[~seen])
    ensemble = read_ensemble(as_predictor(model))
    by_trees = ensemble.on(read_table(frame, missing="allow")).predictions()
    np.testing.assert_allclose(by_trees, model.predict(frame), rtol=1e-12)


def test_a_classifier_of_several_targets_is_refused():
    labels = np.stack([TWO, THREE], axis=1).astype(int)
    with pytest.raises(RefusalError, match="several targets"):
        read_forest(RandomForestClassifier(2).fit(X, labels))
    with pytest.raises(RefusalError, match="several targets"):
        read_single_tree(DecisionTreeClassifier().fit(X, labels))


@pytest.mark.parametrize(
    "start", [LogisticRegression(), DummyClassifier(strategy="stratified", random_state=0)]
)
def test_boosting_that_starts_from_no_constant_is_refused(start):
    model = GradientBoostingClassifier(n_estimators=2, init=start).fit(X, TWO)
    with pytest.raises(RefusalError, match="starts from another model"):
        read_gradient_boosting(model)


def test_a_loss_whose_link_is_not_known_is_refused():
    model = HistGradientBoostingRegressor(**HISTOGRAM).fit(X, Y)
    model.loss = "tweedie"
    with pytest.raises(RefusalError, match="tweedie") as caught:
        read_histogram_boosting(model)
    assert caught.value.code == "M23"


@pytest.mark.parametrize("name", ["a forest of classes", "boosting", "histogram with labels"])
def test_a_default_fit_is_the_same_with_and_without_treelite(name, request):
    estimator, data, target, options = MODELS[name]
    model = estimator.fit(data, target)
    with quiet():
        with_extras = Granite(model, missing="allow", **options).fit(data)
        request.getfixturevalue("without_treelite")
        plain = Granite(model, missing="allow", **options).fit(data)
    assert plain.diagnostics_["evaluations"] == with_extras.diagnostics_["evaluations"]
    assert plain.diagnostics_["evaluations"]["path"].startswith("trees")
    assert str(plain.partition_) == str(with_extras.partition_)
    assert plain.disagreement_ == pytest.approx(with_extras.disagreement_, rel=1e-12)

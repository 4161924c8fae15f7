"""Trees, links and numbers of every library; scikit-learn's are read without treelite."""

from __future__ import annotations

import sys
from copy import copy
from functools import partial
from types import MethodType

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
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from granite_xai.evaluations.ensembles import read_parts
from granite_xai.evaluations.forest import LEAF, Forest
from granite_xai.evaluations.tree_readers import (
    ModelCall,
    RefusalError,
    TreeModel,
    is_sum,
    link_of,
    model_call,
    read_tree_model,
    single_precision,
)
from granite_xai.models import as_predictor
from granite_xai.models.outputs import ModelOutput
from granite_xai.tables import read_table

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
pytest.importorskip("treelite")

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
    ensemble = read_parts(predictor)
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
    ensemble = read_parts(as_predictor(model))
    by_trees = ensemble.on(read_table(frame, missing="allow")).predictions()
    np.testing.assert_allclose(by_trees, model.predict(frame), rtol=1e-12)


def test_a_loss_whose_link_is_not_known_is_refused():
    model = HistGradientBoostingRegressor(**HISTOGRAM).fit(X, Y)
    model.loss = "tweedie"
    with pytest.raises(RefusalError, match="tweedie") as caught:
        read_parts(as_predictor(model))
    assert caught.value.code == "M23"


class _Subclass(RandomForestRegressor):
    def predict(self, X):
        return super().predict(X) + 1.0


def _rebound():
    model = RandomForestRegressor(2).fit(X, Y)
    model.predict = MethodType(lambda self, data: data[:, 0], model)
    return model


FOREST = RandomForestRegressor(2).fit(X, Y)
LABELS = np.stack([TWO, THREE], axis=1).astype(int)
NUMBERS = np.where(HOLES > 0, HOLES, 0.0)
REFUSED = {
    "linear": (lambda: LinearRegression().fit(X, Y), "LinearRegression is no tree ensemble", None),
    "pipeline": (
        lambda: make_pipeline(StandardScaler(), RandomForestRegressor(3)).fit(X, Y),
        "Pipeline is no tree ensemble",
        None,
    ),
    "subclass": (lambda: _Subclass(3).fit(X, Y), "no tree ensemble", None),
    "function": (lambda: lambda data: data[:, 0], "the model is a function", None),
    "function of a class": (lambda: FOREST.predict.__func__, "the model is a function", None),
    "partial": (lambda: partial(FOREST.predict), "the model is a function", None),
    "method of the object": (_rebound, "the model is a function", None),
    "custom init": (
        lambda: GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(X, Y),
        "starts from another model",
        "M30",
    ),
    "random init": (
        lambda: GradientBoostingClassifier(
            n_estimators=2, init=DummyClassifier(strategy="stratified", random_state=0)
        ).fit(X, TWO),
        "starts from another model",
        "M30",
    ),
    "linear leaves": (
        lambda: lightgbm.LGBMRegressor(verbose=-1, linear_tree=True).fit(X, Y),
        "linear models",
        "M30",
    ),
    "zero is missing": (
        lambda: lightgbm.LGBMRegressor(verbose=-1, zero_as_missing=True).fit(NUMBERS, Y),
        "zero for missing",
        "M26",
    ),
    "stopped row by row": (
        lambda: lightgbm.LGBMRegressor(verbose=-1, pred_early_stop=True).fit(X, Y),
        "row by row",
        "M24",
    ),
    "other missing": (
        lambda: xgboost.XGBRegressor(n_estimators=2, missing=0.0).fit(X, Y),
        "0.0 for missing",
        "M26",
    ),
    "linear booster": (
        lambda: xgboost.XGBRegressor(n_estimators=3, booster="gblinear").fit(X, Y),
        "no sum of trees",
        None,
    ),
    "unreadable": (lambda: _without(FOREST, "estimators_"), "cannot be read", "M30"),
}


def _without(model, attribute):
    changed = copy(model)
    vars(changed)["renamed"] = vars(changed).pop(attribute)
    return changed


@pytest.mark.parametrize("name", REFUSED)
def test_M23_M24_M26_M30_what_is_not_read_exactly_is_refused_with_a_reason(name):
    build, reason, code = REFUSED[name]
    with pytest.raises(RefusalError, match=reason) as caught:
        read_parts(as_predictor(build()))
    assert caught.value.code == code


def test_labels_and_several_targets_of_classes_are_refused():
    with pytest.raises(RefusalError, match="labels"):
        read_parts(
            as_predictor(
                HistGradientBoostingClassifier(**HISTOGRAM).fit(X, TWO), response="predict"
            )
        )
    several = RandomForestClassifier(2).fit(X, LABELS)
    with pytest.raises(RefusalError, match="several targets"):
        read_tree_model(ModelCall(several, "predict", False, np.asarray))


def test_the_score_before_the_link_is_raw():
    boosting = GradientBoostingClassifier(n_estimators=2).fit(X, TWO)
    assert model_call(as_predictor(boosting, response="raw")).raw
    assert model_call(as_predictor(boosting))[:3] == (boosting, "predict_proba", False)
    booster = xgboost.XGBClassifier(n_estimators=2).fit(X, TWO)
    assert model_call(as_predictor(booster, response="raw")).raw


# -- trees


def _stump(**changes):
    """One question about column 1: leaves 1 and 2."""
    fields = {
        "feature": np.array([1, LEAF, LEAF]),
        "threshold": np.array([0.5, 0.0, 0.0]),
        "strict": np.zeros(3, dtype=bool),
        "default_left": np.array([True, False, False]),
        "left": np.array([1, 0, 0]),
        "right": np.array([2, 0, 0]),
        "value": np.array([0.0, 1.0, 2.0]),
        "categories": {},
        "list_right": np.zeros(3, dtype=bool),
        "starts": np.array([0, 3]),
    }
    return Forest(**fields | changes)


def _model(*trees, **options):
    settings = {"link": "identity", "n_features": 2, "bases": np.array([7.0])} | options
    return TreeModel(trees_of=lambda output: list(trees), view=single_precision, **settings)


def test_nodes_of_joined_trees_are_numbered_through_and_averages_divide_the_leaves():
    by_category = _stump(feature=np.array([0, LEAF, LEAF]), categories={0: np.array([2])})
    forest = _model(_stump(), by_category, average=True).forest(0)
    assert forest.starts.tolist() == [0, 3, 6]
    assert forest.left[[0, 3]].tolist() == [1, 4]
    assert forest.right[[0, 3]].tolist() == [2, 5]
    assert list(forest.categories) == [3]
    assert forest.value.tolist() == [0.0, 0.5, 1.0, 0.0, 0.5, 1.0]
    assert forest.base == 7.0


@pytest.mark.parametrize(
    ("changes", "reason", "code"),
    [
        ({"left": np.array([0, 0, 0])}, "order", "M30"),
        ({"right": np.array([-1, 0, 0])}, "order", "M30"),
        ({"value": np.array([0.0, np.inf, 0.0])}, "not finite", "M30"),
        ({"threshold": np.array([np.nan, 0.0, 0.0])}, "not finite", "M30"),
        ({"categories": {0: np.array([2])}}, "column 1 is split by thresholds and by cat", None),
    ],
)
def test_trees_that_cannot_be_walked_are_refused(changes, reason, code):
    with pytest.raises(RefusalError, match=reason) as caught:
        _model(_stump(), _stump(**changes)).forest(0)
    assert caught.value.code == code


def test_trees_after_the_best_round_are_left_out():
    model = xgboost.XGBRegressor(
        n_estimators=40, max_depth=3, learning_rate=0.9, early_stopping_rounds=2
    )
    model.fit(X[:400], Y[:400], eval_set=[(X[400:], Y[400:])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    (forest,) = read_parts(as_predictor(model)).forests
    assert forest.n_trees == model.best_iteration + 1


# -- links

SUMS = [np.array([-2.0, 0.0, 1.0]), np.array([0.5, 0.0, -1.0]), np.array([1.0, 3.0, 0.0])]
ONE_SUM = {
    "identity": lambda s: s,
    "exponential": np.exp,
    "signed_square": lambda s: np.sign(s) * s**2,
    "logarithm_one_plus_exp": lambda s: np.log(1 + np.exp(s)),
    "sigmoid": lambda s: 1 / (1 + np.exp(-2 * s)),
}


def _linked(name, *, n_outputs=1, raw=False, slope=1.0, **chosen):
    explained = ModelOutput(np.sum, **{"response": "probability", "label": "", **chosen})
    return link_of(explained, raw, has_classes=True, name=name, slope=slope, n_outputs=n_outputs)


@pytest.mark.parametrize("name", ONE_SUM)
def test_links_of_one_sum(name):
    link, outputs = _linked(name, slope=2.0)
    assert outputs == (0,)
    np.testing.assert_allclose(link(SUMS[:1]), ONE_SUM[name](SUMS[0]), rtol=1e-14)
    assert is_sum(link) == (name == "identity")


def test_the_first_of_two_classes_is_the_opposite_of_the_second():
    first = {"column": 0, "classes": ("no", "yes")}
    link, _ = _linked("sigmoid", **first)
    np.testing.assert_allclose(link(SUMS[:1]), 1 / (1 + np.exp(SUMS[0])), rtol=1e-14)
    score, _ = _linked("sigmoid", raw=True, **first)
    np.testing.assert_array_equal(score(SUMS[:1]), -SUMS[0])
    assert is_sum(score)


def test_links_of_several_sums():
    link, outputs = _linked("softmax", n_outputs=3, column=2)
    assert outputs == (0, 1, 2)
    powers = np.exp(np.stack(SUMS))
    large = [total + 800 for total in SUMS]  # no overflow
    for sums in (SUMS, large):
        np.testing.assert_allclose(link(sums), powers[2] / powers.sum(axis=0), rtol=1e-12)
    link, outputs = _linked("multiclass_ova", n_outputs=3, column=1, slope=0.5)
    assert outputs == (1,)
    np.testing.assert_allclose(link([SUMS[1]]), 1 / (1 + np.exp(-0.5 * SUMS[1])), rtol=1e-14)
    assert _linked("identity", n_outputs=2, default=1)[1] == (1,)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "softmax", "n_outputs": 3}, "3 outputs"),
        ({"name": "identity", "response": "predict"}, "labels"),
        ({"name": "unheard_of"}, "unheard_of"),
        ({"name": "softmax", "column": 0}, "softmax"),
    ],
)
def test_what_has_no_link_is_refused(options, reason):
    with pytest.raises(RefusalError, match=reason):
        _linked(**options)


# -- numbers


def test_single_precision_rounds_as_float32_does():
    numbers = np.array([[0.1, 1e300], [np.nan, 16777217.0]])
    seen = single_precision(read_table(numbers, missing="allow"))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(seen, numbers.astype(np.float32).astype(float))
    flags = read_table(pd.DataFrame({"flag": [True, False]}), missing="allow")
    assert single_precision(flags).tolist() == [[1.0], [0.0]]


def test_labels_become_the_codes_of_the_model():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": pd.Categorical(["b", "a", None])})
    table = read_table(frame, missing="allow")
    codes = single_precision(table, {1: ["a", "b"]})
    np.testing.assert_array_equal(codes, [[1.0, 1.0], [2.0, 0.0], [3.0, np.nan]])
    with pytest.raises(RefusalError, match="has not seen") as caught:
        single_precision(table, {1: ["a"]})
    assert caught.value.code == "M25"


@pytest.mark.filterwarnings("ignore:D20")
@pytest.mark.parametrize(
    ("column", "reason"),
    [(["u", "v"], "does not hold numbers"), ([2**53 + 2, 1], "beyond 2\\^53")],
)
def test_what_is_no_exact_number_is_refused(column, reason):
    with pytest.raises(RefusalError, match=reason):
        single_precision(read_table(pd.DataFrame({"x": column}), missing="allow"))


def test_lightgbm_takes_tiny_numbers_for_zero():
    model = lightgbm.LGBMRegressor(verbose=-1).fit(X[:, :2], Y)
    tiny = read_table(np.array([[1e-36, -1e-36], [1e-30, np.nan]]), missing="allow")
    seen = read_tree_model(ModelCall(model, "predict", False, np.asarray)).view(tiny)
    np.testing.assert_array_equal(seen, [[0.0, 0.0], [1e-30, np.nan]])

"""The models of the matrix: for each kind and variant a fitted model with what it answers by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

VARIANTS = ("plain", "missing", "categorical", "early", "several", "link", "float32")

TRAINED, ASKED = 160, 24


@dataclass
class Case:
    """A fitted model, the rows it is asked about, and its own answer to a table."""

    model: Any
    X: Any
    own: Callable[[Any], Any]
    options: dict[str, Any] = field(default_factory=dict)
    without_output: bool = False  # refused with M02 unless an output is named


@dataclass
class Refused:
    """A model and rows that do not go together, and the code that says so."""

    code: str
    model: Any
    X: Any
    options: dict[str, Any] = field(default_factory=dict)


# Tables ---------------------------------------------------------------------------------------------------------------


def numbers(rows=TRAINED, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(generator.normal(size=(rows, 3)), columns=["a", "b", "c"])


def with_missing(rows=TRAINED, seed=0):
    frame = numbers(rows, seed)
    frame.loc[np.random.default_rng(seed + 1).random(rows) < 0.25, "b"] = np.nan
    return frame


def with_levels(rows=TRAINED, seed=0):
    """A nominal column whose dtype declares a level that no row has, and not in the order of the alphabet."""
    frame = numbers(rows, seed)
    levels = np.random.default_rng(seed + 2).choice(["v", "u", "w"], size=rows)
    frame["b"] = pd.Categorical(levels, categories=["w", "never", "u", "v"])
    return frame


def on_edges(rows=TRAINED, seed=0):
    """Single precision on a grid; of the rows asked about, every third is at or next to a value or half-way point."""
    generator = np.random.default_rng(seed)
    cells = (generator.integers(0, 7, size=(rows, 3)) / np.float32(3)).astype(np.float32)
    if rows == TRAINED:
        return cells
    near = cells + generator.choice(np.array([0, 1 / 6], dtype=np.float32), size=cells.shape)
    up, down = np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))
    edges = np.choose(generator.integers(0, 3, size=cells.shape), [down, near, up])
    return np.where(np.arange(rows)[:, None] % 3 == 0, edges, cells + np.float32(0.1))


def target(X):
    """An interaction of a and b, and a little of c."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=["a", "b", "c"])
    b = frame["b"]
    switch = (
        np.where(b == "u", 1.0, -1.0)
        if isinstance(b.dtype, pd.CategoricalDtype)
        else np.where(b > 0.5, 1.0, -1.0)
    )
    return frame["a"].to_numpy(float) * switch + 0.3 * frame["c"].to_numpy(float)


def yes_no(X):
    return np.where(target(X) > 0.1, "yes", "no")


def three(X):
    return np.array(["low", "middle", "high"])[np.digitize(target(X), [-0.4, 0.4])]


def digits(X, classes=2):
    return (np.digitize(target(X), [-0.4, 0.4]) if classes == 3 else target(X) > 0.1).astype(int)


def counts(X):
    return np.random.default_rng(3).poisson(np.exp(0.5 * target(X)))


def two(X):
    return np.column_stack([target(X), target(X) ** 2])


def codes(frame):
    """What a model without categories is trained on."""
    return frame.assign(b=frame["b"].cat.codes)


def column(answer, position):
    return np.asarray(answer)[:, position]


# scikit-learn and whatever follows its manner -------------------------------------------------------------------------


def numeric_regressor(make, several=True, nan=False):
    """A regressor that takes numbers only."""
    kinds = {
        "plain": lambda: predicts(make(), numbers),
        "missing": lambda: predicts(make(), with_missing) if nan else no_missing(make()),
        "categorical": lambda: no_levels(make().fit(codes(with_levels()), target(with_levels()))),
        "link": lambda: Refused(
            "P03", make().fit(numbers(), target(numbers())), numbers(ASKED), {"response": "raw"}
        ),
        "float32": lambda: predicts(make(), on_edges),
    }
    if several:
        kinds["several"] = lambda: predicts(make(), numbers, two, 1)
    return kinds


def numeric_classifier(make, raw=False, nan=False):
    """A classifier that takes numbers only."""
    return {
        "plain": lambda: probability(make(), numbers),
        "missing": lambda: probability(make(), with_missing) if nan else no_missing(make(), yes_no),
        "categorical": lambda: no_levels(make().fit(codes(with_levels()), yes_no(with_levels()))),
        "several": lambda: probability(make(), numbers, three, "middle"),
        "link": lambda: (
            score(make(), numbers) if raw else no_score(make().fit(numbers(), yes_no(numbers())))
        ),
        "float32": lambda: probability(make(), on_edges),
    }


def predicts(model, table, wanted=target, output=None, **fit):
    X = table()
    model.fit(X, wanted(X), **fit)
    if output is None:
        return Case(model, table(ASKED, 9), model.predict)
    return Case(
        model, table(ASKED, 9), lambda X: column(model.predict(X), output), {"output": output}, True
    )


def probability(model, table, wanted=yes_no, output="yes", **fit):
    X = table()
    model.fit(X, wanted(X), **fit)
    place = list(model.classes_).index(output)
    own = lambda X: column(model.predict_proba(X), place)  # noqa: E731
    return Case(model, table(ASKED, 9), own, {"output": output}, len(model.classes_) > 2)


def score(model, table):
    X = table()
    model.fit(X, yes_no(X))
    return Case(model, table(ASKED, 9), model.decision_function, {"response": "raw"})


def no_score(model):
    return Refused("P03", model, numbers(ASKED), {"response": "raw"})


def no_missing(model, wanted=target):
    return Refused("D01", model.fit(numbers(), wanted(numbers())), with_missing(ASKED))


def no_levels(model, code="M07"):
    return Refused(code, model, with_levels(ASKED))


def raw_columns(final):
    """A pipeline that takes the columns as they are."""
    encode = make_column_transformer(
        (
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    return make_pipeline(encode, final)


def allowed(case):
    """The model takes missing values, but only its author knows."""
    case.options["missing"] = "allow"
    return case


def pipeline():
    return {
        "plain": lambda: predicts(raw_columns(Ridge()), numbers),
        "missing": lambda: allowed(predicts(raw_columns(Ridge()), with_missing)),
        "categorical": lambda: predicts(
            raw_columns(RandomForestRegressor(5, random_state=0)), with_levels
        ),
        "several": lambda: probability(
            raw_columns(LogisticRegression()), with_levels, three, "middle"
        ),
        "link": lambda: score(raw_columns(LogisticRegression()), with_levels),
    }


def hist_gradient_boosting():
    quick = {
        "max_iter": 20,
        "random_state": 0,
        "min_samples_leaf": 5,
        "categorical_features": "from_dtype",
    }
    stop = {"early_stopping": True, "n_iter_no_change": 2, "validation_fraction": 0.3}
    return {
        "plain": lambda: predicts(HistGradientBoostingRegressor(**quick), numbers),
        "missing": lambda: predicts(HistGradientBoostingRegressor(**quick), with_missing),
        "categorical": lambda: predicts(HistGradientBoostingRegressor(**quick), with_levels),
        "early": lambda: predicts(HistGradientBoostingRegressor(**quick, **stop), with_levels),
        "several": lambda: probability(
            HistGradientBoostingClassifier(**quick), with_levels, three, "middle"
        ),
        "link": lambda: predicts(
            HistGradientBoostingRegressor(loss="poisson", **quick), with_levels, counts
        ),
        "float32": lambda: predicts(HistGradientBoostingRegressor(**quick), on_edges),
    }


def gradient_boosting():
    kinds = numeric_regressor(
        lambda: GradientBoostingRegressor(n_estimators=15, random_state=0), several=False
    )
    stop = {"n_iter_no_change": 2, "validation_fraction": 0.3, "random_state": 0}
    classifier = GradientBoostingClassifier(n_estimators=10, random_state=0)
    return kinds | {
        "early": lambda: predicts(GradientBoostingRegressor(**stop), numbers),
        "several": lambda: probability(classifier, numbers, three, "middle"),
        "link": lambda: score(GradientBoostingClassifier(n_estimators=10, random_state=0), numbers),
    }


def perceptron():
    quick = {"hidden_layer_sizes": (8,), "max_iter": 2000, "random_state": 0, "tol": 1e-2}
    kinds = numeric_regressor(lambda: MLPRegressor(**quick))
    return kinds | {"early": lambda: predicts(MLPRegressor(early_stopping=True, **quick), numbers)}


def stochastic_gradient():
    quick = {"loss": "log_loss", "random_state": 0}
    kinds = numeric_classifier(lambda: SGDClassifier(**quick), raw=True)
    return kinds | {
        "early": lambda: probability(SGDClassifier(early_stopping=True, **quick), numbers)
    }


def generalized_linear():
    return {
        "plain": lambda: predicts(PoissonRegressor(alpha=0.1), numbers, counts),
        "missing": lambda: no_missing(PoissonRegressor(), counts),
        "categorical": lambda: no_levels(
            PoissonRegressor().fit(codes(with_levels()), counts(with_levels()))
        ),
        "link": lambda: predicts(PoissonRegressor(), numbers, counts),
        "float32": lambda: predicts(PoissonRegressor(), on_edges, counts),
    }


def outliers():
    def fitted(table):
        model = IsolationForest(n_estimators=10, random_state=0).fit(table().to_numpy())
        return Case(model, table(ASKED, 9).to_numpy(), model.decision_function, {"response": "raw"})

    return {"plain": lambda: fitted(numbers), "missing": lambda: fitted(with_missing)}


# Boosters -------------------------------------------------------------------------------------------------------------


def xgboost_wrapper():
    quick = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1}

    def early():
        model = xgboost.XGBRegressor(
            n_estimators=200, learning_rate=0.5, n_jobs=1, early_stopping_rounds=2
        )
        held = numbers(60, 5)
        case = predicts(model, numbers, eval_set=[(held, target(held))], verbose=False)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
        return case

    def margin():
        model = xgboost.XGBClassifier(**quick).fit(numbers(), digits(numbers()))
        return Case(
            model,
            numbers(ASKED, 9),
            lambda X: model.predict(X, output_margin=True),
            {"response": "raw"},
        )

    def several():
        model = xgboost.XGBClassifier(**quick).fit(numbers(), digits(numbers(), 3))
        return Case(
            model,
            numbers(ASKED, 9),
            lambda X: column(model.predict_proba(X), 1),
            {"output": 1},
            True,
        )

    return {
        "plain": lambda: predicts(xgboost.XGBRegressor(**quick), numbers),
        "missing": lambda: predicts(xgboost.XGBRegressor(**quick), with_missing),
        "categorical": lambda: predicts(
            xgboost.XGBRegressor(enable_categorical=True, **quick), with_levels
        ),
        "early": early,
        "several": several,
        "link": margin,
        "float32": lambda: predicts(xgboost.XGBRegressor(**quick), on_edges),
    }


def xgboost_booster():
    def booster(
        table, wanted=target, objective="reg:squarederror", rounds=12, held=None, **parameters
    ):
        X = table()
        train = xgboost.DMatrix(X, wanted(X), enable_categorical=True)
        options = {"objective": objective, "max_depth": 3, "nthread": 1, **parameters}
        if held is None:
            return xgboost.train(options, train, rounds)
        watched = xgboost.DMatrix(held, wanted(held), enable_categorical=True)
        return xgboost.train(
            options,
            train,
            rounds,
            evals=[(watched, "held")],
            early_stopping_rounds=2,
            verbose_eval=False,
        )

    def case(model, table, pick=lambda answer: answer, options=None, **how):
        own = lambda X: pick(model.predict(xgboost.DMatrix(X, enable_categorical=True), **how))  # noqa: E731
        return Case(
            model, table(ASKED, 9), own, options or {}, (options or {}).get("output") is not None
        )

    several = {"objective": "multi:softprob", "num_class": 3}
    return {
        "plain": lambda: case(booster(numbers), numbers),
        "missing": lambda: case(booster(with_missing), with_missing),
        "categorical": lambda: case(booster(with_levels, max_cat_to_onehot=1), with_levels),
        "early": lambda: case(booster(numbers, rounds=200, held=numbers(60, 5), eta=0.5), numbers),
        "several": lambda: case(
            booster(numbers, lambda X: digits(X, 3), **several),
            numbers,
            lambda p: column(p, 1),
            {"output": 1},
        ),
        "link": lambda: case(
            booster(numbers, counts, "count:poisson"),
            numbers,
            options={"response": "raw"},
            output_margin=True,
        ),
        "float32": lambda: case(booster(on_edges), on_edges),
    }


LIGHT = {"n_estimators": 12, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}


def lightgbm_wrapper():
    def early():
        model = lightgbm.LGBMRegressor(**LIGHT | {"n_estimators": 300, "learning_rate": 0.5})
        held = numbers(60, 5)
        stop = [lightgbm.early_stopping(2, verbose=False)]
        case = predicts(model, numbers, eval_set=[(held, target(held))], callbacks=stop)
        assert 0 < model.best_iteration_ < 300
        return case

    def raw():
        model = lightgbm.LGBMClassifier(**LIGHT).fit(numbers(), yes_no(numbers()))
        return Case(
            model,
            numbers(ASKED, 9),
            lambda X: model.predict(X, raw_score=True),
            {"response": "raw"},
        )

    return {
        "plain": lambda: predicts(lightgbm.LGBMRegressor(**LIGHT), numbers),
        "missing": lambda: predicts(lightgbm.LGBMRegressor(**LIGHT), with_missing),
        "categorical": lambda: predicts(lightgbm.LGBMRegressor(**LIGHT), with_levels),
        "early": early,
        "several": lambda: probability(
            lightgbm.LGBMClassifier(**LIGHT), with_levels, three, "middle"
        ),
        "link": raw,
        "float32": lambda: predicts(lightgbm.LGBMRegressor(**LIGHT), on_edges),
    }


def lightgbm_booster():
    def booster(table, wanted=target, objective="regression", rounds=12, held=None, **parameters):
        X = table()
        options = {
            "objective": objective,
            "min_data_in_leaf": 5,
            "num_threads": 1,
            "verbose": -1,
            **parameters,
        }
        train = lightgbm.Dataset(X, wanted(X))
        if held is None:
            return lightgbm.train(options, train, rounds)
        watched = train.create_valid(held, wanted(held))
        stop = [lightgbm.early_stopping(2, verbose=False)]
        model = lightgbm.train(options, train, rounds, valid_sets=[watched], callbacks=stop)
        assert 0 < model.best_iteration < rounds
        return model

    def case(model, table, pick=lambda answer: answer, options=None, **how):
        own = lambda X: pick(model.predict(X, **how))  # noqa: E731
        return Case(
            model, table(ASKED, 9), own, options or {}, (options or {}).get("output") is not None
        )

    return {
        "plain": lambda: case(booster(numbers), numbers),
        "missing": lambda: case(booster(with_missing), with_missing),
        "categorical": lambda: case(booster(with_levels), with_levels),
        "early": lambda: case(
            booster(numbers, rounds=300, held=numbers(60, 5), learning_rate=0.5), numbers
        ),
        "several": lambda: case(
            booster(numbers, lambda X: digits(X, 3), "multiclass", num_class=3),
            numbers,
            lambda p: column(p, 1),
            {"output": 1},
        ),
        "link": lambda: case(
            booster(numbers, counts, "poisson"),
            numbers,
            options={"response": "raw"},
            raw_score=True,
        ),
        "float32": lambda: case(booster(on_edges), on_edges),
    }


CAT = {"iterations": 12, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


def catboost_wrapper():
    def make(name="CatBoostRegressor", **options):
        return getattr(pytest.importorskip("catboost"), name)(**CAT | options)

    def early():
        held = numbers(60, 5)
        model = make(iterations=300, learning_rate=0.5, early_stopping_rounds=2)
        case = predicts(model, numbers, eval_set=(held, target(held)))
        assert model.tree_count_ < 300
        return case

    def raw():
        model = make(loss_function="Poisson").fit(numbers(), counts(numbers()))
        own = lambda X: model.predict(X, prediction_type="RawFormulaVal")  # noqa: E731
        return Case(model, numbers(ASKED, 9), own, {"response": "raw"})

    return {
        "plain": lambda: predicts(make(), numbers),
        "missing": lambda: predicts(make(), with_missing),
        "categorical": lambda: predicts(make(), with_levels, cat_features=["b"]),
        "early": early,
        "several": lambda: probability(
            make("CatBoostClassifier"), with_levels, three, "middle", cat_features=["b"]
        ),
        "link": raw,
        "float32": lambda: predicts(make(), on_edges),
    }


def catboost_native():
    def fitted(
        table,
        loss="RMSE",
        wanted=target,
        options=None,
        pick=lambda answer: answer,
        fit=None,
        more=None,
        **how,
    ):
        cat = pytest.importorskip("catboost")
        model = cat.CatBoost(CAT | {"loss_function": loss} | (more or {})).fit(
            table(), wanted(table()), **fit or {}
        )
        own = lambda X: pick(model.predict(X, **how))  # noqa: E731
        return Case(
            model, table(ASKED, 9), own, options or {}, (options or {}).get("output") is not None
        )

    def early():
        held = numbers(60, 5)
        fit = {"eval_set": (held, target(held)), "early_stopping_rounds": 2}
        case = fitted(numbers, fit=fit, more={"iterations": 300, "learning_rate": 0.5})
        assert case.model.tree_count_ < 300
        return case

    return {
        "plain": lambda: fitted(
            numbers, "Logloss", digits, pick=lambda p: column(p, 1), prediction_type="Probability"
        ),
        "missing": lambda: fitted(with_missing),
        "categorical": lambda: fitted(with_levels, fit={"cat_features": ["b"]}),
        "early": early,
        "several": lambda: fitted(
            numbers,
            "MultiClass",
            three,
            {"output": "middle"},
            lambda p: column(p, 2),
            prediction_type="Probability",
        ),
        "link": lambda: fitted(
            numbers, "Logloss", digits, {"response": "raw"}, prediction_type="RawFormulaVal"
        ),
        "float32": lambda: fitted(on_edges),
    }


# torch ----------------------------------------------------------------------------------------------------------------


def torch_or_skip():
    """Torch is in no dependency group: from the public index it brings gigabytes of GPU libraries."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed; it is in no group, install it for the CPU by hand")
    return import_module("torch")


def by_torch(model, dtype):
    """The module's own answer: evaluation mode, by hand."""

    def own(X):
        import torch

        module = model.eval()
        with torch.no_grad():
            return module(torch.tensor(np.asarray(X, dtype=float), dtype=dtype)).numpy()

    return own


def torch_module(scripted=False):
    def network(outputs=1, last=None, dtype="float32", impute=False):
        torch = torch_or_skip()
        from torch import nn

        torch.manual_seed(0)
        parts = [
            nn.Linear(3, 16),
            nn.BatchNorm1d(16),
            nn.Tanh(),
            nn.Dropout(0.5),
            nn.Linear(16, outputs),
        ]
        module = nn.Sequential(
            *([NaNToZero()] if impute else []), *parts, *([last] if last is not None else [])
        )
        module = module.to(getattr(torch, dtype)).train()
        with torch.no_grad():
            module(
                torch.tensor(numbers().to_numpy(), dtype=getattr(torch, dtype))
            )  # moves the running statistics
        return (
            torch.jit.trace(module.eval(), torch.zeros(2, 3, dtype=getattr(torch, dtype)))
            if scripted
            else module
        )

    def case(model, table, options=None, pick=None, dtype="float32"):
        import copy

        import torch

        answer = by_torch(copy.deepcopy(model), getattr(torch, dtype))
        own = lambda X: (pick or np.ravel)(answer(X))  # noqa: E731
        return Case(
            model, table(ASKED, 9), own, options or {}, (options or {}).get("output") is not None
        )

    def NaNToZero():
        from torch import nn

        class Impute(nn.Module):
            def forward(self, x):
                return x.nan_to_num(0.5)

        return Impute()

    def softmax():
        torch_or_skip()
        from torch import nn

        return network(3, nn.Softmax(dim=1))

    def sigmoid():
        torch_or_skip()
        from torch import nn

        return network(1, nn.Sigmoid())

    return {
        "plain": lambda: case(network(dtype="float64"), numbers, dtype="float64"),
        "missing": lambda: allowed(case(network(impute=True), with_missing)),
        "categorical": lambda: no_levels(network(), "M14"),
        "several": lambda: case(
            softmax(),
            numbers,
            {"output": 1, "response": "probability"},
            lambda answer: column(answer, 1),
        ),
        "link": lambda: case(sigmoid(), numbers, {"response": "probability"}),
        "float32": lambda: case(network(), on_edges),
    }


# Functions and other objects ------------------------------------------------------------------------------------------


def array_function():
    def formula(X):
        return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0) + np.exp(X[:, 2])

    def careful(X):
        return formula(np.where(np.isnan(X), 0.0, X))

    def pair(X):
        return np.column_stack([formula(X), X[:, 0]])

    def logistic(X):
        return 1 / (1 + np.exp(-formula(X)))

    return {
        "plain": lambda: Case(formula, numbers(ASKED).to_numpy(), formula),
        "missing": lambda: allowed(Case(careful, with_missing(ASKED).to_numpy(), careful)),
        "categorical": lambda: no_levels(formula),
        "several": lambda: Case(
            pair,
            numbers(ASKED).to_numpy(),
            lambda X: pair(X)[:, 0],
            {"output": 0},
            without_output=True,
        ),
        "link": lambda: Case(
            logistic, numbers(ASKED).to_numpy(), logistic, {"response": "probability"}
        ),
        "float32": lambda: Case(formula, on_edges(ASKED), formula),
    }


def frame_function():
    def formula(X):
        switch = (
            X["b"].map({"u": 1.0, "v": -1.0, "w": 0.5}).astype(float)
            if X["b"].dtype == "category"
            else X["b"]
        )
        return X["a"] * switch.fillna(0.25) + X["c"] ** 2

    def frame(X):
        return pd.DataFrame({"one": formula(X), "two": X["a"]})

    return {
        "plain": lambda: Case(formula, numbers(ASKED), formula),
        "missing": lambda: allowed(Case(formula, with_missing(ASKED), formula)),
        "categorical": lambda: Case(formula, with_levels(ASKED), formula),
        "several": lambda: Case(
            frame, numbers(ASKED), lambda X: frame(X)["one"], {"output": 0}, without_output=True
        ),
        "link": lambda: Case(formula, numbers(ASKED), formula, {"response": "raw"}),
        "float32": lambda: Case(
            formula, pd.DataFrame(on_edges(ASKED), columns=["a", "b", "c"]), formula
        ),
    }


class Results:
    """A fit in the manner of statsmodels: predict alone, a Series with the labels of the rows as its answer."""

    def __init__(self, X, y, link=np.asarray):
        numeric = self.design(X)
        self.link, self.params = link, np.linalg.lstsq(numeric, y, rcond=None)[0]

    @staticmethod
    def design(X):
        parts = pd.get_dummies(X, dtype=float)
        return parts.assign(product=parts.iloc[:, 0] * parts.iloc[:, 2]).to_numpy(float)

    def predict(self, exog=None, transform=True):
        return pd.Series(self.link(self.design(exog) @ self.params), index=exog.index)


def results_object():
    def case(table, link=np.asarray):
        model = Results(table(), target(table()), link)
        return Case(model, table(ASKED, 9), model.predict)

    return {
        "plain": lambda: case(numbers),
        "missing": lambda: Refused("D01", case(numbers).model, with_missing(ASKED)),
        "categorical": lambda: case(with_levels),
        "link": lambda: case(numbers, np.exp),
    }


# The table: the first variant of a kind is in the default suite -------------------------------------------------------

KINDS: dict[str, tuple[str, dict[str, Callable[[], Case | Refused]]]] = {
    "linear regression": ("several", numeric_regressor(LinearRegression)),
    "logistic regression": ("link", numeric_classifier(LogisticRegression, raw=True)),
    "generalized linear model": ("link", generalized_linear()),
    "stochastic gradient": ("early", stochastic_gradient()),
    "decision tree": (
        "several",
        numeric_classifier(lambda: DecisionTreeClassifier(max_depth=3), nan=True),
    ),
    "random forest": (
        "missing",
        numeric_regressor(lambda: RandomForestRegressor(5, random_state=0), nan=True),
    ),
    "extra trees": (
        "float32",
        numeric_classifier(lambda: ExtraTreesClassifier(5, random_state=0), nan=True),
    ),
    "gradient boosting": ("early", gradient_boosting()),
    "hist gradient boosting": ("categorical", hist_gradient_boosting()),
    "adaptive boosting": (
        "plain",
        numeric_regressor(lambda: AdaBoostRegressor(n_estimators=5), several=False),
    ),
    "support vectors, regression": ("plain", numeric_regressor(SVR, several=False)),
    "support vectors, classes": (
        "several",
        numeric_classifier(lambda: CalibratedClassifierCV(SVC(), ensemble=False, cv=2)),
    ),
    "nearest neighbours": ("missing", numeric_regressor(KNeighborsRegressor)),
    "perceptron": ("early", perceptron()),
    "naive Bayes": ("categorical", numeric_classifier(GaussianNB)),
    "Gaussian process": ("float32", numeric_regressor(lambda: GaussianProcessRegressor(alpha=0.1))),
    "stacking": (
        "plain",
        numeric_regressor(lambda: StackingRegressor([("ridge", Ridge())], cv=2), several=False),
    ),
    "voting": (
        "several",
        numeric_classifier(lambda: VotingClassifier([("bayes", GaussianNB())], voting="soft")),
    ),
    "grid search": (
        "plain",
        numeric_regressor(lambda: GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2)),
    ),
    "transformed target": (
        "link",
        numeric_regressor(
            lambda: TransformedTargetRegressor(Ridge(), func=np.sinh, inverse_func=np.arcsinh)
        ),
    ),
    "pipeline on raw columns": ("categorical", pipeline()),
    "isolation forest": ("missing", outliers()),
    "xgboost, wrapper": ("early", xgboost_wrapper()),
    "xgboost, booster": ("categorical", xgboost_booster()),
    "lightgbm, wrapper": ("several", lightgbm_wrapper()),
    "lightgbm, booster": ("early", lightgbm_booster()),
    "catboost, wrapper": ("categorical", catboost_wrapper()),
    "catboost, native": ("several", catboost_native()),
    "torch module": ("float32", torch_module()),
    "torch, traced": ("plain", torch_module(scripted=True)),
    "function of arrays": ("missing", array_function()),
    "function of frames": ("categorical", frame_function()),
    "results with predict alone": ("categorical", results_object()),
}

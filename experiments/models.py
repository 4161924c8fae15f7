"""The models of the experiments: tuned by random search, then fitted.

Only the hyper-parameters that won are kept, as JSON in ``experiments/.cache``; the model is fitted from them each time.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn
from scipy.stats import loguniform, randint, uniform
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, RandomizedSearchCV, ShuffleSplit, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import granite_xai as gx

CACHE = Path(__file__).parent / ".cache"


class SearchPlan(NamedTuple):
    """How a kind of model is tuned."""

    n_candidates: int
    most_rows: int
    n_folds: int  # 1: one held-out quarter


SEARCH = {
    "gbt": SearchPlan(20, 20_000, 5),  # as in the paper
    "mlp": SearchPlan(10, 4_000, 1),
    "rf": SearchPlan(10, 4_000, 1),
}
PREFIX = {"gbt": "", "rf": "", "mlp": "regressor__mlpregressor__"}
SPACES: dict[str, dict[str, Any]] = {
    "gbt": {
        "learning_rate": [float(rate) for rate in np.logspace(-2, 0, 10)],
        "max_depth": [3, 4, 5, 6, 7],
        "max_iter": [50, 100, 150, 200],
        "min_samples_leaf": [1, 20, 40, 60, 80, 100],
    },
    "mlp": {
        "hidden_layer_sizes": [(50,), (100,), (50, 50), (100, 50), (100, 100)],
        "alpha": loguniform(1e-5, 1e-1),
        "learning_rate_init": loguniform(1e-3, 2e-2),
    },
    "rf": {
        "max_features": uniform(0.3, 0.7),
        "min_samples_leaf": randint(1, 10),
        "max_depth": randint(8, 20),
    },
}
# The small variant: no search, and a model that is fitted in a second.
QUICK: dict[str, dict[str, Any]] = {
    "gbt": {"max_iter": 60, "learning_rate": 0.12, "min_samples_leaf": 60},
    "mlp": {"hidden_layer_sizes": (30,), "max_iter": 40},
    "rf": {"n_estimators": 15, "min_samples_leaf": 5},
}


def tuned(
    kind: str, X: pd.DataFrame, y: pd.Series, *, seed: int, name: str, quick: bool = False
) -> Any:
    """A fitted model: "gbt", "mlp" or "rf".

    The best of some random candidates, fitted on all rows. For gradient boosting the paper's search: 20 candidates,
    five folds; the slower kinds are judged on 4,000 rows. ``name`` is the data's, for the file of chosen parameters.
    """
    with warnings.catch_warnings():
        # A network that stops early is judged like any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if quick:
            parameters = QUICK[kind]
        else:
            parameters = _tuned_parameters(kind, X, y, seed, name)
        model = _unfitted(kind, X, seed).set_params(**_with_prefix(kind, parameters))
        return model.fit(X, y)


def _tuned_parameters(
    kind: str, X: pd.DataFrame, y: pd.Series, seed: int, name: str
) -> dict[str, Any]:
    """The winner of the search, remembered for the same data, space and version of scikit-learn."""
    file = CACHE / f"{name}-{kind}-{seed}.json"
    state = _state(kind, X, y)
    if file.exists():
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["state"] == state:
            return _with_tuples(record["chosen"])
    parameters = _search_parameters(kind, X, y, seed)
    CACHE.mkdir(exist_ok=True)
    text = json.dumps({"chosen": parameters, "state": state}, indent=1, default=_builtin)
    file.write_text(text + "\n", encoding="utf-8")
    return parameters


def _with_tuples(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a file: JSON has lists where scikit-learn has tuples."""
    restored = {}
    for name, value in parameters.items():
        restored[name] = tuple(value) if isinstance(value, list) else value
    return restored


def _search_parameters(kind: str, X: pd.DataFrame, y: pd.Series, seed: int) -> dict[str, Any]:
    plan = SEARCH[kind]
    rows = np.arange(len(X))
    if len(X) > plan.most_rows:
        rows = np.random.default_rng(seed).permutation(len(X))[: plan.most_rows]
    if plan.n_folds > 1:
        folds = KFold(plan.n_folds)
    else:
        folds = ShuffleSplit(1, test_size=0.25, random_state=seed)
    search = RandomizedSearchCV(
        _unfitted(kind, X, seed),
        _with_prefix(kind, SPACES[kind]),
        n_iter=plan.n_candidates,
        cv=folds,
        scoring="neg_root_mean_squared_error",
        random_state=seed,
        refit=False,
    )
    best = search.fit(X.iloc[rows], y.iloc[rows]).best_params_
    return {key.removeprefix(PREFIX[kind]): value for key, value in best.items()}


def _unfitted(kind: str, X: pd.DataFrame, seed: int) -> Any:
    if kind == "gbt":
        return HistGradientBoostingRegressor(random_state=0)
    if kind == "rf":
        return RandomForestRegressor(50, random_state=seed, n_jobs=1)
    words = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler()
    )
    network = MLPRegressor(
        hidden_layer_sizes=(50,), max_iter=150, early_stopping=True, random_state=seed
    )
    return TransformedTargetRegressor(make_pipeline(columns, network), transformer=StandardScaler())


def _with_prefix(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters by their names in the whole pipeline."""
    return {PREFIX[kind] + key: value for key, value in parameters.items()}


def _state(kind: str, X: pd.DataFrame, y: pd.Series) -> str:
    """Changes when the data, the space, the search or scikit-learn change."""
    rows = pd.util.hash_pandas_object(X, index=False).to_numpy()
    space = {key: getattr(value, "args", value) for key, value in SPACES[kind].items()}
    settings = f"{space} {tuple(SEARCH[kind])} {sklearn.__version__} {list(X)}"
    content = rows.tobytes() + np.asarray(y, float).tobytes() + settings.encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _builtin(value: Any) -> Any:
    return value.item()


class Prepared(NamedTuple):
    """A fitted model, and the rows it was and was not fitted on."""

    model: Any
    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series


@cache
def bike(kind: str = "gbt", seed: int = 42, quick: bool = False) -> Prepared:
    """Bike sharing, 80 % for the model; what is explained are the first rows of the rest.

    The rows are shuffled before they are divided, as in the paper's code, so that seed 42 gives the paper's rows.
    """
    X, y = gx.datasets.load_bike_sharing()
    X = X.sample(frac=1, random_state=42)
    y = y.sample(frac=1, random_state=42)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    if quick:
        X_train = X_train.head(3000)
        y_train = y_train.head(3000)
    model = tuned(kind, X_train, y_train, seed=seed, name="bike", quick=quick)
    return Prepared(model, X_train, X_test, y_train, y_test)

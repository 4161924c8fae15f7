"""Random default fits: what must hold of whatever a user is shown, and what may not change it.

A seed fixes a table (numbers, labels, flags, dates, missing values), a model (a function, a classifier, fitted trees),
one or several questions, weights, clusters and options; all else is the default of `Granite`. Used by `fuzz.py`, which
runs seeds for as long as one likes.
"""

from __future__ import annotations

import math
import random
import re
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import granite_xai as gx

LEVELS = ("red", "green", "blue", "grey", "it's", "50 %")
WORTH = {"red": 1.0, "green": -1.0, "blue": 0.5, "grey": 0.0, "it's": -0.5, "50 %": 2.0}
IF_MISSING = 0.75  # what a missing value is worth to the functions
FIRST_DAY = pd.Timestamp("2021-01-01")
QUESTIONS = (
    *("ice-pdp",) * 8,
    *("pfi-risk", "mplot-pdp", "variance", "sobol", "cfi-pfi", "csobol-sobol", "coe"),
    *("shap-pdp", "ice-shap", "cice-mplot", "sage-risk", "cshap-shap", "ale"),
)
MANY_SUBSETS = ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")
# "None of the 3 splits" is English.
NOT_A_NUMBER = re.compile(r"(?<![\w.=])(nan|NaN|inf|Infinity|None(?! of the ))(?![\w])")
MOST_REMAINING = 1.1
SAME = 1e-9  # relative difference of the figures of two fits that must say the same


# Tables ---------------------------------------------------------------------------------------------------------------


def numbers(rng: np.random.Generator, n: int) -> pd.Series:
    """Numbers of one of several distributions, some with few values, some with ties."""
    shape = rng.choice(["normal", "uniform", "skewed", "few", "whole", "rounded"])
    if shape == "normal":
        values = rng.normal(size=n)
    elif shape == "uniform":
        values = rng.uniform(-1.0, 1.0, size=n)
    elif shape == "skewed":
        values = rng.exponential(size=n)
    elif shape == "few":
        values = rng.choice([-1.0, 0.0, 0.5, 2.0], size=n)
    elif shape == "whole":
        return pd.Series(rng.integers(0, 9, size=n))
    else:
        values = np.round(rng.normal(size=n), 1)
    return pd.Series(values)


def labels(rng: np.random.Generator, n: int) -> pd.Series:
    used = list(LEVELS[: rng.integers(2, len(LEVELS) + 1)])
    return pd.Series(pd.Categorical(rng.choice(used, size=n), categories=used))


def flags(rng: np.random.Generator, n: int) -> pd.Series:
    return pd.Series(rng.random(n) < rng.uniform(0.2, 0.8))


def dates(rng: np.random.Generator, n: int) -> pd.Series:
    days = rng.integers(0, 400, size=n)
    return pd.Series(FIRST_DAY + pd.to_timedelta(days, unit="D"))


COLUMNS: dict[str, Callable[[np.random.Generator, int], pd.Series]] = {
    "number": numbers,
    "label": labels,
    "flag": flags,
    "date": dates,
}


def drawn_table(chance: random.Random, rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Two to five columns; some miss values."""
    only_numbers = chance.random() < 0.4
    kinds = [
        "number" if only_numbers else chance.choice(["number", "number", "label", "flag", "date"])
        for _ in range(chance.randint(2, 5))
    ]
    X = pd.DataFrame({f"x{j}": COLUMNS[kind](rng, n) for j, kind in enumerate(kinds)})
    if chance.random() < 0.3:
        gaps = chance.choice(list(X.columns))
        if X[gaps].dtype == np.float64 or isinstance(X[gaps].dtype, pd.CategoricalDtype):
            X.loc[rng.random(n) < chance.choice([0.02, 0.2]), gaps] = np.nan
    return X


def codes(X: Any) -> np.ndarray:
    """A number for every cell, of shape (rows, columns), whatever library holds the table."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        X = pd.DataFrame(np.asarray(X))
    return np.column_stack([_codes(X.iloc[:, j]) for j in range(X.shape[1])])


def _codes(cells: pd.Series) -> np.ndarray:
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        numeric = (cells - FIRST_DAY).dt.total_seconds() / (200 * 86_400.0) - 1.0
    elif isinstance(cells.dtype, pd.CategoricalDtype) or pd.api.types.is_string_dtype(cells.dtype):
        numeric = cells.astype(object).map(WORTH).astype(np.float64)
    else:
        numeric = cells
    return numeric.to_numpy(dtype=np.float64, na_value=np.nan)


# Models ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Surface:
    """A sum of single effects and of interactions of a table's columns; missing values are welcome."""

    single: tuple[tuple[int, str, float], ...]
    pairs: tuple[tuple[int, int, str, float], ...]
    scale: float = 1.0

    def raw(self, X: Any) -> np.ndarray:
        """The value of each row."""
        cells = codes(X)
        cells = np.where(np.isnan(cells), IF_MISSING, cells)
        total = np.zeros(len(cells))
        for j, shape, coefficient in self.single:
            total += coefficient * _bent(cells[:, j], shape)
        for j, k, shape, coefficient in self.pairs:
            total += coefficient * cells[:, j] * _bent(cells[:, k], shape)
        return self.scale * total

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(allow_nan=True, string=True, categorical=True)
        return Tags("regressor", TargetTags(required=False), None, None, None, input_tags=inputs)


class Regressor(Surface):
    """The surface is what is predicted."""

    def predict(self, X: Any) -> np.ndarray:
        return self.raw(X)


class Classifier(Surface):
    """The surface is the log-odds of the last class."""

    classes_ = np.array(["bad", "good"])

    def predict_proba(self, X: Any) -> np.ndarray:
        good = 1.0 / (1.0 + np.exp(-np.clip(self.raw(X), -30.0, 30.0)))
        return np.column_stack([1.0 - good, good])

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class ThreeClasses(Surface):
    """A class for high, one for low and one for middling values of the surface."""

    classes_ = np.array(["high", "low", "middle"])

    def predict_proba(self, X: Any) -> np.ndarray:
        raw = np.clip(self.raw(X), -20.0, 20.0)
        scores = np.exp(np.column_stack([raw, -raw, np.zeros(len(raw))]))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _bent(values: np.ndarray, shape: str) -> np.ndarray:
    if shape == "line":
        return values
    if shape == "step":
        return np.where(values > 0.25, 1.0, -1.0)
    if shape == "wave":
        return np.sin(2.0 * values)
    return np.maximum(values, 0.0)


SHAPES = ("line", "step", "step", "wave", "hinge")


def drawn_surface(chance: random.Random, n_columns: int) -> Surface:
    """Up to three single effects and up to two interactions; sometimes nothing at all."""
    columns = range(n_columns)
    single = [
        (chance.choice(columns), chance.choice(SHAPES), chance.choice([1.0, -0.5, 2.0]))
        for _ in range(chance.randint(0, 3))
    ]
    pairs = [
        (*chance.sample(columns, 2), chance.choice(SHAPES), chance.choice([1.0, -2.0, 0.5]))
        for _ in range(chance.choice([0, 1, 1, 1, 2, 2]))
    ]
    kind = chance.choice([Regressor, Regressor, Regressor, Classifier, ThreeClasses])
    return kind(tuple(single), tuple(pairs))


def fitted_trees(chance: random.Random, X: pd.DataFrame, y: np.ndarray) -> Any:
    """Boosted trees, which take labels and gaps; or None where a column is a date."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if any(pd.api.types.is_datetime64_any_dtype(X[name].dtype) for name in X.columns):
        return None
    settings = {
        "max_iter": chance.choice([5, 15]),
        "categorical_features": "from_dtype",
        "min_samples_leaf": 10,
        "random_state": 0,
        "early_stopping": False,
    }
    kind = HistGradientBoostingRegressor
    if y.dtype.kind not in "fi":
        kind = HistGradientBoostingClassifier
    return kind(**settings).fit(X, y)


# A drawn fit ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnFit:
    """Everything that `Granite` and its `fit` are given."""

    X: pd.DataFrame
    y: np.ndarray
    model: Any
    question: Any
    options: dict[str, Any] = field(default_factory=dict)
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def fit(self, X: Any = None) -> gx.Granite:
        """Fit, on the same rows in another container if one is given."""
        granite = gx.Granite(self.model, self.question, **self.options)
        rows = self.X if X is None else X
        return granite.fit(rows, self.y, self.weights, self.clusters)

    def in_order(self, order: np.ndarray) -> DrawnFit:
        """The same rows in another order."""
        return replace(
            self,
            X=self.X.iloc[order].reset_index(drop=True),
            y=self.y[order],
            weights=None if self.weights is None else self.weights[order],
            clusters=None if self.clusters is None else self.clusters[order],
        )

    def predictions(self, X: Any) -> np.ndarray | None:
        """What is explained, for the rows of a table; None where the output is not one column."""
        if not hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict(X), dtype=float)
        if len(self.model.classes_) > 2 and self.options.get("output") in (None, "all"):
            return None
        wanted = self.options.get("output", self.model.classes_[-1])
        place = list(self.model.classes_).index(wanted)
        return np.asarray(self.model.predict_proba(X)[:, place])

    def __str__(self) -> str:
        kinds = [str(dtype) for dtype in self.X.dtypes]
        beside = [name for name in ("weights", "clusters") if getattr(self, name) is not None]
        return (
            f"{self.question} of {self.model} on {len(self.X)} rows of {kinds}, "
            f"{', '.join(beside) or 'no weights'}, {self.options}"
        )


def drawn_fit(chance: random.Random) -> DrawnFit:
    """A table, a model, a question and what else a user may give."""
    rng = np.random.default_rng(chance.randint(0, 2**31))
    n = chance.choice([25, 60, 100, 150, 250, 400, 599, 600, 700, 900])
    X = drawn_table(chance, rng, n)
    model: Any = drawn_surface(chance, X.shape[1])
    y = np.asarray(model.predict(X))
    if y.dtype.kind == "f":
        y = y + 0.3 * rng.normal(size=n)
    if chance.random() < 0.25 and len(set(y.tolist())) > 1:
        model = fitted_trees(chance, X, y) or model
    options = drawn_options(chance, X)
    if hasattr(model, "predict_proba") and len(model.classes_) > 2:
        options["output"] = chance.choice(["all", *model.classes_.tolist()])
    weights = None
    if chance.random() < 0.25:
        weights = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], size=n)
    clusters = None
    if chance.random() < 0.25:
        clusters = rng.integers(0, chance.choice([3, 8, 30, n]), size=n)
    question = drawn_question(chance, X.shape[1], is_classifier=y.dtype.kind not in "fi")
    return DrawnFit(X, y, model, question, options, weights, clusters)


def drawn_options(chance: random.Random, X: pd.DataFrame) -> dict[str, Any]:
    """Mostly none."""
    options: dict[str, Any] = {}
    if X.isna().to_numpy().any():
        options["missing"] = "allow"
    some: dict[str, list[Any]] = {
        "max_depth": [1, 2, 4],
        "min_samples_leaf": [5, 40],
        "alpha": [0.0, 0.01, 0.2, "auto"],
        "holdout": [False, 0.3],
        "max_samples": [None, 120],
        "search": ["greedy"],
        "random_state": [1, 2],
        "confidence_level": [0.9],
    }
    for name, values in some.items():
        if chance.random() < 0.12:
            options[name] = chance.choice(values)
    if len(X) * 0.3 < 30 and options.get("holdout") == 0.3:
        del options["holdout"]  # 30 rows or none
    return options


def drawn_question(chance: random.Random, n_columns: int, is_classifier: bool) -> Any:
    """A name, or two of them."""
    names = [name for name in dict.fromkeys(QUESTIONS) if name not in MANY_SUBSETS]
    if is_classifier:
        names = [name for name in names if name not in ("pfi-risk", "cfi-pfi")]
    if chance.random() < 0.15:
        return chance.sample(names, 2)
    return chance.choice([name for name in QUESTIONS if name in names or not is_classifier])


# What must hold of one fit --------------------------------------------------------------------------------------------


def require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def check_figures(drawn: DrawnFit, granite: gx.Granite) -> None:
    """Shares are shares, intervals are intervals, and regions add up."""
    partition = granite.partition_
    fractions = [region.fraction for region in partition]
    require(
        math.isclose(sum(fractions), 1.0, rel_tol=1e-9), f"regions have {fractions} of the rows"
    )
    shares = [region.disagreement for region in partition]
    require(all(share >= 0.0 for share in shares), f"shares of regions: {shares}")
    require(granite.disagreement_ >= 0.0, f"disagreement {granite.disagreement_}")
    # What is shown may grow where what is left without chance shrinks, but not by much.
    require(not granite.remaining_ < 0.0, f"remaining_ is {granite.remaining_}")
    require(not granite.remaining_ > MOST_REMAINING, f"remaining_ is {granite.remaining_}")
    if not math.isnan(granite.remaining_) and granite.disagreement_ > 0.0:
        close(sum(shares), granite.remaining_, "regions do not add up to what remains")
    for name in ("fidelity_", "global_fidelity_"):
        require(getattr(granite, name) <= 1.0 + SAME, f"{name} is {getattr(granite, name)}")
    if granite.estimate_ is not None:
        check_estimate(granite.estimate_)
    predicted = granite.predict(drawn.X)
    require(bool(np.isfinite(predicted).all()), "predict() is not finite")
    if hasattr(drawn.model, "predict_proba"):
        require(
            bool(((predicted >= 0.0) & (predicted <= 1.0)).all()), "a probability beyond [0, 1]"
        )


def check_estimate(estimate: Any) -> None:
    """Each figure lies in its interval."""
    require(not estimate.remaining < 0.0, f"remaining {estimate.remaining}")
    for value, low, high in (
        (estimate.remaining, estimate.low, estimate.high),
        (estimate.fidelity, estimate.fidelity_low, estimate.fidelity_high),
        (estimate.global_fidelity, estimate.global_fidelity_low, estimate.global_fidelity_high),
    ):
        require(math.isnan(low) == math.isnan(high), f"half an interval: {low} to {high}")
        require(math.isnan(low) or low <= value <= high, f"{value} outside {low} to {high}")
    require(not estimate.fidelity > 1.0 + SAME, f"fidelity {estimate.fidelity}")
    require(not estimate.hidden_high < 0.0, f"hidden_high {estimate.hidden_high}")


def close(first: float, second: float, what: str) -> None:
    require(
        math.isclose(first, second, rel_tol=SAME, abs_tol=SAME), f"{what}: {first!r}, {second!r}"
    )


def check_texts(granite: gx.Granite) -> None:
    """Nothing that is printed holds a figure that is none."""
    bundle = granite._repr_mimebundle_()
    for text in (
        str(granite),
        str(granite.partition_),
        str(granite.estimate_),
        re.sub(r"<[^>]*>", " ", bundle["text/html"].partition("<details>")[0]),
    ):
        check_text(text)


def check_text(text: str) -> None:
    found = NOT_A_NUMBER.search(text)
    if found:
        start = max(0, found.start() - 80)
        raise AssertionError(f"a text says {found.group()}: …{text[start : found.end() + 40]!r}")


def check_membership(drawn: DrawnFit, granite: gx.Granite) -> None:
    """apply(), the rules, the column that assign() adds and the text in SQL name the same regions."""
    regions = granite.apply(drawn.X).tolist()
    inside = np.array([region.rule.contains(drawn.X) for region in granite.partition_])
    require(bool((inside.sum(axis=0) == 1).all()), "a row is in no region, or in two")
    require(inside.argmax(axis=0).tolist() == regions, "rules and apply() differ")
    assigned = granite.partition_.assign(drawn.X)["region"].tolist()
    require(assigned == regions, "assign() and apply() differ")
    statement = granite.partition_.to_sql(dialect="sqlite")
    stored = in_sqlite(drawn.X, statement)
    titles: list[Any] = list(range(len(granite.partition_)))
    if granite.partition_.region_names:
        titles = list(granite.partition_.titles)
    require(stored == [titles[region] for region in regions], f"SQL differs: {statement}")


def in_sqlite(X: pd.DataFrame, statement: str) -> list[Any]:
    """What SQLite makes of an expression for every row."""
    with sqlite3.connect(":memory:") as there:
        columns = ", ".join(f'"{name}"' for name in X.columns)
        there.execute(f"CREATE TABLE rows_there ({columns})")
        lines = [[_stored(cell) for cell in line] for line in X.astype(object).to_numpy()]
        there.executemany(f"INSERT INTO rows_there VALUES ({', '.join('?' * X.shape[1])})", lines)
        found = there.execute(f"SELECT {statement} FROM rows_there ORDER BY rowid").fetchall()
    there.close()
    return [line[0] for line in found]


def _stored(cell: Any) -> Any:
    if pd.isna(cell):
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat(" ")
    return cell.item() if isinstance(cell, np.generic) else cell


def check_file(drawn: DrawnFit, granite: gx.Granite) -> None:
    """A loaded fit says what the object said, with its rows and without them."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "a.json", Path(folder) / "b.json"
        for path in (first, second):
            gx.save(granite, path)
        require(first.read_bytes() == second.read_bytes(), "two files of one fit differ")
        whole = gx.load(first, model=granite.model, X=drawn.X)
        without_rows = gx.load(first, model=granite.model)
    for loaded in (whole, without_rows):
        require(str(loaded) == str(granite), f"loaded:\n{loaded}\nsaved:\n{granite}")
    check_texts(without_rows)
    largest = float(np.abs(granite.predict(drawn.X)).max())
    for loaded in (whole, without_rows):
        same = loaded.apply(drawn.X).tolist() == granite.apply(drawn.X).tolist()
        require(same, "loaded: other regions")
        require(loaded.partition_.to_dict() == granite.partition_.to_dict(), "loaded: another tree")
        difference = np.abs(loaded.predict(drawn.X) - granite.predict(drawn.X)).max()
        require(bool(difference <= SAME * (1.0 + largest)), f"loaded: predict() by {difference}")


def check_names(drawn: DrawnFit, granite: gx.Granite) -> None:
    """A region that has a name carries it everywhere, and nothing else changes."""
    before = granite.apply(drawn.X).tolist()
    granite.partition_.rename({0: "the first one's"})
    if len(granite.partition_) > 1:  # otherwise no tree is printed
        require("the first one's" in str(granite), f"no name in\n{granite}")
    require(granite.apply(drawn.X).tolist() == before, "names change apply()")
    check_membership(drawn, granite)
    check_texts(granite)


def check_one_row(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    """What one row is told adds up to its prediction."""
    row = drawn.X.iloc[[chance.randrange(len(drawn.X))]]
    output = granite.outputs_[0] if granite.outputs_ else None
    told = granite.explain_row(row, output=output)
    require(told.region == granite.apply(row)[0], "explain_row() and apply() differ")
    added = told.mean + float(told.contributions.sum()) + told.rest
    require(
        math.isclose(added, told.prediction, rel_tol=SAME, abs_tol=1e-9 + SAME * abs(told.mean)),
        f"contributions add up to {added}, not to {told.prediction}",
    )
    predictions = drawn.predictions(row)
    if predictions is not None and not granite.outputs_:
        close(float(predictions[0]), told.prediction, "the prediction of a row")
    check_text(str(told))


def check_other_rows(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    """evaluate() counts every row once, and its estimate lies in its interval."""
    taken = np.sort(chance.sample(range(len(drawn.X)), max(20, len(drawn.X) // 2)))
    rows = drawn.X.iloc[taken].reset_index(drop=True)
    beside: dict[str, Any] = {}
    if drawn.weights is not None:
        beside["sample_weight"] = np.maximum(drawn.weights[taken], 0.5)
    if drawn.clusters is not None:
        beside["clusters"] = drawn.clusters[taken]
    found = granite.evaluate(rows, drawn.y[taken], **beside)
    require(sum(found.counts) == len(rows), f"{found.counts} rows of {len(rows)}")
    require(found.disagreement >= 0.0, f"disagreement {found.disagreement}")
    if found.estimate is not None:
        check_estimate(found.estimate)
        check_text(str(found.estimate))
    check_text(str(found))


def check_stability(granite: gx.Granite) -> None:
    """Counts are counts of the searches."""
    found = granite.stability(2)
    for split in found.splits:
        require(0 <= split.count <= split.searches == found.searches, f"{split}")
    if found.searches:
        require(found.low <= found.score <= found.high, f"{found.low} {found.score} {found.high}")
    check_text(str(found))
    check_text(str(granite))


def check_report(drawn: DrawnFit, granite: gx.Granite) -> None:
    """The report can be told, and says no figure that is none."""
    report = granite.report(drawn.X, drawn.y)
    check_text(report.markdown())
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", report.html(), flags=re.DOTALL)
    check_text(re.sub(r"<[^>]*>", " ", page))
    for numbers_of_chart in re.findall(r'\b(?:d|points|x|y|cx|cy|width|height)="([^"]*)"', page):
        check_text(numbers_of_chart)


# What may not change a fit --------------------------------------------------------------------------------------------


def said(granite: gx.Granite) -> tuple[list[str], list[float]]:
    """The regions of a fit, and its figures."""
    figures = [granite.remaining_, granite.fidelity_, granite.global_fidelity_]
    figures += [region.disagreement for region in granite.partition_]
    figures += [region.fraction for region in granite.partition_]
    if granite.estimate_ is not None:
        estimate = granite.estimate_
        figures += [estimate.remaining, estimate.low, estimate.high, estimate.fidelity]
        figures += [estimate.fidelity_low, estimate.fidelity_high, estimate.hidden_high]
    return [str(rule) for rule in granite.partition_.rules], figures


def require_same(granite: gx.Granite, changed: gx.Granite, what: str) -> None:
    rules, figures = said(granite)
    other_rules, other_figures = said(changed)
    require(rules == other_rules, f"{what}: {rules} became {other_rules}")
    same = np.allclose(figures, other_figures, rtol=SAME, atol=SAME, equal_nan=True)
    require(same, f"{what}: {figures} became {other_figures}")


def in_another_order(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    order = np.array(chance.sample(range(len(drawn.X)), len(drawn.X)))
    require_same(granite, drawn.in_order(order).fit(), "permuted rows")


def on_two_threads(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    threaded = replace(drawn, options={**drawn.options, "n_jobs": 2})
    require_same(granite, threaded.fit(), "two threads")


def scaled(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    """Four times the prediction: a power of two changes no digit."""
    asked = str(drawn.question)
    if not isinstance(drawn.model, Regressor) or any(name in asked for name in ("risk", "pfi")):
        return  # where a risk is asked about, another target draws other rows
    changed = replace(drawn, model=replace(drawn.model, scale=4.0))
    require_same(granite, changed.fit(), "four times the prediction")


def weighted_twice(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    weights = np.ones(len(drawn.X)) if drawn.weights is None else drawn.weights
    require_same(granite, replace(drawn, weights=2.0 * weights).fit(), "weights times two")


def with_other_cluster_labels(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    if drawn.clusters is not None:
        names = np.array([f"cluster {label}" for label in drawn.clusters])
        require_same(granite, replace(drawn, clusters=names).fit(), "clusters by name")


def in_another_container(chance: random.Random, drawn: DrawnFit, granite: gx.Granite) -> None:
    if not isinstance(drawn.model, Surface):
        return
    name = chance.choice(sorted(containers(drawn.X)))
    require_same(granite, drawn.fit(containers(drawn.X)[name]()), f"as {name}")


def containers(X: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    """The same rows in whatever is installed here."""
    found: dict[str, Callable[[], Any]] = {
        "indexed frame": lambda: X.set_axis([f"r{3 * n % 7}" for n in range(len(X))], axis=0)
    }
    if all(dtype.kind in "fi" for dtype in X.dtypes):
        found["array"] = lambda: X.to_numpy(dtype=np.float64)
    if find_spec("polars"):
        found["polars"] = lambda: _as_polars(X)
    if find_spec("pyarrow"):
        found["pyarrow"] = lambda: _as_pyarrow(X)
    return found


def _as_polars(X: pd.DataFrame) -> Any:
    import polars as pl

    return pl.from_pandas(X, nan_to_null=False)


def _as_pyarrow(X: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(X, preserve_index=False)


INVARIANCES = (
    in_another_order,
    in_another_order,
    on_two_threads,
    scaled,
    weighted_twice,
    with_other_cluster_labels,
    in_another_container,
    in_another_container,
)


@contextmanager
def only_our_warnings() -> Iterator[None]:
    """Warnings of the package are expected; any other one is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gx.GraniteWarning)
        # of pandas and scikit-learn about themselves
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        yield


def a_default_fit(chance: random.Random) -> str:
    """One drawn fit and all that must hold of it; what was tried, or an error."""
    drawn = drawn_fit(chance)
    try:
        with only_our_warnings():
            check(chance, drawn)
    except gx.GraniteError as refusal:
        return f"refused: {str(refusal)[:120]}; {drawn}"
    except Exception as error:
        error.add_note(str(drawn))
        raise
    return str(drawn)


def check(chance: random.Random, drawn: DrawnFit) -> None:
    """Fit, and look at everything that a user may look at."""
    granite = drawn.fit()
    check_figures(drawn, granite)
    check_texts(granite)
    check_membership(drawn, granite)
    chance.choice(INVARIANCES)(chance, drawn, granite)
    check_one_row(chance, drawn, granite)
    if chance.random() < 0.3:
        check_other_rows(chance, drawn, granite)
    if chance.random() < 0.2:
        check_stability(granite)
    if chance.random() < 0.5:
        check_names(drawn, granite)
    if chance.random() < 0.5:
        check_file(drawn, granite)
    if chance.random() < 0.15 and not granite.outputs_:
        check_report(drawn, granite)

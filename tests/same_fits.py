"""Twenty fits of different kinds, and what a fit says, for tests and scripts that compare the same fit twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import granite_xai as gx

N_ROWS = 150
SMALL = {"min_samples_leaf": 10, "max_depth": 2}


@dataclass(frozen=True)
class Case:
    """One kind of fit: a model, its rows, and the options."""

    model: Any
    X: pd.DataFrame
    y: np.ndarray
    question: Any = "ice-pdp"
    options: dict[str, Any] = field(default_factory=dict)
    beside_rows: dict[str, np.ndarray] = field(default_factory=dict)

    def fit(self, order: np.ndarray | None = None, model: Any = None, **options: Any) -> gx.Granite:
        """Fit, the rows in any order, with another model of equal answers, or with further options."""
        order = np.arange(len(self.X)) if order is None else order
        g = gx.Granite(
            self.model if model is None else model,
            self.question,
            **{**SMALL, **self.options, **options},
        )
        beside = {name: values[order] for name, values in self.beside_rows.items()}
        return g.fit(self.X.iloc[order].reset_index(drop=True), self.y[order], **beside)


@cache
def numbers() -> tuple[pd.DataFrame, np.ndarray]:
    """Four columns that interact, one of few values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    X["d"] = rng.integers(0, 4, N_ROWS).astype(float)
    y = X["a"] * (X["b"] > 0.2) + X["c"] * X["d"] + 0.2 * rng.normal(size=N_ROWS)
    return X, y.to_numpy()


@cache
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    """The same with missing values, and labels."""
    X, _ = numbers()
    rng = np.random.default_rng(1)
    X = X.copy()
    X["label"] = pd.Categorical(rng.choice(list("uvwxy"), N_ROWS))
    X.loc[rng.random(N_ROWS) < 0.15, "b"] = np.nan
    y = X["a"] * X["label"].isin(["u", "w"]) + X["c"] * (X["b"] > 0) + X["a"] * X["b"].isna()
    return X, y.to_numpy()


def step(X: Any) -> np.ndarray:
    """A function of the columns a, b, c, d."""
    a, b, c, d = np.asarray(X, dtype=float)[:, :4].T
    return a * np.where(b > 0.2, 1.0, -1.0) + 0.5 * c * d


def erratic(X: Any) -> np.ndarray:
    """The same answers, sometimes late."""
    if len(X) % 3 == 0:
        time.sleep(0.002)
    return step(X)


def boosted(X: pd.DataFrame, y: np.ndarray) -> Any:
    model = HistGradientBoostingRegressor(
        random_state=0, max_iter=30, categorical_features="from_dtype"
    )
    return model.fit(X, y)


def of_numbers(question: Any = "ice-pdp", model: Any = step, **options: Any) -> Case:
    X, y = numbers()
    return Case(model, X, y, question, options)


def beside(name: str) -> Case:
    X, y = numbers()
    rng = np.random.default_rng(2)
    values = {
        "sample_weight": rng.choice([0.5, 1.0, 2.0], N_ROWS),
        "clusters": rng.integers(0, 30, N_ROWS),
    }
    return Case(step, X, y, beside_rows={name: values[name]})


def trained(model: Any, **options: Any) -> Case:
    X, y = numbers()
    return Case(model.fit(X, y), X, y, options=options)


def classified() -> Case:
    X, y = numbers()
    is_high = (y > np.median(y)).astype(int)
    model = HistGradientBoostingClassifier(random_state=0, max_iter=30).fit(X, is_high)
    return Case(model, X, is_high)


def of_mixed(question: str = "ice-pdp", **options: Any) -> Case:
    X, y = mixed()
    return Case(boosted(X, y), X, y, question, {"missing": "allow", **options})


CASES: dict[str, Callable[[], Case]] = {
    "ice-pdp": of_numbers,
    "variance": lambda: of_numbers("variance"),
    "sobol": lambda: of_numbers("sobol"),
    "pfi-risk": lambda: of_numbers("pfi-risk"),
    "mplot-pdp": lambda: of_numbers("mplot-pdp"),
    "cfi-pfi": lambda: of_numbers("cfi-pfi"),
    "csobol-sobol": lambda: of_numbers("csobol-sobol"),
    "shap-pdp": lambda: of_numbers("shap-pdp"),
    "two questions": lambda: of_numbers(["ice-pdp", "pfi-risk"]),
    "weights": lambda: beside("sample_weight"),
    "clusters": lambda: beside("clusters"),
    "classifier": classified,
    "missing values and labels": of_mixed,
    "missing values and labels, importance": lambda: of_mixed("pfi-risk"),
    "groups": lambda: of_numbers(influence="joint", groups={"ab": ["a", "b"], "cd": ["c", "d"]}),
    "boosted trees": lambda: trained(HistGradientBoostingRegressor(random_state=0, max_iter=30)),
    "forest": lambda: trained(RandomForestRegressor(n_estimators=15, random_state=0)),
    "random trees, depth 5": lambda: trained(
        ExtraTreesRegressor(n_estimators=10, max_depth=5, random_state=0)
    ),
    "the paper's algorithm": lambda: of_numbers(search="greedy", confidence_level=None),
    "uniform regions": lambda: of_numbers(gx.Objective({"ice-pdp": 1}, weighting="uniform")),
}


def said(g: gx.Granite) -> tuple[list[str], np.ndarray]:
    """The regions of a fit, and its figures."""
    figures = [g.disagreement_, g.remaining_, g.fidelity_, g.global_fidelity_]
    figures += [region.disagreement for region in g.partition_]
    figures += [region.fraction for region in g.partition_]
    if g.estimate_ is not None:
        figures += [g.estimate_.remaining, g.estimate_.low, g.estimate_.high]
    return [str(rule) for rule in g.partition_.rules], np.array(figures, dtype=float)

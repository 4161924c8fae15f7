"""What the benchmarks measure: rows, a model, a question."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx


@dataclass(frozen=True)
class Case:
    """One thing to measure."""

    name: str
    model: object
    X: pd.DataFrame
    y: np.ndarray
    question: str = "ice-pdp"
    depth: int = 3
    max_grid: int | None = None


def bike(
    questions: tuple[str, ...] = ("ice-pdp",), n: int | None = 1000, model: Any = None
) -> Iterator[Case]:
    """Bike sharing, gradient boosting, training rows, as in the paper's quantitative analysis; None: all rows."""
    X, y = gx.datasets.load_bike_sharing()
    rows = np.random.default_rng(0).permutation(len(X))
    train = rows[: int(0.8 * len(X))]
    model = HistGradientBoostingRegressor(random_state=0, max_iter=200) if model is None else model
    model.fit(X.iloc[train], y.iloc[train])
    some = rows if n is None else train[:n]
    for question in questions:
        yield Case(
            "bike",
            model,
            X.iloc[some].reset_index(drop=True),
            y.iloc[some].to_numpy(dtype=float),
            question,
        )


def gaussian(n: int, d: int, depth: int, max_grid: int | None = None) -> Case:
    """The paper's scalability experiment."""
    toy = gx.datasets.make_piecewise_linear(n, d, depth)
    return Case("gaussian", toy.model, toy.X, toy.model(toy.X), depth=depth, max_grid=max_grid)


def fitted(case: Case, jobs: int = 1, memory_limit: int = 2**32) -> gx.Granite:
    """Our side, with the defaults of the paper."""
    resources = gx.Resources(
        max_evaluations=10**10, memory_limit=memory_limit, max_grid=case.max_grid, progress=False
    )
    paper = {"search": "greedy", "confidence_level": None, "max_depth": case.depth}
    granite = gx.Granite(case.model, case.question, resources=resources, n_jobs=jobs, **paper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.BinWarning)
        return granite.fit(case.X, case.y)


def predictor(case: Case) -> Callable[[np.ndarray], np.ndarray]:
    """The model as a function of an array; it was trained on named columns."""
    call = getattr(case.model, "predict", case.model)
    return lambda rows: call(pd.DataFrame(rows, columns=case.X.columns))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result

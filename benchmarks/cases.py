"""What the benchmarks measure: rows, a model, a question."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

sys.path.append(str(Path(__file__).resolve().parents[1]))

from experiments.datasets import make_piecewise_linear

TRAINING_SHARE = 0.8
"""Share of the rows that a model is trained with."""

ANY_NUMBER = 10**10
"""A budget of model rows that is never used up."""


@dataclass(frozen=True)
class Case:
    """One thing to measure.

    Parameters
    ----------
    name : str
        Of the data.
    model : object
        Fitted.
    X, y : DataFrame, array
        The rows that are searched, and their target.
    question : str
    depth : int
        Of the tree, at most.
    max_grid : int, optional
        Values of each column at which the model is asked; None: all.
    """

    name: str
    model: object
    X: pd.DataFrame
    y: np.ndarray
    question: str = "ice-pdp"
    depth: int = 3
    max_grid: int | None = None


def bike(
    questions: Sequence[str] = ("ice-pdp",), n: int | None = 1000, model: Any = None
) -> list[Case]:
    """Bike sharing as in the paper's quantitative analysis, one case a question.

    Parameters
    ----------
    questions : sequence of str
    n : int, optional
        Training rows that are searched; None: all rows, those that were not trained with included.
    model : object, optional
        It is fitted; None: gradient boosting.

    Raises
    ------
    InputError
        Where the data are not at hand.
    """
    X, y = gx.datasets.load_bike_sharing()
    order = np.random.default_rng(0).permutation(len(X))
    training_rows = order[: int(TRAINING_SHARE * len(X))]
    if model is None:
        model = HistGradientBoostingRegressor(random_state=0, max_iter=200)
    model.fit(X.iloc[training_rows], y.iloc[training_rows])
    searched_rows = order
    if n is not None:
        searched_rows = training_rows[:n]
    searched_X = X.iloc[searched_rows].reset_index(drop=True)
    searched_y = y.iloc[searched_rows].to_numpy(dtype=float)
    return [Case("bike", model, searched_X, searched_y, question) for question in questions]


def gaussian(n: int, d: int, depth: int, max_grid: int | None = None) -> Case:
    """The paper's scalability experiment: n rows, d columns, a model that is linear in 2^depth leaves."""
    X, model = make_piecewise_linear(n, d, depth)
    return Case("gaussian", model, X, model(X), depth=depth, max_grid=max_grid)


def fit(case: Case, jobs: int = 1, memory_limit: int = 2**32) -> gx.Granite:
    """Fit our side as in the paper: a greedy search on all rows, without a confidence level."""
    resources = gx.Resources(
        max_evaluations=ANY_NUMBER,
        memory_limit=memory_limit,
        max_grid=case.max_grid,
        progress=False,
    )
    granite = gx.Granite(
        case.model,
        case.question,
        max_depth=case.depth,
        search="greedy",
        confidence_level=None,
        n_jobs=jobs,
        resources=resources,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.BinWarning)
        return granite.fit(case.X, case.y)


def predictor(case: Case) -> Callable[[np.ndarray], np.ndarray]:
    """The model as a function of an array; it was trained on named columns."""
    predict = getattr(case.model, "predict", case.model)
    return lambda rows: predict(pd.DataFrame(rows, columns=case.X.columns))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of some work, and its result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result

"""Growth with the rows at a fixed number of distinct values, and on all of bike sharing; memory against its limit."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from cases import Case, bike, fit

MEMORY_LIMITS_OF_ROUNDED = {1_000: 2**29, 10_000: 2**29, 100_000: 2**29, 1_000_000: 2**31}
"""Bytes that a fit may take, by its rows; each column has at most 13 values."""

MEMORY_LIMITS_OF_CONTINUOUS = {1_000: 2**29, 10_000: 2**29, 100_000: 2**30}
"""The same for continuous columns, of which the model is asked about `GRID` values."""

MEMORY_LIMITS_OF_BIKE = (2**27, 2**28, 2**30)
GRID = 64
MOST_QUICK_ROWS = 10_000
TRAINING_ROWS = 5_000


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """Rounded columns, continuous ones on a grid, then bike sharing."""
    for n, memory_limit in MEMORY_LIMITS_OF_ROUNDED.items():
        if n <= MOST_QUICK_ROWS or not quick:
            yield _row("rounded, d = 5", rounded_columns(n), memory_limit, jobs)
    for n, memory_limit in MEMORY_LIMITS_OF_CONTINUOUS.items():
        if n <= MOST_QUICK_ROWS or not quick:
            name = f"continuous, d = 5, max_grid = {GRID}"
            yield _row(name, continuous_columns(n), memory_limit, jobs)
    try:
        yield from _bike_rows(quick, jobs)
    except gx.InputError as error:
        print(f"bike sharing is left out: {error}\n")


def _bike_rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """All rows of bike sharing under several limits; quickly, a few rows under one."""
    questions = ("ice-pdp", "sobol", "cfi-pfi")
    n_rows = None
    memory_limits = MEMORY_LIMITS_OF_BIKE
    if quick:
        questions = questions[:1]
        n_rows = 1000
        memory_limits = memory_limits[:1]
    for case in bike(questions, n_rows):
        for memory_limit in memory_limits:
            yield _row(f"bike, {case.question}", case, memory_limit, jobs)


def rounded_columns(n: int) -> Case:
    """Five normal columns, rounded to halves between -3 and 3."""
    return _boosted_case(_normal_columns(n).clip(-3, 3).mul(2).round().div(2), max_grid=None)


def continuous_columns(n: int) -> Case:
    """Five normal columns, asked about on a grid."""
    return _boosted_case(_normal_columns(n), max_grid=GRID)


def _normal_columns(n: int) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(n, 5))
    return pd.DataFrame(values, columns=list("abcde"))


def _boosted_case(X: pd.DataFrame, max_grid: int | None) -> Case:
    """Boosted trees, which are trained on a few of the rows."""
    y = (X["a"] * (X["b"] > 0) + X["c"] * X["d"]).to_numpy()
    model = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    model.fit(X[:TRAINING_ROWS], y[:TRAINING_ROWS])
    return Case("made", model, X, y, max_grid=max_grid)


def _row(name: str, case: Case, memory_limit: int, jobs: int) -> dict[str, Any]:
    """Seconds of one fit, and the peak of our arrays in a second one, since watching costs time."""
    diagnostics = fit(case, jobs, memory_limit).diagnostics_
    tracemalloc.start()
    try:
        fit(case, jobs, memory_limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {
        "data": name,
        "N": len(case.X),
        "memory_limit": memory_limit,
        "seconds": diagnostics["seconds"]["total"],
        "evaluations": diagnostics["seconds"]["evaluations"],
        "search": diagnostics["seconds"]["search"],
        "peak": peak,
        "peak_over_limit": peak / memory_limit,
        "bytes": diagnostics["bytes"],
    }

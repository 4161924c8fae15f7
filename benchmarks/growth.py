"""Growth with the rows at a fixed number of distinct values, and on all of bike sharing; memory against its limit."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from cases import Case, bike, fitted

ROWS = (1_000, 10_000, 100_000, 1_000_000)
LIMITS = (2**27, 2**28, 2**30)


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """Rounded columns (at most 13 values each), continuous ones on a grid, then bike sharing."""
    for n in ROWS[:2] if quick else ROWS:
        limit = 2**29 if n < ROWS[-1] else 2**31
        yield _line("rounded, d = 5", _made(n, rounded=True), limit, jobs)
    for n in ROWS[:2] if quick else ROWS[:-1]:
        limit = 2**29 if n < ROWS[-2] else 2**30
        yield _line("continuous, d = 5, max_grid = 64", _made(n, rounded=False), limit, jobs)
    try:
        for question in ("ice-pdp",) if quick else ("ice-pdp", "sobol", "cfi-pfi"):
            (case,) = bike((question,), 1000 if quick else None)
            for limit in LIMITS[:1] if quick else LIMITS:
                yield _line(f"bike, {question}", case, limit, jobs)
    except gx.InputError as error:
        print(f"bike sharing is left out: {error}\n")


def _made(n: int, rounded: bool) -> Case:
    """Normal columns and boosted trees, which are trained on a few rows."""
    chance = np.random.default_rng(0)
    X = pd.DataFrame(chance.normal(size=(n, 5)), columns=list("abcde"))
    X = X.clip(-3, 3).mul(2).round().div(2) if rounded else X
    y = (X["a"] * (X["b"] > 0) + X["c"] * X["d"]).to_numpy()
    some = slice(0, 5_000)
    model = HistGradientBoostingRegressor(max_iter=50, random_state=0).fit(X[some], y[some])
    return Case("made", model, X, y, max_grid=None if rounded else 64)


def _line(name: str, case: Case, limit: int, jobs: int) -> dict[str, Any]:
    """Seconds of one fit, and the peak of our arrays in a second one, since watching costs time."""
    spent = fitted(case, jobs, limit).diagnostics_
    tracemalloc.start()
    try:
        fitted(case, jobs, limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {
        "data": name,
        "N": len(case.X),
        "memory_limit": limit,
        "seconds": spent["seconds"]["total"],
        "evaluations": spent["seconds"]["evaluations"],
        "search": spent["seconds"]["search"],
        "peak": peak,
        "peak_over_limit": peak / limit,
        "bytes": spent["bytes"],
    }

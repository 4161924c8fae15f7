"""The paper's scalability grid: Gaussian rows, a piecewise linear model, N, d and depth.

The plain implementation runs where that is bearable: its work grows with the square of N and of d.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import plain
from cases import Case, fitted, gaussian, predictor, timed

ROWS, COLUMNS, DEPTHS = (100, 200, 500, 1000), (5, 10, 20, 30), (1, 2, 3)
BEARABLE = 10**8
"""Square of N times d up to which the plain search is run as well: about half a minute."""


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """One line for each N, d and depth, exactly and with max_grid=64 where columns have more values."""
    sizes = product((100,), (5,), (1, 2)) if quick else product(ROWS, COLUMNS, DEPTHS)
    for n, d, depth in sizes:
        exact = gaussian(n, d, depth)
        plain_seconds = _plain(exact) if (n * d) ** 2 <= BEARABLE else None
        for grid in (None, 64):
            yield {**_ours(gaussian(n, d, depth, grid), jobs), "plain_seconds": plain_seconds}


def _ours(case: Case, jobs: int) -> dict[str, Any]:
    spent = fitted(case, jobs).diagnostics_["seconds"]
    n, d = case.X.shape
    return {
        "n": n,
        "d": d,
        "depth": case.depth,
        "max_grid": case.max_grid,
        "seconds": spent["search"],
        "evaluations_seconds": spent["evaluations"],
    }


def _plain(case: Case) -> float:
    data = plain.evaluate(predictor(case), case.X.to_numpy(dtype=float))
    return timed(lambda: plain.grow(data, case.question, plain.Options(max_depth=case.depth)))[0]

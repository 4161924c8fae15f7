"""The paper's scalability grid: Gaussian rows, a piecewise linear model, N, d and depth.

The plain implementation runs where that is bearable: its work grows with the square of N and of d.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import plain
from cases import Case, fit, gaussian, predictor, timed

ROWS = (100, 200, 500, 1000)
COLUMNS = (5, 10, 20, 30)
DEPTHS = (1, 2, 3)
GRID = 64

BEARABLE = 10**8
"""Square of N times d up to which the plain search is run as well: about half a minute."""


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """One row for each N, d and depth, exactly and with a grid where columns have more values."""
    sizes = product(ROWS, COLUMNS, DEPTHS)
    if quick:
        sizes = product((100,), (5,), (1, 2))
    for n, d, depth in sizes:
        plain_seconds = None
        if (n * d) ** 2 <= BEARABLE:
            plain_seconds = _seconds_of_plain_search(gaussian(n, d, depth))
        for grid in (None, GRID):
            row = _our_row(gaussian(n, d, depth, grid), jobs)
            row["plain_seconds"] = plain_seconds
            yield row


def _our_row(case: Case, jobs: int) -> dict[str, Any]:
    seconds = fit(case, jobs).diagnostics_["seconds"]
    n, d = case.X.shape
    return {
        "n": n,
        "d": d,
        "depth": case.depth,
        "max_grid": case.max_grid,
        "seconds": seconds["search"],
        "evaluations_seconds": seconds["evaluations"],
    }


def _seconds_of_plain_search(case: Case) -> float:
    data = plain.evaluate(predictor(case), case.X.to_numpy(dtype=float))
    options = plain.Options(max_depth=case.depth)
    seconds, _ = timed(lambda: plain.grow(data, case.question, options))
    return seconds

"""The search against a plain implementation of the paper's Algorithm 1, in one run.

Both sides search the same rows of the same model with the same options; the seconds are those of the search alone, the
evaluations of the model are in a column of their own. Ours is the median of three fits after a first one. With a grid
(max_grid) our side searches other gaps, so that its tree may differ; the error of the gaps is given instead.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import granite_xai as gx
import plain
from cases import Case, bike, fit, gaussian, predictor, timed
from granite_xai.algebra.conditional import fit_bins
from granite_xai.regions import Leaf, Split
from granite_xai.tables import Rows, read_table

REPEATS = 3
CONDITIONAL_QUESTIONS = ("mplot-pdp", "cfi-pfi")
SHARE_TOLERANCE = 1e-9
"""How far the share of a node may differ on both sides: they sum in another order."""


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """The rows of the table; bike sharing only where its data are at hand."""
    questions = tuple(plain.LOSSES)
    n_bike_rows = 1000
    sizes = [(1000, 10, 3), (1000, 30, 1)]  # rows, columns, depth
    if quick:
        questions = ("ice-pdp", "cfi-pfi")
        n_bike_rows = 300
        sizes = [(200, 5, 2)]
    try:
        bike_cases = bike(questions, n_bike_rows)
    except gx.InputError as error:
        print(f"bike sharing is left out: {error}\n")
        bike_cases = []
    for case in bike_cases:
        yield from measure(case, [None], jobs)
    for n, d, depth in sizes:
        yield from measure(gaussian(n, d, depth), [None, 64], jobs)


def measure(case: Case, grids: Sequence[int | None], jobs: int = 1) -> Iterator[dict[str, Any]]:
    """Search once by the definitions and a few times by the package, one row for each grid.

    Parameters
    ----------
    case : Case
    grids : sequence of int or None
        Values of each column that our side asks about; the first is None, all of them.
    jobs : int
        Threads of our side.
    """
    fits_by_grid = {grid: _repeated_fits(replace(case, max_grid=grid), jobs) for grid in grids}
    exact = fits_by_grid[None][0]
    data = plain.evaluate(predictor(case), case.X.to_numpy(dtype=float), y=case.y, **bins(case))
    options = plain.Options(
        max_depth=case.depth, floor=exact.diagnostics_["noise_floor"][case.question]
    )
    plain_seconds, plain_tree = timed(lambda: plain.grow(data, case.question, options))
    for grid, fits in fits_by_grid.items():
        yield _row(case, grid, fits, plain_seconds, plain_tree, jobs)


def _repeated_fits(case: Case, jobs: int) -> list[gx.Granite]:
    """A few fits after a first one, which loads what is loaded once."""
    fit(case, jobs)
    return [fit(case, jobs) for _ in range(REPEATS)]


def _row(
    case: Case,
    grid: int | None,
    fits: Sequence[gx.Granite],
    plain_seconds: float,
    plain_tree: plain.Node,
    jobs: int,
) -> dict[str, Any]:
    names = list(case.X)
    search_seconds = _median_seconds(fits, "search")
    return {
        "data": case.name,
        "question": case.question,
        "N": len(case.X),
        "d": case.X.shape[1],
        "depth": case.depth,
        "max_grid": grid,
        "jobs": jobs,
        "plain_search": plain_seconds,
        "search": search_seconds,
        "ratio": plain_seconds / search_seconds,
        "same_tree": all(is_same_tree(g.partition_.root, plain_tree, names) for g in fits),
        "gap_error": _gap_error(fits[0], case.question),
        "regions": len(fits[0].partition_),
        "evaluations": _median_seconds(fits, "evaluations"),
        "total": _median_seconds(fits, "total"),
    }


def _median_seconds(fits: Sequence[gx.Granite], stage: str) -> float:
    return statistics.median(g.diagnostics_["seconds"][stage] for g in fits)


def _gap_error(g: gx.Granite, question: str) -> float | None:
    """How far gaps on a grid are from exact ones, in parts of their size; None without a grid."""
    if "max_grid" not in g.diagnostics_:
        return None
    gaps = g.diagnostics_["max_grid"]["gaps"][question]
    return gaps["rms_difference"] / gaps["rms_gap"]


def bins(case: Case) -> dict[str, dict[int, np.ndarray]]:
    """Bin numbers of the rows for conditional questions: the same on both sides, they are not what is measured."""
    if case.question not in CONDITIONAL_QUESTIONS:
        return {}
    rows = Rows.of(read_table(case.X, missing="error"), in_fixed_order=False)
    columns = frozenset(range(rows.table.n_columns))

    def numbers(visible: frozenset[int]) -> np.ndarray:
        """Bin of each row; without bins all rows share one."""
        learned = fit_bins("tree", rows, visible, seed=0)
        return np.zeros(len(rows), dtype=int) if learned is None else learned.of(rows.table)

    return {
        "shown_bins": {column: numbers(frozenset({column})) for column in columns},
        "hidden_bins": {column: numbers(columns - {column}) for column in columns},
    }


def is_same_tree(ours: Split | Leaf, plain_node: plain.Node, names: Sequence[str]) -> bool:
    """Whether columns, rows and shares are the same, and cuts lie between the same two values, all the way down.

    Parameters
    ----------
    ours : Split or Leaf
    plain_node : plain.Node
        Of the same place in the plain tree.
    names : sequence of str
        Of the columns.
    """
    has_same_rows = ours.n_samples == plain_node.n_rows
    has_same_share = abs(ours.disagreement - plain_node.share) < SHARE_TOLERANCE
    if not has_same_rows or not has_same_share:
        return False
    if isinstance(ours, Leaf) or plain_node.is_leaf:
        return isinstance(ours, Leaf) and plain_node.is_leaf
    has_same_column = ours.column == names[plain_node.column]
    has_same_cut = plain_node.cut <= ours.left.high < plain_node.next_value
    if not has_same_column or not has_same_cut:
        return False
    left, right = ours.children
    return is_same_tree(left, plain_node.left, names) and is_same_tree(
        right, plain_node.right, names
    )

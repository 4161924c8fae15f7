"""The search against a plain implementation of the paper's Algorithm 1, in one run.

Both sides search the same rows of the same model with the same options; the seconds are those of the search alone, the
evaluations of the model are in a column of their own. Ours is the median of three fits after a first one. With a grid
(max_grid) our side searches other gaps, so that its tree may differ; the error of the gaps is given instead.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

import granite_xai as gx
import plain
from cases import Case, bike, fitted, gaussian, predictor, timed
from granite_xai.explanation.masking.bin_fitting import fit_bins
from granite_xai.regions.partition import Leaf, Split
from granite_xai.tables import read_table

REPEATS = 3
CONDITIONAL = ("mplot-pdp", "cfi-pfi")


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """The lines of the table; bike sharing only where its data are at hand."""
    try:
        for case in bike(
            ("ice-pdp", "cfi-pfi") if quick else tuple(plain.LOSSES), 300 if quick else 1000
        ):
            yield measure(case, [None], jobs)[0]
    except gx.InputError as error:
        print(f"bike sharing is left out: {error}\n")
    for n, d, depth in [(200, 5, 2)] if quick else [(1000, 10, 3), (1000, 30, 1)]:
        yield from measure(gaussian(n, d, depth), [None, 64], jobs)


def measure(case: Case, grids: list[int | None], jobs: int = 1) -> list[dict[str, Any]]:
    """Search once by the definitions and a few times by the package, exactly and on grids."""
    fits = {grid: [fitted(_on(case, grid), jobs) for _ in range(REPEATS + 1)][1:] for grid in grids}
    data = plain.evaluate(predictor(case), case.X.to_numpy(dtype=float), y=case.y, **bins(case))
    options = plain.Options(
        max_depth=case.depth, floor=fits[grids[0]][0].diagnostics_["noise_floor"][case.question]
    )
    seconds, tree = timed(lambda: plain.grow(data, case.question, options))
    return [_line(case, grid, ours, seconds, tree, jobs) for grid, ours in fits.items()]


def _line(
    case: Case,
    grid: int | None,
    ours: list[gx.Granite],
    plain_seconds: float,
    tree: plain.Node,
    jobs: int,
) -> dict[str, Any]:
    spent = {
        part: statistics.median(granite.diagnostics_["seconds"][part] for granite in ours)
        for part in ("search", "evaluations", "total")
    }
    gaps = ours[0].diagnostics_.get("max_grid", {}).get("gaps", {}).get(case.question)
    return {
        "data": case.name,
        "question": case.question,
        "N": len(case.X),
        "d": case.X.shape[1],
        "depth": case.depth,
        "max_grid": grid,
        "jobs": jobs,
        "plain_search": plain_seconds,
        "search": spent["search"],
        "ratio": plain_seconds / spent["search"],
        "same_tree": all(
            same_tree(granite.partition_.root, tree, list(case.X)) for granite in ours
        ),
        "gap_error": None if gaps is None else gaps["rms_difference"] / gaps["rms_gap"],
        "regions": len(ours[0].partition_),
        "evaluations": spent["evaluations"],
        "total": spent["total"],
    }


def _on(case: Case, grid: int | None) -> Case:
    return Case(case.name, case.model, case.X, case.y, case.question, case.depth, grid)


def bins(case: Case) -> dict[str, dict[int, np.ndarray]]:
    """Bin numbers of the rows for conditional questions: the same on both sides, they are not what is measured."""
    if case.question not in CONDITIONAL:
        return {}
    table = read_table(case.X, missing="error")
    columns = frozenset(range(table.n_columns))
    return {
        "shown_bins": {i: fit_bins("tree", table, frozenset({i}))(table) for i in columns},
        "hidden_bins": {i: fit_bins("tree", table, columns - {i})(table) for i in columns},
    }


def same_tree(ours: Split | Leaf, plain_node: plain.Node, names: list[str]) -> bool:
    """The same columns, cuts between the same two values, the same rows and shares, all the way down."""
    alike = ours.n_samples == plain_node.n_rows and abs(ours.disagreement - plain_node.share) < 1e-9
    if isinstance(ours, Leaf) or plain_node.left is None:
        return alike and isinstance(ours, Leaf) and plain_node.left is None
    cut_alike = (
        ours.column == names[plain_node.column]
        and plain_node.cut <= ours.left.high < plain_node.next_value
    )
    pairs = zip(ours.children, (plain_node.left, plain_node.right), strict=True)
    return alike and cut_alike and all(same_tree(child, node, names) for child, node in pairs)

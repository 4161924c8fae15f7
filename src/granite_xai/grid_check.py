"""What a grid changes: the gaps of a few rows with and without it (C22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluation_plan import evaluate, request
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.masking.fitted import FittedMaskings
from granite_xai.trees.routes import Route


def grid_check(
    comparisons: Sequence[ResolvedQuestion],
    route: Route,
    evaluations: Evaluations,
    reference: FittedMaskings,
    resources: Resources,
    count: int,
    seed: int,
) -> dict[str, Any]:
    """What ``diagnostics_`` says of a grid: its columns, and the gaps of a few rows with and without it.

    The rows, drawn by the seed, are a region of their own. ``rms_difference`` is the root mean square of the difference
    between their gaps on the grid and their exact gaps, ``rms_gap`` that of the exact gaps, in the question's units.
    """
    table = route.table
    rows = np.sort(np.random.default_rng(seed).choice(table.n_rows, size=count, replace=False))
    effects = [side for comparison in comparisons for side in (comparison.first, comparison.second)]
    part = table.take(rows)
    near = evaluations.restrict(rows)
    exact, _ = evaluate(
        Route(route.predictor, part),
        request(part, effects),
        reference,
        weights=near.weights,
        y=near.y,
        resources=replace(resources, max_grid=None),
        coordinates=near.coordinates,
    )
    splits = Splits.whole(near.weights)
    figures = {}
    for comparison in comparisons:
        snapped, true = (np.stack(list(comparison.gap_values(each, splits))) for each in (near, exact))
        if not comparison.first.behavior.per_row:
            snapped, true = snapped[..., 0], true[..., 0]
        figures[comparison.question.label] = {"rms_difference": _rms(snapped - true), "rms_gap": _rms(true)}
    columns = {table.names[min(s)]: len(evaluations.matrices[s].values) for s in evaluations.snapped}
    return {"columns": columns, "rows": len(rows), "gaps": figures}


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def in_words(note: dict[str, Any]) -> str:
    """The note as a sentence, for the report."""
    columns = ", ".join(f"{name} ({count})" for name, count in note["columns"].items())
    errors = (gaps["rms_difference"] / gaps["rms_gap"] for gaps in note["gaps"].values() if gaps["rms_gap"] > 0)
    return (
        f"C22: on a grid of so many values: {columns}. On {note['rows']} rows the gaps differ from the exact ones by "
        f"{max(errors, default=0.0):.1%} of their size (root mean square)."
    )

"""How far gaps on a grid are from exact ones, on a few rows (method page, C22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.request import request
from granite_xai.trees.ensembles import Route


def check_grid(
    questions: Sequence[ResolvedQuestion],
    route: Route,
    evaluations: Evaluations,
    reference: FittedMaskings,
    *,
    resources: Resources,
    n_rows: int,
    seed: int,
    y: Any,
) -> dict[str, Any]:
    """Ask the model exactly about a few rows and compare the gaps with those on the grid.

    Parameters
    ----------
    questions : sequence of ResolvedQuestion
    route : Route
        The model and the rows that search.
    evaluations : Evaluations
        Of these rows, some columns on a grid.
    reference : FittedMaskings
    resources : Resources
    n_rows, seed : int
        How many rows are looked at, and how they are drawn.
    y : array or None

    Returns
    -------
    dict
        ``columns`` (values of each column on a grid), ``rows``, and for each question in ``gaps`` the root mean square
        of the exact gaps and of their difference from those on the grid.
    """
    generator = np.random.default_rng(seed)
    rows = np.sort(generator.choice(evaluations.n_rows, size=n_rows, replace=False))
    effects = []
    for question in questions:
        effects += [question.first, question.second]
    few_rows = route.table.take(rows)
    y_of_rows = None
    if y is not None:
        y_of_rows = y[rows]
    on_grid = evaluations.restrict(rows)
    exact, _ = evaluate(
        Route(route.predictor, few_rows),
        request(few_rows, effects),
        reference,
        resources=replace(resources, max_grid=None),
        weights=on_grid.weights,
        y=y_of_rows,
    )
    gaps = {}
    for question in questions:
        exact_gaps = _gaps(question, exact)
        differences = _gaps(question, on_grid) - exact_gaps
        gaps[question.question.label] = {
            "rms_difference": float(np.sqrt(np.mean(np.square(differences)))),
            "rms_gap": float(np.sqrt(np.mean(np.square(exact_gaps)))),
        }
    values_by_column = {}
    for column in evaluations.snapped:  # columns on a grid, each as a set of one
        name = few_rows.names[min(column)]
        values_by_column[name] = evaluations.matrices[column].values.shape[0]
    return {"columns": values_by_column, "rows": len(rows), "gaps": gaps}


def _gaps(question: ResolvedQuestion, evaluations: Evaluations) -> FloatArray:
    """The gaps of all sets on all rows; one number a set for sensitivity and risk."""
    all_rows = Splits.whole(evaluations.weights)
    gaps = np.stack(list(question.gap_values(evaluations, all_rows)))
    if question.first.behavior.per_row:
        return gaps
    return gaps[..., 0]


def grid_check_in_words(note: dict[str, Any]) -> str:
    """The note as a sentence, for the report."""
    columns = ", ".join(f"{name} ({count})" for name, count in note["columns"].items())
    largest_error = 0.0
    for gaps in note["gaps"].values():
        if gaps["rms_gap"] > 0:
            largest_error = max(largest_error, gaps["rms_difference"] / gaps["rms_gap"])
    return (
        f"C22: on a grid of so many values: {columns}. On {note['rows']} rows the gaps differ from the exact ones "
        f"by {largest_error:.1%} of their size (root mean square)."
    )

"""What a grid changes: the gaps of a few rows with and without it (C22); and bins that are too thin (C10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import BinWarning
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.compute.units import by_power_of_two
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
        y=None if near.y is None else by_power_of_two(near.y, near.exponent),
        resources=replace(resources, max_grid=None),
        coordinates=near.coordinates,
        exponent=near.exponent,
    )
    splits = Splits.whole(near.weights)
    figures = {}
    for comparison in comparisons:
        snapped, true = (np.stack(list(comparison.gap_values(each, splits))) for each in (near, exact))
        if not comparison.first.behavior.per_row:
            snapped, true = snapped[..., 0], true[..., 0]
        power = near.exponent * (comparison.first.behavior.degree or 0)
        both = by_power_of_two([_rms(snapped - true), _rms(true)], power).tolist()
        figures[comparison.question.label] = dict(zip(("rms_difference", "rms_gap"), both, strict=True))
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


THIN = 5
"""Rows below which a bin of a region is called thin."""


def note_bins(record: Diagnostics, evaluations: Evaluations, regions: Sequence[IntArray], beyond_chance: bool) -> None:
    """Count the bins that are too thin to average over, and warn once (C10)."""
    thin = single = 0
    for bins in evaluations.bins.values():
        if bins.single and beyond_chance:
            continue  # no dependence beyond chance
        for rows in regions:
            counts = np.unique(bins.numbers[rows], return_counts=True)[1]
            thin += int(np.count_nonzero(counts < THIN))
            single += len(counts) == 1
    record.note("thin_bins", {"cells": thin, "single_bin": single})
    if thin or single:
        record.warn(
            f"C10: conditional masking has {thin} bins with fewer than {THIN} rows of a region, and {single} times all "
            "rows of a region share one bin, where conditional equals marginal by construction.",
            BinWarning,
        )

"""What a fit says about other rows: they are explained row and reference alike, inside each region.

Bins, baselines and thresholds stay as fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, one_blas_thread
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.effects import ResolvedExplainer
from granite_xai.engine.splits import Splits
from granite_xai.evaluation import Evaluation
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explainer import regional_part
from granite_xai.explanation import Explanation, Part
from granite_xai.fit import FitResult
from granite_xai.masking.fitted import FittedMaskings
from granite_xai.objective import ScaledObjective
from granite_xai.requests import evaluate, request

if TYPE_CHECKING:
    from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Evaluations of some rows, and the questions as they are read there."""

    comparisons: tuple[ResolvedQuestion, ...]
    evaluations: Evaluations


def observe(
    fitted: FitResult, table: Table, y: FloatArray | None, region: int | None, resources: Resources
) -> Observation:
    """Ask the model about other rows: all of them (``region=None``), or those of one region."""
    comparisons, reference = _anchored(fitted, region)
    effects = [side for comparison in comparisons for side in (comparison.first, comparison.second)]
    evaluations, _ = evaluate(
        fitted.predictor,
        table,
        request(table, effects, max_grid=resources.max_grid),
        reference,
        weights=np.ones(table.n_rows),
        y=y,
        resources=resources,
    )
    return Observation(comparisons, evaluations)


def _anchored(fitted: FitResult, region: int | None) -> tuple[tuple[ResolvedQuestion, ...], FittedMaskings]:
    """The questions with every baseline fixed: that of a region is a fitting row of this region."""
    if not fitted.centres:
        return fitted.comparisons, fitted.reference
    row = fitted.table.take(np.array([fitted.centres[region]]))
    baselines = dict(fitted.reference.baselines)

    def anchor(effect: ResolvedExplainer) -> ResolvedExplainer:
        masking = effect.masking.anchored(region)
        if masking != effect.masking:
            baselines[masking] = row
        return replace(effect, masking=masking)

    comparisons = tuple(replace(c, first=anchor(c.first), second=anchor(c.second)) for c in fitted.comparisons)
    return comparisons, replace(fitted.reference, baselines=baselines)


def rows_by_region(regions: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Each region that has rows, with their positions."""
    for region in np.unique(regions).tolist():
        yield region, np.flatnonzero(regions == region)


def evaluate_rows(
    fitted: FitResult, table: Table, y: FloatArray | None, regions: IntArray, resources: Resources
) -> Evaluation:
    """Measure the regions on other rows (C17)."""
    everywhere = observe(fitted, table, y, None, resources)
    with one_blas_thread():
        shares = _scaled(fitted, everywhere)
        whole = Splits.whole(everywhere.evaluations.weights)
        total = float(shares.of(shares.disagreements(everywhere.evaluations, whole), whole.mass)[0, 0])
        losses = _losses_by_row(shares, everywhere, whole)
    counts = np.bincount(regions, minlength=len(fitted.partition))
    regional = np.zeros(len(counts))
    by_region = np.zeros(len(counts)) if losses is not None else np.full(len(counts), np.nan)
    for region, rows in rows_by_region(regions):
        if losses is not None:
            by_region[region] = losses[rows].sum()
        if fitted.centres:  # the masking itself changes with the region
            inside = observe(fitted, table.take(rows), None if y is None else y[rows], region, resources)
        else:
            inside = Observation(fitted.comparisons, everywhere.evaluations.restrict(rows))
        with one_blas_thread():
            here = Splits.whole(inside.evaluations.weights)
            scaled = replace(shares, comparisons=inside.comparisons)
            regional[region] = scaled.of(scaled.disagreements(inside.evaluations, here), here.mass)[0, 0]
    rules = tuple(str(rule) for rule in fitted.partition.rules)
    return Evaluation(rules, tuple(counts.tolist()), regional, by_region, float(regional.sum()), total, table)


def _scaled(fitted: FitResult, observed: Observation) -> ScaledObjective:
    """The objective on other rows: in its own units for one question, in shares for several."""
    whole = Splits.whole(observed.evaluations.weights)
    count = len(observed.comparisons)
    one = ScaledObjective(observed.comparisons, np.ones(count), fitted.floors, float(whole.mass[0, 0]))
    if count == 1:
        return one
    roots = one.disagreements(observed.evaluations, whole)[0, 0]
    weights = np.where(roots > fitted.floors, fitted.question_weights, 0.0)
    weights = weights / (weights.sum() or 1.0)
    return replace(one, factors=np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0))


def _losses_by_row(shares: ScaledObjective, observed: Observation, whole: Splits) -> FloatArray | None:
    """Each row's part of the disagreement on all rows; None where a question has no value a row."""
    if not all(comparison.first.behavior.per_row for comparison in observed.comparisons):
        return None
    evaluations = observed.evaluations
    losses = [comparison.losses(evaluations, whole)[0] for comparison in observed.comparisons]
    scaled: FloatArray = shares.factors @ np.stack(losses)
    return scaled * evaluations.weights / shares.total


def explain_rows(
    fitted: FitResult, table: Table, y: FloatArray | None, regions: IntArray, resources: Resources
) -> Explanation:
    """Both sides of every question on other rows, region by region."""
    parts: list[Part] = []
    # A grid is that of all rows, in every region; without one, each region is asked about by itself, which costs less.
    whole = resources.max_grid is not None and not fitted.centres
    everywhere = observe(fitted, table, y, None, resources) if whole else None
    for region, rows in rows_by_region(regions):
        if everywhere is not None:
            observed = replace(everywhere, evaluations=everywhere.evaluations.restrict(rows))
        else:
            observed = observe(fitted, table.take(rows), None if y is None else y[rows], region, resources)
        with one_blas_thread():
            for comparison in observed.comparisons:
                question = comparison.question
                first, second = question.first.name or "first", question.second.name or "second"
                parts.append(regional_part(region, first, comparison.first, observed.evaluations, rows))
                parts.append(regional_part(region, second, comparison.second, observed.evaluations, rows))
    return Explanation(fitted.comparisons[0].first.layout.labels, tuple(parts), table)

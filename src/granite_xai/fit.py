"""One fit, step by step: plan, inputs the model, measure, search, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import BinWarning
from granite_xai.base.files import BY_ROW
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, one_blas_thread
from granite_xai.compute.units import by_power_of_two
from granite_xai.disagreement import Objective, ResolvedQuestion, ScaledObjective, shares
from granite_xai.engine.centres import central_rows
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluation_plan import EvaluationPlan, evaluate, request
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import probe
from granite_xai.fit_roots import exponent_for, measure, order_of, units_of
from granite_xai.influence import PlayersAndSets
from granite_xai.interaction import Additive
from granite_xai.masking.fitted import FittedMaskings, fit_reference
from granite_xai.models import Predictor
from granite_xai.regions.nodes import Leaf
from granite_xai.regions.partition import Partition
from granite_xai.resolved import ResolvedExplainer
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.search.tree import Tree
from granite_xai.surrogate import Surrogate, fidelity, fit_surrogate
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

THIN = 5
"""Rows below which a bin of a region is called thin."""


@dataclass(frozen=True, slots=True, eq=False)
class FitInputs:
    """What a fit is about: rows, model, objective, limits."""

    route: Route
    y: FloatArray | None
    weights: FloatArray
    objective: Objective
    comparisons: tuple[ResolvedQuestion, ...]
    question_weights: tuple[float, ...]
    partitioner: Partitioner
    tree: Tree
    extra_effects: tuple[ResolvedExplainer, ...]
    missing: bool
    resources: Resources
    n_jobs: int | None
    seed: int
    diagnostics: Diagnostics

    @property
    def table(self) -> Table:
        """The rows, explained and reference alike."""
        return self.route.table

    @property
    def predictor(self) -> Predictor:
        """The model."""
        return self.route.predictor


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """What a fit found."""

    table: Table
    predictor: Predictor
    comparisons: tuple[ResolvedQuestion, ...]
    question_weights: tuple[float, ...]
    reference: FittedMaskings
    partition: Partition
    regions: IntArray = field(metadata=BY_ROW)
    weights: FloatArray = field(metadata=BY_ROW)
    roots: FloatArray
    floors: FloatArray
    remaining: float
    centres: dict[int | None, int]
    surrogate: Surrogate
    fidelity: float
    global_fidelity: float
    missing: bool
    exponent: int = 0
    learned: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: object = None

    @property
    def below_noise_floor(self) -> bool:
        """Whether every question is at its noise floor."""
        return bool(np.all(self.roots <= self.floors))

    @property
    def unit(self) -> IntArray:
        """The powers of two in units of which the roots and floors of the questions are measured."""
        return units_of(self.comparisons, self.exponent)

    @property
    def layout(self) -> PlayersAndSets:
        """Players and sets of the first question."""
        return self.comparisons[0].first.layout


class FitRun(NamedTuple):
    """What a fit found and the evaluations it was found from, which nobody keeps: they cost no further rows."""

    result: FitResult
    evaluations: Evaluations
    route: Route


def run(inputs: FitInputs) -> FitRun:
    """Ask the model, search for regions, and describe them."""
    record = inputs.diagnostics
    asked = requested(inputs)
    changes = set().union(*(effect.changes() for effect in asked.effects))
    readings = set().union(*(effect.readings() for effect in asked.effects))
    reference = fit_reference(readings, changes, inputs.table, inputs.weights, inputs.seed)
    record.note("bytes", asked.bytes)
    candidate = candidate_bytes(inputs)
    budget = asked.budget(inputs.table, inputs.resources, candidate)
    record.note("plan", asked.stages(inputs.table, budget, candidate))
    probed = probe(inputs.predictor, inputs.table, record)
    with record.stage("evaluations"):
        evaluations, extent = evaluate(
            inputs.route,
            asked,
            reference,
            weights=inputs.weights,
            y=inputs.y,
            resources=inputs.resources,
            seconds_per_row=probed.seconds_per_row,
            n_jobs=inputs.n_jobs,
            diagnostics=record,
            exponent=exponent_for(inputs.comparisons, inputs.objective),
        )
    if evaluations.snapped:
        note = _grid_note(inputs, evaluations, reference, asked.checked)
        record.note("max_grid", note)
        record.remember(_grid_words(note))
    with record.stage("search"), one_blas_thread():
        single = inputs.predictor.native_float32
        roots, floors, error = measure(inputs.comparisons, evaluations, extent, probed, single, record)
        scaled = shares(inputs.comparisons, inputs.question_weights, roots, floors, inputs.objective, evaluations)
        found = _search(inputs, evaluations, scaled, error)
    record.note("memory", {"held": evaluations.space.most_held, "spilled": evaluations.space.most_spilled})
    result = _described(inputs, evaluations, reference, found, (roots, floors))
    return FitRun(result, evaluations, inputs.route)


def _described(
    inputs: FitInputs,
    evaluations: Evaluations,
    reference: FittedMaskings,
    found: PartitionResult,
    measured: tuple[FloatArray, FloatArray],
) -> FitResult:
    """The regions with their central rows and their additive surrogate."""
    table, partition = inputs.table, found.partition
    players, order = inputs.comparisons[0].first.layout.players, order_of(inputs.comparisons)
    regions = partition.apply(table)
    rows = [np.flatnonzero(regions == k) for k in range(len(partition))]
    _note_bins(inputs, evaluations, rows)
    with one_blas_thread():
        return FitResult(
            table=table,
            predictor=inputs.predictor,
            comparisons=inputs.comparisons,
            question_weights=inputs.question_weights,
            reference=reference,
            partition=partition,
            regions=regions,
            weights=inputs.weights,
            roots=measured[0],
            floors=measured[1],
            remaining=float(sum(region.disagreement for region in partition)),
            centres=_centres(evaluations, rows),
            surrogate=fit_surrogate(table, evaluations, players, order, rows),
            fidelity=fidelity(table, evaluations, players, order, rows),
            global_fidelity=fidelity(table, evaluations, players, order, [np.arange(table.n_rows)]),
            missing=inputs.missing,
            exponent=evaluations.exponent,
            learned=found.extra_attributes,
        )


def requested(inputs: FitInputs) -> EvaluationPlan:
    """What a fit asks of the model: both sides of every question, and the pure effects of the surrogate."""
    effects = [side for comparison in inputs.comparisons for side in (comparison.first, comparison.second)]
    players = inputs.comparisons[0].first.layout.players
    additive = {
        term for term in Additive(order_of(inputs.comparisons)).terms(players, ()) if isinstance(term, frozenset)
    }
    singles = {frozenset({i}) for i in range(inputs.table.n_columns)}
    return request(inputs.table, [*effects, *inputs.extra_effects], additive | singles, inputs.resources.max_grid)


def candidate_bytes(inputs: FitInputs) -> int:
    """Memory of the search for one candidate: what is least, since candidates are scored in blocks."""
    n = inputs.table.n_rows
    return CUT_BYTES * n + max(comparison.split_bytes(n, n) for comparison in inputs.comparisons)


def _search(inputs: FitInputs, evaluations: Evaluations, scaled: ScaledObjective, error: float) -> PartitionResult:
    """The regions; one when there is nothing to explain (C4), but for partitioners that have an end of their own."""
    problem = Problem(
        route=inputs.route,
        evaluations=evaluations,
        shares=scaled,
        missing=inputs.missing,
        resources=inputs.resources,
        n_jobs=inputs.n_jobs,
        diagnostics=inputs.diagnostics,
        tree=inputs.tree,
        error=error,
        seed=inputs.seed,
    )
    if problem.below_noise_floor and not inputs.partitioner.ignores_noise_floor:
        reason = "too few samples" if inputs.table.n_rows == 1 else "nothing to explain"
        return PartitionResult(Partition(Leaf(inputs.table.n_rows, 1.0, 0.0, reason), inputs.table.names))
    return inputs.partitioner.partition(problem)


def _centres(evaluations: Evaluations, regions: Sequence[IntArray]) -> dict[int | None, int]:
    """The central fitting row of all rows (None) and of each region, where a baseline depends on the region."""
    if evaluations.coordinates is None:
        return {}
    members = np.zeros((len(regions) + 1, evaluations.n_rows))
    for line, rows in zip(members, [np.arange(evaluations.n_rows), *regions], strict=True):
        line[rows] = evaluations.weights[rows]
    everyone, *others = central_rows(evaluations.coordinates, members).tolist()
    return {None: everyone, **dict(enumerate(others))}


def _note_bins(inputs: FitInputs, evaluations: Evaluations, regions: Sequence[IntArray]) -> None:
    """Count the bins that are too thin to average over, and warn once (C10)."""
    thin = single = 0
    for bins in evaluations.bins.values():
        for rows in regions:
            counts = np.unique(bins.numbers[rows], return_counts=True)[1]
            thin += int(np.count_nonzero(counts < THIN))
            single += len(counts) == 1
    inputs.diagnostics.note("thin_bins", {"cells": thin, "single_bin": single})
    if thin or single:
        inputs.diagnostics.warn(
            f"C10: conditional masking has {thin} bins with fewer than {THIN} rows of a region, and {single} times all "
            "rows of a region share one bin, where conditional equals marginal by construction.",
            BinWarning,
        )


def _grid_note(inputs: FitInputs, evaluations: Evaluations, reference: FittedMaskings, count: int) -> dict[str, Any]:
    """What ``diagnostics_`` says of a grid: its columns, and the gaps of a few rows with and without it.

    The rows, drawn by the seed, are a region of their own. ``rms_difference`` is the root mean square of the difference
    between their gaps on the grid and their exact gaps, ``rms_gap`` that of the exact gaps, in the question's units.
    """
    table, comparisons, exponent = inputs.table, inputs.comparisons, evaluations.exponent
    rows = np.sort(np.random.default_rng(inputs.seed).choice(table.n_rows, size=count, replace=False))
    effects = [side for comparison in comparisons for side in (comparison.first, comparison.second)]
    part = table.take(rows)
    near = evaluations.restrict(rows)
    exact, _ = evaluate(
        Route(inputs.predictor, part),
        request(part, effects),
        reference,
        weights=near.weights,
        y=None if inputs.y is None else inputs.y[rows],
        resources=replace(inputs.resources, max_grid=None),
        coordinates=near.coordinates,
        exponent=exponent,
    )
    splits = Splits.whole(near.weights)
    figures = {}
    for comparison in comparisons:
        snapped, true = (np.stack(list(comparison.gap_values(each, splits))) for each in (near, exact))
        if not comparison.first.behavior.per_row:
            snapped, true = snapped[..., 0], true[..., 0]
        power, amounts = exponent * (comparison.first.behavior.degree or 0), (_rms(snapped - true), _rms(true))
        told = (float(by_power_of_two(amount, power)) for amount in amounts)
        figures[comparison.question.label] = dict(zip(("rms_difference", "rms_gap"), told, strict=True))
    columns = {table.names[min(s)]: len(evaluations.matrices[s].values) for s in evaluations.snapped}
    return {"columns": columns, "rows": len(rows), "gaps": figures}


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _grid_words(note: dict[str, Any]) -> str:
    """The note as a sentence, for the report."""
    columns = ", ".join(f"{name} ({count})" for name, count in note["columns"].items())
    errors = (gaps["rms_difference"] / gaps["rms_gap"] for gaps in note["gaps"].values() if gaps["rms_gap"] > 0)
    return (
        f"C22: on a grid of so many values: {columns}. On {note['rows']} rows the gaps differ from the exact ones by "
        f"{max(errors, default=0.0):.1%} of their size (root mean square)."
    )

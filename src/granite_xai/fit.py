"""One fit, step by step: plan, inputs the model, measure, search, describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import BinWarning, ModelWarning
from granite_xai.base.files import BY_ROW
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.cause import causes
from granite_xai.chance.estimate import Estimate
from granite_xai.chance.replicates import Chance, ChanceRule, Confidence, Replicates
from granite_xai.chance.stability import Stability
from granite_xai.compute import Resources, one_blas_thread
from granite_xai.disagreement import Objective, ResolvedQuestion, shares
from granite_xai.engine.centres import central_rows
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluation_plan import EvaluationPlan, evaluate, request
from granite_xai.evaluations.agnostic import EvaluationRange, too_large
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import Probe, delta as noise_delta, floor, inconstancy, probe, sampling_floor
from granite_xai.explainer import regional_part
from granite_xai.grid_check import grid_check, in_words
from granite_xai.influence import Interactions, PlayersAndSets
from granite_xai.interaction import Additive
from granite_xai.masking.fitted import FittedMaskings, fit_reference
from granite_xai.models import Predictor
from granite_xai.regions.nodes import Leaf
from granite_xai.regions.partition import Partition
from granite_xai.resolved import ResolvedExplainer
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.search.tree import Tree
from granite_xai.surrogate import RegionSurrogate, Surrogate, fidelity, fit_surrogate
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

SWALLOWED = 0.05
"""Share of the noise floor from which a measured disagreement is hardly rounding alone, which makes a thousandth."""
SMALLEST = -280
"""Power of ten below which numbers lose their digits."""
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
    confidence: Confidence | None
    clusters: IntArray

    @property
    def replicates(self) -> Replicates | None:
        """What chance is measured with; None: the sample is taken for the world."""
        return None if self.confidence is None else self.confidence.replicates(self.clusters)

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
    everywhere: RegionSurrogate
    fidelity: float
    global_fidelity: float
    missing: bool
    confidence: Confidence | None = None
    chance: Chance | None = None
    estimate: Estimate | None = None
    stability: Stability | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: object = None

    @property
    def below_noise_floor(self) -> bool:
        """Whether every question is at its noise floor."""
        return bool(np.all(self.roots <= self.floors))

    @property
    def global_surrogate(self) -> Surrogate:
        """The additive surrogate without regions."""
        return replace(self.surrogate, regions=(self.everywhere,))

    @property
    def by_chance(self) -> bool:
        """Whether the fitting rows show no disagreement beyond chance."""
        return self.chance is not None and not np.any(self.chance.exceeded(self.floors))

    @property
    def layout(self) -> PlayersAndSets:
        """Players and sets of the first question."""
        return self.comparisons[0].first.layout


class FitRun(NamedTuple):
    """What a fit found and what it was found from: kept by its estimator, in memory only."""

    result: FitResult
    evaluations: Evaluations
    inputs: FitInputs
    error: float  # noise of one prediction

    @property
    def route(self) -> Route:
        """The fitting rows and the way the model is asked."""
        return self.inputs.route

    def again(self, rows: IntArray) -> Partition:
        """The search on some of the fitting rows; the model is not asked."""
        inputs, evaluations = self.inputs, self.evaluations.restrict(rows)
        some = replace(
            inputs,
            route=Route(inputs.predictor, inputs.table.take(rows)),
            y=evaluations.y,
            weights=evaluations.weights,
            clusters=np.unique(inputs.clusters[rows], return_inverse=True)[1].reshape(-1),
            diagnostics=Diagnostics(),
        )
        with one_blas_thread():
            whole = Splits.whole(evaluations.weights)
            roots = np.array([question.regional(evaluations, whole)[0, 0] for question in inputs.comparisons])
            measured = (roots, self.result.floors, self.error)
            return search(some, evaluations, measured, _chance(some, evaluations, roots)).partition


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
        )
    if evaluations.snapped:
        limits = inputs.resources, asked.checked, inputs.seed
        note = grid_check(inputs.comparisons, inputs.route, evaluations, reference, *limits)
        record.note("max_grid", note)
        record.remember(in_words(note))
    with record.stage("search"), one_blas_thread():
        roots, floors, error = _measure(inputs, evaluations, extent, probed)
        chance = _chance(inputs, evaluations, roots)
        found = search(inputs, evaluations, (roots, floors, error), chance)
    if inputs.confidence is not None:
        record.note("cause", causes(inputs.comparisons, evaluations, floors))
    record.note("memory", {"held": evaluations.space.most_held, "spilled": evaluations.space.most_spilled})
    result = _described(inputs, evaluations, reference, found, (roots, floors, chance))
    return FitRun(result, evaluations, inputs, error)


def _described(
    inputs: FitInputs,
    evaluations: Evaluations,
    reference: FittedMaskings,
    found: PartitionResult,
    measured: tuple[FloatArray, FloatArray, Chance | None],
) -> FitResult:
    """The regions with their central rows and their additive surrogate."""
    table, partition = inputs.table, found.partition
    players, order = inputs.comparisons[0].first.layout.players, _order(inputs.comparisons)
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
            everywhere=fit_surrogate(table, evaluations, players, order, [np.arange(table.n_rows)]).regions[0],
            fidelity=fidelity(table, evaluations, players, order, rows),
            global_fidelity=fidelity(table, evaluations, players, order, [np.arange(table.n_rows)]),
            missing=inputs.missing,
            confidence=inputs.confidence,
            chance=measured[2],
            learned=found.extra_attributes,
        )


def requested(inputs: FitInputs) -> EvaluationPlan:
    """What a fit asks of the model: both sides of every question, and the pure effects of the surrogate."""
    effects = [side for comparison in inputs.comparisons for side in (comparison.first, comparison.second)]
    players = inputs.comparisons[0].first.layout.players
    additive = {term for term in Additive(_order(inputs.comparisons)).terms(players, ()) if isinstance(term, frozenset)}
    singles = {frozenset({i}) for i in range(inputs.table.n_columns)}
    return request(inputs.table, [*effects, *inputs.extra_effects], additive | singles, inputs.resources.max_grid)


def candidate_bytes(inputs: FitInputs) -> int:
    """Memory of the search for one candidate: what is least, since candidates are scored in blocks."""
    n = inputs.table.n_rows
    return CUT_BYTES * n + max(comparison.split_bytes(n, n) for comparison in inputs.comparisons)


def _order(comparisons: Sequence[ResolvedQuestion]) -> int:
    """Order of the effects in the surrogate: that of the compared interactions, otherwise 1."""
    interaction = comparisons[0].question.first.influence
    return interaction.order if isinstance(interaction, Interactions) else 1


def _measure(
    inputs: FitInputs, evaluations: Evaluations, extent: EvaluationRange, probed: Probe
) -> tuple[FloatArray, FloatArray, float]:
    """Disagreement of each question on all rows, its noise floor, and the noise of one prediction."""
    single = inputs.predictor.native_float32 or extent.single_precision
    error = noise_delta(probed, extent.scale, single)
    splits = Splits.whole(evaluations.weights)
    spread = float(np.sqrt(splits.variances(evaluations.predictions[None])[0, 0]))
    changes = inconstancy(error, extent.changed, spread, single)
    if changes is not None:
        inputs.diagnostics.warn(changes, ModelWarning)
        error = max(error, extent.changed)
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is named below (N06)
        roots = np.array([comparison.regional(evaluations, splits)[0, 0] for comparison in inputs.comparisons])
        floors = np.array([_floor(comparison, evaluations, error) for comparison in inputs.comparisons])
        countable = np.isfinite(roots * inputs.table.n_rows) & np.isfinite(floors)
    labels = [comparison.question.label for comparison in inputs.comparisons]
    inputs.diagnostics.note("noise_floor", dict(zip(labels, floors.tolist(), strict=True)))
    inputs.diagnostics.note("measured_disagreement", dict(zip(labels, roots.tolist(), strict=True)))
    if not np.all(countable):
        raise too_large(extent.scale)
    _tell_swallowed(inputs, roots, floors, extent.scale, float(np.max(np.abs(evaluations.predictions))))
    return roots, floors, error


def _tell_swallowed(inputs: FitInputs, roots: FloatArray, floors: FloatArray, scale: float, size: float) -> None:
    """Say where the noise floor hides more than rounding mostly makes, or where squares are too small to be numbers."""
    if any(text.startswith(("M09", "N01")) for text in inputs.diagnostics.warnings):
        return  # these say that the floor is high, and why
    for comparison, root, least in zip(inputs.comparisons, roots.tolist(), floors.tolist(), strict=True):
        label, powers = comparison.question.label, 2 if comparison.first.behavior.key == "local" else 4
        if size > 0.0 and powers * np.log10(size) < SMALLEST:
            small = "whose squares are too small to be numbers"
            text = f"predictions differ from their mean by {size:.3g} at most, {small}"
            remedy = "Rescale the predictions (and y)."
        elif least * SWALLOWED < root <= least and not (comparison.first.draws or comparison.second.draws):
            text = f"the measured disagreement {root:.3g} is below its noise floor {least:.3g}, but no mere rounding"
            remedy = f"The predictions reach {scale:.3g}: explain them minus a constant, or in double precision."
        else:
            continue
        inputs.diagnostics.warn(f"N10: {label}: {text}; it is reported as 0. {remedy}", ModelWarning)


def _floor(comparison: ResolvedQuestion, evaluations: Evaluations, error: float) -> float:
    """The disagreement that rounding (and sampling) alone can produce (C4)."""
    error = comparison.first.behavior.error(error, evaluations)
    total = floor(len(comparison.first.layout.sets), comparison.loss, _order([comparison]), error)
    for effect in (comparison.first, comparison.second):
        if effect.draws:
            errors = regional_part(0, "", effect, evaluations, np.arange(evaluations.n_rows)).errors
            rows = evaluations.weights if effect.behavior.per_row else None
            total += sampling_floor(comparison.loss, np.atleast_2d(errors), rows)
    return total


def _chance(inputs: FitInputs, evaluations: Evaluations, roots: FloatArray) -> Chance | None:
    """What chance says of all rows; None where the sample is taken for the world."""
    replicates = inputs.replicates
    if replicates is None:
        return None
    everyone = np.arange(evaluations.n_rows)
    found = replicates.chance(inputs.comparisons, evaluations, everyone, inputs.n_jobs)
    labels = [comparison.question.label for comparison in inputs.comparisons]
    figures = zip(roots.tolist(), found.level.tolist(), found.bar.tolist(), found.corrected.tolist(), strict=True)
    keys = ("disagreement", "chance", "bar", "corrected")
    noted = {label: dict(zip(keys, each, strict=True)) for label, each in zip(labels, figures, strict=True)}
    inputs.diagnostics.note("chance", noted)
    return found


def search(
    inputs: FitInputs,
    evaluations: Evaluations,
    measured: tuple[FloatArray, FloatArray, float],
    chance: Chance | None,
) -> PartitionResult:
    """The regions; one when there is nothing to explain beyond rounding and chance (C4).

    Partitioners that have an end of their own are asked all the same. ``measured``: disagreement and noise floor of
    every question on all rows, and the noise of one prediction.
    """
    roots, floors, error = measured
    exceeded = True if chance is None else chance.exceeded(floors)
    weights = inputs.question_weights
    scaled = shares(inputs.comparisons, weights, roots, floors, inputs.objective, evaluations, exceeded)
    rule = None
    replicates = inputs.replicates
    if chance is not None and replicates is not None:
        factors = scaled.factors
        if inputs.objective.normalize == "root":
            factors = factors * np.divide(roots, chance.corrected, out=np.zeros_like(roots), where=exceeded)
        rule = ChanceRule(replicates, inputs.comparisons, chance, factors)
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
        chance=rule,
    )
    if problem.below_noise_floor and not inputs.partitioner.ignores_noise_floor:
        by_chance = bool(np.any(roots > floors))
        reason = "no more than chance" if by_chance else "nothing to explain"
        reason = "too few samples" if inputs.table.n_rows == 1 else reason
        leaf = Leaf(inputs.table.n_rows, 1.0, float(by_chance), reason)
        return PartitionResult(Partition(leaf, inputs.table.names))
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
        if bins.single and inputs.confidence is not None:
            continue  # no dependence beyond chance
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

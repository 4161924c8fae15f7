"""One fit, step by step: plan, ask the model, measure, search, describe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.deferred import Deferred
from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.files import BY_ROW
from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray
from granite_xai.compute import Meter, Resources, one_blas_thread, resolve_jobs
from granite_xai.compute.resources import MODEL_ROWS
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.disagreement.objective import Objective, shares
from granite_xai.engine.centres import central_rows
from granite_xai.engine.signed_weights import signs
from granite_xai.engine.splits import CUT_BYTES, Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.probe import probe
from granite_xai.evaluations.value_grid import Values
from granite_xai.evaluations.values import LearnedValues, expected_values, learn_values
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.interaction import Additive
from granite_xai.explanation.masking.fitted import FittedMaskings, fit_reference
from granite_xai.explanation.memory import memory_stages, require_room_for
from granite_xai.explanation.request import EvaluationRequest, request
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.fitting.causes import causes
from granite_xai.fitting.grid_check import grid_check, in_words
from granite_xai.fitting.measuring import measure, order_of
from granite_xai.fitting.thin_bins import note_bins
from granite_xai.inference.estimate import Estimate
from granite_xai.inference.node_figures import NodeFigures
from granite_xai.inference.path import Path, path_of
from granite_xai.inference.replicates import Chance, ChanceRule, Confidence, Replicates
from granite_xai.inference.stability import Stability
from granite_xai.models import Predictor, SentRows
from granite_xai.moments.questions import question_statistics
from granite_xai.moments.statistics import Statistics
from granite_xai.regions.nodes import Leaf, Node
from granite_xai.regions.partition import Partition
from granite_xai.search.clarity import split_clarity
from granite_xai.search.gains import gains_of_questions
from granite_xai.search.problem import GivenRules, Partitioner, PartitionResult, Problem
from granite_xai.search.tree import Tree
from granite_xai.surrogate.additive import SurrogateFit, described
from granite_xai.tables import Table, recombine
from granite_xai.trees.routes import Route, Routed

PILOT_SHARE = 0.25  # of the model rows of a fit that its pilot may take
Measured = tuple[
    FloatArray, FloatArray, float
]  # on all rows: roots, floors, and the noise of one prediction
# What results and problems have from the inputs of a fit.
_OF_RESULTS = (
    "table",
    "predictor",
    "comparisons",
    "question_weights",
    "weights",
    "missing",
    "confidence",
)
_OF_PROBLEMS = ("route", "missing", "resources", "n_jobs", "diagnostics", "tree", "seed")


@dataclass(frozen=True, slots=True, eq=False)
class FitInputs(Routed):
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
    positions: IntArray  # where each fitting row stands in the user's table
    budget: int = MODEL_ROWS  # rows sent to the model, of which the pilot takes a share
    plan: Mapping[str, Any] = field(default_factory=dict)
    readable: bool = False  # whether left-out rows choose the price of a region
    values: Values = None  # that stand for a column; None: all are evaluated
    cells: int | None = None  # values that a pilot shall choose for each column; None: no pilot

    def priced(self, alpha: float) -> FitInputs:
        """The same with another price of a region, where a tree is searched."""
        return replace(self, partitioner=replace(cast(Tree, self.partitioner), alpha=alpha))

    @property
    def replicates(self) -> Replicates | None:
        """What chance is measured with; None: the sample is taken for the world."""
        return None if self.confidence is None else self.confidence.replicates(self.clusters)


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
    additive: Deferred[
        SurrogateFit
    ]  # the surrogate; asks the model where a question about some columns did not
    missing: bool
    confidence: Confidence | None = None
    chance: Chance | None = None
    estimate: Estimate | None = None
    stability: Stability | None = None
    path: Path | None = (
        None  # where the price of a region was chosen by it, or somebody asked for it
    )
    learned: Mapping[str, Any] = field(default_factory=dict)
    values: LearnedValues | None = None  # that stood for a column; None: no pilot chose any
    nodes: tuple[NodeFigures, ...] = ()  # of each question; older files do not hold them
    fingerprint: object = None
    outputs: Mapping[Any, FitResult] = field(
        default_factory=dict
    )  # where all are explained: each, in these regions

    @property
    def below_noise_floor(self) -> bool:
        """Whether every question is at its noise floor."""
        return bool(np.all(self.roots <= self.floors))

    @property
    def by_chance(self) -> bool:
        """Whether the fitting rows show no disagreement beyond chance."""
        return self.chance is not None and not np.any(self.chance.exceeded(self.floors))

    @property
    def layout(self) -> PlayersAndSets:
        """Players and sets of the first question."""
        return self.comparisons[0].first.layout


def handed_on(source: object, *names: str) -> dict[str, Any]:
    """Some attributes of an object, as they are."""
    return {name: getattr(source, name) for name in names}


class FitRun(NamedTuple):
    """What a fit found and what it was found from: kept by its estimator, in memory only."""

    result: FitResult
    evaluations: Evaluations
    inputs: FitInputs
    error: float  # noise of one prediction
    complete: Deferred[Evaluations]  # with all that the surrogate reads
    outputs: Mapping[Any, FitRun] = MappingProxyType(
        {}
    )  # where all are explained: each, in the regions of all


def run(inputs: FitInputs, meter: Meter) -> FitRun:
    """Ask the model, search for regions, and describe them; the meter says what will take long."""
    require_memory(inputs)
    record = inputs.diagnostics
    probed = probe(inputs.predictor, inputs.table, record)
    meter.announce(probed.seconds_per_row)
    if inputs.cells is not None:
        with record.stage("pilot"):
            inputs = replace(inputs, values=learned_values(inputs, singles_compared(inputs)))
    asked = requested(inputs)
    reference = fit_reference(
        asked.readings, asked.changes, inputs.table, inputs.weights, inputs.seed, record
    )
    record.note("bytes", asked.bytes)
    stages = memory_stages(asked, inputs.route, inputs.resources, candidate_bytes(inputs))
    record.note("plan", {**stages, **inputs.plan})
    with record.stage("evaluations"):
        evaluations, extent = evaluate(
            inputs.route,
            asked,
            reference,
            resources=inputs.resources,
            weights=inputs.weights,
            y=inputs.y,
            n_jobs=inputs.n_jobs,
            diagnostics=record,
        )
        extent.require_sizeable()
    if evaluations.snapped and inputs.cells is None:
        note = grid_check(
            inputs.comparisons,
            inputs.route,
            evaluations,
            reference,
            resources=inputs.resources,
            n_rows=asked.checked,
            seed=inputs.seed,
            y=inputs.y,
        )
        record.note("max_grid", note)
        record.remember(in_words(note))
    with record.stage("search"), one_blas_thread():
        roots, floors, error = measure(
            inputs.comparisons,
            evaluations,
            extent,
            probed,
            is_single_precision=inputs.predictor.native_float32,
            n_jobs=1 if evaluations.primitives else resolve_jobs(inputs.n_jobs),
            record=record,
        )
        chance = _chance(inputs, evaluations, roots)
        measured, path = (roots, floors, error), None
        chance = _with_proven_gains(inputs, evaluations, measured, chance)
        if inputs.readable:
            path = find_path(inputs, evaluations, measured, chance)
            inputs = inputs.priced(path.chosen.alpha)
        found = search(inputs, evaluations, measured, chance)
        if (
            isinstance(inputs.partitioner, Tree)
            and inputs.confidence is not None
            and found.partition.root is not None
        ):
            problem, drawn = (
                _problem(inputs, evaluations, measured, chance),
                signs(inputs.clusters, inputs.seed),
            )
            told = split_clarity(
                problem, found.partition.root, drawn, np.arange(len(inputs.weights))
            )
            record.note("splits", list(told))
        if path is not None:
            record.note(
                "alpha", {"alpha": path.chosen.alpha, "text": path.text(len(found.partition))}
            )
    if inputs.confidence is not None:
        record.note("cause", causes(inputs.comparisons, evaluations, floors, inputs.table))
    figures = {"roots": roots, "floors": floors, "chance": chance, "path": path}
    complete = Deferred(partial(_completed, inputs, evaluations))
    result = _described(inputs, evaluations, reference, found, **figures, complete=complete)
    return by_output(FitRun(result, evaluations, inputs, error, complete))


def by_output(joint: FitRun) -> FitRun:
    """With what a fit of each output would know, had it been given the regions that were found for all."""
    inputs, known, runs = joint.inputs, joint.result, dict[Any, FitRun]()
    for k, (name, predictor) in enumerate(inputs.predictor.outputs.items()):
        count, evaluations = (
            len(known.comparisons) // len(inputs.predictor.outputs),
            joint.evaluations.outputs[k],
        )
        own = slice(k * count, (k + 1) * count)
        asked = tuple(
            q.about(0, q.question.label.removesuffix(f" of {name}")) for q in known.comparisons[own]
        )
        chance = None if known.chance is None else known.chance.of_questions(own)
        figures: dict[str, Any] = {
            "roots": known.roots[own],
            "floors": known.floors[own],
            "chance": chance,
        }
        alone = replace(
            inputs, route=Route(predictor, inputs.table), comparisons=asked, y=evaluations.y
        )
        weights = inputs.question_weights[own]
        alone = replace(alone, question_weights=weights, partitioner=GivenRules(known.partition))
        with one_blas_thread():
            found = search(
                alone, evaluations, (figures["roots"], figures["floors"], joint.error), chance
            )
        complete = Deferred(partial(_completed, alone, evaluations))
        told = _described(alone, evaluations, known.reference, found, **figures, complete=complete)
        runs[name] = FitRun(told, evaluations, alone, joint.error, complete)
    if not runs:
        return joint
    outputs = {name: each.result for name, each in runs.items()}
    shares = [
        (one.additive.value.fidelity, one.additive.value.global_fidelity)
        for one in outputs.values()
    ]
    both = dict(zip(("fidelity", "global_fidelity"), np.mean(shares, axis=0).tolist(), strict=True))
    additive = Deferred(lambda: replace(known.additive.value, **both), now=True)
    return joint._replace(result=replace(known, outputs=outputs, additive=additive), outputs=runs)


def again(
    inputs: FitInputs,
    evaluations: Evaluations,
    floors: FloatArray,
    error: float,
    rows: IntArray,
    proven: BoolArray | None = None,
) -> Partition:
    """The search on some of the fitting rows; the model is not asked.

    Parameters
    ----------
    inputs, evaluations : FitInputs, Evaluations
        Of the fit.
    floors, error : array, float
        Noise floor of each question, and noise of one prediction.
    rows : array
        Positions of the rows that search.
    proven : array of shape (n_questions,), optional
        Questions that show more than chance whatever these rows say by themselves.
    """
    known = evaluations.restrict(rows)
    some = replace(
        inputs,
        route=Route(inputs.predictor, inputs.table.take(rows)),
        y=known.y,
        weights=known.weights,
        clusters=np.unique(inputs.clusters[rows], return_inverse=True)[1].reshape(-1),
        diagnostics=Diagnostics(),
        resources=replace(inputs.resources, progress=False),  # searches are shown, not their rows
    )
    with one_blas_thread():
        whole = Splits.whole(known.weights, known.primitives)
        roots = np.array([question.regional(known, whole)[0, 0] for question in inputs.comparisons])
        chance = _chance(some, known, roots)
        if chance is not None and proven is not None:
            chance = replace(chance, proven=proven)
        return search(some, known, (roots, floors, error), chance).partition


def find_path(
    inputs: FitInputs, evaluations: Evaluations, measured: Measured, chance: Chance | None
) -> Path:
    """The trees from the largest to none; folds are searched and measured by what is known of their rows."""
    problem = _problem(inputs, evaluations, measured, chance)

    def searched(rows: IntArray, alpha: float) -> Node:
        told(1)
        return cast(Node, again(inputs.priced(alpha), evaluations, *measured[1:], rows).root)

    if problem.below_noise_floor:
        return Path()
    with closing(Meter(inputs.resources, 0, desc="path", unit="searches")) as told:
        return path_of(inputs.table, inputs.clusters, inputs.seed, problem.share, searched)


def _described(
    inputs: FitInputs,
    evaluations: Evaluations,
    reference: FittedMaskings,
    found: PartitionResult,
    **measured: Any,
) -> FitResult:
    """The regions with their central rows and their additive surrogate."""
    table, partition = inputs.table, found.partition
    players, order = inputs.comparisons[0].first.layout.explained, order_of(inputs.comparisons)
    regions = partition.apply(table)
    rows = [np.flatnonzero(regions == k) for k in range(len(partition))]
    note_bins(
        inputs.diagnostics,
        evaluations,
        rows,
        single_bins_are_meant=inputs.confidence is not None,
    )
    complete, known = measured.pop("complete"), handed_on(inputs, *_OF_RESULTS) | measured
    known |= {
        "reference": reference,
        "partition": partition,
        "regions": regions,
        "learned": {**found.extra_attributes, **_in_order_of_table(inputs, found.row_attributes)},
    }
    probability = inputs.predictor.is_probability

    def describe() -> SurrogateFit:
        return described(table, complete.value, players, order, rows, probability=probability)

    later = Deferred(describe, now=_asks_all(inputs))
    chosen = inputs.values.without_curves() if isinstance(inputs.values, LearnedValues) else None
    known |= {"additive": later, "values": chosen}
    remaining = float(sum(region.disagreement for region in partition))
    with one_blas_thread():
        return FitResult(**known, remaining=remaining, centres=_centres(evaluations, rows))


def _in_order_of_table(
    inputs: FitInputs, by_row: Mapping[str, IntArray | FloatArray]
) -> dict[str, IntArray | FloatArray]:
    """Attributes with an entry for each fitting row, in the order in which the user's table has these."""
    order = np.argsort(inputs.positions, kind="stable")
    return {name: values[order] for name, values in by_row.items()}


def singles_compared(inputs: FitInputs) -> set[Coalition]:
    """Single columns whose predictions a fit reads: those of its questions, and of the surrogate."""
    compared = {
        union(members)
        for comparison in inputs.comparisons
        for members in comparison.first.layout.sets
    }
    if _asks_all(inputs):
        compared |= _additive(inputs)
    return {columns for columns in compared if len(columns) == 1}


def _positions(columns: Iterable[Coalition]) -> list[int]:
    """Positions of single columns among sets of them."""
    return sorted(min(own) for own in columns if len(own) == 1)


def require_memory(inputs: FitInputs) -> None:
    """Refuse a fit that needs more memory than allowed, before the model is asked (D33)."""
    if inputs.cells is not None:
        positions = _positions(singles_compared(inputs))
        values = expected_values(inputs.table, positions, inputs.cells)
        inputs = replace(inputs, values=values)
    require_room_for(requested(inputs), inputs.route, inputs.resources, candidate_bytes(inputs))


def learned_values(inputs: FitInputs, columns: Iterable[Coalition]) -> LearnedValues | None:
    """The values that stand for some columns, chosen by what the model does for a few rows."""
    if inputs.cells is None:
        return None
    predictor = inputs.predictor
    table = inputs.table

    def ask(base_rows: IntArray, donor_rows: IntArray, column: int) -> FloatArray:
        """Predictions of all outputs for rows with one column taken from other rows."""

        def build(at: Any) -> Any:
            return recombine(table, base_rows[at], table, donor_rows[at], [column])

        sent = SentRows(len(base_rows), table, base_rows, table, donor_rows, (column,))
        return predictor.evaluate_every(build, sent)

    return learn_values(
        table,
        inputs.weights,
        _positions(columns),
        ask,
        cells=inputs.cells,
        budget=PILOT_SHARE * inputs.budget,
        seed=inputs.seed,
    )


def requested(inputs: FitInputs) -> EvaluationRequest:
    """What a fit asks of the model: both sides of every question, and of one about all columns the surrogate."""
    effects = [
        side for comparison in inputs.comparisons for side in (comparison.first, comparison.second)
    ]
    also = _additive(inputs) if _asks_all(inputs) else frozenset()
    every = [*effects, *inputs.extra_effects]
    asked = request(inputs.table, every, also, inputs.values, inputs.route.cells)
    return replace(asked, outputs=len(inputs.predictor.outputs) or 1)


def _asks_all(inputs: FitInputs) -> bool:
    """Whether questions, or the order of the levels of a column (C13), read all players; else a fit pays for some."""
    cut = inputs.tree.columns(inputs.table)
    nominal = (c for c in inputs.table.columns if c.kind == "nominal" and c.position in cut)
    sets = (members for question in inputs.comparisons for members in question.first.layout.sets)
    asked = bool(inputs.predictor.outputs) or set().union(*sets) >= set(
        inputs.comparisons[0].first.layout.explained
    )
    return asked or any(
        2 ** (len(column.levels) - 1) > inputs.tree.max_candidates for column in nominal
    )


def _additive(inputs: FitInputs) -> set[Coalition]:
    """What the surrogate reads, and every column by itself."""
    players, order = inputs.comparisons[0].first.layout.explained, order_of(inputs.comparisons)
    terms = {term for term in Additive(order).terms(players, ()) if isinstance(term, frozenset)}
    return terms | {frozenset({i}) for i in inputs.table.explained}


def _completed(inputs: FitInputs, evaluations: Evaluations) -> Evaluations:
    """With all that the surrogate reads: the model is asked about what the questions did not need."""
    wanted = _additive(inputs) - {frozenset(), evaluations.everything, *evaluations.stored_as}
    if not wanted:
        return evaluations
    values = inputs.values if inputs.cells is None else learned_values(inputs, wanted)
    asked = request(inputs.table, [], wanted, values, inputs.route.cells)
    more, _ = evaluate(
        inputs.route,
        asked,
        FittedMaskings({}, {}, {}),
        resources=inputs.resources,
        weights=inputs.weights,
        y=inputs.y,
        n_jobs=inputs.n_jobs,
    )
    names = ("stored_as", "matrices", "snapped")
    both: Any = {name: {**getattr(more, name), **getattr(evaluations, name)} for name in names}
    return replace(evaluations, **both)


def candidate_bytes(inputs: FitInputs) -> int:
    """Memory of the search for one candidate: what is least, since candidates are scored in blocks."""
    n = inputs.table.n_rows
    return CUT_BYTES * n + max(comparison.split_bytes(n, n) for comparison in inputs.comparisons)


def _chance(inputs: FitInputs, evaluations: Evaluations, roots: FloatArray) -> Chance | None:
    """What chance says of all rows; None where the sample is taken for the world."""
    replicates = inputs.replicates
    if replicates is None:
        return None
    found = replicates.chance(
        inputs.comparisons, evaluations, np.arange(evaluations.n_rows), inputs.n_jobs
    )
    figures = np.stack([roots, found.level, found.bar, found.corrected]).T.tolist()
    keys, told = (
        ("disagreement", "chance", "bar", "corrected"),
        zip(inputs.comparisons, figures, strict=True),
    )
    inputs.diagnostics.note(
        "chance", {one.question.label: dict(zip(keys, own, strict=True)) for one, own in told}
    )
    return found


def search(
    inputs: FitInputs, evaluations: Evaluations, measured: Measured, chance: Chance | None
) -> PartitionResult:
    """The regions; one when there is nothing to explain beyond rounding and chance (C4) and no other end."""
    roots, floors, _ = measured
    problem = _problem(inputs, evaluations, measured, chance)
    if problem.below_noise_floor and not inputs.partitioner.ignores_noise_floor:
        by_chance = bool(np.any(roots > floors))
        reason = "no more than chance" if by_chance else "nothing to explain"
        least = 1 if not by_chance else 2 * inputs.tree.min_samples_leaf - 1
        reason = "too few samples" if inputs.table.n_rows <= least else reason
        leaf = Leaf(inputs.table.n_rows, 1.0, float(by_chance), reason)
        return PartitionResult(Partition(leaf, inputs.table.names))
    levels = inputs.tree.max_depth * (1 if inputs.tree.search == "greedy" else 2)
    with closing(Meter(inputs.resources, levels * inputs.table.n_rows, desc="search")) as told:
        return inputs.partitioner.partition(replace(problem, told=told))


def _gain_error(inputs: FitInputs) -> float:
    """The part of the error that a test of gains may take; 0: gains are not tested."""
    confidence = inputs.confidence
    if confidence is None or not confidence.tests_gains:
        return 0.0
    return confidence.error / 2


def _with_proven_gains(
    inputs: FitInputs, evaluations: Evaluations, measured: Measured, chance: Chance | None
) -> Chance | None:
    """Where all rows show no more than chance, whether a split of them still gains more than chance."""
    roots, floors, _ = measured
    if chance is None or not isinstance(inputs.partitioner, Tree) or _gain_error(inputs) == 0.0:
        return chance
    open_questions = ~chance.exceeded(floors) & (roots > floors) & (chance.corrected > 0)
    if chance.exceeded(floors).any() or not open_questions.any():
        return chance
    problem = _problem(inputs, evaluations, measured, chance)
    proven = gains_of_questions(problem, inputs.partitioner, open_questions)
    return replace(chance, proven=proven)


def _statistics(inputs: FitInputs, evaluations: Evaluations) -> tuple[list[Statistics] | None, ...]:
    """For each question the statistics of its sets; None where it has none, or nobody reads them."""
    if inputs.confidence is None and inputs.tree.search == "greedy":
        return (None,) * len(inputs.comparisons)
    return tuple(question_statistics(question, evaluations) for question in inputs.comparisons)


def _problem(
    inputs: FitInputs, evaluations: Evaluations, measured: Measured, chance: Chance | None
) -> Problem:
    """What is to become small, in shares of what the rows show."""
    roots, floors, error = measured
    exceeded, weights = True if chance is None else chance.exceeded(floors), inputs.question_weights
    scaled = shares(
        inputs.comparisons, weights, roots, floors, inputs.objective, evaluations, exceeded
    )
    rule, replicates = None, inputs.replicates
    statistics = _statistics(inputs, evaluations)
    if chance is not None and replicates is not None:
        factors = scaled.factors
        if inputs.objective.normalize == "root":
            factors = factors * np.divide(
                roots, chance.corrected, out=np.zeros_like(roots), where=exceeded
            )
        rule = ChanceRule(
            replicates=replicates,
            questions=inputs.comparisons,
            root=chance,
            factors=factors,
            statistics=statistics,
        )
    own = handed_on(inputs, *_OF_PROBLEMS)
    return Problem(
        **own,
        evaluations=evaluations,
        shares=scaled,
        roots=roots,
        error=error,
        chance=rule,
        statistics=statistics,
        clusters=inputs.clusters,
        gain_error=_gain_error(inputs),
    )


def _centres(evaluations: Evaluations, regions: Sequence[IntArray]) -> dict[int | None, int]:
    """The central fitting row of all rows (None) and of each region, where a baseline depends on the region."""
    if evaluations.coordinates is None:
        return {}
    members = np.zeros((len(regions) + 1, evaluations.n_rows))
    for line, rows in zip(members, [np.arange(evaluations.n_rows), *regions], strict=True):
        line[rows] = evaluations.weights[rows]
    everyone, *others = central_rows(evaluations.coordinates, members).tolist()
    return {None: everyone, **dict(enumerate(others))}

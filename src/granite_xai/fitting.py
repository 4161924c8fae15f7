"""From the options of an estimator and a table to a fit: what the data decide, the rows, and their judgement."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone

from granite_xai import fit_options as options
from granite_xai.base.errors import (
    DataWarning,
    Diagnostics,
    InputError,
    ModelWarning,
    ResourceError,
    choose,
)
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.behavior import Behavior
from granite_xai.chance.estimate import LEAST_HELD_OUT, PRECISE, Estimate, RowChoice, choices
from granite_xai.chance.path import Path
from granite_xai.chance.replicates import Confidence
from granite_xai.chance.stability import RefitCurve, Stability, halves, refit_interval, stability_of
from granite_xai.compute import Resources, TooSlowError, progress, resolve_jobs
from granite_xai.cost import FIRST_ROOM, ROOM, affordable, within
from granite_xai.curves import fit_surrogate, grid_codes
from granite_xai.disagreement import Disagreement, Objective
from granite_xai.evaluation_plan import Unfinished
from granite_xai.evaluations.plan import require_room
from granite_xai.explainer import target_for
from granite_xai.fit import FitInputs, FitResult, FitRun, again, find_path, handed_on, run
from granite_xai.masking.bins import carriers
from granite_xai.models import Predictor, for_table
from granite_xai.models.target import allows_missing, read_clusters, read_input, read_weights
from granite_xai.new_rows import (
    NewRows,
    both_sides,
    evaluate_rows,
    fitting_estimate,
    rows_by_region,
    without_clusters,
)
from granite_xai.search.pairs import in_pairs
from granite_xai.search.problem import GivenRules, OwnPartitioner, Partitioner
from granite_xai.search.refine import refused
from granite_xai.search.tree import Tree
from granite_xai.tables import Column, Table, read_table
from granite_xai.tables.opening import collected, is_lazy
from granite_xai.tables.row_order import order_notice
from granite_xai.trees.routes import Route

POINTS = 20  # values at which a curve over refits is told
LEAST = 125  # rows that search, at least, where time or memory is short
_OF_THE_TREE = (
    "max_depth",
    "min_samples_leaf",
    "alpha",
    "max_candidates",
    "beam",
    "split_features",
    "search",
)
_OF_INPUTS = (
    "objective",
    "partitioner",
    "tree",
    "missing",
    "resources",
    "n_jobs",
    "seed",
    "confidence",
    "readable",
)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table with what comes with its rows."""

    table: Table
    y: FloatArray | None
    weights: FloatArray
    clusters: IntArray

    def take(self, rows: IntArray) -> Rows:
        """Some of the rows; always a copy: what is written into X later must not change the fit."""
        y = None if self.y is None else self.y[rows]
        together = np.unique(self.clusters[rows], return_inverse=True)[1].reshape(-1)
        return Rows(self.table.take(rows), y, self.weights[rows], together)


@dataclass(frozen=True, slots=True, eq=False)
class OpenInputs:
    """Everything that options and data alone decide, before the rows are chosen."""

    everyone: Rows
    predictor: Predictor
    objective: Objective
    questions: tuple[tuple[Disagreement, float], ...]
    partitioner: Partitioner
    tree: Tree
    missing: bool
    resources: Resources
    n_jobs: int | None
    seed: int
    confidence: Confidence | None
    max_samples: int | str | None
    holdout: Any
    given: Rows | None  # rows that the user holds out
    readable: bool  # whether left-out rows choose the price of a region

    def choices(self) -> Iterator[RowChoice]:
        """The rows to use, then more of them."""
        return choices(
            self.everyone.weights, self.everyone.clusters, self.max_samples, self.holdout, self.seed
        )

    def afforded(
        self,
        choice: RowChoice,
        record: Diagnostics,
        spent: float = 0.0,
        per_row: float = 0.0,
        first: bool = True,
    ) -> FitInputs:
        """The finest plan for these rows that fits the limits (M13), after so many seconds; the first may fill them."""
        limits = self.resources
        if limits.max_seconds is not None:
            limits = replace(limits, max_seconds=max(limits.max_seconds - spent, 1e-3))
        inputs = replace(self.chosen(choice.search, record), resources=limits)
        found = affordable(
            inputs, len(choice.held_out), per_row, room=FIRST_ROOM if first else ROOM
        )
        return replace(found, unfinished=Unfinished())

    def chosen(self, rows: IntArray, record: Diagnostics) -> FitInputs:
        """The inputs of a fit on some of the rows."""
        some, resources, seed = self.everyone.take(rows), self.resources, self.seed
        require_room(some.table, resources)
        for grower in (self.tree, self.partitioner):
            if isinstance(grower, Tree):
                grower.columns(some.table)
        route = Route(self.predictor, some.table, record, seed)
        extra_effects = self.partitioner.extra_effects(route, resources, seed)
        asked = [question.compare(route, resources, seed) for question, _ in self.questions]
        names = tuple(self.predictor.outputs)
        every = [
            each.about(k, f"{each.question.label} of {name}")
            for k, name in enumerate(names)
            for each in asked
        ]
        if self.tree.search == "optimal" and not all(map(in_pairs, asked)):
            raise refused()
        for text in some.table.notices:
            record.remember(text)
        constant = [
            column.name
            for column in some.table.columns
            if len(column.levels) + column.missing.any() < 2
        ]
        record.note("constant_columns", constant)
        record.note(
            "candidates", dict.fromkeys(some.table.names, 0)
        )  # stays so where no split is tried
        return FitInputs(
            **handed_on(self, *_OF_INPUTS),
            **handed_on(some, "y", "weights", "clusters"),
            route=route,
            comparisons=tuple(
                each if self.confidence is None else each.beyond_chance() for each in every or asked
            ),
            question_weights=tuple(weight for _, weight in self.questions) * (len(names) or 1),
            extra_effects=extra_effects,
            diagnostics=record,
        )


def open_inputs(
    g: Any, X: Any, y: Any, sample_weight: Any, clusters: Any, record: Diagnostics
) -> OpenInputs:
    """Check everything that the data alone decide."""
    readable = isinstance(g.alpha, str) and g.alpha == "auto"
    if readable and g.partitioner is not None:
        text = 'alpha="auto" chooses among the trees of the search; a partitioner finds its regions in its own way.'
        raise InputError(
            text, code="P03", argument="alpha", hint="Leave partitioner out, or pass a number."
        )
    tree = Tree(**handed_on(g, *_OF_THE_TREE) | ({"alpha": 0.0} if readable else {}))
    partitioner, resources = (
        options.chosen_partitioner(g.partitioner, tree),
        options.chosen_limits(g.resources),
    )
    resolve_jobs(g.n_jobs)
    influence = options.chosen_influence(g.influence, g.groups, g.features)
    objective = g.question if isinstance(g.question, Objective) else Objective(g.question)
    questions, seed = objective.weighted(influence), options.chosen_seed(g.random_state)
    record.note("seed", seed)
    confidence = options.chosen_confidence(g, seed)
    holdout, max_samples = options.chosen_holdout(g), options.chosen_samples(g)
    if confidence is None:  # as in the paper: exact, whatever the time
        resources = replace(resources, max_grid=resources.grid, max_seconds=None)
    behaviors = [question.first.behavior for question, _ in questions]
    labels = [question.label for question, _ in questions]
    choice = choose("missing", g.missing, {name: name for name in ("auto", "allow", "error")})
    table = read_rows_of(g, X)
    weights = read_weights(sample_weight, table)
    ways = {"response": g.response, "batch_size": resources.batch_size, "record": record}
    predictor = for_table(g.model, table, g.output, **ways)
    if predictor.outputs and not isinstance(partitioner, Tree | GivenRules | OwnPartitioner):
        text = f"{type(partitioner).__name__} reads the effects of one output, not of all."
        raise InputError(
            text, code="P03", argument="output", hint="Name one output, or leave partitioner out."
        )
    missing = allows_missing(choice, g.model, predictor, table)
    everyone = Rows(
        table=table,
        y=target_for(y, table, predictor, *behaviors, asked=labels),
        weights=weights,
        clusters=read_clusters(clusters, table),
    )
    record.note("clusters", None if clusters is None else int(everyone.clusters.max()) + 1)
    given = None
    if isinstance(holdout, tuple | list):
        given = _given_rows(holdout, table, missing, predictor, behaviors)
        if clusters is not None and len(holdout) == 2:
            record.warn(without_clusters("holdout=(X, y, clusters)"), DataWarning)
        holdout = False
    elif isinstance(holdout, float):
        _require_share(holdout, int(np.count_nonzero(weights)))
    asked, limits = (objective, questions, partitioner, tree), (missing, resources, g.n_jobs, seed)
    return OpenInputs(
        everyone, predictor, *asked, *limits, confidence, max_samples, holdout, given, readable
    )


def _given_rows(
    holdout: Any, table: Table, missing: bool, predictor: Predictor, behaviors: Sequence[Behavior]
) -> Rows:
    """The rows that a user holds out, (X, y) or (X, y, clusters); too few, or those of the fit, are refused."""
    X, y, clusters = (*holdout, None)[:3]
    others = read_table(X, missing="allow" if missing else "error", like=table, argument="holdout")
    if others.same_rows(table):
        text = "holdout holds the fitting rows themselves: rows that choose regions judge them too well."
        hint = "Pass rows that the fit does not see, or a share such as holdout=0.3."
        raise InputError(text, code="P03", argument="holdout", hint=hint)
    if others.n_rows < LEAST_HELD_OUT:
        text = f"holdout has {others.n_rows} rows; {LEAST_HELD_OUT} are the least that can judge regions."
        hint = "Pass more rows, or holdout=False."
        raise InputError(text, code="P02", argument="holdout", hint=hint)
    return Rows(
        table=others,
        y=target_for(y, others, predictor, *behaviors),
        weights=np.ones(others.n_rows),
        clusters=read_clusters(clusters, others, "holdout"),
    )


def _require_share(share: float, n_rows: int) -> None:
    """Refuse a share of so many rows that holds out too few of them, with a share that would do."""
    held_out = round(share * n_rows)
    if held_out >= LEAST_HELD_OUT:
        return
    text = f"holdout={share:g} holds out {held_out} of {n_rows:,} rows; {LEAST_HELD_OUT} are the least."
    enough = math.ceil(1000 * LEAST_HELD_OUT / n_rows) / 1000
    hint = f"Pass holdout={enough:g} or more, or holdout=False."
    if enough >= 1:
        hint = "Pass holdout=False, or more rows."
    raise InputError(text, code="P02", argument="holdout", hint=hint)


def read_rows_of(g: Any, X: Any) -> Table:
    """The rows that an estimator is fitted on, as its options say; missing values are not looked at yet."""
    named = options.named_columns(
        g.features, g.split_features, g.groups, getattr(g.influence, "features", None)
    )
    return read_input(X, g.model, g.kinds, named)


def collected_for(
    g: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    clusters: Any = None,
    record: Diagnostics | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The rows of a fit in memory: of a lazy table as many as it may use, drawn by its engine."""
    notice = order_notice(X) if is_lazy(X) else None
    if notice is not None:
        (record or Diagnostics()).warn(notice, DataWarning)
    count = 2 * g.max_samples if isinstance(g.max_samples, int) else None  # some may be held out
    seed = options.chosen_seed(g.random_state) if is_lazy(X) else 0
    return collected(X, y, sample_weight, count, seed, clusters)


def searched(opened: OpenInputs, record: Diagnostics, kept: dict[str, Any] | None = None) -> FitRun:
    """Search on some rows and judge on others until that is precise; ``kept``: what interrupted fits evaluated."""
    steps, found, reason = list[dict[str, Any]](), None, "as asked"
    begin, kept = time.perf_counter(), {} if kept is None else kept
    for choice in opened.choices():
        try:
            if found is None:
                again, choice = _first(opened, choice, record, kept)
            else:
                again = _run(opened, choice, record, kept, time.perf_counter() - begin)
        except ResourceError:
            if found is None:
                raise
            reason = "more rows do not fit the limits"
            few = f"{steps[-1]['search']:,} of {opened.everyone.table.n_rows:,} rows"
            text = f"M13: {few} search: twice as many do not fit the limits "
            record.warn(text + "(Resources(max_seconds=), Resources(memory_limit=)).", ModelWarning)
            break
        found = _judged(opened, again, choice)
        judged = found.result.estimate
        error = None if judged is None or np.isnan(judged.standard_error) else judged.standard_error
        steps.append(
            {
                "search": len(choice.search),
                "held_out": len(choice.held_out),
                "standard_error": error,
            }
        )
        used = choice
        if error is not None and 2 * error <= PRECISE:
            reason = "precise enough"
            break
        reason = "the table has no more rows" if opened.max_samples == "auto" else "as asked"
    if found is None:
        raise ValueError("no rows were chosen")
    positions = {"search": used.search.tolist(), "held_out": used.held_out.tolist()}
    record.note("rows", {**positions, "steps": steps, "reason": reason})
    return found


def _first(
    opened: OpenInputs, choice: RowChoice, record: Diagnostics, kept: Any
) -> tuple[FitRun, RowChoice]:
    """The first search; where nobody says how many rows, on half of them, and half again, until that fits."""
    while True:
        try:
            return _run(opened, choice, record, kept, 0.0), choice
        except ResourceError:
            if opened.max_samples != "auto" or len(choice.search) < 2 * LEAST:
                raise
            generator = np.random.default_rng(opened.seed)
            choice = RowChoice(
                *(np.sort(generator.permutation(part)[: (len(part) + 1) // 2]) for part in choice)
            )


def _run(
    opened: OpenInputs, choice: RowChoice, record: Diagnostics, kept: dict[str, Any], spent: float
) -> FitRun:
    """One search; on a smaller plan where the model proves slower than it was timed."""
    inputs, per_row, first = _resumed(opened, choice, record, kept), 0.0, spent == 0.0
    while True:
        if inputs is None:
            inputs = opened.afforded(choice, record, spent, per_row, first)
        try:
            return run(inputs)
        except TooSlowError as error:
            inputs, per_row = None, max(per_row, error.per_row)
        except KeyboardInterrupt:
            kept["_unfinished"] = inputs
            raise


def _resumed(
    opened: OpenInputs, choice: RowChoice, record: Diagnostics, kept: dict[str, Any]
) -> FitInputs | None:
    """The inputs of an interrupted fit, if these are the same rows and model; said where they are not (R01)."""
    past: FitInputs | None = kept.pop("_unfinished", None)
    if past is None or past.unfinished is None:
        return None
    now = opened.chosen(choice.search, record)
    same = now.table.same_rows(past.table) and np.array_equal(now.weights, past.weights)
    if not same or now.predictor.model_output != past.predictor.model_output:
        if len(choice.search) < past.table.n_rows:
            kept["_unfinished"] = past  # more rows may follow
        else:
            record.remember(
                "R01: the evaluations of the interrupted fit are of other rows or another model."
            )
        return None
    now.predictor.batch_size = past.predictor.batch_size
    record.note("resumed_matrices", len(past.unfinished.matrices))
    return replace(within(now, past.resources), plan=past.plan, unfinished=past.unfinished)


def _judged(opened: OpenInputs, found: FitRun, choice: RowChoice) -> FitRun:
    """With what the held-out rows say, or without any the fitting rows; as it is without a confidence level."""
    if opened.confidence is None:
        return found
    others = opened.given if len(choice.held_out) == 0 else opened.everyone.take(choice.held_out)
    runs, seen = {None: found, **found.outputs}, None
    with found.inputs.diagnostics.stage("estimate"):
        for k, (name, run) in enumerate(runs.items(), -1):
            known, asked = run.result, run.inputs
            if others is None:
                judged: Estimate | None = fitting_estimate(run, asked.clusters)
            else:
                y = others.y if k < 0 or others.y is None else others.y[:, k]
                new = NewRows(
                    known, Route(asked.predictor, others.table), y, asked.resources, others.weights
                )
                seen = seen or new.observe(both_sides(known.comparisons))  # the model is asked once
                told = (known.partition.apply(others.table), others.clusters, "held-out")
                judged = evaluate_rows(new, *told, seen if k < 0 else seen.of_output(k)).estimate
            runs[name] = run._replace(result=replace(known, estimate=judged))
    joint, results = runs.pop(None), {name: run.result for name, run in runs.items()}
    return joint._replace(result=replace(joint.result, outputs=results), outputs=runs)


def kept_run(g: Any, what: str, argument: str, hint: str) -> FitRun:
    """What a fit was found from, if this is the object that was fitted."""
    found: FitRun | None = vars(g).get("_run")
    if found is None:
        text = (
            f"{what} needs the evaluations of the fit, which only the object that was fitted keeps."
        )
        raise InputError(text, code="P03", argument=argument, hint=hint)
    return found


def path_of(g: Any) -> Path:
    """The trees from the largest to none; kept with the fit and in its file, once it is known."""
    known: FitResult = vars(g)["_fitted"]
    if known.path is not None:
        return known.path
    found = kept_run(g, "path_", "alpha", "Fit again, or read path_ before the fit is saved.")
    if not isinstance(found.inputs.partitioner, Tree):
        text = f"{type(found.inputs.partitioner).__name__} has no path: its regions have no price."
        raise InputError(text, code="P03", argument="partitioner", hint="Leave partitioner out.")
    path = find_path(
        found.inputs, found.evaluations, (known.roots, known.floors, found.error), known.chance
    )
    vars(g)["_fitted"] = replace(known, path=path)
    return path


def half_samples(g: Any, count: int) -> Stability:
    """The search on random halves of the fitting rows and on their complements."""
    found = kept_run(g, "stability()", "models", "Fit again, or read stability_ of a saved fit.")
    inputs = found.inputs
    if isinstance(inputs.partitioner, GivenRules):
        text, hint = (
            "the regions were given, so that they are the same on any rows.",
            "Ask the fit that searched.",
        )
        raise InputError(text, code="P03", argument="partitioner", hint=hint)
    n_clusters = len(np.unique(inputs.clusters))
    if n_clusters < 2:
        what = "one row" if len(inputs.clusters) == 1 else "one cluster of rows"
        text = f"stability() searches halves of the fitting rows, and there is {what}."
        raise InputError(text, code="D30", argument="X", hint="Fit on more rows.")
    parts = halves(inputs.clusters, count, inputs.seed)
    known = (inputs, found.evaluations, found.result.floors, found.error)
    shown = progress(parts, inputs.resources, "resamples", count)
    pairs = [(again(*known, one), again(*known, two)) for one, two in shown]
    return stability_of(found.result.partition, inputs.table, pairs)


def refits(g: Any, models: Sequence[tuple[Any, Any, Any]]) -> Stability:
    """The same question asked of other fits of a learner, each on rows that it has not seen."""
    result, trees, left, tables, effects = vars(g)["_fitted"], [], [], [], []
    if len(models) < 2:
        text = f"models has {len(models)} entries; two refits are the least."
        raise InputError(
            text,
            code="P01",
            argument="models",
            hint="Pass [(model, X, y), …], X unseen by its model.",
        )
    columns, told = (
        [result.table.columns[i] for i in result.table.explained],
        rows_by_region(result.regions),
    )
    places = [(k, column) for k, rows in told for column in (each.take(rows) for each in columns)]
    places = [
        (k, column.take(carriers(column, grid_codes(column, POINTS)))) for k, column in places
    ]
    for model, X, y in progress(models, options.chosen_limits(g.resources), "refits", len(models)):
        own = clone(g).set_params(model=model, holdout=False, max_samples=None)
        opened = open_inputs(own, X, y, None, None, Diagnostics())
        found, rows = searched(opened, Diagnostics()), opened.everyone
        trees.append(found.result.partition)
        tables.append(rows.table)
        judged = replace(result, predictor=opened.predictor, floors=found.result.floors)
        new, regions = (
            NewRows(judged, found.inputs.route, rows.y, opened.resources),
            result.partition.apply(rows.table),
        )
        evaluation = evaluate_rows(new, regions)
        left.append(
            evaluation.remaining if evaluation.estimate is None else evaluation.estimate.remaining
        )
        effects.append(
            _effects(
                found, [np.flatnonzero(regions == k) for k in range(len(result.partition))], places
            )
        )
    again = stability_of(result.partition, result.table, list(combinations(trees, 2)))
    tested = round(float(np.mean([table.n_rows for table in tables])))
    # Rows that other refits were tested on are those that each was trained with, or as many as it was tested on.
    trained = len(set().union(*map(_cells, tables))) - tested
    rest = tested, trained or tested, (result.confidence or Confidence(0.95, 1, 0)).normal
    both = zip(places, zip(*effects, strict=True), strict=True)
    curves = (
        RefitCurve(k, at.name, at.levels, *refit_interval(values, *rest))
        for (k, at), values in both
    )
    mean, low, high = map(float, refit_interval(left, *rest))
    again = replace(again, searches=len(trees), refit_curves=tuple(curves))
    return replace(again, remaining=mean, remaining_low=low, remaining_high=high)


def _effects(
    found: FitRun, rows: Sequence[IntArray], places: Sequence[tuple[int, Column]]
) -> list[FloatArray]:
    """Effects of columns in regions, given by their rows, at some values; nan where nothing is known of these."""
    table, told = found.inputs.table, list[FloatArray]()
    players = tuple(frozenset({i}) for i in table.explained)
    regions = fit_surrogate(table, found.complete.value, players, 1, rows).regions
    for (k, column), curve in zip(
        places, (curve for region in regions for curve in region.curves), strict=True
    ):
        seen = np.isin(column.levels, curve.column.levels) | (
            column.kind not in ("nominal", "boolean")
        )
        told.append(np.where(seen & bool(len(rows[k])), curve.at(column), np.nan))
    return told


def _cells(table: Table) -> set[tuple[Any, ...]]:
    """The distinct rows of a table."""
    levels = ([*column.levels.tolist(), None] for column in table.columns)
    pairs = zip(levels, table.columns, strict=True)
    return set(
        zip(*([own[code] for code in column.codes.tolist()] for own, column in pairs), strict=True)
    )

"""From the options of an estimator and a table to a fit: what the data decide, the rows, and their judgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError, ResourceError
from granite_xai.base.options import whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.behavior import Behavior
from granite_xai.chance.estimate import Estimate
from granite_xai.chance.replicates import Confidence
from granite_xai.chance.rows import PRECISE, RowChoice, choices, drawn
from granite_xai.chance.stability import Stability, halves, refit_interval, stability_of
from granite_xai.compute import Resources, resolve_jobs
from granite_xai.disagreement import Disagreement, Objective
from granite_xai.evaluations.plan import require_room
from granite_xai.explainer import target_for
from granite_xai.fit import FitInputs, FitResult, FitRun, run
from granite_xai.fit_options import (
    chosen_confidence,
    chosen_holdout,
    chosen_influence,
    chosen_limits,
    chosen_missing,
    chosen_partitioner,
    chosen_samples,
    chosen_seed,
)
from granite_xai.models import Predictor, as_predictor
from granite_xai.models.target import read_weights
from granite_xai.new_rows import NewRows, evaluate_rows, fitting_estimate
from granite_xai.search.problem import Partitioner
from granite_xai.search.tree import Tree
from granite_xai.tables import Table, read_table
from granite_xai.trees.routes import Route

_OF_THE_TREE = ("max_depth", "min_samples_leaf", "alpha", "max_candidates", "beam", "split_features")


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

    def choices(self) -> Iterator[RowChoice]:
        """The rows to use, then more of them."""
        rows = self.everyone
        return choices(rows.weights, rows.clusters, self.max_samples, self.holdout, self.seed)

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
        for text in some.table.notices:
            record.remember(text)
        constant = [column.name for column in some.table.columns if len(column.levels) + column.missing.any() < 2]
        record.note("constant_columns", constant)
        record.note("candidates", dict.fromkeys(some.table.names, 0))  # stays so where no split is tried
        return FitInputs(
            route=route,
            y=some.y,
            weights=some.weights,
            objective=self.objective,
            comparisons=tuple(each if self.confidence is None else each.beyond_chance() for each in asked),
            question_weights=tuple(weight for _, weight in self.questions),
            partitioner=self.partitioner,
            tree=self.tree,
            extra_effects=extra_effects,
            missing=self.missing,
            resources=resources,
            n_jobs=self.n_jobs,
            seed=seed,
            diagnostics=record,
            confidence=self.confidence,
            clusters=some.clusters,
        )


def open_inputs(g: Any, X: Any, y: Any, sample_weight: Any, clusters: Any, record: Diagnostics) -> OpenInputs:
    """Check everything that the data alone decide."""
    tree = Tree(**{name: getattr(g, name) for name in _OF_THE_TREE})
    partitioner = chosen_partitioner(g.partitioner, tree)
    resources = chosen_limits(g.resources)
    resolve_jobs(g.n_jobs)
    influence = chosen_influence(g.influence, g.groups, g.features)
    objective = g.question if isinstance(g.question, Objective) else Objective(g.question)
    questions = objective.weighted(influence)
    seed = chosen_seed(g.random_state)
    record.note("seed", seed)
    confidence, holdout, max_samples = chosen_confidence(g, seed), chosen_holdout(g), chosen_samples(g)
    missing = chosen_missing(g.missing, g.model)
    behaviors = [question.first.behavior for question, _ in questions]
    table = read_table(X, kinds=g.kinds, missing="allow" if missing else "error")
    weights = read_weights(sample_weight, table)
    ways = {"output": g.output, "response": g.response, "batch_size": resources.batch_size}
    predictor = as_predictor(g.model, **ways, diagnostics=record)
    everyone = Rows(table, target_for(y, table, predictor, *behaviors), weights, _clusters(clusters, table))
    given = None
    if isinstance(holdout, tuple | list):
        others = read_table(holdout[0], missing="allow" if missing else "error", like=table, argument="holdout")
        target = target_for(holdout[1], others, predictor, *behaviors)
        given = Rows(others, target, np.ones(others.n_rows), np.arange(others.n_rows))
    return OpenInputs(
        everyone,
        predictor,
        objective,
        questions,
        partitioner,
        tree,
        missing,
        resources,
        g.n_jobs,
        seed,
        confidence,
        max_samples,
        holdout if given is None else False,
        given,
    )


def searched(opened: OpenInputs, record: Diagnostics) -> FitRun:
    """Search on the chosen rows and judge the regions on others; on more rows until that is precise enough."""
    steps, found = list[dict[str, Any]](), None
    reason = "as asked"
    for choice in opened.choices():
        try:
            inputs = opened.chosen(choice.search, record)
            again = run(inputs)
        except ResourceError:
            if found is None:
                raise
            reason = "more rows do not fit the limits"
            break
        judged = _judged(opened, inputs, again, choice)
        found = again._replace(result=replace(again.result, estimate=judged))
        error = None if judged is None or np.isnan(judged.standard_error) else judged.standard_error
        steps.append({"search": len(choice.search), "held_out": len(choice.held_out), "standard_error": error})
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


def _judged(opened: OpenInputs, inputs: FitInputs, found: FitRun, choice: RowChoice) -> Estimate | None:
    """What the held-out rows say, or without any the fitting rows; None without a confidence level."""
    if opened.confidence is None:
        return None
    others = opened.given if len(choice.held_out) == 0 else opened.everyone.take(choice.held_out)
    with inputs.diagnostics.stage("estimate"):
        if others is None:
            return fitting_estimate(found, inputs.clusters)
        route = Route(opened.predictor, others.table)
        new = NewRows(found.result, route, others.y, opened.resources, others.weights)
        return evaluate_rows(new, found.result.partition.apply(others.table), others.clusters, "held-out").estimate


def _clusters(clusters: Any, table: Table) -> IntArray:
    """Number of each row's cluster; without any every row is its own."""
    if clusters is None:
        return np.arange(table.n_rows)
    labels = np.asarray(clusters)
    if labels.shape != (table.n_rows,):
        text = f"clusters has shape {labels.shape}; X has {table.n_rows} rows."
        raise InputError(text, code="D43", argument="clusters", hint="Pass one label for each row.")
    keys: dict[Any, int] = {}
    return np.array([keys.setdefault(label, len(keys)) for label in labels.tolist()], dtype=np.intp)


def half_samples(found: FitRun | None, count: int) -> Stability:
    """The search on random halves of the fitting rows and on their complements."""
    if found is None:
        text = "stability() needs the evaluations of the fit, which only the object that was fitted keeps."
        raise InputError(text, code="P03", argument="models", hint="Fit again, or read stability_ of a saved fit.")
    inputs = found.inputs
    pairs = [
        (found.again(one), found.again(two)) for one, two in halves(inputs.clusters, count, inputs.seed) if len(one)
    ]
    return stability_of(found.result.partition, inputs.table, pairs)


def refits(g: Any, models: Sequence[tuple[Any, Any, Any]]) -> Stability:
    """The same question asked of other fits of a learner, each on rows that it has not seen."""
    result, trees, left, tables = vars(g)["_fitted"], [], [], []
    if len(models) < 2:
        text = f"models has {len(models)} entries; two refits are the least."
        raise InputError(text, code="P01", argument="models", hint="Pass [(model, X, y), …], X unseen by its model.")
    for model, X, y in models:
        own = clone(g).set_params(model=model, holdout=False, max_samples=None)
        opened = open_inputs(own, X, y, None, None, Diagnostics())
        found, rows = searched(opened, Diagnostics()), opened.everyone
        trees.append(found.result.partition)
        tables.append(rows.table)
        judged = replace(result, predictor=opened.predictor, floors=found.result.floors)
        new = NewRows(judged, Route(opened.predictor, rows.table), rows.y, opened.resources)
        evaluation = evaluate_rows(new, result.partition.apply(rows.table))
        left.append(evaluation.remaining if evaluation.estimate is None else evaluation.estimate.remaining)
    again = stability_of(result.partition, result.table, list(combinations(trees, 2)))
    tested = round(float(np.mean([table.n_rows for table in tables])))
    # Rows that other refits were tested on are those that each was trained with, or as many as it was tested on.
    trained = len(set().union(*map(_cells, tables))) - tested
    confidence = result.confidence or Confidence(0.95, 1, 0)
    mean, low, high = refit_interval(left, tested, trained or tested, confidence.normal)
    return replace(again, searches=len(trees), remaining=mean, remaining_low=low, remaining_high=high)


def _cells(table: Table) -> set[tuple[Any, ...]]:
    """The distinct rows of a table."""
    levels = ([*column.levels.tolist(), None] for column in table.columns)
    pairs = zip(levels, table.columns, strict=True)
    return set(zip(*([own[code] for code in column.codes.tolist()] for own, column in pairs), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class FittedGranite:
    """What displays, reports, files and frameworks read of a fitted Granite."""

    result: FitResult
    resources: Resources
    diagnostics: Mapping[str, Any]
    max_samples: int | str | None
    run: FitRun | None = None  # its evaluations and inputs, while they are in memory

    @property
    def seed(self) -> int:
        """Seed of everything that was drawn."""
        return int(self.diagnostics["seed"])

    def read(self, X: Any) -> Table:
        """Other rows, with the columns and kinds of the fitting rows."""
        return read_table(X, missing="allow" if self.result.missing else "error", like=self.result.table)

    def regions(self, table: Table) -> IntArray:
        """Region of each row."""
        return self.result.partition.apply(table)

    def target(self, y: Any, table: Table, *behaviors: Behavior) -> FloatArray | None:
        """The target as numbers, where a behavior (without any: of the questions) needs it."""
        asked = behaviors or tuple(comparison.first.behavior for comparison in self.result.comparisons)
        return target_for(y, table, self.result.predictor, *asked)

    def drawn(self, n_rows: int, max_samples: int | None = None) -> IntArray:
        """Positions of rows to use, drawn as the fit draws: at most ``max_samples``, None: as many as the fit."""
        most = self.result.table.n_rows if self.max_samples == "auto" else self.max_samples
        count = most if max_samples is None else max_samples
        everyone = np.arange(n_rows)
        return everyone if count is None else drawn(everyone, everyone, int(count), self.seed)

    def other_rows(
        self, X: Any, y: Any, sample_weight: Any = None, max_samples: int | None = None
    ) -> tuple[NewRows, IntArray]:
        """Other rows of a fit, those of weight 0 left out, and their regions."""
        everyone = self.read(X)
        target, weights = self.target(y, everyone), read_weights(sample_weight, everyone)
        rows = np.flatnonzero(weights > 0)
        if max_samples is not None:
            rows = drawn(rows, np.arange(len(weights)), whole_number("max_samples", max_samples, at_least=1), self.seed)
        table = everyone if len(rows) == everyone.n_rows else everyone.take(rows)
        new = NewRows(
            self.result,
            Route(self.result.predictor, table),
            None if target is None else target[rows],
            self.resources,
            weights[rows],
        )
        return new, self.regions(table)

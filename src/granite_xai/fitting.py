"""From the options of an estimator and a table to a fit: what the data decide, the plan, what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import ResourceError
from granite_xai.base.options import choose
from granite_xai.compute import TooSlowError, resolve_jobs
from granite_xai.cost import ROOM, affordable
from granite_xai.disagreement import Objective
from granite_xai.evaluation_plan import Unfinished
from granite_xai.evaluations.plan import require_room
from granite_xai.explainer import target_for
from granite_xai.fit import FitInputs, FitRun, run
from granite_xai.fit_options import (
    chosen_influence,
    chosen_limits,
    chosen_partitioner,
    chosen_seed,
    named_columns,
    rows_used,
)
from granite_xai.models import Predictor, as_predictor
from granite_xai.models.columns import allows_missing, read_input
from granite_xai.models.target import read_weights
from granite_xai.search.tree import Tree
from granite_xai.tables import Table
from granite_xai.tables.lazy import collected, is_lazy
from granite_xai.trees.routes import Route

_OF_THE_TREE = ("max_depth", "min_samples_leaf", "alpha", "max_candidates", "beam", "split_features")


def read_rows_of(g: Any, X: Any) -> Table:
    """The rows that an estimator is fitted on, as its options say; missing values are not looked at yet."""
    named = named_columns(g.features, g.split_features, g.groups, getattr(g.influence, "features", None))
    return read_input(X, g.model, g.kinds, named)


def collected_for(g: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """The rows of a fit in memory: of a lazy table as many as it may use, drawn by its engine."""
    count = 2 * g.max_samples if isinstance(g.max_samples, int) else None  # some may be held out
    return collected(X, y, sample_weight, count, chosen_seed(g.random_state) if is_lazy(X) else 0)


class OpenInputs(NamedTuple):
    """What the data alone decide: the inputs of a fit on so many rows, how many may be tried, and the model."""

    chosen: Callable[[int | None], FitInputs]
    counts: list[int | None]
    n_rows: int
    predictor: Predictor

    def afforded(self, per_row: float = 0.0) -> FitInputs:
        """The largest plan that fits the limits: more rows before fewer, exact before grids (M13)."""
        for count in self.counts:
            try:
                room = 1.0 if count == self.counts[-1] else ROOM  # the smallest plan may take all of the time
                return affordable(self.chosen(count), per_row=per_row, everyone=self.n_rows, room=room).inputs
            except ResourceError:
                if count == self.counts[-1]:
                    raise
        raise ValueError("no rows were chosen")


def searched(opened: OpenInputs, kept: dict[str, Any]) -> FitRun:
    """Search on the rows that the limits allow, on fewer where the model proves slower than it was timed.

    ``kept`` holds what an interrupted fit has evaluated, and gets what this one has if it is interrupted as well.
    """
    inputs, per_row = resumed(opened, kept), 0.0
    while True:
        inputs = opened.afforded(per_row) if inputs is None else inputs
        inputs = inputs if inputs.unfinished else replace(inputs, unfinished=Unfinished())
        try:
            found = run(inputs)
        except TooSlowError as error:
            inputs, per_row = None, max(per_row, error.per_row)
        except KeyboardInterrupt:
            kept["_unfinished"] = inputs
            raise
        else:
            kept.pop("_unfinished", None)
            return found


def resumed(opened: OpenInputs, kept: dict[str, Any]) -> FitInputs | None:
    """The inputs of an interrupted fit, if this one is about the same rows, model and question; said if it is not."""
    past: FitInputs | None = kept.pop("_unfinished", None)
    if past is None:
        return None
    now = opened.chosen(past.table.n_rows)
    same = (
        now.predictor.model_output == past.predictor.model_output
        and np.array_equal(now.weights, past.weights)
        and all(
            np.array_equal(one.levels, two.levels) and np.array_equal(one.codes, two.codes)
            for one, two in zip(now.table.columns, past.table.columns, strict=False)
        )
        and now.table.names == past.table.names
    )
    if not same:
        now.diagnostics.remember("R01: the evaluations of the interrupted fit are of other rows or another model.")
        return None
    now.predictor.batch_size = past.predictor.batch_size
    now.diagnostics.note("resumed_matrices", len(past.unfinished.matrices) if past.unfinished else 0)
    return replace(now.within(past.resources), plan=past.plan, unfinished=past.unfinished)


def open_inputs(g: Any, X: Any, y: Any, sample_weight: Any, record: Diagnostics) -> OpenInputs:
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
    choice = choose("missing", g.missing, {name: name for name in ("auto", "allow", "error")})
    everyone = read_rows_of(g, X)
    weights = read_weights(sample_weight, everyone)
    ways = {"output": g.output, "response": g.response, "batch_size": resources.batch_size}
    predictor = as_predictor(g.model, **ways, diagnostics=record)
    missing = allows_missing(choice, g.model, predictor, everyone)
    target = target_for(y, everyone, predictor, *(question.first.behavior for question, _ in questions))

    def chosen(count: int | None) -> FitInputs:
        rows = rows_used(weights, count, seed)
        table = everyone.take(rows)  # always a copy: what is written into X later must not change the fit
        require_room(table, resources)
        for grower in (tree, partitioner):
            if isinstance(grower, Tree):
                grower.columns(table)
        route = Route(predictor, table, record, seed)
        for text in table.notices:
            record.remember(text)
        constant = [column.name for column in table.columns if len(column.levels) + column.missing.any() < 2]
        record.note("constant_columns", constant)
        record.note("candidates", dict.fromkeys(table.names, 0))  # stays so where no split is tried
        return FitInputs(
            route=route,
            y=None if target is None else target[rows],
            weights=weights[rows],
            objective=objective,
            comparisons=tuple(question.compare(route, resources, seed) for question, _ in questions),
            question_weights=tuple(weight for _, weight in questions),
            partitioner=partitioner,
            tree=tree,
            extra_effects=partitioner.extra_effects(route, resources, seed),
            missing=missing,
            resources=resources,
            n_jobs=g.n_jobs,
            seed=seed,
            diagnostics=record,
        )

    total = int(np.count_nonzero(weights))
    ladder = [500 * 2**k for k in range(40) if 500 * 2**k < total]
    counts: list[Any] = [total, *ladder[::-1]] if g.max_samples == "auto" else [g.max_samples]
    return OpenInputs(chosen, counts, total if g.max_samples == "auto" else 0, predictor)

"""From the options of an estimator and a table to a fit: what the data decide, the rows, and their judgement."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
from sklearn.base import clone

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import DataWarning, InputError, ModelWarning, ResourceError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.validation import choose
from granite_xai.compute import Meter, Resources, progress, require_evaluations, resolve_jobs
from granite_xai.compute.resources import model_row_budget
from granite_xai.compute.selection import compiled_loops
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion, both_sides
from granite_xai.disagreement.objective import Objective
from granite_xai.evaluations.probe import PROBED_ROWS, probe
from granite_xai.evaluations.table_memory import require_room
from granite_xai.evaluations.value_grid import Values
from granite_xai.evaluations.values import CELLS
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.explainer import target_for
from granite_xai.explanation.masking.bins import carriers
from granite_xai.explanation.own_values import takes_values
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.fitting import options
from granite_xai.fitting.cost import Price, plan_facts, price
from granite_xai.fitting.judgement import (
    Judgement,
    judge_by_held_out_rows,
    judge_by_search_rows,
    trees_of_folds,
)
from granite_xai.fitting.new_rows import (
    NewRows,
    evaluate_rows,
    rows_by_region,
    without_clusters,
)
from granite_xai.fitting.pipeline import (
    PILOT_SHARE,
    FitInputs,
    FitResult,
    FitRun,
    again,
    find_path,
    handed_on,
    require_memory,
    run,
)
from granite_xai.fitting.rows import (
    FEWEST_SEARCHING,
    Draw,
    RowChoice,
    affordable_rows,
    draw_rows,
    held_out_share,
    numbered_by_first_row,
)
from granite_xai.inference.estimate import LEAST_HELD_OUT, drawn
from granite_xai.inference.node_figures import with_levels_of
from granite_xai.inference.path import Path
from granite_xai.inference.replicates import Confidence
from granite_xai.inference.stability import (
    REFITS,
    RefitCurve,
    Stability,
    affordable_pairs,
    halves,
    refit_interval,
    stability_of,
)
from granite_xai.models import Predictor, for_table
from granite_xai.models.model_table import allows_missing, read_input
from granite_xai.models.row_arguments import read_clusters, read_weights
from granite_xai.moments.questions import statistics_kind
from granite_xai.search.optimal import refused
from granite_xai.search.price import search_price
from granite_xai.search.problem import GivenRules, OwnPartitioner, Partitioner
from granite_xai.search.tree import Tree
from granite_xai.surrogate.additive import fit_surrogate
from granite_xai.surrogate.grids import grid_codes
from granite_xai.tables import Column, Table, read_table
from granite_xai.tables.fixed_order import row_order, same_rows_in_any_order
from granite_xai.tables.lazy import collected, is_lazy
from granite_xai.tables.row_order import order_notice
from granite_xai.trees.routes import Route

POINTS = 20  # values at which a curve over refits is told
FIRST_RUNG = 250  # rows that search first under max_seconds
FIRST_CELLS = 8  # values of each column in that first search
GROWTH_OF_RUNG = 2.2  # how much longer twice as many rows take
FEWEST_AT_ALL = 100  # rows that search, at least, within an explicit budget of model rows
PAIR_ROWS = (1000, 500, 250)  # rows that search where the cost grows with their square
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
    order: IntArray | None = None  # in which the rows are used; None: as they stand

    @property
    def positions(self) -> IntArray:
        """Where each row stands in the user's table."""
        return np.arange(self.table.n_rows) if self.order is None else self.order

    def places(self, positions: Sequence[int]) -> IntArray:
        """By which place each of some rows of the user's table is known here."""
        return np.argsort(self.positions)[positions]

    def in_fixed_order(self) -> Rows:
        """The same rows, known by place in an order that depends only on what they hold."""
        order = row_order(self.table, self.y, self.weights, self.clusters)
        return Rows(
            table=self.table,
            y=self.y,
            weights=self.weights[order],
            clusters=numbered_by_first_row(self.clusters[order]),
            order=order,
        )

    def take(self, rows: IntArray) -> Rows:
        """Some of the rows; always a copy: what is written into X later must not change the fit."""
        places = self.positions[rows]
        return Rows(
            table=self.table.take(places),
            y=None if self.y is None else self.y[places],
            weights=self.weights[rows],
            clusters=numbered_by_first_row(self.clusters[rows]),
        )


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

    @property
    def is_counted(self) -> bool:
        """Whether a budget of model rows decides how many rows are used."""
        return self.confidence is not None and self.max_samples == "auto"

    @property
    def budget(self) -> int:
        """Rows that a fit may send to the model."""
        return model_row_budget(self.resources)

    def draw(self) -> Draw:
        """All rows in the order in which they are used."""
        return draw_rows(self.everyone.weights, self.everyone.clusters, self.seed)

    def choice(self) -> RowChoice:
        """The rows that search and those that are held out."""
        if self.confidence is None:
            rows = np.flatnonzero(self.everyone.weights > 0)
            limit = len(rows) if self.max_samples is None else int(self.max_samples)
            search = drawn(rows, self.everyone.clusters, limit, self.seed)
            return RowChoice(search, rows[:0])
        draw = self.draw()
        most = len(self.beginning(draw, draw.n_rows).search)
        if self.is_counted:
            n_search = self.affordable(draw, most)
        elif self.max_samples is None:
            n_search = most
        else:
            n_search = int(self.max_samples)
        return self.beginning(draw, n_search)

    def beginning(self, draw: Draw, n_search: int) -> RowChoice:
        """The first rows of a draw; as many are held out as the user wants."""
        if self.holdout is False:
            rows = np.concatenate([draw.search, draw.held_out])
            search = draw.whole_clusters(rows, n_search)
            return RowChoice(np.sort(search), rows[:0])
        if isinstance(self.holdout, float):
            return held_out_share(draw, self.holdout, n_search)
        return draw.beginning(n_search)

    def n_judging(self, choice: RowChoice) -> int:
        """Rows that judge the regions: held out, or given by the user."""
        if self.given is not None:
            return self.given.table.n_rows
        return len(choice.held_out)

    def affordable(self, draw: Draw, most: int) -> int:
        """Rows that search, at most, within the budget of model rows and the memory."""
        sample = self.beginning(draw, min(most, FEWEST_SEARCHING))
        try:
            inputs = self.chosen(sample.search, Diagnostics())
        except ResourceError:  # too dear even to be drawn
            return self._affordable_pairs(draw, most)
        if inputs.cells is None:
            return self._affordable_pairs(draw, most)
        of_sample = price(inputs, 0, self.everyone.table)
        cost_of_row = of_sample.of_search / inputs.table.n_rows
        fewest = FEWEST_SEARCHING
        if self.resources.max_evaluations is not None:
            fewest = FEWEST_AT_ALL
        spent: float = of_sample.pilot + PROBED_ROWS
        if self.holdout == "auto":
            n_search = affordable_rows(cost_of_row, spent, self.budget)
        else:  # how many rows judge does not depend on how many search
            spent += self.n_judging(sample) * cost_of_row
            n_search = int((self.budget - spent) / cost_of_row)
        bytes_of_row = of_sample.n_bytes / inputs.table.n_rows
        fits_memory = max(int(self.resources.memory_limit / 4 / bytes_of_row), FEWEST_AT_ALL)
        n_search = min(max(n_search, fewest), fits_memory, most)
        n_affordable = (self.budget - of_sample.pilot - PROBED_ROWS) / cost_of_row
        return self._with_whole_clusters(draw, n_search, fewest, n_affordable)

    def _with_whole_clusters(
        self, draw: Draw, n_search: int, fewest: int, n_affordable: float
    ) -> int:
        """So few rows that all of their clusters are paid for, which are drawn whole."""

        def n_used(n_search: int) -> int:
            choice = self.beginning(draw, n_search)
            return len(choice.search) + self.n_judging(choice)

        if n_search <= fewest or n_used(n_search) <= n_affordable:
            return n_search
        sizes = range(fewest, n_search)
        n_fitting = bisect_right(sizes, n_affordable, key=n_used)
        return sizes[max(n_fitting - 1, 0)]

    def _affordable_pairs(self, draw: Draw, most: int) -> int:
        """The same where the cost grows with the square of the rows: groups, pairs, Shapley values."""
        sizes = [size for size in PAIR_ROWS if size < most]
        if most <= PAIR_ROWS[0]:
            sizes = [most, *sizes]
        if self.resources.max_evaluations is not None and most > FEWEST_AT_ALL:
            sizes.append(FEWEST_AT_ALL)
        for size in sizes:
            choice = self.beginning(draw, size)
            try:
                inputs = self.chosen(choice.search, Diagnostics())
                require_memory(inputs)
                model_rows = price(inputs, self.n_judging(choice)).model_rows
            except ResourceError:  # too dear even to be drawn
                continue
            if model_rows <= self.budget:
                return size
        return sizes[-1]

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
        if self.tree.search == "optimal" and None in map(statistics_kind, asked):
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
        comparisons = tuple(every or asked)
        if self.confidence is not None:
            comparisons = tuple(each.beyond_chance() for each in comparisons)
        if self.tree.search == "optimal":
            comparisons = tuple(each.by_sums() for each in comparisons)
        values, cells = self._values(some.table, comparisons, extra_effects)
        if self.is_counted:  # the budget has decided on the rows
            resources = replace(resources, max_evaluations=None)
        return FitInputs(
            **{**handed_on(self, *_OF_INPUTS), "resources": resources},
            **handed_on(some, "y", "weights", "clusters"),
            positions=self.everyone.positions[rows],
            route=route,
            comparisons=comparisons,
            values=values,
            cells=cells,
            question_weights=tuple(weight for _, weight in self.questions) * (len(names) or 1),
            extra_effects=extra_effects,
            diagnostics=record,
            budget=self.budget,
        )

    def _values(
        self,
        table: Table,
        comparisons: Sequence[ResolvedQuestion],
        extra_effects: Sequence[ResolvedExplainer],
    ) -> tuple[Values, int | None]:
        """Values that stand for a column, as far as options tell, and how many a pilot shall choose."""
        grid = self.resources.max_grid
        if self.confidence is None:
            return self.resources.grid, None
        effects = [*both_sides(comparisons), *extra_effects]
        by_column = table.n_columns > 1 and all(takes_values(each, table) for each in effects)
        if grid is None or (grid == "auto" and not by_column):
            return None, None
        if not by_column:  # refused where the plan is made, with the reason
            return self.resources.grid, None
        return None, CELLS if grid == "auto" else int(grid)


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
    behaviors = [question.first.behavior for question, _ in questions]
    labels = [question.label for question, _ in questions]
    choice = choose("missing", g.missing, {name: name for name in ("auto", "allow", "error")})
    table = read_rows_of(g, X)
    weights = read_weights(sample_weight, table)
    predictor = for_table(
        g.model,
        table,
        g.output,
        response=g.response,
        batch_size=resources.batch_size,
        n_jobs=g.n_jobs,
        device=resources.device,
        block=resources.block,
        record=record,
    )
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
    if confidence is not None:
        everyone = everyone.in_fixed_order()
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
    if same_rows_in_any_order(others, table):
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


def searched(opened: OpenInputs, record: Diagnostics, is_judged: bool = True) -> FitRun:
    """Search on some rows and judge on others.

    Parameters
    ----------
    opened : OpenInputs
    record : Diagnostics
        Gets what is noted on the way.
    is_judged : bool
        Whether anybody reads what the regions leave; a fit within seconds is always judged.
    """
    if opened.resources.max_seconds is not None and opened.confidence is not None:
        found, choice, reason = _within_seconds(opened, record, opened.resources.max_seconds)
    else:
        choice = opened.choice()
        found = _fitted(opened, choice, record, is_judged=is_judged)
        reason = _reason(opened, choice)
    judged = found.result.estimate
    error = None
    if judged is not None and not np.isnan(judged.standard_error):
        error = judged.standard_error
    step = {
        "search": len(choice.search),
        "held_out": len(choice.held_out),
        "standard_error": error,
    }
    places = opened.everyone.positions
    record.note(
        "rows",
        {
            "search": np.sort(places[choice.search]).tolist(),
            "held_out": np.sort(places[choice.held_out]).tolist(),
            "available": int(np.count_nonzero(opened.everyone.weights > 0)),
            "steps": [step],
            "reason": reason,
        },
    )
    return found


def planned(opened: OpenInputs, record: Diagnostics) -> dict[str, Any]:
    """What a fit would do, before it is done; the model is asked about a few rows, for its speed."""
    choice = opened.choice()
    inputs = opened.chosen(choice.search, record)
    found = _allowed_price(opened, inputs, choice)
    require_memory(inputs)
    asked = probe(inputs.predictor, inputs.table, record)
    available = opened.everyone.table.n_rows
    return plan_facts(inputs, found, len(choice.held_out), available, asked.seconds_per_row)


def _reason(opened: OpenInputs, choice: RowChoice) -> str:
    """Why so many rows are used."""
    if not opened.is_counted:
        return "as asked"
    available = int(np.count_nonzero(opened.everyone.weights > 0))
    if len(choice.search) + len(choice.held_out) == available:
        return "all rows"
    return "max_evaluations"


def _allowed_price(opened: OpenInputs, inputs: FitInputs, choice: RowChoice) -> Price:
    """The price of a fit, unless it exceeds the user's budget of model rows (M13)."""
    n_judging = opened.n_judging(choice)
    found = price(inputs, n_judging)
    if opened.confidence is None or found.model_rows <= opened.budget:
        return found
    enough = found.model_rows  # a larger budget has a larger pilot: the one that is named shall do
    while (needed := price(replace(inputs, budget=enough), n_judging).model_rows) > enough:
        enough = needed
    require_evaluations(opened.resources, enough)
    return found


def _rung(opened: OpenInputs, inputs: FitInputs, choice: RowChoice) -> FitInputs:
    """The inputs of a fit on the way to more rows: few values on the first rung, and a small pilot."""
    if inputs.cells is None:
        return inputs
    if len(choice.search) <= FIRST_RUNG:
        inputs = replace(inputs, cells=min(inputs.cells, FIRST_CELLS))
    found = price(inputs, opened.n_judging(choice))
    without_pilot = found.model_rows - found.pilot
    return replace(inputs, budget=ceil(without_pilot / (1.0 - PILOT_SHARE)))


def _fitted(
    opened: OpenInputs,
    choice: RowChoice,
    record: Diagnostics,
    is_rung: bool = False,
    is_judged: bool = True,
) -> FitRun:
    """One fit on some rows, judged on others; a rung is a fit on the way to more rows."""
    inputs = opened.chosen(choice.search, record)
    if is_rung:
        inputs = _rung(opened, inputs, choice)
    found = _allowed_price(opened, inputs, choice)
    facts = plan_facts(inputs, found, len(choice.held_out), opened.everyone.table.n_rows, 0.0)
    predictor = inputs.predictor
    sent = found.model_rows
    if inputs.route.trees is not None:  # they answer for the model, but for the pilot and own rows
        sent = found.pilot + inputs.table.n_rows + len(choice.held_out)
    meter = Meter(inputs.resources, sent)
    with (
        compiled_loops(allowed=inputs.cells is None),
        closing(meter),
        predictor.metered(meter),
    ):
        found_run = run(replace(inputs, plan=facts), meter)
        return _judged(opened, found_run, choice) if is_judged else found_run


def _within_seconds(
    opened: OpenInputs, record: Diagnostics, seconds: float
) -> tuple[FitRun, RowChoice, str]:
    """Fits on more and more rows of one draw while there is time; the last complete one.

    The first is always finished. The next begins only if, by what the last took, it will end in time.
    """
    begin = time.perf_counter()
    whole = opened.choice()
    draw = opened.draw()
    n_search = min(FIRST_RUNG, len(whole.search))
    while True:
        is_last = n_search >= len(whole.search)
        choice = whole if is_last else opened.beginning(draw, n_search)
        started = time.perf_counter()
        found = _fitted(opened, choice, record, is_rung=not is_last)
        if is_last:
            return found, choice, _reason(opened, choice)
        took = time.perf_counter() - started
        if time.perf_counter() - begin + GROWTH_OF_RUNG * took > seconds:
            break
        n_search *= 2
    available = int(np.count_nonzero(opened.everyone.weights > 0))
    repeats = f"max_samples={n_search}"
    if found.inputs.cells is not None:
        limits = f"max_grid={found.inputs.cells}, max_evaluations={found.inputs.budget}"
        repeats += f" with Resources({limits})"
    record.warn(
        f"M13: stopped at max_seconds={seconds:g} after {len(choice.search):,} of {available:,} rows. The figures "
        f"hold; more rows may find more regions ({repeats} repeats this).",
        ModelWarning,
    )
    return found, choice, "max_seconds"


def _judged(opened: OpenInputs, found: FitRun, choice: RowChoice) -> FitRun:
    """With what the held-out rows say of the regions, or without any the rows that searched."""
    others = opened.given
    if len(choice.held_out):
        others = opened.everyone.take(choice.held_out)
    with found.inputs.diagnostics.stage("estimate"):
        if others is None or opened.confidence is None:
            trees = trees_of_folds(found)
            joint = _with_judgement(found, judge_by_search_rows(found, trees))
            runs = {
                name: _with_judgement(run, judge_by_search_rows(run, trees))
                for name, run in found.outputs.items()
            }
        else:
            new = _held_out(found, others, others.y)
            observed = new.observe(both_sides(found.result.comparisons))  # the model is asked once
            regions = found.result.partition.apply(others.table)
            judgement = judge_by_held_out_rows(new, regions, others.clusters, observed)
            joint = _with_judgement(found, judgement)
            runs = {}
            for k, (name, run) in enumerate(found.outputs.items()):
                new = _held_out(run, others, None if others.y is None else others.y[:, k])
                of_output = observed.of_output(k)
                judgement = judge_by_held_out_rows(new, regions, others.clusters, of_output)
                runs[name] = _with_judgement(run, judgement)
    results = {name: run.result for name, run in runs.items()}
    return joint._replace(result=replace(joint.result, outputs=results), outputs=runs)


def _held_out(run: FitRun, others: Rows, y: FloatArray | None) -> NewRows:
    """Held-out rows as a fit is asked about them."""
    return NewRows(
        fitted=run.result,
        route=Route(run.inputs.predictor, others.table),
        y=y,
        resources=run.inputs.resources,
        weights=others.weights,
    )


def _with_judgement(run: FitRun, judgement: Judgement) -> FitRun:
    found = run.result
    nodes = with_levels_of(
        judgement.nodes,
        found.partition,
        found.regions,
        found.comparisons,
        run.evaluations,
    )
    return run._replace(result=replace(found, estimate=judgement.estimate, nodes=nodes))


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


def half_samples(g: Any, count: int | None) -> Stability:
    """The search on random halves of the fitting rows and on their complements.

    Parameters
    ----------
    g : Granite
    count : int, optional
        Halves; None: as many as cost no more than the fit, between 4 and 25.
    """
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
    if isinstance(inputs.partitioner, Tree):
        fewest_rows = 4 * inputs.partitioner.min_samples_leaf
        if inputs.table.n_rows < fewest_rows:
            return Stability.unmeasured(found.result.partition)
    if count is None:
        n_sets = sum(len(question.first.layout.sets) for question in inputs.comparisons)
        half = search_price(inputs.table.n_rows // 2, n_sets, len(inputs.table.explained))
        count = affordable_pairs(half, g.diagnostics_["plan"]["model_rows"])
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
        found = searched(opened, Diagnostics(), is_judged=False)
        trees.append(found.result.partition)
        tables.append(found.inputs.table)
        judged = replace(result, predictor=opened.predictor, floors=found.result.floors)
        new = NewRows(judged, found.inputs.route, found.inputs.y, opened.resources)
        regions = result.partition.apply(found.inputs.table)
        evaluation = evaluate_rows(new, regions)
        left.append(
            evaluation.remaining if evaluation.estimate is None else evaluation.estimate.remaining
        )
        effects.append(
            _effects(
                found, [np.flatnonzero(regions == k) for k in range(len(result.partition))], places
            )
        )
    again = stability_of(
        result.partition, result.table, list(combinations(trees, 2)), trees, source=REFITS
    )
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
    again = replace(again, refit_curves=tuple(curves))
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

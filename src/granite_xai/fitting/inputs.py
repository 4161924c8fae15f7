"""From the options of an estimator and a table to the inputs of a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from granite_xai.base.errors import DataWarning, Diagnostics, InputError
from granite_xai.base.typing import IntArray
from granite_xai.compute.resources import model_row_budget
from granite_xai.disagreement.disagreement import ResolvedQuestion, both_sides
from granite_xai.evaluations.pilot import CELLS
from granite_xai.evaluations.table_memory import require_room
from granite_xai.evaluations.value_grid import Values
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.behavior.target import target_for
from granite_xai.explanation.grid_support import supports_grid
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.fitting.fit_inputs import FitInputs
from granite_xai.fitting.options import FitOptions, chosen_seed, fit_options, named_columns
from granite_xai.fitting.table_rows import TableRows, lacking_clusters_warning
from granite_xai.inference.sample_size import LEAST_HELD_OUT
from granite_xai.models import Predictor, for_table
from granite_xai.models.columns import allows_missing, read_input
from granite_xai.models.targets import note_columns_that_are_y, read_clusters, read_weights
from granite_xai.search.given_rules import GivenRules
from granite_xai.search.partitioner import OwnPartitioner
from granite_xai.search.tree import Tree
from granite_xai.tables import (
    DRAWN_BY_NUMBER,
    Table,
    collect_rows,
    is_lazy,
    read_table,
    same_rows_in_any_order,
)
from granite_xai.trees.ensembles import Route


@dataclass(frozen=True, slots=True, eq=False)
class OpenInputs:
    """Everything that options and data alone decide, before the rows of a fit are chosen.

    Parameters
    ----------
    options : FitOptions
        Of the estimator; ``holdout`` is False where the user gave rows to hold out.
    rows : TableRows
        All rows of the table.
    predictor : Predictor
        The model.
    missing : bool
        Whether missing values are allowed.
    given_holdout : TableRows, optional
        Rows that the user holds out.
    """

    options: FitOptions
    rows: TableRows
    predictor: Predictor
    missing: bool
    given_holdout: TableRows | None

    @property
    def budget_decides(self) -> bool:
        """Whether a budget of model rows decides how many rows are used."""
        return self.options.confidence is not None and self.options.max_samples == "auto"

    @property
    def budget(self) -> int:
        """Rows that a fit may send to the model."""
        return model_row_budget(self.options.resources)

    def resolve(self, places: IntArray, record: Diagnostics) -> FitInputs:
        """The inputs of a fit on some of the rows.

        Parameters
        ----------
        places : array of int
            The rows that search, by their places in `rows`.
        record : Diagnostics
            Gets what is noted about them.
        """
        options = self.options
        resources = options.resources
        rows = self.rows.take(places)
        require_room(rows.table, resources)
        self._require_split_features(rows.table)
        route = Route(self.predictor, rows.table, record, options.seed)
        extra_effects = options.partitioner.extra_effects(route, resources, options.seed)
        questions = self._resolve_questions(route)
        _note_table(rows.table, record)
        values, n_pilot_values = self._values_of_columns(rows.table, questions, extra_effects)
        if self.budget_decides:  # it has decided on the rows, and is not asked again
            resources = replace(resources, max_evaluations=None)
        n_outputs = len(self.predictor.outputs) or 1
        weights_of_questions = tuple(weight for _, weight in options.questions)
        return FitInputs(
            route=route,
            y=rows.y,
            weights=rows.weights,
            clusters=rows.clusters,
            positions=self.rows.positions[places],
            objective=options.objective,
            comparisons=questions,
            question_weights=weights_of_questions * n_outputs,
            partitioner=options.partitioner,
            tree=options.tree,
            extra_effects=extra_effects,
            missing=self.missing,
            resources=resources,
            n_jobs=options.n_jobs,
            seed=options.seed,
            diagnostics=record,
            confidence=options.confidence,
            as_in_paper=options.as_in_paper,
            budget=self.budget,
            chooses_alpha=options.chooses_alpha,
            values=values,
            n_pilot_values=n_pilot_values,
        )

    def _require_split_features(self, table: Table) -> None:
        """Refuse columns to split on that the table does not have."""
        self.options.tree.columns(table)

    def _resolve_questions(self, route: Route) -> tuple[ResolvedQuestion, ...]:
        """The questions on some rows; where all outputs are explained, those of the first one, then of the next."""
        options = self.options
        resolved = []
        for question, _ in options.questions:
            resolved.append(question.compare(route, options.resources, options.seed))
        if self.predictor.outputs:
            resolved = _about_each_output(resolved, list(self.predictor.outputs))
        if not options.as_in_paper:
            resolved = [question.chosen_by_rows() for question in resolved]
        return tuple(resolved)

    def _values_of_columns(
        self,
        table: Table,
        questions: Sequence[ResolvedQuestion],
        extra_effects: Sequence[ResolvedExplainer],
    ) -> tuple[Values, int | None]:
        """At which values of a column the model is asked.

        Returns
        -------
        values : int or None
            Quantiles of each column; None: all values, or those that a pilot chooses.
        n_pilot_values : int or None
            Values of each column that a pilot shall choose; None: there is no pilot.
        """
        max_grid = self.options.resources.max_grid
        quantiles = self.options.resources.grid
        if self.options.confidence is None:
            return quantiles, None
        if max_grid is None:
            return None, None
        effects = [*both_sides(questions), *extra_effects]
        is_by_column = table.n_columns > 1 and all(
            supports_grid(effect, table) for effect in effects
        )
        if is_by_column and max_grid == "auto":
            return None, CELLS
        if is_by_column:
            return None, int(max_grid)
        if max_grid == "auto":
            return None, None
        return quantiles, None  # refused where the plan is made, with the reason


def _about_each_output(
    questions: Sequence[ResolvedQuestion], names: Sequence[object]
) -> list[ResolvedQuestion]:
    """Every question about every output, under a label that names the output."""
    about_outputs = []
    for number, name in enumerate(names):
        for question in questions:
            label = f"{question.question.label} of {name}"
            about_outputs.append(question.about_output(number, label))
    return about_outputs


def _note_table(table: Table, record: Diagnostics) -> None:
    """Put on record what was noticed when the table was read, and its constant columns."""
    for text in table.notices:
        record.remember(text)
    constant = []
    for column in table.columns:
        n_distinct = len(column.levels) + column.missing.any()
        if n_distinct < 2:
            constant.append(column.name)
    record.note("constant_columns", constant)
    record.note("candidates", dict.fromkeys(table.names, 0))  # stays so where no split is tried


def open_inputs(
    g: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    clusters: Any,
    record: Diagnostics,
    seed: int | None = None,
) -> OpenInputs:
    """Check the options, read the table, and find out how the model is asked.

    Parameters
    ----------
    g : Granite
    X, y, sample_weight, clusters
        As in `Granite.fit`, in memory.
    record : Diagnostics
        Gets the seed and the number of clusters.
    seed : int, optional
        What `collected_for` drew the rows by; None: as ``random_state`` says.
    """
    options = fit_options(g, seed)
    record.note("seed", options.seed)
    table = read_rows_of(g, X)
    weights = read_weights(sample_weight, table)
    predictor = _predictor_for(g, options, table, record)
    missing = allows_missing(options.missing, g.model, predictor, table)
    behaviors = [question.first.behavior for question, _ in options.questions]
    labels = [question.label for question, _ in options.questions]
    rows = TableRows(
        table=table,
        y=target_for(y, table, predictor, *behaviors, labels=labels),
        weights=weights,
        clusters=read_clusters(clusters, table),
    )
    if options.confidence is not None:
        rows = rows.in_fixed_order()
    n_clusters = None
    if clusters is not None:
        n_clusters = int(rows.clusters.max()) + 1
    record.note("clusters", n_clusters)
    note_columns_that_are_y(y, table, record)
    given_holdout = None
    if isinstance(options.holdout, tuple | list):
        given_holdout = _given_holdout(options.holdout, table, missing, predictor, behaviors)
        if clusters is not None and len(options.holdout) == 2:
            record.warn(lacking_clusters_warning("holdout=(X, y, clusters)"), DataWarning)
        options = replace(options, holdout=False)
    elif isinstance(options.holdout, float):
        _require_enough_held_out(options.holdout, int(np.count_nonzero(weights)))
    return OpenInputs(
        options=options,
        rows=rows,
        predictor=predictor,
        missing=missing,
        given_holdout=given_holdout,
    )


def _predictor_for(g: Any, options: FitOptions, table: Table, record: Diagnostics) -> Predictor:
    """The model as it answers about this table; refused where a partitioner cannot read all of its outputs."""
    predictor = for_table(
        g.model,
        table,
        g.output,
        response=g.response,
        batch_size=options.resources.batch_size,
        n_jobs=options.n_jobs,
        device=options.resources.device,
        block=options.resources.block,
        record=record,
    )
    reads_all_outputs = isinstance(options.partitioner, Tree | GivenRules | OwnPartitioner)
    if predictor.outputs and not reads_all_outputs:
        name = type(options.partitioner).__name__
        raise InputError(
            f"{name} reads the effects of one output, not of all.",
            code="P03",
            argument="output",
            hint="Name one output, or leave partitioner out.",
        )
    return predictor


def _given_holdout(
    holdout: Sequence[Any],
    table: Table,
    missing: bool,
    predictor: Predictor,
    behaviors: Sequence[Behavior],
) -> TableRows:
    """The rows that a user holds out, (X, y) or (X, y, clusters); too few, or those of the fit, are refused."""
    clusters = None
    if len(holdout) == 3:
        X, y, clusters = holdout
    else:
        X, y = holdout
    held_out = read_table(
        X, missing="allow" if missing else "error", like=table, argument="holdout"
    )
    if same_rows_in_any_order(held_out, table):
        raise InputError(
            "holdout holds the fitting rows themselves: rows that choose regions judge them too well.",
            code="P03",
            argument="holdout",
            hint="Pass rows that the fit does not see, or a share such as holdout=0.3.",
        )
    if held_out.n_rows < LEAST_HELD_OUT:
        raise InputError(
            f"holdout has {held_out.n_rows} rows; {LEAST_HELD_OUT} are the least that can judge regions.",
            code="P02",
            argument="holdout",
            hint="Pass more rows, or holdout=False.",
        )
    return TableRows(
        table=held_out,
        y=target_for(y, held_out, predictor, *behaviors),
        weights=np.ones(held_out.n_rows),
        clusters=read_clusters(clusters, held_out, "holdout"),
    )


def _require_enough_held_out(share: float, n_rows: int) -> None:
    """Refuse a share of so many rows that holds out too few of them, with a share that would do."""
    n_held_out = round(share * n_rows)
    if n_held_out >= LEAST_HELD_OUT:
        return
    enough = math.ceil(1000 * LEAST_HELD_OUT / n_rows) / 1000
    hint = f"Pass holdout={enough:g} or more, or holdout=False."
    if enough >= 1:
        hint = "Pass holdout=False, or more rows."
    raise InputError(
        f"holdout={share:g} holds out {n_held_out} of {n_rows:,} rows; {LEAST_HELD_OUT} are the least.",
        code="P02",
        argument="holdout",
        hint=hint,
    )


def read_rows_of(g: Any, X: Any) -> Table:
    """The table that an estimator is fitted on, read as its options say; missing values are not looked at yet.

    Parameters
    ----------
    g : Granite
    X : table in memory
    """
    features_of_influence = getattr(g.influence, "features", None)
    # A Tree that is given as partitioner has features to split of its own.
    of_partitioner = getattr(g.partitioner, "split_features", None)
    named = named_columns(
        g.features, g.split_features, g.groups, features_of_influence, of_partitioner
    )
    return read_input(X, g.model, g.kinds, named)


def collected_for(
    g: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    clusters: Any = None,
    record: Diagnostics | None = None,
    seed: int | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The rows of a fit in memory; of a lazy table as many as the fit may use, drawn by its engine.

    Parameters
    ----------
    g : Granite
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    record : Diagnostics, optional
        Gets a note on how the rows of a lazy table are drawn.
    seed : int, optional
        Draws the rows, and is that of the fit; None: as ``random_state`` says.

    Returns
    -------
    X, y, sample_weight, clusters
    """
    if not is_lazy(X):
        return X, y, sample_weight, clusters
    if record is not None:
        record.note("lazy", DRAWN_BY_NUMBER)
    n_rows = None
    if isinstance(g.max_samples, int):
        n_rows = 2 * g.max_samples  # some may be held out
    if seed is None:
        seed = chosen_seed(g.random_state)
    return collect_rows(X, y, sample_weight, n_rows, seed, clusters)

"""The rows and the model of a fit, from what a user passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.algebra.behavior import Behavior
from granite_xai.base.errors import DataWarning, Diagnostics, InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.fitting.settings import Settings
from granite_xai.models import Predictor, for_table
from granite_xai.models.columns import allows_missing, read_input
from granite_xai.models.targets import (
    note_columns_that_are_y,
    read_clusters,
    read_target,
    read_weights,
)
from granite_xai.search.problem import GivenRules, OwnPartitioner
from granite_xai.search.tree import Tree
from granite_xai.tables import DRAWN_BY_NUMBER, Table, collect_rows, is_lazy, read_table
from granite_xai.tables.rows import LEAST_HELD_OUT, Rows, same_rows_in_any_order


@dataclass(frozen=True, eq=False)
class Opened:
    """Everything that options and data alone decide, before the rows of a fit are chosen.

    Parameters
    ----------
    settings : Settings
    rows : Rows
        All rows of the table, in the fixed order where they are a sample.
    model : Predictor
    missing : bool
        Whether missing values are allowed.
    given_holdout : Rows, optional
        Rows that the user holds out.
    """

    settings: Settings
    rows: Rows
    model: Predictor
    missing: bool
    given_holdout: Rows | None

    def n_judging(self, held_out: IntArray) -> int:
        """How many rows judge the regions: so many that are held out, or those that the user gave."""
        return len(held_out if self.given_holdout is None else self.given_holdout)


def collected(
    g: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    clusters: Any = None,
    *,
    seed: int,
    record: Diagnostics | None = None,
) -> tuple[Any, Any, Any, Any]:
    """X, y, weights and clusters in memory; of a lazy table as many rows as the fit may use, drawn by its engine.

    Parameters
    ----------
    g : Granite
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    seed : int
        Draws the rows, and is that of the fit.
    record : Diagnostics, optional
        Gets the note on how rows of a lazy table are drawn.
    """
    if not is_lazy(X):
        return X, y, sample_weight, clusters
    if record is not None:
        record.note("lazy", DRAWN_BY_NUMBER)
    n_rows = None
    if isinstance(g.max_samples, int):
        n_rows = 2 * g.max_samples  # some may be held out
    return collect_rows(X, y, sample_weight, n_rows, seed, clusters)


def open_inputs(
    settings: Settings, X: Any, y: Any, sample_weight: Any, clusters: Any, record: Diagnostics
) -> Opened:
    """Read the table and what comes with its rows, and find out how the model is asked.

    Parameters
    ----------
    settings : Settings
    X, y, sample_weight, clusters
        As in `Granite.fit`, in memory.
    record : Diagnostics
        Gets the seed and the number of clusters.
    """
    record.note("seed", settings.seed)
    table = read_input(X, settings.model, settings.kinds, settings.named_columns)
    weights = read_weights(sample_weight, table)
    model = _model_on(table, settings, record)
    missing = allows_missing(settings.missing, settings.model, model, table)
    behaviors = [question.behavior for question, _ in settings.questions]
    labels = [question.label for question, _ in settings.questions]
    rows = Rows.of(
        table,
        target_for(y, table, model, behaviors, labels),
        weights,
        read_clusters(clusters, table),
        in_fixed_order=settings.level is not None,
    )
    record.note("clusters", None if clusters is None else int(rows.clusters.max()) + 1)
    note_columns_that_are_y(y, table, record)
    given_holdout = None
    if isinstance(settings.holdout, tuple | list):
        given_holdout = _given_holdout(settings.holdout, table, missing, model, behaviors)
        if clusters is not None and len(settings.holdout) == 2:
            record.warn(lacking_clusters_warning("holdout=(X, y, clusters)"), DataWarning)
    elif isinstance(settings.holdout, float):
        _require_enough_held_out(settings.holdout, len(rows))
    return Opened(settings, rows, model, missing, given_holdout)


def target_for(
    y: Any,
    table: Table,
    model: Predictor,
    behaviors: Sequence[Behavior],
    labels: Sequence[str] = (),
) -> FloatArray | None:
    """The target as some behaviors need it, (n,) or (n, outputs); None where none of them does.

    Parameters
    ----------
    y : array-like or None
        The user's target.
    table : Table
        The rows it belongs to.
    model : Predictor
    behaviors : sequence of Behavior
        One for each question.
    labels : sequence of str
        What the user calls the question of each behavior, for the message about a target that is missing.
    """
    needing = [place for place, behavior in enumerate(behaviors) if behavior.needs_y]
    label = "a question about risk"
    if needing and labels:
        label = labels[needing[0]]
    probability_loss = None
    for behavior in behaviors:
        probability_loss = probability_loss or behavior.needs_probability
    return read_target(y, table, model, bool(needing), probability_loss, needed_by=label)


def _model_on(table: Table, settings: Settings, record: Diagnostics) -> Predictor:
    """The model as it answers about this table; refused where a partitioner cannot read all of its outputs."""
    model = for_table(
        settings.model,
        table,
        settings.output,
        response=settings.response,
        batch_size=settings.resources.batch_size,
        n_jobs=settings.n_jobs,
        device=settings.resources.device,
        block=settings.resources.block,
        record=record,
    )
    reads_all_outputs = isinstance(settings.partitioner, Tree | GivenRules | OwnPartitioner)
    if model.outputs and not reads_all_outputs:
        name = type(settings.partitioner).__name__
        raise InputError(
            f"{name} reads the effects of one output, not of all.",
            code="P03",
            argument="output",
            hint="Name one output, or leave partitioner out.",
        )
    return model


def _given_holdout(
    holdout: Sequence[Any],
    table: Table,
    missing: bool,
    model: Predictor,
    behaviors: Sequence[Behavior],
) -> Rows:
    """The rows that a user holds out, (X, y) or (X, y, clusters); too few, or those of the fit, are refused."""
    X, y = holdout[:2]
    clusters = holdout[2] if len(holdout) == 3 else None
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
    return Rows.of(
        held_out,
        target_for(y, held_out, model, behaviors),
        np.ones(held_out.n_rows),
        read_clusters(clusters, held_out, "holdout"),
        in_fixed_order=False,
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


def lacking_clusters_warning(remedy: str) -> str:
    """The warning about rows without clusters, where the fit was given some (D47).

    Parameters
    ----------
    remedy : str
        The call that passes them.
    """
    return (
        "D47: the fit was given clusters and these rows have none: they count as independent rows, so that "
        f"the interval is too narrow where rows belong together. Pass {remedy}."
    )

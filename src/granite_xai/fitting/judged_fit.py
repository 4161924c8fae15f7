"""A whole fit: rows are chosen, some search for regions, others judge them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.errors import DataWarning, Diagnostics
from granite_xai.base.typing import FloatArray
from granite_xai.compute import Meter, require_evaluations
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.evaluations.probe import probe
from granite_xai.fitting.cost import FitCost, cost_of_fit, plan_facts
from granite_xai.fitting.fit_inputs import FitInputs
from granite_xai.fitting.fit_request import require_memory
from granite_xai.fitting.fit_result import FitRun
from granite_xai.fitting.inputs import OpenInputs
from granite_xai.fitting.judgement import (
    Judgement,
    judge_by_held_out_rows,
    judge_by_search_rows,
    trees_of_folds,
)
from granite_xai.fitting.new_rows import NewRows
from granite_xai.fitting.pipeline import run
from granite_xai.fitting.row_choice import (
    choose_rows,
    few_rows_notice,
    n_judging_rows,
)
from granite_xai.fitting.rows import RowChoice
from granite_xai.fitting.table_rows import TableRows
from granite_xai.inference.node_measures import with_levels_of
from granite_xai.trees.ensembles import Route

# Why so many rows are used.
AS_ASKED = "as asked"
ALL_ROWS = "all rows"
BUDGET = "max_evaluations"


def fit_and_judge(opened: OpenInputs, record: Diagnostics, *, is_judged: bool = True) -> FitRun:
    """Search on some rows and judge on others.

    Parameters
    ----------
    opened : OpenInputs
    record : Diagnostics
        Gets what is noted on the way, such as which rows were used, and why so many.
    is_judged : bool
        Whether anybody reads what the regions leave;
    """
    choice = choose_rows(opened)
    notice = few_rows_notice(opened, choice)
    if notice is not None:
        record.warn(notice, DataWarning)
    record.note("rows", _rows_on_record(opened, choice))
    return _fit_rows(opened, choice, record, is_judged=is_judged)


def plan_fit(opened: OpenInputs, record: Diagnostics) -> dict[str, Any]:
    """What a fit would do, before it is done; the model is asked about a few rows, for its speed."""
    choice = choose_rows(opened)
    inputs = opened.resolve(choice.search_rows, record)
    cost = _allowed_cost(opened, inputs, choice)
    require_memory(inputs)
    probed = probe(inputs.predictor, inputs.table, record)
    return plan_facts(
        inputs,
        cost,
        n_held_out=len(choice.held_out_rows),
        n_available=opened.rows.table.n_rows,
        seconds_per_row=probed.seconds_per_row,
    )


def _rows_on_record(opened: OpenInputs, choice: RowChoice) -> dict[str, Any]:
    """Which rows of the user's table searched and which were held out, and why so many."""
    positions = opened.rows.positions
    return {
        "search": np.sort(positions[choice.search_rows]).tolist(),
        "held_out": np.sort(positions[choice.held_out_rows]).tolist(),
        "available": opened.rows.n_weighted,
        "reason": _reason(opened, choice),
    }


def _reason(opened: OpenInputs, choice: RowChoice) -> str:
    """Why so many rows are used."""
    if not opened.budget_decides:
        return AS_ASKED
    if choice.n_rows == opened.rows.n_weighted:
        return ALL_ROWS
    return BUDGET


def _allowed_cost(opened: OpenInputs, inputs: FitInputs, choice: RowChoice) -> FitCost:
    """The cost of a fit, unless it exceeds the user's budget of model rows (M13)."""
    n_judging = n_judging_rows(opened, choice)
    cost = cost_of_fit(inputs, n_judging)
    if opened.options.confidence is None or cost.model_rows <= opened.budget:
        return cost
    # A larger budget has a larger pilot: the one that the refusal names shall do.
    enough = cost.model_rows
    needed = cost_of_fit(replace(inputs, budget=enough), n_judging).model_rows
    while needed > enough:
        enough = needed
        needed = cost_of_fit(replace(inputs, budget=enough), n_judging).model_rows
    require_evaluations(opened.options.resources, enough)
    return cost


def _fit_rows(
    opened: OpenInputs,
    choice: RowChoice,
    record: Diagnostics,
    *,
    is_judged: bool = True,
) -> FitRun:
    """One fit on some rows, judged on others.

    Parameters
    ----------
    opened : OpenInputs
    choice : RowChoice
        The rows that search and those that are held out.
    record : Diagnostics
    is_judged : bool
        Whether anybody reads what the regions leave.
    """
    inputs = opened.resolve(choice.search_rows, record)
    cost = _allowed_cost(opened, inputs, choice)
    plan = plan_facts(
        inputs,
        cost,
        n_held_out=len(choice.held_out_rows),
        n_available=opened.rows.table.n_rows,
        seconds_per_row=0.0,
    )
    n_sent = cost.model_rows
    if inputs.route.trees is not None:  # they answer for the model, but for the pilot and own rows
        n_sent = cost.pilot + inputs.table.n_rows + len(choice.held_out_rows)
    meter = Meter(inputs.resources, n_sent)
    with closing(meter), inputs.predictor.metered(meter):
        fit = run(replace(inputs, plan=plan), meter)
        if is_judged:
            fit = _judge(opened, fit, choice)
        return fit


def _judge(opened: OpenInputs, fit: FitRun, choice: RowChoice) -> FitRun:
    """The fit with what the held-out rows say of its regions; without any, what the rows that searched say."""
    judging_rows = opened.given_holdout
    if len(choice.held_out_rows):
        judging_rows = opened.rows.take(choice.held_out_rows)
    with fit.inputs.diagnostics.stage("estimate"):
        if judging_rows is None or opened.options.confidence is None:
            return _judge_by_search_rows(fit)
        return _judge_by_held_out_rows(fit, judging_rows)


def _judge_by_search_rows(fit: FitRun) -> FitRun:
    trees = trees_of_folds(fit)
    outputs = {}
    for name, output_fit in fit.outputs.items():
        outputs[name] = _with_judgement(output_fit, judge_by_search_rows(output_fit, trees))
    judged = _with_judgement(fit, judge_by_search_rows(fit, trees))
    return _with_outputs(judged, outputs)


def _judge_by_held_out_rows(fit: FitRun, held_out: TableRows) -> FitRun:
    """Ask the model once about the held-out rows; its answers judge all outputs together, and each one."""
    asked_rows = _new_rows(fit, held_out, held_out.y)
    observed = asked_rows.observe(both_sides(fit.result.comparisons))
    regions = fit.result.partition.apply(held_out.table)
    clusters = held_out.clusters
    judgement = judge_by_held_out_rows(asked_rows, regions, clusters, observed)
    outputs = {}
    for number, (name, output_fit) in enumerate(fit.outputs.items()):
        y = held_out.y
        if y is not None:
            y = y[:, number]
        output_rows = _new_rows(output_fit, held_out, y)
        output_judgement = judge_by_held_out_rows(
            output_rows, regions, clusters, observed.of_output(number)
        )
        outputs[name] = _with_judgement(output_fit, output_judgement)
    return _with_outputs(_with_judgement(fit, judgement), outputs)


def _new_rows(fit: FitRun, held_out: TableRows, y: FloatArray | None) -> NewRows:
    """Held-out rows as a fit is asked about them."""
    return NewRows(
        fitted=fit.result,
        route=Route(fit.inputs.predictor, held_out.table),
        y=y,
        resources=fit.inputs.resources,
        weights=held_out.weights,
    )


def _with_judgement(fit: FitRun, judgement: Judgement) -> FitRun:
    """The fit with its estimate and the figures of its nodes; mean predictions are those of the search rows."""
    result = fit.result
    nodes = with_levels_of(
        judgement.nodes,
        result.partition,
        result.regions,
        result.comparisons,
        fit.evaluations,
    )
    return replace(fit, result=replace(result, estimate=judgement.estimate, nodes=nodes))


def _with_outputs(fit: FitRun, outputs: dict[Any, FitRun]) -> FitRun:
    results = {name: output_fit.result for name, output_fit in outputs.items()}
    return replace(fit, result=replace(fit.result, outputs=results), outputs=outputs)

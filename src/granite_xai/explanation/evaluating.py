"""Asking the model about every row of a request once, for all outputs together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from granite_xai.base.errors import Diagnostics
from granite_xai.base.typing import FloatArray
from granite_xai.compute import Meter, Resources, progress, require_evaluations
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.prediction_range import EvaluationRange
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.memory import require_room_for
from granite_xai.explanation.output_evaluator import OutputEvaluator
from granite_xai.explanation.request import EvaluationRequest
from granite_xai.trees.ensembles import Route


def evaluate(
    route: Route,
    requested: EvaluationRequest,
    reference: FittedMaskings,
    *,
    resources: Resources,
    weights: FloatArray,
    y: FloatArray | None,
    n_jobs: int | None = None,
    diagnostics: Diagnostics | None = None,
) -> tuple[Evaluations, EvaluationRange]:
    """Evaluate every row of a request once, after checking that the request fits the limits.

    Parameters
    ----------
    route : Route
        The table, and how its rows are evaluated: by the model or by its trees.
    requested : EvaluationRequest
        What the effects read.
    reference : FittedMaskings
        Bins, baselines, copulas and intervals of the maskings.
    resources : Resources
        The limits.
    weights : array of shape (n,)
        Of the rows.
    y : array of shape (n,) or (n, outputs), optional
        The target, for behaviors that need it.
    n_jobs : int, optional
        Threads of the walks through trees.
    diagnostics : Diagnostics, optional
        Where the way to the evaluations is noted.

    Returns
    -------
    evaluations : Evaluations
        Of the first output, with those of the others.
    extent : EvaluationRange
        The range of all answers.

    Raises
    ------
    ResourceError
        D33: too little memory; M13: too many rows.
    """
    requested = replace(requested, outputs=1 + len(route.others))
    require_room_for(requested, route, resources)
    route = requested.cheaper_route(route)
    by_trees = route.trees is not None
    n_stores = len(requested.kept.stores) + len(requested.streamed.stores)
    n_model_rows = requested.n_model_rows(route.table, recombined=not by_trees)
    require_evaluations(resources, n_model_rows)
    # Either the rows that the model answers are shown, or the matrices that are made from its trees.
    quiet = replace(resources, progress=False)
    shows_rows = not by_trees and not route.predictor.is_metered
    meter = Meter(resources if shows_rows else quiet, n_model_rows)
    with closing(meter), route.predictor.watched(meter):
        evaluators = [
            OutputEvaluator(
                route_of_output,
                replace(requested, output=output),
                reference,
                resources=resources,
                fast=route_of_output.is_worth_compiling(n_stores),
                weights=weights,
                y=_target_of_output(y, output),
                n_jobs=n_jobs,
            )
            for output, route_of_output in enumerate(_output_routes(route))
        ]
        _evaluate_stores(evaluators, requested, shown_by=resources if by_trees else quiet)
        by_output = [evaluator.finish() for evaluator in evaluators]
    if diagnostics is not None:
        diagnostics.note("evaluations", route.note(n_stores))
    extents = [evaluator.extent for evaluator in evaluators]
    extents[0].others = tuple(extents[1:])
    evaluations = replace(by_output[0], others=tuple(by_output[1:]))
    return evaluations, extents[0]


def _evaluate_stores(
    evaluators: Sequence[OutputEvaluator], requested: EvaluationRequest, shown_by: Resources
) -> None:
    """Evaluate all matrices, every output of one before the next: the model's answers are kept no longer."""
    stores = requested.kept.stores
    for store in progress(stores, shown_by, "evaluations", len(stores)):
        for evaluator in evaluators:
            evaluator.keep(store)
    streamed = requested.streamed.stores
    for store in progress(streamed, shown_by, "evaluations", len(streamed)):
        for evaluator in evaluators:
            evaluator.sum_up(store)


def _target_of_output(y: FloatArray | None, output: int) -> FloatArray | None:
    """The target of one output, (n,): its column where outputs have their own."""
    if y is None or y.ndim == 1:
        return y
    return y[:, output]


def _output_routes(route: Route) -> list[Route]:
    """The route of each output: all by trees, or all by the model."""
    if route.trees is not None:
        return [route, *route.others]
    by_model = [route_of_output.by_model(route.reason) for route_of_output in route.others]
    return [route, *by_model]

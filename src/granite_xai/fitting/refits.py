"""The same question asked of other fits of a learner, which shows what depends on its training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray
from granite_xai.base.wording import count
from granite_xai.compute import progress
from granite_xai.explanation.masking.levels import carriers
from granite_xai.fitting.evaluation import evaluate_rows
from granite_xai.fitting.fit_result import FitResult, FitRun
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.judged_fit import fit_and_judge
from granite_xai.fitting.new_rows import NewRows, rows_by_region
from granite_xai.fitting.options import chosen_limits
from granite_xai.inference.confidence import Confidence
from granite_xai.inference.stability import REFITS, RefitCurve, Stability
from granite_xai.inference.tree_agreement import refit_interval, stability_of
from granite_xai.surrogate.additive import fit_surrogate
from granite_xai.surrogate.curves import Curve
from granite_xai.surrogate.grids import grid_codes
from granite_xai.tables import Column, Table

POINTS = 20
"""Values of a column at which curves of refits are compared, at most."""

USUAL_LEVEL = 0.95
"""Level of intervals where the fit has none."""


class PlaceOfCurve(NamedTuple):
    """Where the curve of a column in a region is read."""

    region: int
    column: Column  # with a row for each value


class Refit(NamedTuple):
    """Another fit of the learner, asked the same question on rows that it has not seen."""

    fit: FitRun
    share_left: float  # share of the disagreement that the regions of the first fit leave
    effects: list[FloatArray]  # at each place of a curve, one number a value


def stability_over_refits(g: Any, models: Sequence[tuple[Any, Any, Any]]) -> Stability:
    """Which regions come back for other fits of a learner, and how far curves and shares vary with them.

    Parameters
    ----------
    g : Granite
        Fitted.
    models : sequence of (model, X, y)
        At least two refits, each with rows that it has not seen.

    Raises
    ------
    InputError
        P01, where there are fewer than two.
    """
    if len(models) < 2:
        raise InputError(
            f"models has {count(len(models), 'refit')}; at least two are needed.",
            code="P01",
            argument="models",
            hint="Pass [(model, X, y), …], X unseen by its model.",
        )
    result: FitResult = vars(g)["_fitted"]
    places = _places_of_curves(result)
    measured = []
    for model, X, y in progress(models, chosen_limits(g.resources), "refits", len(models)):
        measured.append(_refit(g, result, places, model, X, y))
    partitions = [refit.fit.result.partition for refit in measured]
    stability = stability_of(
        result.partition,
        result.table,
        pairs=list(combinations(partitions, 2)),
        trees=partitions,
        source=REFITS,
    )
    return _with_learner_intervals(stability, result, places, measured)


def _with_learner_intervals(
    stability: Stability,
    result: FitResult,
    places: Sequence[PlaceOfCurve],
    measured: Sequence[Refit],
) -> Stability:
    """The stability with how far curves, and what the regions leave, vary from refit to refit."""
    confidence = result.confidence or Confidence(USUAL_LEVEL, n_replicates=1, seed=0)
    tables = [refit.fit.inputs.table for refit in measured]
    n_tested = round(float(np.mean([table.n_rows for table in tables])))
    n_trained = _n_training_rows(tables, n_tested)
    curves = []
    for number, place in enumerate(places):
        effects = [refit.effects[number] for refit in measured]
        mean, low, high = refit_interval(effects, n_tested, n_trained, confidence.normal)
        curves.append(
            RefitCurve(
                region=place.region,
                column=place.column.name,
                values=place.column.levels,
                mean=mean,
                low=low,
                high=high,
            )
        )
    shares_left = [refit.share_left for refit in measured]
    mean, low, high = refit_interval(shares_left, n_tested, n_trained, confidence.normal)
    return replace(
        stability,
        refit_curves=tuple(curves),
        remaining=float(mean),
        remaining_low=float(low),
        remaining_high=float(high),
    )


def _places_of_curves(result: FitResult) -> list[PlaceOfCurve]:
    """Every column in every region, at some values of the region's rows."""
    places = []
    for region, rows in rows_by_region(result.regions):
        for position in result.table.explained:
            column = result.table.columns[position].take(rows)
            at_values = column.take(carriers(column, grid_codes(column, POINTS)))
            places.append(PlaceOfCurve(region=region, column=at_values))
    return places


def _refit(
    g: Any, result: FitResult, places: Sequence[PlaceOfCurve], model: Any, X: Any, y: Any
) -> Refit:
    """Search with another model on rows that it has not seen, and look at the regions of the first fit there."""
    granite = clone(g).set_params(model=model, holdout=False, max_samples=None)
    opened = open_inputs(granite, X, y, None, None, Diagnostics())
    fit = fit_and_judge(opened, Diagnostics(), is_judged=False)
    first_regions = replace(result, predictor=opened.predictor, floors=fit.result.floors)
    rows = NewRows(
        fitted=first_regions,
        route=fit.inputs.route,
        y=fit.inputs.y,
        resources=opened.options.resources,
    )
    evaluation = evaluate_rows(rows, result.partition.apply(fit.inputs.table))
    share_left = evaluation.remaining
    if evaluation.estimate is not None:
        share_left = evaluation.estimate.remaining
    return Refit(fit=fit, share_left=share_left, effects=_effects_at(fit, result, places))


def _effects_at(fit: FitRun, result: FitResult, places: Sequence[PlaceOfCurve]) -> list[FloatArray]:
    """Curves of a refit in the regions of the first fit; nan where nothing is known of a value."""
    table = fit.inputs.table
    regions = result.partition.apply(table)
    rows_of_regions = [np.flatnonzero(regions == k) for k in range(len(result.partition))]
    players = tuple(frozenset({position}) for position in table.explained)
    surrogate = fit_surrogate(
        table, fit.surrogate_evaluations.value, players, 1, rows_of_regions, centred=False
    )
    curves = list[Curve]()
    for region_surrogate in surrogate.regions:
        curves += region_surrogate.curves
    effects = []
    for place, curve in zip(places, curves, strict=True):
        is_known = np.isin(place.column.levels, curve.column.levels)
        if place.column.is_ordered:  # between known values a curve is interpolated
            is_known[:] = True
        if len(rows_of_regions[place.region]) == 0:
            is_known[:] = False
        effects.append(np.where(is_known, curve.at(place.column), np.nan))
    return effects


def _n_training_rows(tables: Sequence[Table], n_tested: int) -> int:
    """Rows that each refit was trained with, as far as the rows of the tests tell.

    As in cross-validation, a refit has seen the rows that the others were tested on and it was not. Where all were
    tested on the same rows, it is taken to have seen as many as it was tested on. Rows that repeat others count once.

    Parameters
    ----------
    tables : sequence of Table
        The rows that each refit was tested on.
    n_tested : int
        Rows of a test, on average.
    """
    by_table = [_distinct_rows(table) for table in tables]
    n_distinct_tested = round(float(np.mean([len(rows) for rows in by_table])))
    n_others = len(set().union(*by_table)) - n_distinct_tested
    if n_others == 0:  # all refits were tested on the same rows
        return n_tested
    return n_others


def _distinct_rows(table: Table) -> set[tuple[Any, ...]]:
    columns = []
    for column in table.columns:
        levels = [*column.levels.tolist(), None]  # the code of a missing value is -1
        columns.append([levels[code] for code in column.codes.tolist()])
    return set(zip(*columns, strict=True))

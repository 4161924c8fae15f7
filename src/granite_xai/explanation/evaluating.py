"""Asking the model: every row of a request once, and what its answers become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import ModelError
from granite_xai.base.typing import AleColumn, Coalition, FloatArray, PairwiseShapley
from granite_xai.compute import Meter, Resources, progress, require_evaluations
from granite_xai.compute.compiled import available
from granite_xai.compute.primitives import NUMPY, ArrayNamespace
from granite_xai.evaluations.ale_predictions import AlePredictions
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.evaluations.distinct_values import DistinctValues, lowest_and_highest
from granite_xai.evaluations.evaluations import Evaluations, GridColumn, working_block
from granite_xai.evaluations.matrix import Matrix, read_cells
from granite_xai.evaluations.prediction_range import EvaluationRange, require_at_most
from granite_xai.evaluations.request import MatrixRequest
from granite_xai.evaluations.row_bins import Bins
from granite_xai.evaluations.sampling_errors import SamplingErrors
from granite_xai.evaluations.shapley_sums import ShapleySums
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.fitted import FittedMaskings, Reading
from granite_xai.explanation.memory import require_room_for
from granite_xai.explanation.request import EvaluationRequest
from granite_xai.trees.routes import Route


def evaluate(
    route: Route,
    requested: EvaluationRequest,
    reference: FittedMaskings,
    *,
    resources: Resources,
    weights: FloatArray,
    y: FloatArray | None,
    n_jobs: int | None = None,
    coordinates: Coordinates | None = None,
    diagnostics: Diagnostics | None = None,
) -> tuple[Evaluations, EvaluationRange]:
    """Evaluate every planned row once, after checking that the plan fits the limits.

    Parameters
    ----------
    route : Route
        The table, and how its rows are evaluated: by the model or by its trees.
    requested : EvaluationRequest
        What the effects read.
    reference : FittedMaskings
        Bins, baselines, copulas and intervals of the maskings.
    weights : (n,) array
        Of the rows.
    y : (n,) or (n, outputs) array, optional
        The target, for behaviors that need it.
    coordinates : Coordinates, optional
        Where the rows lie among others; None: among themselves.
    """
    requested = replace(requested, outputs=1 + len(route.others))
    require_room_for(requested, route, resources)
    route = requested.route(route)
    by_trees = route.trees is not None
    n_stores = len(requested.kept.stores) + len(requested.streamed.stores)
    if diagnostics is not None:
        diagnostics.note("evaluations", route.note(n_stores))
    rows = requested.rows(route.table, recombined=not by_trees)
    require_evaluations(resources, rows)
    # Either the rows that the model answers are shown, or the matrices that are made from its trees.
    quiet = replace(resources, progress=False)
    shows_rows = not by_trees and not route.predictor.is_metered
    meter = Meter(resources if shows_rows else quiet, rows)
    shows_matrices = resources if by_trees else quiet
    with closing(meter), route.predictor.watched(meter):
        evaluators = [
            _OutputEvaluator(
                own_route,
                replace(requested, output=output),
                reference,
                resources=resources,
                fast=own_route.is_worth_compiling(n_stores),
                weights=weights,
                y=y if y is None or y.ndim == 1 else y[:, output],
                n_jobs=n_jobs,
            )
            for output, own_route in enumerate(_output_routes(route))
        ]
        # All outputs of a store before the next one: the model's answers are kept no longer.
        kept = requested.kept.stores
        for store in progress(kept, shows_matrices, "evaluations", len(kept)):
            for evaluator in evaluators:
                evaluator.keep(store)
        streamed = requested.streamed.stores
        for store in progress(streamed, shows_matrices, "evaluations", len(streamed)):
            for evaluator in evaluators:
                evaluator.sum_up(store)
        of_outputs = [evaluator.finish(coordinates) for evaluator in evaluators]
    extents = [evaluator.extent for evaluator in evaluators]
    extents[0].others = tuple(extents[1:])
    evaluations = replace(of_outputs[0], others=tuple(of_outputs[1:]))
    return evaluations, extents[0]


def _output_routes(route: Route) -> list[Route]:
    """The route of each output: all by trees, or all by the model."""
    if route.trees is not None:
        return [route, *route.others]
    return [route, *(further.by_model(route.reason) for further in route.others)]


class _OutputEvaluator:
    """The evaluations of one output: its predictions, then store by store, then what else is read."""

    def __init__(
        self,
        route: Route,
        requested: EvaluationRequest,
        reference: FittedMaskings,
        *,
        resources: Resources,
        fast: bool,
        weights: FloatArray,
        y: FloatArray | None,
        n_jobs: int | None,
    ) -> None:
        self.route = route
        self.requested = requested
        self.reference = reference
        self.weights = weights
        self.y = y
        self.n_jobs = n_jobs
        self.block = resources.block
        self.everything: Coalition = frozenset(range(route.table.n_columns))
        device_model = requested.device_model(route, resources)
        self.primitives: (
            ArrayNamespace | None
        )  # of the device where evaluations are; None: the host
        self.matrix_of: Callable[..., Any]  # the predictions of recombined rows, (values, rows)
        if device_model is None:
            self.primitives = None
            self.matrix_of = partial(route.matrix, fast=fast, block=self.block, n_jobs=n_jobs)
            predictions = route.predictions(fast, self.block)
        else:
            self.primitives = device_model.primitives
            self.matrix_of = device_model.matrix
            predictions = device_model.primitives.host(device_model.predictions())
        self.extent = EvaluationRange()
        self.extent.note_values(predictions)
        if y is not None:
            require_at_most("y reaches", float(np.max(np.abs(y))))
        self.offset = float(np.average(predictions, weights=weights))
        self.predictions = predictions - self.offset
        self.matrices: dict[Coalition, Matrix] = {}
        summed = {
            term: terms for term, terms in requested.attributions.items() if term.kind != "paths"
        }
        self.shapley_sums = ShapleySums(summed, self.predictions, self.everything, self.block)
        self.sampling_errors: SamplingErrors | None = None
        if requested.draws:
            self.sampling_errors = SamplingErrors(self.predictions, weights, self.everything)

    def keep(self, store: Coalition) -> None:
        """Evaluate a matrix that the engine reads."""
        matrix = self._evaluated(store, self.requested.kept)
        self._add(store, matrix)
        self.matrices[store] = matrix

    def sum_up(self, store: Coalition) -> None:
        """Evaluate a matrix that is only summed up into attributions."""
        self._add(store, self._evaluated(store, self.requested.streamed))

    def _add(self, store: Coalition, matrix: Matrix) -> None:
        self.shapley_sums.add(store, matrix)
        if self.sampling_errors is not None:
            self.sampling_errors.add(store, matrix)

    def _evaluated(self, store: Coalition, plan: MatrixRequest) -> Matrix:
        """``E_S``, centred by the offset."""
        distinct = plan.stores[store]
        values = self.extent.note_values(self.matrix_of(store, distinct), self.primitives)
        values -= self.offset
        # A row with its own values is the row itself: the diagonal is compared with the predictions.
        carriers = np.arange(plan.n_rows) if distinct.levels is None else distinct.representatives
        diagonal = read_cells(values, distinct.codes[carriers], carriers, self.primitives)
        self.extent.note_change(diagonal, self.predictions[carriers])
        matrix = Matrix(values, distinct.codes, distinct.levels)
        on_grid = distinct.levels is not None
        if on_grid or store in plan.binned or self.primitives is not None:
            return matrix
        return matrix.join_equal_lines()  # values that neither the model nor bins tell apart

    def finish(self, coordinates: Coordinates | None) -> Evaluations:
        """Ask for all that is read besides the stores."""
        requested = self.requested
        table = self.route.table
        bins = self.reference.bins_of(requested.readings, table)
        against = {key: self._against(*key) for key in requested.against}
        attributions = self.shapley_sums.values | self._by_paths(requested.attributions)
        errors = {}
        if self.sampling_errors is not None:
            errors = {
                term: self.sampling_errors.errors(draws) for term, draws in requested.draws.items()
            }
        if requested.coordinates and coordinates is None:
            coordinates = Coordinates.of(table)
        return Evaluations(
            predictions=self.predictions,
            weights=self.weights,
            offset=self.offset,
            y=self.y,
            stored_as=requested.kept.stored_as,
            matrices=self.matrices,
            bins=bins,
            densities=self.reference.densities_of(requested.readings, table),
            against=against,
            snapped={
                columns: self._snapped(columns, grid, bins, against)
                for columns, grid in requested.snapped.items()
            },
            attributions={
                term: Matrix(phi, np.arange(table.n_rows)) for term, phi in attributions.items()
            },
            ale={column: self._ale_predictions(column) for column in requested.changes},
            errors=errors,
            sampled={
                key: self._drawn(*key, distinct) for key, distinct in requested.sampled.items()
            },
            everything=self.everything,
            block=working_block(self.primitives, self.block),
            coordinates=coordinates if requested.coordinates else None,
            primitives=self.primitives,
        )

    def _snapped(
        self,
        columns: Coalition,
        grid: DistinctValues,
        bins: Mapping[Reading, Bins],
        against: Mapping[Reading, FloatArray],
    ) -> GridColumn:
        """A column on its grid: every row is given what the row that carries its grid value has."""
        matrix = self.matrices[columns]
        carrier = grid.representatives[grid.codes]
        cells = self.requested.value_cells.get(min(columns))
        fine = None
        at_ends = None
        # Values that a pilot chose stand for what the model does there, not for who is alike: rows stay in their bins.
        moved_bins = {}
        if cells is None:
            moved_bins = {
                key: Bins.of(row_bins.numbers[carrier])
                for key, row_bins in bins.items()
                if key[1] == columns
            }
            end_values = lowest_and_highest(self.route.table, min(columns))
            at_ends = (self.primitives or NUMPY).host(self.matrix_of(columns, end_values))
            self.extent.note_values(at_ends)
            at_ends = at_ends - self.offset
        elif cells.curves and self.route.table.columns[min(columns)] is cells.column:
            fine = cells.curves[self.requested.output]
        return GridColumn(
            predictions=read_cells(
                matrix.values, matrix.codes, np.arange(len(carrier)), self.primitives
            ),
            ends=at_ends,
            fine=fine,
            bins=moved_bins,
            against={
                key: values[:, carrier] for key, values in against.items() if key[1] == columns
            },
        )

    def _drawn(self, masking: Masking, visible: Coalition, distinct: DistinctValues) -> Matrix:
        """``F`` at the visible values with hidden ones drawn by a copula, centred."""
        values = self.reference.copulas[masking].predictions(
            self.route.predictor, self.route.table, visible, distinct.representatives
        )
        return Matrix(self.extent.note_values(values) - self.offset, distinct.codes)

    def _by_paths(self, terms: Iterable[PairwiseShapley]) -> dict[PairwiseShapley, FloatArray]:
        """Attributions from the paths of the trees, all sets of the same players in one walk."""
        attributions: dict[PairwiseShapley, FloatArray] = {}
        by_paths = [term for term in terms if term.kind == "paths"]
        for players in dict.fromkeys(term.players for term in by_paths):
            of_players = [term for term in by_paths if term.players == players]
            if self.route.trees is None:
                text = f"exact attributions were planned from the model's trees, but {self.route.reason}."
                hint = "Fit again: the model or the kind of table has changed."
                raise ModelError(text, code="M23", argument="model", hint=hint)
            places = [players.index(term.members[0]) for term in of_players]
            values = self.route.trees.attributions(
                players, places, fast=available(), n_jobs=self.n_jobs, block=self.block
            )
            attributions.update(zip(of_players, values, strict=True))
        return attributions

    def _against(self, masking: Masking, visible: Coalition) -> FloatArray:
        """``F(x_T, b)`` of every row, a line for each reference row b, evaluated once for each distinct value of T."""
        table = self.route.table
        references = self.reference.baselines[masking]
        codes = np.zeros(table.n_rows, dtype=np.intp)
        carriers = np.zeros(1, dtype=np.intp)
        if visible:
            codes, carriers = table.distinct(sorted(visible))
        base = np.repeat(np.arange(references.n_rows), len(carriers))
        donors = np.tile(carriers, references.n_rows)
        values = self.route.predictor.recombined(references, base, table, donors, sorted(visible))
        values = values.reshape(references.n_rows, -1)[:, codes]
        return np.asarray(self.extent.note_values(values) - self.offset)

    def _ale_predictions(self, column: AleColumn) -> AlePredictions:
        """The predictions of each row along a column; none for nominal and constant columns."""
        table = self.route.table
        intervals = self.reference.steps.get(column)
        position = column.column
        if intervals is None:
            nowhere = np.zeros(table.n_rows, dtype=np.intp)
            return AlePredictions(
                edges=nowhere[:1], places=nowhere - 1, starts=nowhere, values=np.zeros(0)
            )
        places, first, counts = intervals.points(table.columns[position])
        rows = np.repeat(np.arange(table.n_rows), counts)
        starts = np.cumsum(counts) - counts - first
        donors = np.arange(len(rows)) - starts[rows]
        values = self.extent.note_values(
            self.route.predictor.recombined(table, rows, intervals.ends, donors, [position])
        )
        edges = np.searchsorted(intervals.parts, intervals.edges)
        return AlePredictions(edges=edges, places=places, starts=starts, values=values)

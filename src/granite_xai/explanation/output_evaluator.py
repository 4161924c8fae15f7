"""The evaluations of one output: predictions and matrices ``E_S``, centred by the mean prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from granite_xai.base.errors import ModelError
from granite_xai.base.typing import AleColumn, Coalition, FloatArray, IntArray, PairwiseShapley
from granite_xai.compute import Resources
from granite_xai.compute.compiled import available
from granite_xai.evaluations.ale_predictions import AlePredictions
from granite_xai.evaluations.distinct_values import DistinctValues, lowest_and_highest
from granite_xai.evaluations.evaluations import Evaluations, GridColumn
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.prediction_range import EvaluationRange, require_at_most
from granite_xai.evaluations.request import MatrixRequest
from granite_xai.evaluations.row_bins import Bins
from granite_xai.evaluations.sampling_errors import SamplingErrors
from granite_xai.evaluations.shapley_sums import ShapleySums
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.fitted import FittedMaskings, Reading
from granite_xai.explanation.request import EvaluationRequest
from granite_xai.trees.ensembles import Route


class OutputEvaluator:
    """Asks for the predictions when it is made, then store by store, at last for what else is read.

    Parameters
    ----------
    route : Route
        The table, and how its rows are evaluated, for this output.
    requested : EvaluationRequest
    reference : FittedMaskings
    resources : Resources
    fast : bool
        Whether trees are walked by compiled loops.
    weights : array of shape (n,)
        Of the rows.
    y : array of shape (n,), optional
        The target of this output.
    n_jobs : int, optional
        Threads of the walks through trees.
    """

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
        # From a store and its distinct values to predictions of recombined rows, (values, rows).
        self.matrix_of: Callable[..., Any]
        if device_model is None:
            self.matrix_of = partial(route.matrix, fast=fast, block=self.block, n_jobs=n_jobs)
            predictions = route.predictions(self.block)
        else:
            self.matrix_of = device_model.matrix
            predictions = device_model.predictions()
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

    def _evaluated(self, store: Coalition, matrices: MatrixRequest) -> Matrix:
        """``E_S``, centred by the offset."""
        distinct = matrices.stores[store]
        values = self.extent.note_values(self.matrix_of(store, distinct))
        values -= self.offset
        # A row with its own values is the row itself: its cell is compared with its prediction. On a grid only the
        # rows that carry a grid value have a line of their own.
        on_grid = distinct.levels is not None
        carriers = distinct.representatives if on_grid else np.arange(matrices.n_rows)
        diagonal = values[distinct.codes[carriers], carriers]
        self.extent.note_change(diagonal, self.predictions[carriers])
        matrix = Matrix(values, distinct.codes, distinct.levels)
        if on_grid or store in matrices.binned:
            return matrix
        return matrix.join_equal_lines()  # values that neither the model nor bins tell apart

    def finish(self) -> Evaluations:
        """Ask for all that is read besides the stores."""
        requested = self.requested
        table = self.route.table
        bins = self.reference.bins_of(requested.readings, table)
        against = {reading: self._against(*reading) for reading in requested.against}
        grid_columns = {}
        for columns, grid in requested.grid_columns.items():
            grid_columns[columns] = self._grid_column(columns, grid, bins, against)
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
            snapped=grid_columns,
            attributions=self._attributions(),
            ale={column: self._ale_predictions(column) for column in requested.changes},
            errors=self._errors(),
            everything=self.everything,
            block=self.block,
        )

    def _attributions(self) -> dict[PairwiseShapley, Matrix]:
        """Attributions of all rows against all rows: summed over coalitions, or from the paths of trees."""
        values = self.shapley_sums.values | self._by_paths(self.requested.attributions)
        every_row = np.arange(self.route.table.n_rows)
        return {attribution: Matrix(phi, every_row) for attribution, phi in values.items()}

    def _errors(self) -> dict[PairwiseShapley, FloatArray]:
        """Standard errors of sampled attributions."""
        if self.sampling_errors is None:
            return {}
        errors = {}
        for attribution, draws in self.requested.draws.items():
            errors[attribution] = self.sampling_errors.errors(draws)
        return errors

    def _grid_column(
        self,
        columns: Coalition,
        grid: DistinctValues,
        bins: Mapping[Reading, Bins],
        against: Mapping[Reading, FloatArray],
    ) -> GridColumn:
        """A column on its grid: every row is given what the row that carries its grid value has."""
        carrier = grid.representatives[grid.codes]
        matrix = self.matrices[columns]
        every_row = np.arange(len(carrier))
        predictions = matrix.values[matrix.codes, every_row]
        moved_against = {}
        for (masking, visible), values in against.items():
            if visible == columns:
                moved_against[masking, visible] = values[:, carrier]
        cells = self.requested.value_cells.get(min(columns))
        if cells is None:
            return GridColumn(
                predictions=predictions,
                ends=self._at_ends(columns),
                fine=None,
                bins=_moved_bins(bins, columns, carrier),
                against=moved_against,
            )
        # A pilot chose the values by what the model does. They do not say which rows are alike, so that rows stay in
        # their bins; and it asked about the ends of the column, so that `fine` reaches to them.
        fine = None
        if cells.curves and self.route.table.columns[min(columns)] is cells.column:
            fine = cells.curves[self.requested.output]
        return GridColumn(
            predictions=predictions, ends=None, fine=fine, bins={}, against=moved_against
        )

    def _at_ends(self, columns: Coalition) -> FloatArray:
        """``E_S`` at the lowest and the highest value of a column, (2, n)."""
        end_values = lowest_and_highest(self.route.table, min(columns))
        at_ends = self.matrix_of(columns, end_values)
        self.extent.note_values(at_ends)
        return np.asarray(at_ends - self.offset)

    def _by_paths(self, terms: Iterable[PairwiseShapley]) -> dict[PairwiseShapley, FloatArray]:
        """Attributions from the paths of the trees, all sets of the same players in one walk."""
        by_players: dict[tuple[Coalition, ...], list[PairwiseShapley]] = {}
        for term in terms:
            if term.kind == "paths":
                by_players.setdefault(term.players, []).append(term)
        if not by_players:
            return {}
        trees = self.route.trees
        if trees is None:
            raise ModelError(
                f"exact attributions were planned from the model's trees, but {self.route.reason}.",
                code="M23",
                argument="model",
                hint="Fit again: the model or the kind of table has changed.",
            )
        attributions: dict[PairwiseShapley, FloatArray] = {}
        for players, terms_of_players in by_players.items():
            places = [players.index(term.members[0]) for term in terms_of_players]
            values = trees.attributions(
                players, places, fast=available(), n_jobs=self.n_jobs, block=self.block
            )
            attributions.update(zip(terms_of_players, values, strict=True))
        return attributions

    def _against(self, masking: Masking, visible: Coalition) -> FloatArray:
        """``F(x_T, b)`` of every row, a line for each reference row b, evaluated once for each distinct value of T."""
        table = self.route.table
        references = self.reference.baselines[masking]
        if visible:
            codes, carriers = table.distinct(sorted(visible))
        else:  # all rows are alike
            codes = np.zeros(table.n_rows, dtype=np.intp)
            carriers = np.zeros(1, dtype=np.intp)
        base = np.repeat(np.arange(references.n_rows), len(carriers))
        donors = np.tile(carriers, references.n_rows)
        values = self.route.predictor.recombined(references, base, table, donors, sorted(visible))
        values = values.reshape(references.n_rows, -1)[:, codes]
        return np.asarray(self.extent.note_values(values) - self.offset)

    def _ale_predictions(self, column: AleColumn) -> AlePredictions:
        """The predictions of each row along a column; none for nominal and constant columns."""
        table = self.route.table
        intervals = self.reference.steps.get(column)
        if intervals is None:
            nowhere = np.zeros(table.n_rows, dtype=np.intp)
            return AlePredictions(
                edges=nowhere[:1], places=nowhere - 1, starts=nowhere, values=np.zeros(0)
            )
        places, first, counts = intervals.points(table.columns[column.column])
        rows = np.repeat(np.arange(table.n_rows), counts)
        # Predictions of a row follow each other from its first point on; a start is where point 0 would stand.
        starts = np.cumsum(counts) - counts - first
        points = np.arange(len(rows)) - starts[rows]
        values = self.route.predictor.recombined(
            table, rows, intervals.ends, points, [column.column]
        )
        return AlePredictions(
            edges=intervals.edge_points,
            places=places,
            starts=starts,
            values=self.extent.note_values(values),
        )


def _moved_bins(
    bins: Mapping[Reading, Bins], columns: Coalition, carrier: IntArray
) -> dict[Reading, Bins]:
    """The bins of a column where every row has the bin of the row that carries its grid value."""
    moved = {}
    for (masking, visible), row_bins in bins.items():
        if visible == columns:
            moved[masking, visible] = Bins.of(row_bins.numbers[carrier])
    return moved

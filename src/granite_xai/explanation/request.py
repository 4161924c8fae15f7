"""What a list of effects asks of the model on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from math import isqrt

from granite_xai.base.coalitions import union
from granite_xai.base.typing import AleColumn, Coalition, IntArray, PairwiseShapley, Terms
from granite_xai.compute import Resources
from granite_xai.compute.device import arrays_on
from granite_xai.evaluations.device_model import DeviceModel
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.request import MatrixRequest, request_matrices
from granite_xai.evaluations.value_cells import ValueCells
from granite_xai.evaluations.value_grid import ValueGrid, Values
from granite_xai.explanation.grid_support import require_grid_support
from granite_xai.explanation.masking.accumulated import fit_intervals
from granite_xai.explanation.masking.fitted import Reading
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.tables import Table
from granite_xai.trees.ensembles import Route

MAX_CHECKED_ROWS = 200  # rows on which exact gaps are computed beside those on a grid
BYTES_OF_NUMBER = 8


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationRequest:
    """What a list of effects asks of the model on one table.

    Parameters
    ----------
    effects : sequence of ResolvedExplainer
    kept : MatrixRequest
        Matrices that the engine reads.
    streamed : MatrixRequest
        Matrices that are only summed up into attributions.
    against : set of (masking, coalition)
        Readings against the reference rows of their masking.
    readings : set of (masking, coalition)
        All masked models that are read.
    binned : set of (masking, coalition)
        Those that put the rows into bins, or weigh them.
    outputs : int
        Outputs that are evaluated, each with matrices of its own.
    value_cells : mapping of int to ValueCells
        Values that a pilot chose, by column.
    output : int
        Number of the output that is evaluated.
    grid_size : int
        Values of a grid, at most; 0: no column is on a grid.
    """

    effects: Sequence[ResolvedExplainer]
    kept: MatrixRequest
    streamed: MatrixRequest
    against: set[Reading]
    readings: set[Reading]
    binned: AbstractSet[Reading] = frozenset()
    outputs: int = 1
    value_cells: Mapping[int, ValueCells] = field(default_factory=dict)
    output: int = 0
    grid_size: int = 0

    def n_model_rows(self, table: Table, recombined: bool = True) -> int:
        """Number of rows that are sent to the model.

        Parameters
        ----------
        table : Table
        recombined : bool
            Whether the model answers recombined rows, too; otherwise its trees give these.
        """
        total = table.n_rows + self._n_baseline_rows(table) + self._n_step_rows(table)
        if recombined:
            total += self.kept.n_model_rows + self.streamed.n_model_rows
        if recombined and not self.value_cells:
            # The ends of the columns on a grid of quantiles, and the exact gaps of a few rows.
            total += 2 * table.n_rows * len(self.grid_columns)
            total += self.n_checked_rows**2 * len(self.kept.stores)
        return total

    def _n_baseline_rows(self, table: Table) -> int:
        """Rows whose hidden columns are those of a baseline: one for each distinct visible value."""
        total = 0
        for masking, visible in self.against:
            n_values = 1
            if visible:
                _, representatives = table.distinct(sorted(visible))
                n_values = len(representatives)
            total += masking.n_references * n_values
        return total

    def _n_step_rows(self, table: Table) -> int:
        """Rows that move along a column, for accumulated effects."""
        total = 0
        for column in self.changes:
            intervals = fit_intervals(column, table)
            if intervals is not None:
                _, _, n_points = intervals.points(intervals.fitted)
                total += int(n_points.sum())
        return total

    def cheaper_route(self, route: Route) -> Route:
        """The route that costs less for these matrices: by trees, as given, or by the model itself.

        What comes from the paths of trees leaves no choice.
        """
        if any(attribution.kind == "paths" for attribution in self.attributions):
            return route
        return route.for_requests(self.kept, self.streamed)

    @property
    def grid_columns(self) -> dict[Coalition, DistinctValues]:
        """The columns on a grid, with its values."""
        return {
            columns: distinct
            for columns, distinct in self.kept.stores.items()
            if distinct.levels is not None
        }

    @property
    def n_checked_rows(self) -> int:
        """Rows whose exact gaps are computed beside those on a grid: as many as cost no more than the fit."""
        if not self.grid_columns:
            return 0
        affordable = isqrt(self.kept.n_model_rows // len(self.kept.stores))
        return min(MAX_CHECKED_ROWS, self.kept.n_rows, affordable)

    @property
    def changes(self) -> set[AleColumn]:
        """Columns whose changes across intervals are read."""
        return set().union(*(effect.changes() for effect in self.effects))

    @property
    def n_bytes(self) -> int:
        """Memory of the matrices that are kept."""
        n_attributed = len(self.attributions) * self.kept.n_rows**2
        n_numbers = self.kept.n_model_rows + n_attributed
        return BYTES_OF_NUMBER * self.outputs * n_numbers

    def device_model(self, route: Route, resources: Resources) -> DeviceModel | None:
        """The model on a device; None: on the host."""
        if self.outputs > 1 or resources.device == "cpu" or route.trees is not None:
            return None
        return route.device_model(arrays_on(resources.device))

    @property
    def attributions(self) -> dict[PairwiseShapley, Terms]:
        """The attributions wanted, and the coalitions each sums up (none for those read from paths)."""
        attributions: dict[PairwiseShapley, Terms] = {}
        for effect in self.effects:
            attributions.update(effect.attributions)
        return attributions

    @property
    def draws(self) -> dict[PairwiseShapley, list[Terms]]:
        """For sampled attributions, the coalitions of each draw."""
        draws = {}
        for effect in self.effects:
            if effect.draws:
                for place, attribution in enumerate(effect.attributions):
                    draws[attribution] = [draw[place] for draw in effect.draws]
        return draws


def request(
    table: Table,
    effects: Sequence[ResolvedExplainer],
    further: AbstractSet[Coalition] = frozenset(),
    values: Values = None,
    cells: IntArray | None = None,
) -> EvaluationRequest:
    """What some effects ask of the model, together.

    Parameters
    ----------
    table : Table
    effects : sequence of ResolvedExplainer
    further : set of coalitions
        Further sets that are evaluated.
    values : int, LearnedValues or None
        Values that stand for a column (C22); None: all.
    cells : array of shape (n_rows, n_columns), optional
        Values with the same number are one to the model, and evaluated once.
    """
    read = _read_together(effects, everything=frozenset(range(table.n_columns)))
    grid = ValueGrid.of(table, values)
    for effect in effects:
        require_grid_support(effect, table, grid.columns)
    compared: set[Coalition] = set()
    for effect in effects:
        compared |= {union(members) for members in effect.layout.sets}
    # A compared column on a grid has its matrix also under a baseline, which reads none: the gap reads the
    # predictions of the snapped rows from it.
    compared_on_grid = {frozenset({position}) for position in grid.columns} & compared
    kept = request_matrices(
        table,
        read.pairs | further | compared_on_grid,
        grid,
        compared={columns for columns in compared if len(columns) > 1},
        cells=cells,
        binned={visible for _, visible in read.binned},
    )
    return EvaluationRequest(
        effects=effects,
        kept=kept,
        streamed=_request_streamed(table, effects, kept, cells),
        against=read.against,
        readings=read.readings,
        binned=read.binned,
        value_cells=grid.cells,
        grid_size=values if isinstance(values, int) else 0,
    )


@dataclass(slots=True)
class _ReadTogether:
    """What all effects of a list read, each reading once.

    Parameters
    ----------
    pairs : set of coalitions
        Whose predictions for all pairs of rows are read.
    readings, against, binned
        As in `EvaluationRequest`.
    """

    pairs: set[Coalition] = field(default_factory=set)
    readings: set[Reading] = field(default_factory=set)
    against: set[Reading] = field(default_factory=set)
    binned: set[Reading] = field(default_factory=set)


def _read_together(effects: Sequence[ResolvedExplainer], everything: Coalition) -> _ReadTogether:
    read = _ReadTogether()
    for effect in effects:
        masking = effect.masking
        needed = effect.needed()
        read.readings |= effect.readings()
        read.pairs |= needed.pairs
        read.binned |= {(masking, visible) for visible in needed.bins}
        # With everything visible the masked model is the prediction.
        against = needed.against - {everything}
        read.against |= {(masking, visible) for visible in against}
    return read


def _request_streamed(
    table: Table,
    effects: Sequence[ResolvedExplainer],
    kept: MatrixRequest,
    cells: IntArray | None,
) -> MatrixRequest:
    """The matrices that attributions sum up and nobody else reads."""
    summed: set[Coalition] = set()
    for effect in effects:
        for terms in effect.attributions.values():
            summed |= {term for term in terms if isinstance(term, frozenset)}
    return request_matrices(table, summed - kept.stored_as.keys(), cells=cells)

"""What is asked of the model: the rows and matrices that a list of effects reads on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from math import isqrt

from granite_xai.base.coalitions import union
from granite_xai.base.typing import AleColumn, Coalition, IntArray, PairwiseShapley, Terms
from granite_xai.compute import Resources
from granite_xai.compute.selection import primitives_on
from granite_xai.evaluations.device_model import DeviceModel
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.request import MatrixRequest, request_matrices
from granite_xai.evaluations.value_cells import ValueCells
from granite_xai.evaluations.value_grid import ValueGrid, Values
from granite_xai.explanation.masking.accumulated import fit_steps
from granite_xai.explanation.masking.fitted import Reading
from granite_xai.explanation.own_values import require_own_values
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

CHECKED = 200  # rows on which exact gaps are computed beside those on a grid, at most


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
    coordinates : bool
        Whether the places of the rows in their columns are needed.
    sampled : mapping of (masking, coalition) to DistinctValues
        Those drawn by a copula, with the distinct visible values.
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
    coordinates: bool = False
    sampled: Mapping[Reading, DistinctValues] = field(default_factory=dict)
    outputs: int = 1
    value_cells: Mapping[int, ValueCells] = field(default_factory=dict)
    output: int = 0
    grid_size: int = 0

    def rows(self, table: Table, recombined: bool = True) -> int:
        """Rows sent to the model: predictions, rows against a baseline, and recombined rows unless trees give them."""
        total = table.n_rows + self._baseline_rows(table) + self._step_rows(table)
        total += self.sampled_rows
        if recombined:
            total += self.kept.n_model_rows + self.streamed.n_model_rows
        if recombined and not self.value_cells:
            # The ends of the columns on a grid of quantiles, and the exact gaps of a few rows.
            total += 2 * table.n_rows * len(self.snapped)
            total += self.checked**2 * len(self.kept.stores)
        return total

    def _baseline_rows(self, table: Table) -> int:
        """Rows whose hidden columns are those of a baseline: one for each distinct visible value."""
        total = 0
        for masking, visible in self.against:
            n_values = len(table.distinct(sorted(visible))[1]) if visible else 1
            total += masking.n_references * n_values
        return total

    def _step_rows(self, table: Table) -> int:
        """Rows that move along a column, for accumulated effects."""
        total = 0
        for key in self.changes:
            intervals = fit_steps(key, table)
            if intervals is not None:
                _, _, n_points = intervals.points(intervals.fitted)
                total += int(n_points.sum())
        return total

    @property
    def sampled_rows(self) -> int:
        """Rows that a copula makes."""
        return self.kept.n_rows * sum(map(len, self.sampled.values()))

    def route(self, route: Route) -> Route:
        """The cheaper way for these matrices; what comes from the paths of trees leaves no choice."""
        paths = any(term.kind == "paths" for term in self.attributions)
        return route if paths else route.for_requests(self.kept, self.streamed)

    @property
    def snapped(self) -> dict[Coalition, DistinctValues]:
        """The columns on a grid."""
        return {
            columns: distinct
            for columns, distinct in self.kept.stores.items()
            if distinct.levels is not None
        }

    @property
    def checked(self) -> int:
        """Rows whose exact gaps are computed beside those on a grid: 200, or as many as cost what the fit costs."""
        affordable = 0
        if self.snapped:
            affordable = isqrt(self.kept.n_model_rows // len(self.kept.stores))
        return min(CHECKED, self.kept.n_rows, affordable)

    @property
    def changes(self) -> set[AleColumn]:
        """Columns whose changes across intervals are read."""
        return set().union(*(effect.changes() for effect in self.effects))

    @property
    def bytes(self) -> int:
        """Memory of the matrices that are kept."""
        attributed = len(self.attributions) * self.kept.n_rows**2
        return 8 * self.outputs * (self.kept.n_model_rows + self.sampled_rows + attributed)

    def device_model(self, route: Route, resources: Resources) -> DeviceModel | None:
        """The model on a device, where all that is read of it can stay there; None: on the host."""
        never = self.attributions or self.sampled or self.outputs > 1
        if never or resources.device == "cpu" or route.trees is not None:
            return None
        return route.device_model(primitives_on(resources.device))

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
                for i, term in enumerate(effect.attributions):
                    draws[term] = [draw[i] for draw in effect.draws]
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
    everything = frozenset(range(table.n_columns))
    pairs: set[Coalition] = set()
    against: set[Reading] = set()
    binned: set[Reading] = set()
    drawn: set[Reading] = set()
    readings: set[Reading] = set()
    needs_coordinates = False
    for effect in effects:
        needed = effect.needed()
        pairs |= needed.pairs
        against |= {(effect.masking, visible) for visible in needed.against - {everything}}
        binned |= {(effect.masking, visible) for visible in needed.bins}
        drawn |= {
            (effect.masking, visible) for visible in needed.sampled - {frozenset(), everything}
        }
        readings |= effect.readings()
        needs_coordinates = needs_coordinates or needed.coordinates
    copula_draws_all_values = any(effect.needed().sampled for effect in effects)
    grid = ValueGrid.of(table, None if copula_draws_all_values else values)
    for effect in effects:
        require_own_values(effect, table, grid.columns)
    compared: set[Coalition] = set()
    for effect in effects:
        compared |= {union(members) for members in effect.layout.sets}
    # What is on a grid is on it wherever the rows are asked about, also where a baseline needs no matrix.
    on_grid = {frozenset({position}) for position in grid.columns} & compared
    kept = request_matrices(
        table,
        pairs | further | on_grid,
        grid,
        {columns for columns in compared if len(columns) > 1},
        cells,
        {visible for _, visible in binned},
    )
    return EvaluationRequest(
        effects=effects,
        kept=kept,
        streamed=_request_streamed(table, effects, kept, cells),
        against=against,
        readings=readings,
        binned=binned,
        coordinates=needs_coordinates,
        sampled={
            (masking, visible): DistinctValues(*table.distinct(sorted(visible)))
            for masking, visible in drawn
        },
        value_cells=grid.cells,
        grid_size=values if isinstance(values, int) else 0,
    )


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

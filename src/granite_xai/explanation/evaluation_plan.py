"""From a model, a table and the effects asked for to the evaluations that the engine reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.typing import (
    AleColumn,
    Coalition,
    FloatArray,
    IntArray,
    PairwiseShapley,
    Terms,
)
from granite_xai.compute import (
    MemoryNeeds,
    Meter,
    Resources,
    progress,
    require_budget,
    require_evaluations,
)
from granite_xai.compute.compiled import available
from granite_xai.compute.memory import require_free
from granite_xai.compute.primitives import NUMPY, ArrayNamespace
from granite_xai.compute.selection import primitives_on
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.evaluations.distinct_values import DistinctValues, lowest_and_highest
from granite_xai.evaluations.evaluations import Evaluations, GridColumn
from granite_xai.evaluations.matrix import Matrix, read_cells
from granite_xai.evaluations.prediction_range import EvaluationRange, require_at_most
from granite_xai.evaluations.request import MatrixRequest, request_matrices
from granite_xai.evaluations.resident import Resident
from granite_xai.evaluations.row_bins import Bins
from granite_xai.evaluations.sampling_errors import SamplingErrors
from granite_xai.evaluations.shapley_sums import ShapleySums
from granite_xai.evaluations.steps import Steps
from granite_xai.evaluations.table_memory import table_bytes
from granite_xai.evaluations.value_grid import ValueGrid, Values
from granite_xai.evaluations.values import ValueCells
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.accumulated import fit_steps
from granite_xai.explanation.masking.fitted import FittedMaskings, Reading
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

CHECKED = 200  # rows on which exact gaps are computed beside those on a grid, at most
COARSE = 16  # values of the grid that is recommended where memory is short


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationPlan:
    """What a list of effects asks of the model on one table."""

    effects: Sequence[ResolvedExplainer]
    kept: MatrixRequest  # plan of the matrices the engine reads
    streamed: MatrixRequest  # plan of the matrices that are only summed up into attributions
    against: set[Reading]  # readings against the reference rows of their masking
    readings: set[Reading]  # all masked models that are read
    binned: AbstractSet[Reading] = frozenset()  # those that put the rows into bins
    coordinates: bool = False  # whether the places of the rows in their columns are needed
    sampled: Mapping[Reading, DistinctValues] = field(
        default_factory=dict
    )  # by a copula, with the distinct visible values
    outputs: int = 1  # that are evaluated, each with matrices of its own
    value_cells: Mapping[int, ValueCells] = field(default_factory=dict)  # chosen by a pilot
    output: int = 0  # number of the output that is evaluated
    grid_size: int = 0  # values of a grid, at most; 0: no column is on a grid

    def rows(self, table: Table, recombined: bool = True) -> int:
        """Rows sent to the model: predictions, rows against a baseline, and recombined rows unless trees give them."""
        counts = (
            (masking, len(table.distinct(sorted(T))[1]) if T else 1) for masking, T in self.against
        )
        baseline = sum(masking.n_references * count for masking, count in counts)
        grid = 0
        if not self.value_cells:
            # The ends of the columns on a grid of quantiles, and the exact gaps of a few rows.
            grid = 2 * table.n_rows * len(self.snapped) + self.checked**2 * len(self.kept.stores)
        planned = self.kept.rows + self.streamed.rows + grid if recombined else 0
        steps = [
            found.points(found.fitted)[2]
            for key in self.changes
            if (found := fit_steps(key, table)) is not None
        ]
        return (
            table.n_rows
            + sum(int(counts.sum()) for counts in steps)
            + planned
            + baseline
            + self.sampled_rows
        )

    @property
    def sampled_rows(self) -> int:
        """Rows that a copula makes."""
        return self.kept.n_rows * sum(map(len, self.sampled.values()))

    def route(self, route: Route) -> Route:
        """The cheaper way for these matrices; what comes from the paths of trees leaves no choice."""
        paths = any(term.kind == "paths" for term in self.attributions)
        return route if paths else route.for_plans(self.kept, self.streamed)

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
        affordable = isqrt(self.kept.rows // len(self.kept.stores)) if self.snapped else 0
        return min(CHECKED, self.kept.n_rows, affordable)

    @property
    def changes(self) -> set[AleColumn]:
        """Columns whose changes across intervals are read."""
        return set().union(*(effect.changes() for effect in self.effects))

    @property
    def bytes(self) -> int:
        """Memory of the matrices that are kept."""
        attributed = len(self.attributions) * self.kept.n_rows**2
        return 8 * self.outputs * (self.kept.rows + self.sampled_rows + attributed)

    def resident(self, route: Route, resources: Resources) -> Resident | None:
        """The model on a device, where all that is read of it can stay there; None: on the host."""
        never = self.attributions or self.sampled or self.outputs > 1
        if never or resources.device == "cpu" or route.trees is not None:
            return None
        return route.resident(primitives_on(resources.device))

    def require_budget(self, route: Route, resources: Resources, candidate: int = 0) -> MemoryNeeds:
        """The memory of this request; refused with what would fit, where that is not enough (D33).

        Parameters
        ----------
        candidate : int
            Bytes that the search takes for one candidate split.
        """
        there = self.resident(route, resources)
        if there is not None:
            require_free(there.primitives.free, self.bytes)
            needs = replace(self._needs(route.table.n_rows, route.table, candidate), evaluations=0)
            require_budget(resources, needs, route.table.n_rows)
            return needs
        needs = self._needs(route.table.n_rows, route.table, candidate)
        if needs.least_limit > resources.memory_limit:
            remedies = self._remedies(route, resources, candidate)
            require_budget(resources, needs, route.table.n_rows, remedies)
        return needs

    def fits(self, route: Route, resources: Resources, candidate: int = 0) -> bool:
        """Whether the memory limit leaves room for this request."""
        needs = self._needs(route.table.n_rows, route.table, candidate)
        return needs.least_limit <= resources.memory_limit

    def _needs(self, n_rows: int, table: Table, candidate: int) -> MemoryNeeds:
        """The memory of this request for all rows of the table; for fewer, what it takes at most."""
        # Nodes of the tree cut their rows out of matrices with few values (`Matrix.restrict`): about half of these
        # is there twice while a tree grows, as measured by benchmarks/growth.py.

        def values(distinct: DistinctValues) -> int:
            """Values on ``n_rows`` rows; on fewer of them, a grid may have as many as it is allowed."""
            if distinct.levels is None or n_rows == table.n_rows:
                return min(len(distinct), n_rows)
            return min(max(len(distinct), self.grid_size + 1), n_rows)

        lines = [values(distinct) for distinct in self.kept.stores.values()]
        kept = sum(lines)
        cut_out = sum(count for count in lines if 4 * count < n_rows) // 2
        drawn = sum(map(values, self.sampled.values()))
        attributed = len(self.attributions) * n_rows
        passing = max(map(values, self.streamed.stores.values()), default=0)
        columns = kept + cut_out + drawn + attributed + passing
        evaluations = 8 * self.outputs * n_rows * columns
        references = sum(masking.n_references for masking, _ in self.against)
        vectors = (
            8
            + len(self.kept.stores)
            + len(self.streamed.stores) * (3 if self.draws else 1)
            + 3 * len(self.binned)
            + 2 * references
            + 16 * len(self.changes)
        )
        members = sum(
            len(visible) for plan in (self.kept, self.streamed) for visible in plan.stored_as
        )
        fixed = table_bytes(n_rows, table.n_columns, members, vectors)
        return MemoryNeeds(fixed, evaluations, -(-candidate * n_rows // table.n_rows))

    def _remedies(self, route: Route, resources: Resources, candidate: int) -> list[str]:
        """What would fit the memory limit: so many rows, or a grid."""
        table = route.table
        remedies = []
        fewer = bisect_right(
            range(table.n_rows),
            resources.memory_limit,
            key=lambda n_rows: self._needs(n_rows, table, candidate).least_limit,
        )
        if fewer > 1:
            remedies.append(f"fewer rows (max_samples={fewer - 1})")
        if resources.grid is None or resources.grid > COARSE:
            try:
                coalitions = frozenset(self.kept.stored_as)
                coarse = request(table, self.effects, coalitions, COARSE, route.cells)
            except InputError:  # not defined for these effects
                return remedies
            if replace(coarse, outputs=self.outputs).fits(route, resources, candidate):
                remedies.append(f"a grid (Resources(max_grid={COARSE}))")
        return remedies

    def stages(self, route: Route, resources: Resources, candidate: int) -> dict[str, Any]:
        """Rows and bytes by stage, for ``diagnostics_``; refused where there is no room (D33)."""
        needs = self.require_budget(route, resources, candidate)
        return {
            "memory_limit": resources.memory_limit,
            "table": {"bytes": needs.table},
            "evaluations": {"rows": self.rows(route.table), "bytes": self.bytes},
            "attributions": {"bytes": 8 * len(self.attributions) * self.kept.n_rows**2},
            "search": {
                "block_bytes": resources.memory_limit // 4,
                "candidate_bytes": candidate,
            },
        }

    @property
    def attributions(self) -> dict[PairwiseShapley, Terms]:
        """The attributions wanted, and the coalitions each sums up (none for those read from paths)."""
        return {
            term: terms for effect in self.effects for term, terms in effect.attributions.items()
        }

    @property
    def draws(self) -> dict[PairwiseShapley, list[Terms]]:
        """For sampled attributions, the coalitions of each draw."""
        each = [
            (effect, i, term)
            for effect in self.effects
            for i, term in enumerate(effect.attributions)
        ]
        return {
            term: [draw[i] for draw in effect.draws] for effect, i, term in each if effect.draws
        }


def request(
    table: Table,
    effects: Sequence[ResolvedExplainer],
    also: AbstractSet[Coalition] = frozenset(),
    values: Values = None,
    cells: IntArray | None = None,
) -> EvaluationPlan:
    """The readings of all effects in one plan.

    Parameters
    ----------
    table : Table
    effects : sequence of ResolvedExplainer
    also : set of coalitions
        Further sets that are evaluated.
    values : int, LearnedValues or None
        Values that stand for a column (C22); None: all.
    cells : array of shape (n_rows, n_columns), optional
        Values with the same number are one to the model, and evaluated once.
    """
    needed = [(effect.masking, effect.needed()) for effect in effects]
    copula_draws_all_values = any(each.sampled for _, each in needed)
    grid = ValueGrid.of(table, None if copula_draws_all_values else values)
    for effect in effects:
        _require_own_values(effect, table, grid)
    readings: set[Reading] = set().union(*(effect.readings() for effect in effects))
    everything = frozenset(range(table.n_columns))
    against = {(masking, T) for masking, each in needed for T in each.against if everything != T}
    pairs: set[Coalition] = set().union(*(each.pairs for _, each in needed))
    compared = {union(members) for effect in effects for members in effect.layout.sets}
    # What is on a grid is on it wherever the rows are asked about, also where a baseline needs no matrix.
    also = also | {
        single for single in map(frozenset, zip(grid.columns, strict=True)) if single in compared
    }
    apart = {columns for columns in compared if len(columns) > 1}
    binned = {(masking, T) for masking, each in needed for T in each.bins}
    kept = request_matrices(
        table, pairs | also, grid, apart, cells, {visible for _, visible in binned}
    )
    pairwise = {c for effect in effects for terms in effect.attributions.values() for c in terms}
    streamed = request_matrices(
        table,
        {c for c in pairwise if isinstance(c, frozenset) and c not in kept.stored_as},
        cells=cells,
    )
    coordinates = any(each.coordinates for _, each in needed)
    drawn = {
        (masking, T) for masking, each in needed for T in each.sampled if T and everything != T
    }
    sampled = {(masking, T): DistinctValues(*table.distinct(sorted(T))) for masking, T in drawn}
    return EvaluationPlan(
        effects=effects,
        kept=kept,
        streamed=streamed,
        against=against,
        readings=readings,
        binned=binned,
        coordinates=coordinates,
        sampled=sampled,
        value_cells=grid.cells,
        grid_size=values if isinstance(values, int) else 0,
    )


def takes_values(effect: ResolvedExplainer, table: Table) -> bool:
    """Whether columns may be replaced by a few of their values: the effect of a set reads no others."""
    everything = frozenset(range(table.n_columns))
    if effect.changes():
        return True  # accumulated effects read no matrix of values
    if effect.pairwise or effect.needed().sampled:
        return False
    for members, terms in zip(effect.layout.sets, effect.terms, strict=True):
        own = union(members)
        if len(own) > 1:
            return False
        readable = {frozenset(), own, everything - own, everything}
        if any(isinstance(term, frozenset) and term not in readable for term in terms):
            return False
    return True


def _require_own_values(effect: ResolvedExplainer, table: Table, grid: ValueGrid) -> None:
    """Refuse a grid where the effect of a set reads more than the set and its complement (C22)."""
    everything = frozenset(range(table.n_columns))
    for members, terms in zip(effect.layout.sets, effect.terms, strict=True):
        own = union(members)
        known = {frozenset(), own, everything - own, everything}
        others = {term for term in terms if isinstance(term, frozenset)} - known
        singles = {
            min(side) for term in others for side in (term, everything - term) if len(side) == 1
        }
        if (
            grid.columns.keys() & own and (others or effect.pairwise)
        ) or grid.columns.keys() & singles:
            text = "Resources(max_grid=) is defined for pure and full effects of single columns and of groups: "
            text += f"the effect of {', '.join(table.names[i] for i in sorted(own))} reads other columns one by one."
            hint = "For partial effects, interactions and 'coe' leave max_grid at None and lower max_samples."
            columns = tuple(table.names[i] for i in sorted((own | singles) & grid.columns.keys()))
            raise InputError(text, code="P03", argument="max_grid", columns=columns, hint=hint)


def evaluate(
    route: Route,
    asked: EvaluationPlan,
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
    asked : EvaluationPlan
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
    asked = replace(asked, outputs=1 + len(route.others))
    asked.require_budget(route, resources)
    route = asked.route(route)
    by_trees = route.trees is not None
    n_stores = len(asked.kept.stores) + len(asked.streamed.stores)
    if diagnostics is not None:
        diagnostics.note("evaluations", route.note(n_stores))
    rows = asked.rows(route.table, recombined=not by_trees)
    require_evaluations(resources, rows)
    # Either the rows that the model answers are shown, or the matrices that are made from its trees.
    quiet = replace(resources, progress=False)
    shows_rows = not by_trees and not route.predictor.is_metered
    meter = Meter(resources if shows_rows else quiet, rows)
    shown = resources if by_trees else quiet
    with closing(meter), route.predictor.watched(meter):
        evaluators = [
            _OutputEvaluator(
                own_route,
                replace(asked, output=output),
                reference,
                resources=resources,
                fast=own_route.fast(n_stores),
                weights=weights,
                y=y if y is None or y.ndim == 1 else y[:, output],
                n_jobs=n_jobs,
            )
            for output, own_route in enumerate(_output_routes(route))
        ]
        # All outputs of a store before the next one: the model's answers are kept no longer.
        kept = asked.kept.stores
        for store in progress(kept, shown, "evaluations", len(kept)):
            for evaluator in evaluators:
                evaluator.keep(store)
        streamed = asked.streamed.stores
        for store in progress(streamed, shown, "evaluations", len(streamed)):
            for evaluator in evaluators:
                evaluator.sum_up(store)
        first, *others = [evaluator.finish(coordinates) for evaluator in evaluators]
    extent = evaluators[0].extent
    extent.others = tuple(evaluator.extent for evaluator in evaluators[1:])
    return replace(first, others=tuple(others)), extent


def _output_routes(route: Route) -> list[Route]:
    """The route of each output: all by trees, or all by the model."""
    if route.trees is not None:
        return [route, *route.others]
    return [route, *(other.by_model(route.reason) for other in route.others)]


class _OutputEvaluator:
    """The evaluations of one output: its predictions, then store by store, then what else is read."""

    def __init__(
        self,
        route: Route,
        asked: EvaluationPlan,
        reference: FittedMaskings,
        *,
        resources: Resources,
        fast: bool,
        weights: FloatArray,
        y: FloatArray | None,
        n_jobs: int | None,
    ) -> None:
        self.route = route
        self.asked = asked
        self.reference = reference
        self.weights = weights
        self.y = y
        self.n_jobs = n_jobs
        self.block = resources.block
        self.everything: Coalition = frozenset(range(route.table.n_columns))
        resident = asked.resident(route, resources)
        self.primitives: (
            ArrayNamespace | None
        )  # of the device where evaluations are; None: the host
        self.matrix_of: Callable[..., Any]  # the predictions of recombined rows, (values, rows)
        if resident is None:
            self.primitives = None
            self.matrix_of = partial(route.matrix, fast=fast, block=self.block, n_jobs=n_jobs)
            predictions = route.predictions(fast, self.block)
        else:
            self.primitives = resident.primitives
            self.matrix_of = resident.matrix
            predictions = resident.primitives.host(resident.predictions())
        self.extent = EvaluationRange()
        self.extent.see(predictions)
        if y is not None:
            require_at_most("y reaches", float(np.max(np.abs(y))))
        self.offset = float(np.average(predictions, weights=weights))
        self.predictions = predictions - self.offset
        self.matrices: dict[Coalition, Matrix] = {}
        summed = {term: terms for term, terms in asked.attributions.items() if term.kind != "paths"}
        self.shapley_sums = ShapleySums(summed, self.predictions, self.everything, self.block)
        self.sampling_errors: SamplingErrors | None = None
        if asked.draws:
            self.sampling_errors = SamplingErrors(self.predictions, weights, self.everything)

    def keep(self, store: Coalition) -> None:
        """Evaluate a matrix that the engine reads."""
        matrix = self._evaluated(store, self.asked.kept)
        self._add(store, matrix)
        self.matrices[store] = matrix

    def sum_up(self, store: Coalition) -> None:
        """Evaluate a matrix that is only summed up into attributions."""
        self._add(store, self._evaluated(store, self.asked.streamed))

    def _add(self, store: Coalition, matrix: Matrix) -> None:
        self.shapley_sums.add(store, matrix)
        if self.sampling_errors is not None:
            self.sampling_errors.add(store, matrix)

    def _evaluated(self, store: Coalition, plan: MatrixRequest) -> Matrix:
        """``E_S``, centred by the offset."""
        distinct = plan.stores[store]
        values = self.extent.see(self.matrix_of(store, distinct), self.primitives)
        values -= self.offset
        # A row with its own values is the row itself: the diagonal is compared with the predictions.
        carriers = np.arange(plan.n_rows) if distinct.levels is None else distinct.representatives
        again = read_cells(values, distinct.codes[carriers], carriers, self.primitives)
        self.extent.note_change(again, self.predictions[carriers])
        matrix = Matrix(values, distinct.codes, distinct.levels)
        on_grid = distinct.levels is not None
        if on_grid or store in plan.binned or self.primitives is not None:
            return matrix
        return matrix.joined()  # values that neither the model nor bins tell apart

    def finish(self, coordinates: Coordinates | None) -> Evaluations:
        """Ask for all that is read besides the stores."""
        asked = self.asked
        table = self.route.table
        bins = self.reference.bins_of(asked.readings, table)
        against = {key: self._against(*key) for key in asked.against}
        attributions = self.shapley_sums.values | self._by_paths(asked.attributions)
        errors = {}
        if self.sampling_errors is not None:
            errors = {
                term: self.sampling_errors.errors(draws) for term, draws in asked.draws.items()
            }
        if asked.coordinates and coordinates is None:
            coordinates = Coordinates.of(table)
        return Evaluations(
            predictions=self.predictions,
            weights=self.weights,
            offset=self.offset,
            y=self.y,
            stored_as=asked.kept.stored_as,
            matrices=self.matrices,
            bins=bins,
            densities=self.reference.densities_of(asked.readings, table),
            against=against,
            snapped={
                columns: self._snapped(columns, grid, bins, against)
                for columns, grid in asked.snapped.items()
            },
            attributions={
                term: Matrix(phi, np.arange(table.n_rows)) for term, phi in attributions.items()
            },
            changes={column: self._changes(column) for column in asked.changes},
            errors=errors,
            sampled={key: self._drawn(*key, distinct) for key, distinct in asked.sampled.items()},
            everything=self.everything,
            block=self.block,
            coordinates=coordinates if asked.coordinates else None,
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
        cells = self.asked.value_cells.get(min(columns))
        fine = None
        at_ends = None
        # Values that a pilot chose stand for what the model does there, not for who is alike: rows stay in their bins.
        moved_bins = {}
        if cells is None:
            moved_bins = {
                key: Bins.of(own.numbers[carrier]) for key, own in bins.items() if key[1] == columns
            }
            end_values = lowest_and_highest(self.route.table, min(columns))
            at_ends = (self.primitives or NUMPY).host(self.matrix_of(columns, end_values))
            self.extent.see(at_ends)
            at_ends = at_ends - self.offset
        elif cells.curves and self.route.table.columns[min(columns)] is cells.column:
            fine = cells.curves[self.asked.output]
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
        asked, places = (self.route.predictor, self.route.table), distinct.representatives
        values = self.reference.copulas[masking].predictions(*asked, visible, places)
        return Matrix(self.extent.see(values) - self.offset, distinct.codes)

    def _by_paths(self, wanted: Iterable[PairwiseShapley]) -> dict[PairwiseShapley, FloatArray]:
        """Attributions from the paths of the trees, all sets of the same players in one walk."""
        found: dict[PairwiseShapley, FloatArray] = {}
        wanted = [term for term in wanted if term.kind == "paths"]
        for players in dict.fromkeys(term.players for term in wanted):
            terms = [term for term in wanted if term.players == players]
            if self.route.trees is None:
                text = f"exact attributions were planned from the model's trees, but {self.route.reason}."
                hint = "Fit again: the model or the kind of table has changed."
                raise ModelError(text, code="M23", argument="model", hint=hint)
            places = [players.index(term.members[0]) for term in terms]
            values = self.route.trees.attributions(
                players, places, fast=available(), n_jobs=self.n_jobs, block=self.block
            )
            found.update(zip(terms, values, strict=True))
        return found

    def _against(self, masking: Masking, visible: Coalition) -> FloatArray:
        """``F(x_T, b)`` of every row, a line for each reference row b, evaluated once for each distinct value of T."""
        table, references = self.route.table, self.reference.baselines[masking]
        codes, carriers = (
            table.distinct(sorted(visible)) if visible else (None, np.zeros(1, dtype=np.intp))
        )
        base, donors = (
            np.repeat(np.arange(references.n_rows), len(carriers)),
            np.tile(carriers, references.n_rows),
        )
        values = self.route.predictor.recombined(references, base, table, donors, sorted(visible))
        values = values.reshape(references.n_rows, -1)
        values = np.repeat(values, table.n_rows, axis=1) if codes is None else values[:, codes]
        return np.asarray(self.extent.see(values) - self.offset)

    def _changes(self, column: AleColumn) -> Steps:
        """The predictions of each row along a column; none for nominal and constant columns."""
        table, intervals, position = (
            self.route.table,
            self.reference.steps.get(column),
            column.column,
        )
        if intervals is None:
            nowhere = np.zeros(table.n_rows, dtype=np.intp)
            return Steps(nowhere[:1], nowhere - 1, nowhere, np.zeros(0))
        places, first, counts = intervals.points(table.columns[position])
        rows, starts = (
            np.repeat(np.arange(table.n_rows), counts),
            np.cumsum(counts) - counts - first,
        )
        donors = np.arange(len(rows)) - starts[rows]
        values = self.extent.see(
            self.route.predictor.recombined(table, rows, intervals.ends, donors, [position])
        )
        return Steps(np.searchsorted(intervals.parts, intervals.edges), places, starts, values)

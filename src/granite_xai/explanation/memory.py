"""Memory that a request takes, known before the model is asked (D33)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.compute import MemoryNeeds, Resources, require_budget
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.table_memory import table_bytes
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.copula import INTERVALS, column_of_ratios, why_no_copula
from granite_xai.explanation.request import BYTES_OF_NUMBER, EvaluationRequest, request
from granite_xai.tables import Table
from granite_xai.trees.ensembles import Route

COARSE_GRID = 16  # values of the grid that is recommended where memory is short

# Numbers that are kept of each row besides the matrices:
VECTORS_OF_FIT = 8  # predictions, weights, target, regions, and what is computed from them
VECTORS_OF_STORE = 1  # the codes of a matrix
VECTORS_OF_DRAWN_STORE = (
    3  # of one that sampled attributions sum up, also the sums behind their errors
)
VECTORS_OF_BINS = 3  # the bins of a reading
VECTORS_OF_REFERENCE = 2  # predictions against a reference row
VECTORS_OF_CHANGE = 16  # about twelve predictions along a column, and where they stand


def require_room_for(
    requested: EvaluationRequest, route: Route, resources: Resources, candidate: int = 0
) -> MemoryNeeds:
    """The memory of a request; refused with what would fit, where that is not enough.

    Parameters
    ----------
    requested : EvaluationRequest
    route : Route
        The table, and how its rows are evaluated.
    resources : Resources
        With the limit.
    candidate : int
        Bytes that the search takes for one candidate split.
    """
    n_rows = route.table.n_rows
    needs = _needs(requested, n_rows, route.table, candidate)
    if needs.least_limit > resources.memory_limit:
        require_budget(resources, needs, n_rows, _remedies(requested, route, resources, candidate))
    return needs


def fits_memory(
    requested: EvaluationRequest, route: Route, resources: Resources, candidate: int = 0
) -> bool:
    """Whether the memory limit leaves room for a request; parameters as in `require_room_for`."""
    needs = _needs(requested, route.table.n_rows, route.table, candidate)
    return needs.least_limit <= resources.memory_limit


def memory_stages(
    requested: EvaluationRequest, route: Route, resources: Resources, candidate: int
) -> dict[str, Any]:
    """Rows and bytes by stage, for ``diagnostics_``; parameters as in `require_room_for`."""
    needs = require_room_for(requested, route, resources, candidate)
    n_attributed = len(requested.attributions) * requested.kept.n_rows**2
    return {
        "memory_limit": resources.memory_limit,
        "table": {"bytes": needs.table},
        "evaluations": {"rows": requested.n_model_rows(route.table), "bytes": requested.n_bytes},
        "attributions": {"bytes": BYTES_OF_NUMBER * n_attributed},
        "search": {
            "block_bytes": resources.memory_limit // 4,
            "candidate_bytes": candidate,
        },
    }


def _needs(requested: EvaluationRequest, n_rows: int, table: Table, candidate: int) -> MemoryNeeds:
    """The memory of a request if it were made of ``n_rows`` rows of the table.

    For all rows it is known; for fewer, a column may have fewer values, and this is what it takes at most.

    Parameters
    ----------
    requested : EvaluationRequest
        Of all rows.
    n_rows : int
    table : Table
    candidate : int
        Bytes that the search takes for one candidate split of all rows.
    """
    n_lines = _matrix_lines(requested, n_rows, is_whole_table=n_rows == table.n_rows)
    n_ratio_lines = _ratio_lines(requested, table)
    # Nodes of the tree cut their rows out of density ratios, too.
    n_numbers = n_rows * (requested.outputs * n_lines + n_ratio_lines + n_ratio_lines // 2)
    n_members = 0
    for matrices in (requested.kept, requested.streamed):
        n_members += sum(len(visible) for visible in matrices.stored_as)
    return MemoryNeeds(
        table=table_bytes(n_rows, table.n_columns, n_members, _vectors(requested)),
        evaluations=BYTES_OF_NUMBER * n_numbers,
        candidate=-(-candidate * n_rows // table.n_rows),  # rounded up
    )


def _matrix_lines(requested: EvaluationRequest, n_rows: int, is_whole_table: bool) -> int:
    """Lines of ``n_rows`` predictions that are in memory together."""

    def n_values(distinct: DistinctValues) -> int:
        """Values on ``n_rows`` rows; on fewer of them, a grid may have as many as it is allowed."""
        if distinct.levels is None or is_whole_table:
            return min(len(distinct), n_rows)
        return min(max(len(distinct), requested.grid_size + 1), n_rows)

    kept = [n_values(distinct) for distinct in requested.kept.stores.values()]
    streamed = [n_values(distinct) for distinct in requested.streamed.stores.values()]
    # Nodes of the tree cut their rows out of matrices with few values (`Matrix.restrict`): about half of these is
    # there twice while a tree grows, as measured by benchmarks/growth.py.
    cut_out = sum(count for count in kept if 4 * count < n_rows) // 2
    attributed = len(requested.attributions) * n_rows
    largest_streamed = max(streamed, default=0)
    return sum(kept) + cut_out + attributed + largest_streamed


def _vectors(requested: EvaluationRequest) -> int:
    """Numbers that are kept of each row besides the matrices."""
    of_streamed_store = VECTORS_OF_STORE
    if requested.draws:
        of_streamed_store = VECTORS_OF_DRAWN_STORE
    n_references = sum(masking.n_references for masking, _ in requested.against)
    return (
        VECTORS_OF_FIT
        + VECTORS_OF_STORE * len(requested.kept.stores)
        + of_streamed_store * len(requested.streamed.stores)
        + VECTORS_OF_BINS * len(requested.binned)
        + VECTORS_OF_REFERENCE * n_references
        + VECTORS_OF_CHANGE * len(requested.changes)
    )


def _ratio_lines(requested: EvaluationRequest, table: Table) -> int:
    """Density ratios of a row, where conditional masking may take a copula: one for each interval of a column."""
    if why_no_copula(table) is not None:
        return 0
    everything = frozenset(range(table.n_columns))
    weighed: set[tuple[Masking, int]] = (
        set()
    )  # a column that is shown, or hidden, has the same ratios
    for masking, visible in requested.binned:
        column = column_of_ratios(visible, everything)
        if masking.may_weigh_rows() and column is not None:
            weighed.add((masking, column))
    return sum(min(INTERVALS, len(table.columns[column].levels)) for _, column in weighed)


def _remedies(
    requested: EvaluationRequest, route: Route, resources: Resources, candidate: int
) -> list[str]:
    """What would fit the memory limit: so many rows, or a grid."""
    table = route.table
    remedies = []
    n_fitting = bisect_right(
        range(table.n_rows),
        resources.memory_limit,
        key=lambda n_rows: _needs(requested, n_rows, table, candidate).least_limit,
    )
    if n_fitting > 1:
        remedies.append(f"fewer rows ({n_fitting - 1:,}; of a fit max_samples={n_fitting - 1})")
    if resources.grid is None or resources.grid > COARSE_GRID:
        try:
            coalitions = frozenset(requested.kept.stored_as)
            coarse = request(table, requested.effects, coalitions, COARSE_GRID, route.cells)
        except InputError:  # not defined for these effects
            return remedies
        coarse = replace(coarse, outputs=requested.outputs)
        if fits_memory(coarse, route, resources, candidate):
            remedies.append(f"a grid (Resources(max_grid={COARSE_GRID}))")
    return remedies

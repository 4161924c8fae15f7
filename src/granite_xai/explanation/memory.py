"""Memory that a request takes, and the refusal of one that takes too much, before the model is asked (D33)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.compute import MemoryNeeds, Resources, require_budget
from granite_xai.compute.memory import require_free
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.table_memory import table_bytes
from granite_xai.explanation.masking.copula import INTERVALS, why_no_copula
from granite_xai.explanation.masking.fitted import column_of_ratios
from granite_xai.explanation.request import EvaluationRequest, request
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

COARSE = 16  # values of the grid that is recommended where memory is short
BYTES_OF_NUMBER = 8


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
    device_model = requested.device_model(route, resources)
    if device_model is not None:
        require_free(device_model.primitives.free, requested.bytes)
        needs = replace(needs, evaluations=0)
        require_budget(resources, needs, n_rows)
    elif needs.least_limit > resources.memory_limit:
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
        "evaluations": {"rows": requested.rows(route.table), "bytes": requested.bytes},
        "attributions": {"bytes": BYTES_OF_NUMBER * n_attributed},
        "search": {
            "block_bytes": resources.memory_limit // 4,
            "candidate_bytes": candidate,
        },
    }


def _needs(requested: EvaluationRequest, n_rows: int, table: Table, candidate: int) -> MemoryNeeds:
    """The memory of a request for all rows of the table; for fewer, what it takes at most."""

    def n_values(distinct: DistinctValues) -> int:
        """Values on ``n_rows`` rows; on fewer of them, a grid may have as many as it is allowed."""
        if distinct.levels is None or n_rows == table.n_rows:
            return min(len(distinct), n_rows)
        return min(max(len(distinct), requested.grid_size + 1), n_rows)

    lines = [n_values(distinct) for distinct in requested.kept.stores.values()]
    # Nodes of the tree cut their rows out of matrices with few values (`Matrix.restrict`): about half of these is
    # there twice while a tree grows, as measured by benchmarks/growth.py.
    cut_out = sum(count for count in lines if 4 * count < n_rows) // 2
    drawn = sum(n_values(distinct) for distinct in requested.sampled.values())
    attributed = len(requested.attributions) * n_rows
    passing = max(
        (n_values(distinct) for distinct in requested.streamed.stores.values()), default=0
    )
    n_columns = sum(lines) + cut_out + drawn + attributed + passing
    n_ratios = _ratio_lines(requested, table)
    references = sum(masking.n_references for masking, _ in requested.against)
    vectors = (
        8
        + len(requested.kept.stores)
        + len(requested.streamed.stores) * (3 if requested.draws else 1)
        + 3 * len(requested.binned)
        + 2 * references
        + 16 * len(requested.changes)
    )
    members = 0
    for matrices in (requested.kept, requested.streamed):
        members += sum(len(visible) for visible in matrices.stored_as)
    return MemoryNeeds(
        table_bytes(n_rows, table.n_columns, members, vectors),
        BYTES_OF_NUMBER * n_rows * (requested.outputs * n_columns + n_ratios + n_ratios // 2),
        -(-candidate * n_rows // table.n_rows),
    )


def _ratio_lines(requested: EvaluationRequest, table: Table) -> int:
    """Density ratios of a row, where conditional masking may take a copula: one for each interval of a column.

    Nodes of the tree cut their rows out of these, too.
    """
    if why_no_copula(table) is not None:
        return 0
    everything = frozenset(range(table.n_columns))
    columns = {
        (masking, column_of_ratios(visible, everything))
        for masking, visible in requested.binned
        if masking.may_weigh_rows()
    }
    return sum(
        min(INTERVALS, len(table.columns[column].levels))
        for _, column in columns
        if column is not None
    )


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
        remedies.append(f"fewer rows (max_samples={n_fitting - 1})")
    if resources.grid is None or resources.grid > COARSE:
        try:
            coalitions = frozenset(requested.kept.stored_as)
            coarse = request(table, requested.effects, coalitions, COARSE, route.cells)
        except InputError:  # not defined for these effects
            return remedies
        coarse = replace(coarse, outputs=requested.outputs)
        if fits_memory(coarse, route, resources, candidate):
            remedies.append(f"a grid (Resources(max_grid={COARSE}))")
    return remedies

"""Memory and model rows that a request takes, known before the model is asked (D33, M13)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

from granite_xai.base.errors import ResourceError
from granite_xai.base.limits import FIXED, Resources, bytes_text, too_much_work
from granite_xai.evaluations.request import Request
from granite_xai.evaluations.values import Values
from granite_xai.tables import Table

COARSE_GRID = 16  # values of a column that are recommended where memory is short
COARSEST_GRID = 32  # values that a column has at least where a pilot may choose them
NUMBER_BYTES = 8
# A cell of the table: value and code as they were read; value, code and the user's container for the
# rows that are used; and how trees see it.
CELL_BYTES = 2 * 8 + 3 * 8 + 4
MEMBER_BYTES = 80  # of a column in a set of columns
FREE_SET_BYTES = 2**24  # bytes of sets of columns that any fit may make before it is refused
ROW_NUMBERS = (
    16  # kept of each row besides matrices: predictions, weights, target, regions, work on them
)
FACT_NUMBERS = 16  # kept of each row and fact: bins, ratios, references, predictions along a column
# Of the memory limit, five eighths are for what stays (table, evaluations), the rest for what is worked on.
STAYING, OF = 5, 8


def bytes_kept(request: Request, n_outputs: int) -> int:
    """Memory of the predictions that stay: matrices, and attributions of all pairs of rows."""
    n_values = sum(len(values) for values in request.matrices.values())
    lines = n_values + len(request.needs.attributions) * request.n_rows
    return NUMBER_BYTES * n_outputs * request.n_rows * lines


def bytes_of_evaluations(request: Request, n_outputs: int, n_rows: int | None = None) -> int:
    """Memory that the predictions of a request take at once, if it were about so many of its rows.

    Parameters
    ----------
    request : Request
    n_outputs : int
    n_rows : int, optional
        None: all of them.
    """
    n_rows = request.n_rows if n_rows is None else n_rows

    def n_values(matrices: Mapping[frozenset[int], Values]) -> list[int]:
        return [min(len(values), n_rows) for values in matrices.values()]

    kept = n_values(request.matrices)
    # Nodes cut their rows out of matrices with few values: about half of these is there twice while a
    # tree grows.
    cut_out = sum(count for count in kept if 4 * count < n_rows) // 2
    attributed = len(request.needs.attributions) * n_rows
    being_summed = max(n_values(request.summed), default=0)
    lines = sum(kept) + cut_out + attributed + being_summed
    return NUMBER_BYTES * n_outputs * n_rows * lines


def _bytes_of_table(request: Request, table: Table, n_rows: int) -> int:
    """Memory of the table and of what is kept of its rows besides evaluations."""
    # What is learned counts before it is learned: the limit that a plan names is enough for the fit.
    n_facts = len(request.needs.facts)
    vectors = (
        ROW_NUMBERS + (FACT_NUMBERS + 1) * n_facts + len(request.matrices) + len(request.summed)
    )
    members = sum(len(columns) for columns in (*request.matrices, *request.summed))
    of_cells = CELL_BYTES * n_rows * table.n_columns
    return of_cells + NUMBER_BYTES * vectors * n_rows + MEMBER_BYTES * members


def least_limit(request: Request, table: Table, n_outputs: int, n_rows: int | None = None) -> int:
    """The smallest ``memory_limit`` that is enough; parameters as in `bytes_of_evaluations`."""
    n_rows = request.n_rows if n_rows is None else n_rows
    staying = FIXED + _bytes_of_table(request, table, n_rows)
    staying += bytes_of_evaluations(request, n_outputs, n_rows)
    return -(-OF * staying // STAYING)  # rounded up


def require_room(
    request: Request,
    table: Table,
    resources: Resources,
    n_outputs: int = 1,
    coarse: Callable[[], Request | None] | None = None,
) -> None:
    """Refuse a request that needs more memory than allowed, with what would fit.

    Parameters
    ----------
    request : Request
    table : Table
    resources : Resources
    n_outputs : int
    coarse : callable, optional
        Makes the same request at `COARSE_GRID` values of each column; None where that is not defined.

    Raises
    ------
    ResourceError
        D33, with the numbers and the remedies.
    """
    needed = least_limit(request, table, n_outputs)
    if needed <= resources.memory_limit:
        return
    remedies = []
    n_fitting = bisect_right(
        range(request.n_rows),
        resources.memory_limit,
        key=lambda n_rows: least_limit(request, table, n_outputs, n_rows),
    )
    if n_fitting > 1:
        remedies.append(f"fewer rows (max_samples={n_fitting - 1})")
    on_grid = None if coarse is None else coarse()
    if on_grid is not None and least_limit(on_grid, table, n_outputs) <= resources.memory_limit:
        remedies.append(f"a grid (Resources(max_grid={COARSE_GRID}))")
    raise _too_little_memory(
        n_rows=request.n_rows,
        needed=needed,
        of_evaluations=bytes_of_evaluations(request, n_outputs),
        of_table=FIXED + _bytes_of_table(request, table, request.n_rows),
        remedies=remedies,
        resources=resources,
    )


def require_table_room(table: Table, resources: Resources) -> None:
    """Refuse a wide table that no fit could hold, before every set of columns is named (D33).

    Parameters
    ----------
    table : Table
    resources : Resources
    """
    n_columns = table.n_columns
    # Every fit names, for each column, the set of the others.
    n_members = n_columns * (n_columns - 1)
    if MEMBER_BYTES * n_members < FREE_SET_BYTES:
        return
    if resources.max_grid == "auto":
        most_values = COARSEST_GRID
    else:
        most_values = resources.grid or table.n_rows
    # For every column the model is asked at each of its values, or for all others at theirs: these are
    # at least as many as the richest of the others has. So it takes the values of every column but the
    # richest, and for that one at least those of the second richest.
    values = sorted(min(len(column.levels), most_values) for column in table.columns)
    of_evaluations = NUMBER_BYTES * table.n_rows * (sum(values[:-1]) + values[-2])
    of_table = FIXED + CELL_BYTES * table.n_rows * n_columns + 3 * MEMBER_BYTES * n_members
    needed = -(-OF * (of_table + of_evaluations) // STAYING)
    if needed > resources.memory_limit:
        raise _too_little_memory(
            n_rows=table.n_rows,
            needed=needed,
            of_evaluations=of_evaluations,
            of_table=of_table,
            remedies=["fewer features (features=)"],
            resources=resources,
        )


def _too_little_memory(
    *,
    n_rows: int,
    needed: int,
    of_evaluations: int,
    of_table: int,
    remedies: list[str],
    resources: Resources,
) -> ResourceError:
    hint = f"a higher limit (Resources(memory_limit={needed}))"
    if remedies:
        hint = ", ".join([*remedies, f"or {hint}"])
    return ResourceError(
        f"{n_rows:,} rows need {bytes_text(needed)}; memory_limit allows "
        f"{bytes_text(resources.memory_limit)}. Evaluations of the model take "
        f"{bytes_text(of_evaluations)}, the table and the plan {bytes_text(of_table)}. "
        f"Remedies: {hint}.",
        code="D33",
        argument="resources",
        hint=hint,
    )


def require_rows(resources: Resources, n_rows: int) -> None:
    """Refuse a plan that sends more rows to the model than the user allows (M13).

    Raises
    ------
    ResourceError
        With the numbers and the remedies.
    """
    limit = resources.max_evaluations
    if limit is not None and n_rows > limit:
        message = f"the plan sends {n_rows:,} rows to the model; max_evaluations allows {limit:,}."
        raise too_much_work(message, f"max_evaluations={n_rows}", code="M13")

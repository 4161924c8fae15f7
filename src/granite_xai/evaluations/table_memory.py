"""Bytes that a table takes besides its evaluations."""

from __future__ import annotations

from granite_xai.compute import MemoryNeeds, Resources, require_budget
from granite_xai.evaluations.value_grid import COARSEST
from granite_xai.tables import Table

# A cell of the table: value and code as they were read; value, code and the user's container for the
# rows that are used; and how trees see it.
CELL_BYTES = 2 * 8 + 3 * 8 + 4
NUMBER_BYTES = 8
MEMBER_BYTES = 80  # of a column in a set of columns
FREE_SET_BYTES = 2**24  # bytes of sets of columns that any fit may make before it is refused


def table_bytes(n_rows: int, n_columns: int, n_members: int, n_vectors: int = 0) -> int:
    """Bytes of a table and of what is kept for its rows and sets of columns.

    Parameters
    ----------
    n_rows, n_columns : int
    n_members : int
        Columns of all sets that the request names, added up.
    n_vectors : int
        Further numbers kept of each row.
    """
    of_cells = CELL_BYTES * n_rows * n_columns
    of_vectors = NUMBER_BYTES * n_vectors * n_rows
    return of_cells + of_vectors + MEMBER_BYTES * n_members


def _most_values_of_column(resources: Resources, n_rows: int) -> int:
    """Values at which a column is evaluated, at most: the fewest that "auto" takes, those asked for, or all."""
    if resources.max_grid == "auto":
        return COARSEST
    return resources.grid or n_rows


def require_room(table: Table, resources: Resources) -> None:
    """Refuse a wide table that no fit could hold, before every set of columns is named (D33).

    Parameters
    ----------
    table : Table
    resources : Resources
        What is allowed.
    """
    n_rows = table.n_rows
    n_columns = table.n_columns
    # Every fit names, for each column, the set of the others.
    n_members = n_columns * (n_columns - 1)
    if MEMBER_BYTES * n_members < FREE_SET_BYTES:
        return
    # For every column it evaluates the column at each of its values, or all others at theirs. These are at
    # least as many as the richest of the others has: more than the column's own, unless it is the richest
    # itself. So it takes the values of every column but the richest, and for that one at least those of the
    # second richest.
    most_values = _most_values_of_column(resources, n_rows)
    values = sorted(min(len(column.levels), most_values) for column in table.columns)
    second_richest = values[-2]
    evaluations = NUMBER_BYTES * n_rows * (sum(values[:-1]) + second_richest)
    needs = MemoryNeeds(table_bytes(n_rows, n_columns, n_members), evaluations)
    if needs.least_limit > resources.memory_limit:
        # The limit that the error names shall be enough for the whole fit.
        fixed = table_bytes(n_rows, n_columns, 3 * n_members, 6 * n_columns)
        remedies = ["fewer features (features=)"]
        require_budget(resources, MemoryNeeds(fixed, evaluations), n_rows, remedies)

"""Footprint: what a table and a plan of evaluations take, besides the evaluations themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from granite_xai.base.errors import ResourceError
from granite_xai.compute import Resources, require_budget

if TYPE_CHECKING:
    from granite_xai.tables import Table

CELL = 36
"""Bytes of a cell of the table: the user's container, its values, their codes, and how a model's trees see them."""
MEMBER = 80
"""Bytes of a column in a set of columns."""
CHEAP = 2**24
"""Bytes of sets of columns that any plan may make before it is refused."""


def footprint(table: Table, members: int = 0, vectors: int = 0) -> int:
    """Bytes that grow with the rows or the columns of a table.

    Parameters
    ----------
    table : Table
    members : int
        Columns of all sets of columns that the plan names.
    vectors : int
        Numbers of each row that are kept: codes, bins, predictions.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> footprint(read_table([[1.0, 2.0], [3.0, 4.0]], missing="error"), vectors=3)
    192
    """
    return CELL * table.n_rows * table.n_columns + 8 * vectors * table.n_rows + MEMBER * members


def require_room(table: Table, resources: Resources) -> None:
    """Refuse a wide table that no plan could fit at once, before every set of columns is named (D33).

    Every fit evaluates every column at each of its values, or the others at theirs, of which there are at least as many
    as the richest of them has; and every plan names what is left without each column.

    Parameters
    ----------
    table : Table
    resources : Resources

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> require_room(read_table([[1.0, 2.0], [3.0, 4.0]], missing="error"), Resources())
    """
    members = table.n_columns * (table.n_columns - 1)
    if MEMBER * members < CHEAP:
        return
    levels = sorted(min(len(column.levels), resources.max_grid or table.n_rows) for column in table.columns)
    evaluations = 8 * table.n_rows * (sum(levels[:-1]) + levels[-2])
    try:
        require_budget(resources, footprint(table, members), evaluations)
    except ResourceError:
        # Refused, but the limit that the error names shall be enough for the whole plan as well.
        require_budget(resources, footprint(table, 3 * members, 6 * table.n_columns), evaluations)
        raise

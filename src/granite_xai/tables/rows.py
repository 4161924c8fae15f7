"""One row given by hand, such as a baseline, as a table like another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError, column_text, listing
from granite_xai.tables.cells import UnreadableError, from_objects
from granite_xai.tables.columns import Column
from granite_xai.tables.kinds import as_kind
from granite_xai.tables.read import read_table
from granite_xai.tables.table import Table


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row as a table with the columns, kinds and library of another table.

    Parameters
    ----------
    table : Table
        What the row should look like.
    row : mapping from columns to cells, or a sequence with a cell for every column
        The cells. A mapping may leave columns out if ``table`` has a single row, whose cells then stay.
    argument : str
        What the caller calls the row.

    Returns
    -------
    Table
        One row. A column whose dtype cannot hold the cell exactly gets a dtype that can.

    Examples
    --------
    >>> table = read_table([[1, 10], [2, 20]], missing="error")
    >>> row_like(table, {"x0": 1.5, "x1": 15}, "row").native
    array([[ 1.5, 15. ]])
    """
    cells = _cells(table, row, argument)
    columns = [_column(column, cells, argument) for column in table.columns]
    first = np.zeros(1, dtype=np.intp)
    native = table.container.recombined(first, table.container.adopt(columns), first, sorted(cells))
    return read_table(native, missing="allow", like=table, argument=argument)


def _cells(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> dict[int, Any]:
    """The cells by position, all of them unless the table's only row has the others."""
    if not isinstance(row, Mapping):
        if len(row) != table.n_columns:
            message = f"{argument} has {len(row)} cells, the table has {table.n_columns} columns."
            raise InputError(message, code="D37", argument=argument, hint=f"Columns: {listing(table.names)}.")
        return dict(enumerate(row))
    cells = {table.resolve(label, argument): cell for label, cell in row.items()}
    absent = [name for j, name in enumerate(table.names) if j not in cells]
    if absent and table.n_rows != 1:
        message = f"{argument} has no cell for the columns {listing(absent)}."
        raise InputError(message, code="D37", argument=argument, columns=absent, hint="Give every column a cell.")
    return cells


def _column(column: Column, cells: dict[int, Any], argument: str) -> Column:
    if column.position not in cells:
        return column.take(np.zeros(1, dtype=np.intp))
    held = np.empty(1, dtype=object)
    held[0] = cells[column.position]
    try:
        values = as_kind(from_objects(held), column.kind).values
    except UnreadableError as refused:
        message = f"{argument} {column_text(column.name, column.position)} {refused.reason}."
        raise InputError(
            message, code=refused.code, argument=argument, columns=[column.name], hint=refused.hint
        ) from None
    return Column(column.name, column.position, column.kind, values, column.order)

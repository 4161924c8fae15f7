"""One row that a user gives by hand, such as a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.files import object_array
from granite_xai.base.text import column_text, listing
from granite_xai.tables.cells import UnreadableError, as_kind, from_array
from granite_xai.tables.columns import Column
from granite_xai.tables.reading import read_table
from granite_xai.tables.table import Table


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row that is given by hand.

    Parameters
    ----------
    table : Table
        Whose columns, dtypes and library the row gets.
    row : mapping of a column's label to its cell, or sequence of all cells
        Columns may be left out where the table has one row: they have its cells.
    argument : str
        Name of the row in messages.

    Returns
    -------
    Table
        With one row.
    """
    cells = _cells_by_position(table, row, argument)
    without_cell = [column.name for column in table.columns if column.position not in cells]
    if without_cell and table.n_rows != 1:
        raise InputError(
            f"{argument} has no cell for the columns {listing(without_cell)}.",
            code="D37",
            argument=argument,
            columns=without_cell,
            hint="Give every column a cell.",
        )
    first_row = np.zeros(1, dtype=np.intp)
    columns = []
    for column in table.columns:
        if column.position in cells:
            columns.append(_column_of_cell(column, cells[column.position], argument))
        else:
            columns.append(column.take(first_row))
    container = table.container
    native = container.recombined(first_row, container.adopt(columns), first_row, sorted(cells))
    return read_table(native, missing="allow", like=table, argument=argument)


def _cells_by_position(
    table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str
) -> dict[int, Any]:
    if isinstance(row, Mapping):
        return {table.resolve(label, argument): cell for label, cell in row.items()}
    if len(row) != table.n_columns:
        raise InputError(
            f"{argument} has {len(row)} cells, the table has {table.n_columns} columns.",
            code="D37",
            argument=argument,
            hint=f"Features: {listing(table.names)}.",
        )
    return dict(enumerate(row))


def _column_of_cell(column: Column, cell: Any, argument: str) -> Column:
    """A column of one row, of the kind of another column."""
    try:
        cells = as_kind(from_array(object_array([cell])), column.kind)
    except UnreadableError as unreadable:
        place = column_text(column.name, column.position)
        raise InputError(
            f"{argument} {place} {unreadable.reason}.",
            code=unreadable.code,
            argument=argument,
            columns=[column.name],
            hint=unreadable.hint,
        ) from None
    return Column(column.name, column.position, column.kind, cells.values, order=column.order)

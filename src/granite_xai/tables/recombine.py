"""Tables that we make: recombined and moved rows for the model, one row given by hand, result frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from granite_xai.base.errors import InputError, column_text, listing
from granite_xai.base.typing import IntArray
from granite_xai.tables.cells import UnreadableError, as_kind, from_objects
from granite_xai.tables.columns import Column
from granite_xai.tables.reading import read_table
from granite_xai.tables.table import Table


def recombine(
    base: Table,
    base_rows: Sequence[int] | IntArray,
    donor: Table,
    donor_rows: Sequence[int] | IntArray,
    columns: Iterable[int],
) -> Any:
    """Rows of one table with some columns taken from rows of another: ``(x_S of the donor, x_rest of the base)``.

    Parameters
    ----------
    base, donor : Table
        Often the same table. A donor of another library is converted.
    base_rows, donor_rows : sequences of int, of equal length
        Which rows to combine.
    columns : iterable of int
        Positions of the columns that come from the donor.

    Returns
    -------
    native table
        A fresh table of the library of ``base``. Dtypes, category sets and the type of the index are those of
        ``base``; only a donor's column that its dtype cannot hold exactly keeps the donor's.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> table = read_table([[1, 10], [2, 20]], missing="error")
    >>> recombine(table, [0, 0], table, [0, 1], [1])
    array([[ 1, 10],
           [ 1, 20]])
    """
    rows, others = np.asarray(base_rows, dtype=np.intp), np.asarray(donor_rows, dtype=np.intp)
    if rows.shape != others.shape:
        raise ValueError(f"base_rows has shape {rows.shape}, donor_rows has shape {others.shape}.")
    alike = donor.container.library == base.container.library
    container = donor.container if alike else base.container.adopt(donor.columns)
    return base.container.recombined(rows, container, others, sorted(columns))


def nudged(
    table: Table, rows: Sequence[int] | IntArray, direction: Literal[1, -1], columns: Sequence[int] | None = None
) -> Any:
    """Rows with every floating-point cell (of some columns) moved to the next number of its own dtype, up or down.

    Missing cells stay missing, and a cell at the end of the range stays where it is.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> table = read_table(np.array([[1.0]], dtype=np.float32), missing="error")
    >>> float(nudged(table, [0], +1)[0, 0]) - 1.0 == 2.0**-23
    True
    """
    chosen = range(table.n_columns) if columns is None else columns
    return table.container.nudged(np.asarray(rows, dtype=np.intp), direction, list(chosen))


def frame(data: Mapping[str, Sequence[Any] | Any], like: Table | None = None) -> Any:
    """A frame in the library of a table; pandas for arrays.

    Parameters
    ----------
    data : mapping
        Columns by name, in order.
    like : Table, optional
        The table whose library is used.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> frame({"region": [0, 1], "value": [0.5, 0.25]}, read_table([[1.0]], missing="error"))
       region  value
    0       0   0.50
    1       1   0.25
    """
    import narwhals as nw

    if like is None or like.container.library in ("numpy", "pandas"):
        return nw.from_dict(dict(data), backend="pandas").to_native()
    backend = nw.from_native(like.native, eager_only=True).implementation
    return nw.from_dict({name: list(values) for name, values in data.items()}, backend=backend).to_native()


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row given by hand, such as a baseline, as a table with the columns, kinds and library of another.

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
        columns = [column.name]
        raise InputError(message, code=refused.code, argument=argument, columns=columns, hint=refused.hint) from None
    return Column(column.name, column.position, column.kind, values, column.order)

"""Tables that we make: recombined and moved rows for the model, bare numbers, one row given by hand, result frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import InputError, column_text, listing
from granite_xai.base.files.arrays import object_array
from granite_xai.base.typing import IntArray
from granite_xai.tables.columns import Column, UnreadableError, as_kind, from_objects
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table
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

    Returns a fresh native table of the library of ``base``; a donor of another library is converted. Dtypes, category
    sets and the type of the index are those of ``base``; only a donor's column that its dtype cannot hold exactly
    keeps the donor's.
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
    """
    chosen = range(table.n_columns) if columns is None else columns
    return table.container.nudged(np.asarray(rows, dtype=np.intp), direction, list(chosen))


def frame(data: Mapping[str, Sequence[Any] | Any], like: Table | None = None) -> Any:
    """A frame in the library of a table; pandas for arrays."""
    import narwhals as nw

    if like is None or like.container.library in ("numpy", "pandas"):
        return nw.from_dict(dict(data), backend="pandas").to_native()
    backend = nw.from_native(like.native, eager_only=True).implementation
    return nw.from_dict({name: list(values) for name, values in data.items()}, backend=backend).to_native()


def row_like(table: Table, row: Mapping[Any, Any] | Sequence[Any], argument: str) -> Table:
    """Read one row given by hand, such as a baseline, as a table with the columns, kinds and library of another.

    A mapping may leave columns out if ``table`` has a single row, whose cells then stay. A column whose dtype cannot
    hold the cell exactly gets a dtype that can.
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
    try:
        values = as_kind(from_objects(object_array([cells[column.position]])), column.kind).values
    except UnreadableError as refused:
        message = f"{argument} {column_text(column.name, column.position)} {refused.reason}."
        columns = [column.name]
        raise InputError(message, code=refused.code, argument=argument, columns=columns, hint=refused.hint) from None
    return Column(column.name, column.position, column.kind, values, column.order)


# What models take that know neither frames nor names.


def number_matrix(native: Any, reader: str) -> NDArray[Any]:
    """All cells as one matrix of numbers; booleans are 0 and 1, missing cells NaN.

    A column of text or dates is refused (M14), with the name of the ``reader`` who wants numbers.
    """
    container = open_table(native, "X")
    if container.matrix is not None and container.matrix.dtype.kind in "fiub":
        return container.matrix
    columns = [_numbers(container, position, reader) for position in range(len(container.labels))]
    return np.column_stack(columns) if columns else np.empty((container.n_rows, 0))


def number_column(native: Any, position: int, reader: str, whole: bool = False) -> NDArray[Any]:
    """One column as float64 numbers; ``whole`` refuses fractions and missing cells."""
    container = open_table(native, "X")
    numbers = _numbers(container, position, reader)
    if whole and not bool(np.all(numbers == np.rint(numbers))):
        raise _refusal(container, position, "holds fractions or missing values", f"{reader} takes whole numbers")
    return numbers


def text_column(native: Any, position: int, reader: str) -> NDArray[Any]:
    """One column of labels as texts."""
    container = open_table(native, "X")
    cells = container.cells(position)
    text = cells.kind in ("nominal", "ordinal")
    if not text or any(label is None for label in cells.values):
        reason = "has missing values" if text else f"is {cells.kind}"
        raise _refusal(container, position, reason, f"{reader} takes text")
    return object_array([str(label) for label in cells.values])


def _numbers(container: Container, position: int, reader: str) -> NDArray[Any]:
    try:
        return as_kind(container.cells(position), "numeric").values
    except UnreadableError as refused:
        raise _refusal(container, position, refused.reason, f"{reader} takes numbers") from None


def _refusal(container: Container, position: int, reason: str, wish: str) -> InputError:
    name = container.names[position]
    message = f"X {column_text(name, position)} {reason}; {wish}."
    hint = "Convert the column, or pass a function of the table that does it as the model."
    return InputError(message, code="M14", argument="X", columns=[name], hint=hint)

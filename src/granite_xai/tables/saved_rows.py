"""The rows of a table in the types of JSON, with their dtypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import Form, Structure, broken, require
from granite_xai.base.files.cells import UnwritableError
from granite_xai.base.text import column_text
from granite_xai.tables.arrays import ArrayContainer
from granite_xai.tables.cells import UnreadableError, as_kind
from granite_xai.tables.columns import Column
from granite_xai.tables.containers import Container
from granite_xai.tables.opening import open_table
from granite_xai.tables.saved_columns import ColumnCells, read_column, write_column
from granite_xai.tables.table import Table


def _as_it_is(cells: Any, place: str) -> Any:
    return cells


# An object is what `write_cells` gives, in the types of JSON already.
_STRUCTURE = Structure(forms={object: Form(write=_as_it_is, read=_as_it_is)})


def rows_to_dict(table: Table) -> Any:
    """Write the rows of a table, column by column.

    Raises
    ------
    InputError
        F08: a column would not come back equal.
    """
    written = []
    for column in table.columns:
        try:
            cells = write_column(_series(table, column))
        except UnwritableError as error:
            raise _unwritable_column(column, str(error)) from None
        written.append(_STRUCTURE.write(cells, ColumnCells, "rows"))
    copy = rows_from_dict(written, table, "rows")
    for column, copied in zip(table.columns, copy.columns, strict=True):
        _require_equal(table, column, copy, copied)
    return written


def _require_equal(table: Table, column: Column, copy: Table, copied: Column) -> None:
    dtype = _dtype(table, column)
    same_codes = np.array_equal(column.codes, copied.codes)
    same_levels = np.array_equal(column.levels, copied.levels)
    if not same_codes or not same_levels or dtype != _dtype(copy, copied):
        raise _unwritable_column(column, f"has dtype {dtype}")


def _unwritable_column(column: Column, reason: str) -> InputError:
    """The error for a column that would not come back equal (F08)."""
    place = column_text(column.name, column.position)
    return InputError(
        f"X {place} {reason}, which a file cannot hold exactly.",
        code="F08",
        argument="obj",
        columns=[column.name],
        hint="Convert the column before the fit, or pickle the object: "
        "that keeps everything, the model included.",
    )


def rows_from_dict(data: object, like: Table, place: str) -> Table:
    """Read what `rows_to_dict` wrote.

    Parameters
    ----------
    data : object
        What the file holds.
    like : Table
        Has the names, kinds and orders of the columns.
    place : str
        Where the rows stand in the file.

    Raises
    ------
    FormatError
        F04, with the place.
    """
    columns: list[ColumnCells] = _STRUCTURE.read(data, list[ColumnCells], place)
    what = f"has {len(columns)} columns, not {like.n_columns}"
    require(len(columns) == like.n_columns, place, what)
    library = like.container.library
    parts = []
    for position, label in enumerate(like.container.labels):
        part_place = f"{place}[{position}]"
        parts.append(_read_part(columns[position], str(label), library, part_place))
    lengths = {len(part) for part in parts}
    are_of_one_length = len(lengths) == 1 and lengths != {0}
    what = "has columns without cells, or with different numbers of them"
    require(are_of_one_length, place, what)
    try:
        return read_alike(_joined(parts, library, like, place), like)
    except UnreadableError as error:
        raise broken(place, f"has a column that {error.reason}") from error


def _read_part(column: ColumnCells, name: str, library: str, place: str) -> Any:
    """One column in its library; cells that do not fit its dtype are an error of the file (F04)."""
    try:
        return read_column(column, name, library, place)
    except (FormatError, InputError):
        raise
    except Exception as error:  # each library has its own errors for cells that do not fit
        what = f"cannot be read as {column.dtype[:60]} ({str(error)[:80]})"
        raise broken(place, what) from error


def read_alike(native: Any, like: Table) -> Table:
    """Read a table that is known to be like another, without any checks or warnings.

    Parameters
    ----------
    native : frame, array or Container
        With the columns of ``like``, in their order.
    like : Table
        Has the names, kinds and orders of the columns.
    """
    container = native if isinstance(native, Container) else open_table(native, "X")
    columns = []
    for column in like.columns:
        cells = as_kind(container.cells(column.position), column.kind)
        columns.append(replace(column, values=cells.values))
    return Table(tuple(columns), container)


def _series(table: Table, column: Column) -> Any:
    """One column in its library, those of polars and pyarrow as narwhals has them."""
    container: Any = table.container
    if container.library == "numpy":
        return container.matrix[:, column.position]
    series = container.series(column.position)
    if container.library == "pandas":
        return series.to_native()
    return series


def _dtype(table: Table, column: Column) -> Any:
    """The dtype of a column; texts of any length and numbers of any byte order are alike."""
    dtype = _series(table, column).dtype
    if not isinstance(dtype, np.dtype):
        return dtype
    return "str" if dtype.kind == "U" else dtype.newbyteorder("=")


def _joined(parts: list[Any], library: str, like: Table, place: str) -> Container:
    """Columns as one table of their library."""
    if library == "numpy":
        dtypes = {str if part.dtype.kind == "U" else part.dtype for part in parts}
        require(len(dtypes) == 1, place, "has columns of different dtypes")
        return ArrayContainer(np.column_stack(parts))
    if library == "pandas":
        frame = pd.concat(parts, axis=1)
        frame.columns = pd.Index(like.container.labels)
        return open_table(frame, "X")
    return open_table(parts[0].to_frame().with_columns(*parts[1:]).to_native(), "X")

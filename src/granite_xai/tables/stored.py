"""Tables in the types of JSON: what is known of their columns, and rows with their dtypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from granite_xai.base.errors import InputError, column_text
from granite_xai.base.files import broken, entry, members
from granite_xai.tables.arrays_file import UnwritableError, array_from_json, array_to_json
from granite_xai.tables.cells import UnreadableError, as_kind
from granite_xai.tables.columns import KINDS, LABELLED, Column, Kind
from granite_xai.tables.containers import ArrayContainer, Container
from granite_xai.tables.opening import open_table
from granite_xai.tables.outline import BACKENDS, Outline
from granite_xai.tables.table import Table


def outline_to_dict(table: Table, *, grids: bool) -> dict[str, Any]:
    """Write names, kinds, orders and levels; with ``grids`` also the distinct values of numbers and dates.

    Values stand in ascending order, each column for itself: no row can be put together from them.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> outline_to_dict(read_table([[2.0], [1.0]], missing="error"), grids=True)["columns"][0]["levels"]
    [1.0, 2.0]
    """
    labels: list[Any] = [str(label) if isinstance(label, str) else int(cast(int, label)) for label in _labels(table)]
    columns = [_column_to_dict(column, grids) for column in table.columns]
    return {"library": _backend(table.container), "labels": labels, "columns": columns}


def outline_from_dict(data: object, place: str) -> Table:
    """Read what `outline_to_dict` wrote, as a table without rows."""
    library = entry(data, "library", str, place)
    labels, columns = members(data, "labels", place), members(data, "columns", place)
    if library not in BACKENDS:
        raise broken(f"{place}.library", f"is {library[:60]!r}, which is not known")
    if not columns or len(labels) != len(columns) or not all(type(label) in (str, int) for label in labels):
        raise broken(f"{place}.labels", "is not one text or number for each column")
    made = tuple(_column_from_dict(item, j, f"{place}.columns[{j}]") for j, item in enumerate(columns))
    if len({column.name for column in made}) < len(made):
        raise broken(f"{place}.columns", "has two columns of one name")
    return Table(made, Outline(tuple(labels), library))


def rows_to_dict(table: Table) -> dict[str, Any]:
    """Write the rows of a table, column by column with dtypes; what would not come back equal is refused.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> rows_to_dict(read_table([[2, 1], [3, 4]], missing="error"))
    {'count': 2, 'columns': [{'dtype': 'int64', 'cells': [2, 3]}, {'dtype': 'int64', 'cells': [1, 4]}]}
    """
    columns = []
    for column in table.columns:
        try:
            columns.append(_written(table.container, column.position))
        except UnwritableError as error:
            raise _unwritable(column, str(error)) from None
    written = {"count": table.n_rows, "columns": columns}
    again = rows_from_dict(written, table, "rows")
    for column, read in zip(table.columns, again.columns, strict=True):
        dtype = _dtype(table.container, column.position)
        if not _same(column, read) or dtype != _dtype(again.container, read.position):
            raise _unwritable(column, f"has dtype {dtype}")
    return written


def rows_from_dict(data: object, like: Table, place: str) -> Table:
    """Read what `rows_to_dict` wrote, as a table with the names, kinds and orders of another."""
    count, columns = entry(data, "count", int, place), members(data, "columns", place)
    if len(columns) != like.n_columns:
        raise broken(f"{place}.columns", f"has {len(columns)} columns, not {like.n_columns}")
    container = _container(columns, like, place)
    if container.n_rows != count or count < 1:
        raise broken(f"{place}.count", f"is {count}, but the columns have {container.n_rows} cells")
    try:
        return read_alike(container, like)
    except UnreadableError as error:
        raise broken(place, f"has a column that {error.reason}") from error


def read_alike(native: Any, like: Table) -> Table:
    """Read a table that is known to be like another: no checks, no warnings.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> read_alike(np.array([[5.0]]), read_table([[1.0]], missing="error")).columns[0].levels
    array([5.])
    """
    container = native if isinstance(native, Container) else open_table(native, "X")
    cells = [as_kind(container.cells(column.position), column.kind) for column in like.columns]
    pairs = zip(like.columns, cells, strict=True)
    return Table(tuple(replace(column, values=read.values) for column, read in pairs), container)


def _labels(table: Table) -> tuple[Any, ...]:
    return table.container.labels


def _backend(container: Container) -> str:
    return container.library


def _column_to_dict(column: Column, grids: bool) -> dict[str, Any]:
    shown = grids or column.kind in LABELLED
    dtype, levels = array_to_json(column.levels if shown else column.levels[:0])
    return {
        "name": column.name,
        "kind": column.kind,
        "dtype": dtype,
        "levels": levels,
        "missing": bool(column.missing.any()),
        "order": None if column.order is None else list(column.order),
        "declared": None if column.declared is None else list(column.declared),
        "integer": column.integer,
    }


def _column_from_dict(data: object, position: int, place: str) -> Column:
    kind = entry(data, "kind", str, place)
    if kind not in KINDS:
        raise broken(f"{place}.kind", f"is {kind[:60]!r}, which is not known")
    cells, missing = members(data, "levels", place), entry(data, "missing", bool, place)
    levels = array_from_json(entry(data, "dtype", str, place), cells, f"{place}.levels")
    expected = "O" if kind in LABELLED else "Mm" if kind == "date" else "f"
    if levels.dtype.kind not in expected or (expected == "f" and levels.dtype != np.float64):
        raise broken(f"{place}.dtype", f"is {levels.dtype}, which no {kind} column has")
    column = Column(
        entry(data, "name", str, place),
        position,
        cast(Kind, kind),
        _with_missing(levels, missing),
        _all_labels(data, "order", place),
        entry(data, "integer", bool, place),
        _all_labels(data, "declared", place),
    )
    if kind == "ordinal" and column.order is None:
        raise broken(f"{place}.order", "is not a list of labels")
    try:
        settled = len(levels) == len(column.levels) and bool(np.all(column.levels == levels))
    except TypeError:
        settled = False
    if not settled:
        raise broken(f"{place}.levels", "is not a list of different values in their order")
    return column


def _with_missing(levels: Any, missing: bool) -> Any:
    if not missing:
        return levels
    gap = {"O": None, "f": np.nan}.get(levels.dtype.kind, "NaT")
    return np.append(levels, np.array([gap], dtype=levels.dtype))


def _all_labels(data: object, key: str, place: str) -> tuple[Any, ...] | None:
    if entry(data, key, object, place) is None:
        return None
    labels = members(data, key, place)
    if not all(isinstance(label, str | int | float) for label in labels) or len(set(labels)) < len(labels):
        raise broken(f"{place}.{key}", "is not a list of different labels")
    return tuple(labels)


def _written(container: Container, position: int) -> dict[str, Any]:
    if isinstance(container, ArrayContainer):
        name, cells = array_to_json(container.matrix[:, position])
        return {"dtype": name, "cells": cells}
    if container.library == "pandas":
        from granite_xai.tables.pandas_file import series_to_dict as from_pandas

        return from_pandas(container.native.iloc[:, position])
    from granite_xai.tables.narwhals_file import series_to_dict as from_narwhals

    return from_narwhals(cast(Any, container).series(position))


def _container(columns: list[Any], like: Table, place: str) -> Container:
    """Put the columns together in the library of the table, or in pandas where that is not installed."""
    backend = _backend(like.container)
    places = [f"{place}.columns[{j}]" for j in range(len(columns))]
    if backend == "numpy":
        return _matrix(columns, places, place)
    if backend == "pandas":
        return _frame(columns, like, places, place)
    import narwhals as nw

    from granite_xai.tables.narwhals_file import series_from_dict

    try:
        library = nw.Implementation.from_backend(cast(Any, backend))
        library.to_native_namespace()
    except ImportError as error:
        message = f"the rows in this file need the package {backend}."
        raise InputError(message, code="P08", hint=f"pip install {backend} installs it.") from error
    names = [str(label) for label in like.container.labels]
    parts = [series_from_dict(item, n, library, p) for item, n, p in zip(columns, names, places, strict=True)]
    if len({len(part) for part in parts}) > 1:
        raise broken(f"{place}.columns", "have different numbers of cells")
    return open_table(parts[0].to_frame().with_columns(*parts[1:]).to_native(), "X")


def _matrix(columns: list[Any], places: list[str], place: str) -> Container:
    arrays = [
        array_from_json(entry(item, "dtype", str, p), members(item, "cells", p), p)
        for item, p in zip(columns, places, strict=True)
    ]
    kinds = {array.dtype if array.dtype.kind != "U" else np.dtype(str) for array in arrays}
    if len({len(array) for array in arrays}) > 1 or len(kinds) > 1:
        raise broken(f"{place}.columns", "have different numbers of cells, or different dtypes")
    matrix = np.empty((len(arrays[0]), len(arrays)), dtype=max(array.dtype for array in arrays))
    for j, array in enumerate(arrays):
        matrix[:, j] = array
    return ArrayContainer(matrix)


def _frame(columns: list[Any], like: Table, places: list[str], place: str) -> Container:
    import pandas as pd

    from granite_xai.tables.pandas_file import series_from_dict

    parts = [series_from_dict(item, p) for item, p in zip(columns, places, strict=True)]
    if len({len(part) for part in parts}) > 1:
        raise broken(f"{place}.columns", "have different numbers of cells")
    frame = pd.concat(parts, axis=1) if parts else pd.DataFrame()
    frame.columns = pd.Index(like.container.labels)
    return open_table(frame, "X")


def _dtype(container: Container, position: int) -> Any:
    if isinstance(container, ArrayContainer):
        dtype = container.matrix.dtype
        return "str" if dtype.kind == "U" else dtype.newbyteorder("=")
    if container.library == "pandas":
        return container.native.dtypes.iloc[position]
    return cast(Any, container).series(position).dtype


def _same(one: Column, other: Column) -> bool:
    if one.kind in LABELLED:
        return bool(one.values.tolist() == other.values.tolist())
    return bool(np.all((one.values == other.values) | (one.missing & other.missing)))


def _unwritable(column: Column, reason: str) -> InputError:
    return InputError(
        f"X {column_text(column.name, column.position)} {reason}, which a file cannot hold exactly.",
        code="F08",
        argument="obj",
        columns=[column.name],
        hint="Convert the column before the fit, or pickle the object: that keeps everything, the model included.",
    )

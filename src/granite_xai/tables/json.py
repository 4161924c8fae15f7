"""Tables in the types of JSON: what is known of their columns, and rows with their dtypes."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import Form, Structure, broken, object_array, require
from granite_xai.base.files.cells import (
    UnwritableError,
    dtype_name,
    read_cells,
    read_dtype,
    write_cells,
)
from granite_xai.base.text import column_text
from granite_xai.tables.columns import LABELLED, Column, Kind, UnreadableError, as_kind
from granite_xai.tables.containers import ArrayContainer, Container, Outline
from granite_xai.tables.opening import open_table
from granite_xai.tables.table import Table

# Dtypes that pandas builds from their name; nothing else is handed to its parser.
_NULLABLE = re.compile(
    r"U?Int(?:8|16|32|64)|Float(?:32|64)|boolean|string|str|"
    r"(?:u?int(?:8|16|32|64)|float|double|bool|string|large_string)\[pyarrow\]"
)
_ZONED = re.compile(r"datetime64\[(s|ms|us|ns), ((?!dateutil)[A-Za-z]+(?:/[A-Za-z0-9_+-]+){0,2})\]")
# The same of narwhals.
_NARWHALS = re.compile(r"U?Int(?:8|16|32|64)|Float(?:32|64)|Boolean|String|Categorical|Date|Enum")
_TICKS = re.compile(r"(Datetime|Duration)\[(s|ms|us|ns)\]")
_OBJECTS = np.dtype(object)
# An object is what `write_cells` gives, in the types of JSON already.
_STRUCTURE = Structure(forms={object: Form(lambda cells, _: cells, lambda cells, _: cells)})


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """What a file knows of a column: its distinct values stand in ascending order, so that no row can be told."""

    name: str
    kind: Kind
    levels: NDArray[Any]
    missing: bool
    order: tuple[Any, ...] | None
    integer: bool
    declared: tuple[Any, ...] | None
    passes: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TableFacts:
    """What a file knows of a table without its rows."""

    library: Literal["numpy", "pandas", "polars", "pyarrow"]
    labels: tuple[str | int, ...]
    columns: tuple[ColumnFacts, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCells:
    """The cells of a column with its dtype; of a column of categories the codes."""

    dtype: str
    cells: object
    categories: ColumnCells | None = None
    ordered: bool = False


def outline_to_dict(table: Table, *, grids: bool) -> Any:
    """Write names, kinds, orders and levels; with ``grids`` also the distinct values of numbers and dates."""
    columns = []
    for c in table.columns:
        levels = c.levels if (grids or c.kind in LABELLED) and not c.passes else c.levels[:0]
        facts = (c.order, c.integer, None if c.passes else c.declared, c.passes)
        columns.append(ColumnFacts(c.name, c.kind, levels, bool(c.missing.any()), *facts))
    held: Any = table.container
    labels = tuple(str(label) if isinstance(label, str) else int(label) for label in held.labels)
    return _STRUCTURE.write(TableFacts(held.library, labels, tuple(columns)), TableFacts, "table")


def outline_from_dict(data: object, place: str) -> Table:
    """Read what `outline_to_dict` wrote, as a table without rows."""
    facts: TableFacts = _STRUCTURE.read(data, TableFacts, place)
    count = len(facts.columns)
    require(
        len(facts.labels) == count > 0,
        f"{place}.labels",
        "is not one text or number for each column",
    )
    made = tuple(_column(c, j, f"{place}.columns[{j}]") for j, c in enumerate(facts.columns))
    require(
        len({column.name for column in made}) == count,
        f"{place}.columns",
        "has two columns of one name",
    )
    return Table(made, Outline(facts.labels, facts.library))


def _column(facts: ColumnFacts, position: int, place: str) -> Column:
    for key, labels in (("order", facts.order), ("declared", facts.declared)):
        plain = all(isinstance(label, str | int | float) for label in labels or ())
        different = plain and len(set(labels or ())) == len(labels or ())
        require(different, f"{place}.{key}", "is not a list of different labels")
    levels = facts.levels
    expected = "O" if facts.kind in LABELLED else "Mm" if facts.kind == "date" else "f"
    right = (
        levels.ndim == 1
        and levels.dtype.kind in expected
        and (expected != "f" or levels.dtype == np.float64)
    )
    require(
        right, f"{place}.levels", f"has the dtype {levels.dtype}, which no {facts.kind} column has"
    )
    if facts.kind == "ordinal":
        require(facts.order is not None, f"{place}.order", "is not a list of labels")
        placed = set(levels.tolist()) <= set(facts.order or ())
        require(placed, f"{place}.order", "has no place for some of the levels")
    gap = {"O": None, "f": np.nan}.get(levels.dtype.kind, "NaT")
    values = np.append(levels, np.array([gap], dtype=levels.dtype)) if facts.missing else levels
    own = (facts.order, facts.integer, facts.declared, facts.passes)
    column = Column(facts.name, position, facts.kind, values, *own)
    with suppress(TypeError):
        if np.array_equal(column.levels, levels):
            return column
    raise broken(f"{place}.levels", "is not a list of different values in their order")


def rows_to_dict(table: Table) -> Any:
    """Write the rows of a table, column by column with dtypes; what would not come back equal is refused (F08)."""
    written = []
    try:
        for column in table.columns:
            written += _STRUCTURE.write([_cells(_series(table, column))], list[ColumnCells], "rows")
        again = rows_from_dict(written, table, "rows")
        for column, read in zip(table.columns, again.columns, strict=True):
            dtype = _dtype(table, column)
            same = np.array_equal(column.codes, read.codes) and np.array_equal(
                column.levels, read.levels
            )
            if not same or dtype != _dtype(again, read):
                raise UnwritableError(f"has dtype {dtype}")
    except UnwritableError as error:
        message = f"X {column_text(column.name, column.position)} {error}, which a file cannot hold exactly."
        hint = "Convert the column before the fit, or pickle the object: that keeps everything, the model included."
        raise InputError(
            message, code="F08", argument="obj", columns=[column.name], hint=hint
        ) from None
    return written


def rows_from_dict(data: object, like: Table, place: str) -> Table:
    """Read what `rows_to_dict` wrote, as a table with the names, kinds and orders of another."""
    columns: list[ColumnCells] = _STRUCTURE.read(data, list[ColumnCells], place)
    require(
        len(columns) == like.n_columns, place, f"has {len(columns)} columns, not {like.n_columns}"
    )
    backend, parts = like.container.library, []
    for j, (column, label) in enumerate(zip(columns, like.container.labels, strict=True)):
        try:
            parts.append(_restored(column, str(label), backend, f"{place}[{j}]"))
        except (FormatError, InputError):
            raise
        except Exception as error:  # each library has its own errors for cells that do not fit
            raise broken(
                f"{place}[{j}]", f"cannot be read as {column.dtype[:60]} ({str(error)[:80]})"
            ) from error
    right = len({len(part) for part in parts}) == 1 and len(parts[0]) > 0
    require(right, place, "has columns without cells, or with different numbers of them")
    try:
        return read_alike(_joined(parts, backend, like, place), like)
    except UnreadableError as error:
        raise broken(place, f"has a column that {error.reason}") from error


def read_alike(native: Any, like: Table) -> Table:
    """Read a table that is known to be like another: no checks, no warnings."""
    container = native if isinstance(native, Container) else open_table(native, "X")
    cells = [as_kind(container.cells(column.position), column.kind) for column in like.columns]
    pairs = zip(like.columns, cells, strict=True)
    return Table(tuple(replace(column, values=read.values) for column, read in pairs), container)


def _series(table: Table, column: Column) -> Any:
    """One column in its library, those of polars and pyarrow as narwhals has them."""
    container: Any = table.container
    if container.library == "numpy":
        return container.matrix[:, column.position]
    series = container.series(column.position)
    return series.to_native() if container.library == "pandas" else series


def _dtype(table: Table, column: Column) -> Any:
    dtype = _series(table, column).dtype
    plain = isinstance(dtype, np.dtype)
    return dtype if not plain else "str" if dtype.kind == "U" else dtype.newbyteorder("=")


def _cells(series: Any) -> ColumnCells:
    """The cells of a column of any library."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        values = np.asarray(series)
        return ColumnCells(dtype_name(values), write_cells(values))
    name = str(dtype)
    if type(series).__module__.startswith("pandas"):
        if name == "category":
            declared = _cells(dtype.categories.to_series())
            return ColumnCells(
                name, write_cells(series.cat.codes.to_numpy()), declared, bool(dtype.ordered)
            )
        if _ZONED.fullmatch(name):
            return ColumnCells(
                name, write_cells(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
            )
        if _NULLABLE.fullmatch(name) is None:
            raise UnwritableError(f"has dtype {dtype}")
        present = zip(series.tolist(), series.notna(), strict=True)
        return ColumnCells(name, _objects(cell if there else None for cell, there in present))
    name = type(dtype).__name__
    if name in ("Datetime", "Duration") and getattr(dtype, "time_zone", None) is None:
        return ColumnCells(f"{name}[{dtype.time_unit}]", write_cells(series.to_numpy()))
    if name == "Date":
        return ColumnCells(name, write_cells(series.to_numpy().astype("M8[D]")))
    if _NARWHALS.fullmatch(name) is None:
        raise UnwritableError(f"has dtype {dtype}")
    kinds = ColumnCells("str", _objects(dtype.categories)) if name == "Enum" else None
    return ColumnCells(name, _objects(series.to_list()), kinds)


def _objects(cells: Any) -> Any:
    return write_cells(
        object_array([cell.item() if isinstance(cell, np.generic) else cell for cell in cells])
    )


def _restored(column: ColumnCells, name: str, backend: str, place: str) -> Any:
    """The column that `_cells` was given."""
    if backend == "numpy":
        return read_cells(column.cells, read_dtype(column.dtype, place), place)
    if backend == "pandas":
        return _pandas_series(column, place)
    library: Any = nw.Implementation.from_backend(cast(Any, backend))
    try:
        library.to_native_namespace()
    except ImportError as error:
        message = f"the rows in this file need the package {backend}."
        raise InputError(message, code="P08", hint=f"pip install {backend} installs it.") from error
    timed = _TICKS.fullmatch(column.dtype)
    if timed or column.dtype == "Date":
        kind: Any = getattr(nw, timed[1])(timed[2]) if timed else nw.Date()
        ticks = write_cells(
            read_cells(column.cells, np.dtype(f"M8[{timed[2] if timed else 'D'}]"), place)
        )
        return nw.new_series(name, ticks, nw.Int64 if timed else nw.Int32, backend=library).cast(
            kind
        )
    known = _NARWHALS.fullmatch(column.dtype)
    require(known, f"{place}.dtype", f"is {column.dtype[:60]!r}, which is not known")
    cells = read_cells(column.cells, _OBJECTS, place).tolist()
    if column.dtype == "Enum":
        declared = (
            ()
            if column.categories is None
            else read_cells(column.categories.cells, _OBJECTS, place)
        )
        return nw.new_series(name, cells, nw.Enum(list(declared)), backend=library)
    if column.dtype == "Categorical":
        text = nw.new_series(name, cells, nw.String, backend=library)
        if backend != "pyarrow":
            return text.cast(nw.Categorical)
        # with pyarrow's own index type: older versions turn no other into pandas
        return nw.from_native(text.to_native().dictionary_encode(), series_only=True).alias(name)
    return nw.new_series(name, cells, getattr(nw, column.dtype), backend=library)


def _pandas_series(column: ColumnCells, place: str) -> Any:
    if column.dtype == "category" and column.categories is not None:
        declared = _pandas_series(column.categories, f"{place}.categories")
        codes = read_cells(column.cells, np.dtype(np.intp), f"{place}.cells")
        inside = np.all((codes >= -1) & (codes < len(declared)))
        require(inside, f"{place}.cells", "is not a list of positions among the categories")
        dtype = pd.CategoricalDtype(pd.Index(declared), ordered=column.ordered)
        return pd.Series(pd.Categorical.from_codes(codes.tolist(), dtype=dtype))
    zoned = _ZONED.fullmatch(column.dtype)
    if zoned:
        naive = pd.Series(read_cells(column.cells, np.dtype(f"M8[{zoned[1]}]"), place))
        return naive.dt.tz_localize("UTC").dt.tz_convert(zoned[2])
    if _NULLABLE.fullmatch(column.dtype):
        cells = read_cells(column.cells, _OBJECTS, place).tolist()
        return pd.Series(pd.array(cells, dtype=cast(Any, column.dtype)))
    values = read_cells(column.cells, read_dtype(column.dtype, place), place)
    return pd.Series(values, dtype=object if values.dtype == object else None)


def _joined(parts: list[Any], backend: str, like: Table, place: str) -> Container:
    if backend == "numpy":
        dtypes = {part.dtype if part.dtype.kind != "U" else str for part in parts}
        require(len(dtypes) == 1, place, "has columns of different dtypes")
        return ArrayContainer(np.column_stack(parts))
    if backend == "pandas":
        frame = pd.concat(parts, axis=1)
        frame.columns = pd.Index(like.container.labels)
        return open_table(frame, "X")
    return open_table(parts[0].to_frame().with_columns(*parts[1:]).to_native(), "X")

"""The cells of one column of any library in the types of JSON, with their dtype."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import numpy as np
import pandas as pd

from granite_xai.base.errors import InputError
from granite_xai.base.files import object_array, require
from granite_xai.base.files.cells import (
    UnwritableError,
    dtype_name,
    read_cells,
    read_dtype,
    write_cells,
)

# Names of dtypes that a file may hold: nothing else is handed to the parser of pandas …
_NULLABLE = re.compile(
    r"U?Int(?:8|16|32|64)|Float(?:32|64)|boolean|string|str|"
    r"(?:u?int(?:8|16|32|64)|float|double|bool|string|large_string)\[pyarrow\]"
)
_ZONED = re.compile(r"datetime64\[(s|ms|us|ns), ((?!dateutil)[A-Za-z]+(?:/[A-Za-z0-9_+-]+){0,2})\]")
# … or of narwhals.
_NARWHALS = re.compile(r"U?Int(?:8|16|32|64)|Float(?:32|64)|Boolean|String|Categorical|Date|Enum")
_TICKS = re.compile(r"(Datetime|Duration)\[(s|ms|us|ns)\]")
_OBJECTS = np.dtype(object)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCells:
    """The cells of a column with its dtype; of a column of categories the codes."""

    dtype: str
    cells: object  # what `write_cells` gives
    categories: ColumnCells | None = None
    ordered: bool = False


def write_column(series: Any) -> ColumnCells:
    """Write a column of NumPy, pandas or narwhals.

    Raises
    ------
    UnwritableError
        A file cannot hold the dtype exactly.
    """
    if isinstance(series.dtype, np.dtype):
        values = np.asarray(series)
        return ColumnCells(dtype_name(values), write_cells(values))
    if type(series).__module__.startswith("pandas"):
        return _write_pandas(series)
    return _write_narwhals(series)


def _write_pandas(series: Any) -> ColumnCells:
    dtype = series.dtype
    name = str(dtype)
    if name == "category":
        return ColumnCells(
            dtype=name,
            cells=write_cells(series.cat.codes.to_numpy()),
            categories=write_column(dtype.categories.to_series()),
            ordered=bool(dtype.ordered),
        )
    if _ZONED.fullmatch(name):
        in_utc = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return ColumnCells(name, write_cells(in_utc.to_numpy()))
    if _NULLABLE.fullmatch(name) is None:
        raise UnwritableError(f"has dtype {dtype}")
    cells = []
    for cell, is_present in zip(series.tolist(), series.notna(), strict=True):
        cells.append(cell if is_present else None)
    return ColumnCells(name, _write_objects(cells))


def _write_narwhals(series: Any) -> ColumnCells:
    dtype = series.dtype
    name = type(dtype).__name__
    if name in ("Datetime", "Duration") and getattr(dtype, "time_zone", None) is None:
        return ColumnCells(f"{name}[{dtype.time_unit}]", write_cells(series.to_numpy()))
    if name == "Date":
        return ColumnCells(name, write_cells(series.to_numpy().astype("M8[D]")))
    if _NARWHALS.fullmatch(name) is None:
        raise UnwritableError(f"has dtype {dtype}")
    categories = None
    if name == "Enum":
        categories = ColumnCells("str", _write_objects(dtype.categories))
    return ColumnCells(name, _write_objects(series.to_list()), categories)


def _write_objects(cells: Iterable[Any]) -> Any:
    """Cells as `write_cells` takes them: those of NumPy as Python has them."""
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    return write_cells(object_array(plain))


def read_column(column: ColumnCells, name: str, library: str, place: str) -> Any:
    """Read the column that `write_column` was given.

    Parameters
    ----------
    column : ColumnCells
        What the file holds.
    name : str
        Name of the column.
    library : {"numpy", "pandas", "polars", "pyarrow"}
        Where it belongs.
    place : str
        Where it stands in the file.

    Returns
    -------
    array or series
        Those of polars and pyarrow as narwhals has them.
    """
    if library == "numpy":
        return read_cells(column.cells, read_dtype(column.dtype, place), place)
    if library == "pandas":
        return _read_pandas(column, place)
    return _read_narwhals(column, name, library, place)


def _read_pandas(column: ColumnCells, place: str) -> Any:
    if column.dtype == "category" and column.categories is not None:
        categories = _read_pandas(column.categories, f"{place}.categories")
        codes = read_cells(column.cells, np.dtype(np.intp), f"{place}.cells")
        inside = np.all((codes >= -1) & (codes < len(categories)))
        require(inside, f"{place}.cells", "is not a list of positions among the categories")
        dtype = pd.CategoricalDtype(pd.Index(categories), ordered=column.ordered)
        return pd.Series(pd.Categorical.from_codes(codes.tolist(), dtype=dtype))
    zoned = _ZONED.fullmatch(column.dtype)
    if zoned:
        unit, zone = zoned.groups()
        naive = pd.Series(read_cells(column.cells, np.dtype(f"M8[{unit}]"), place))
        return naive.dt.tz_localize("UTC").dt.tz_convert(zone)
    if _NULLABLE.fullmatch(column.dtype):
        cells = read_cells(column.cells, _OBJECTS, place).tolist()
        return pd.Series(pd.array(cells, dtype=cast(Any, column.dtype)))
    values = read_cells(column.cells, read_dtype(column.dtype, place), place)
    return pd.Series(values, dtype=object if values.dtype == object else None)


def _read_narwhals(column: ColumnCells, name: str, library: str, place: str) -> Any:
    backend = _backend(library)
    timed = _TICKS.fullmatch(column.dtype)
    if timed:
        kind, unit = timed.groups()
        ticks = _read_ticks(column, unit, place)
        series = nw.new_series(name, ticks, nw.Int64, backend=backend)
        return series.cast(getattr(nw, kind)(cast(Any, unit)))
    if column.dtype == "Date":
        days = _read_ticks(column, "D", place)
        return nw.new_series(name, days, nw.Int32, backend=backend).cast(nw.Date())
    is_name_of_dtype = _NARWHALS.fullmatch(column.dtype)
    require(is_name_of_dtype, f"{place}.dtype", f"is {column.dtype[:60]!r}, which is not known")
    cells = read_cells(column.cells, _OBJECTS, place).tolist()
    if column.dtype == "Categorical":
        return _categorical_series(cells, name, library)
    dtype = getattr(nw, column.dtype)
    if column.dtype == "Enum":
        categories: list[Any] = []
        if column.categories is not None:
            categories = list(read_cells(column.categories.cells, _OBJECTS, place))
        dtype = nw.Enum(categories)
    return nw.new_series(name, cells, dtype, backend=backend)


def _categorical_series(labels: list[Any], name: str, library: str) -> Any:
    text = nw.new_series(name, labels, nw.String, backend=_backend(library))
    if library != "pyarrow":
        return text.cast(nw.Categorical)
    # With pyarrow's own index type: older versions turn no other into pandas.
    encoded = text.to_native().dictionary_encode()
    return nw.from_native(encoded, series_only=True).alias(name)


def _backend(library: str) -> Any:
    """The library as narwhals has it; P08 where it is not installed."""
    backend: Any = nw.Implementation.from_backend(cast(Any, library))
    try:
        backend.to_native_namespace()
    except ImportError as error:
        message = f"the rows in this file need the package {library}."
        hint = f"pip install {library} installs it."
        raise InputError(message, code="P08", hint=hint) from error
    return backend


def _read_ticks(column: ColumnCells, unit: str, place: str) -> Any:
    """Dates or durations as whole numbers of their unit, with None for missing ones.

    The cells are checked by reading them as an array; `write_cells` gives its ticks. Those of durations
    are whole numbers like those of dates.
    """
    checked = read_cells(column.cells, np.dtype(f"M8[{unit}]"), place)
    return write_cells(checked)

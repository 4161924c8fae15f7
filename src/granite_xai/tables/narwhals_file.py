"""Columns of polars and pyarrow tables in the types of JSON."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from granite_xai.base.files import broken, entry, members, texts
from granite_xai.tables.arrays_file import UnwritableError

_PLAIN: dict[str, Any] = {
    str(dtype): dtype
    for dtype in (
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
        *(nw.Float32, nw.Float64, nw.Boolean, nw.String, nw.Categorical, nw.Date),
    )
}
_PLAIN = {name.rpartition(".")[2].rstrip("'>"): dtype for name, dtype in _PLAIN.items()}
_TIMED: dict[str, Any] = {"Datetime": nw.Datetime, "Duration": nw.Duration}


def series_to_dict(series: Any) -> dict[str, Any]:
    """Return a column as its dtype and its cells."""
    dtype, name = series.dtype, type(series.dtype).__name__
    facts: dict[str, Any] = {"dtype": name}
    if dtype == nw.Enum:
        facts["categories"] = list(dtype.categories)
    elif name in _TIMED:
        if getattr(dtype, "time_zone", None) is not None:
            raise UnwritableError(f"has dtype {dtype}")
        facts["unit"] = dtype.time_unit
    elif name not in _PLAIN:
        raise UnwritableError(f"has dtype {dtype}")
    return {**facts, "cells": _ticks(series) if name in (*_TIMED, "Date") else _cells(series)}


def series_from_dict(data: object, name: str, backend: Any, place: str) -> Any:
    """Return the column that `series_to_dict` wrote; anything else is a FormatError."""
    kind, cells = entry(data, "dtype", str, place), members(data, "cells", place)
    if not all(cell is None or isinstance(cell, str | int | float) for cell in cells):
        raise broken(place, "has a cell that is neither text nor number")
    try:
        if kind in _TIMED or kind == "Date":
            ticks = nw.new_series(name, cells, nw.Int32 if kind == "Date" else nw.Int64, backend=backend)
            return ticks.cast(nw.Date() if kind == "Date" else _TIMED[kind](entry(data, "unit", str, place)))
        if kind == "Enum":
            return nw.new_series(name, cells, nw.Enum(texts(data, "categories", place)), backend=backend)
        if kind not in _PLAIN:
            raise broken(f"{place}.dtype", f"is {kind[:60]!r}, which is not known")
        floats = kind.startswith("Float")
        values = [float("nan") if floats and cell == "nan" else cell for cell in cells]
        if kind == "Categorical":
            return _categorical(nw.new_series(name, values, nw.String, backend=backend))
        return nw.new_series(name, values, _PLAIN[kind], backend=backend)
    except Exception as error:  # each library has its own errors for cells that do not fit
        raise broken(place, f"cannot be read as a column of {kind[:60]} ({str(error)[:80]})") from error


def _categorical(text: Any) -> Any:
    """Text as a dictionary; for pyarrow with its own index type: older versions turn no other into pandas."""
    native = text.to_native()
    if hasattr(native, "dictionary_encode"):
        return nw.from_native(native.dictionary_encode(), series_only=True).alias(text.name)
    return text.cast(nw.Categorical)


def _cells(series: Any) -> list[Any]:
    return ["nan" if isinstance(cell, float) and cell != cell else cell for cell in series.to_list()]


def _ticks(series: Any) -> list[Any]:
    values = series.to_numpy()
    ticks = values.astype("datetime64[D]") if series.dtype == nw.Date else values
    pairs = zip(ticks.view(np.int64).tolist(), np.isnat(ticks), strict=True)
    return [None if gone else tick for tick, gone in pairs]

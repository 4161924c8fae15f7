"""Cells of arrays in the types of JSON, and back with the same dtype."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import FormatError

_DATES = r"(?:datetime|timedelta)64\[(?:[YMWDhms]|[munpfa]s)\]"
_DTYPES = re.compile(rf"bool|u?int(?:8|16|32|64)|float(?:16|32|64)|object|str|{_DATES}")
_MOST_DIMENSIONS = 4
_LARGEST_TEXT = 2**26
_NOT_FINITE = {None: math.nan, "inf": math.inf, "-inf": -math.inf}
_KINDS: dict[str, tuple[type, ...]] = {"f": (int, float), "b": (bool,)}


class UnwritableError(Exception):
    """A dtype or a cell that a file cannot hold exactly."""


def broken(place: str, what: str) -> FormatError:
    """Return the error for a file that is not what it claims to be."""
    return FormatError(f"{place} {what}.", code="F04", argument="data")


def dtype_name(values: NDArray[Any]) -> str:
    """Return the name of a dtype, if files hold it."""
    name = "str" if values.dtype.kind == "U" else str(values.dtype.newbyteorder("="))
    if _DTYPES.fullmatch(name) is None:
        raise UnwritableError(f"has dtype {values.dtype}")
    return name


def read_dtype(name: object, place: str) -> np.dtype[Any]:
    """Return the dtype of a name that `dtype_name` gives; anything else is a FormatError."""
    if not isinstance(name, str) or _DTYPES.fullmatch(name) is None:
        raise broken(f"{place}.dtype", f"is {str(name)[:60]!r}, which is not known")
    return np.dtype(name)


def plain_list(data: Any, place: str) -> list[Any]:
    """Return a list of a file; long lists of numbers come as arrays, with NaN for null."""
    if isinstance(data, np.ndarray):
        cells: list[Any] = data.tolist()
        return [None if cell != cell else cell for cell in cells] if data.dtype.kind == "f" else cells
    if not isinstance(data, list):
        raise broken(place, "is not a list")
    return data


def write_cells(values: NDArray[Any]) -> Any:
    """Write the cells of an array: a list, with null for NaN and NaT; texts that recur as their distinct ones."""
    dtype_name(values)
    if values.ndim != 1:
        return {"shape": list(values.shape), "cells": write_cells(values.ravel())}
    kind = values.dtype.kind
    if kind in "Mm":
        ticks = values.astype(values.dtype.newbyteorder("=")).view(np.int64).tolist()
        return [None if gone else tick for tick, gone in zip(ticks, np.isnat(values), strict=True)]
    cells = values.tolist()
    if kind == "f" and not np.isfinite(values).all():
        return [c if math.isfinite(c) else None if math.isnan(c) else str(c) for c in cells]
    if kind not in "OU":
        return cells
    keys = [(type(cell), str(cell)) for cell in cells]
    known = {key: _object(cell) for key, cell in zip(keys, cells, strict=True)}
    if 2 * len(known) >= len(cells):
        return [known[key] for key in keys]
    places = {key: i for i, key in enumerate(known)}
    return {"distinct": list(known.values()), "codes": [places[key] for key in keys]}


def _object(cell: Any) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return {"number": "nan"}
    if cell is None or (type(cell) in (str, int, float, bool) and cell not in (math.inf, -math.inf)):
        return cell
    raise UnwritableError(f"holds a {type(cell).__name__}")


def read_cells(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    """Read what `write_cells` wrote, as an array of this dtype; anything else is a FormatError."""
    if isinstance(data, dict) and data.keys() == {"shape", "cells"}:
        shape, cells = plain_list(data["shape"], place), read_cells(data["cells"], dtype, place)
        right = len(shape) <= _MOST_DIMENSIONS and all(type(n) is int and 0 <= n <= 2**40 for n in shape)
        if not right or math.prod(shape) != len(cells):
            raise broken(f"{place}.shape", f"is not that of {len(cells)} cells")
        return cells.reshape(shape)
    if dtype.kind in "OU":
        return _read_objects(data, dtype, place)
    ready = isinstance(data, np.ndarray) and (data.dtype.kind, dtype.kind) in (("f", "f"), ("i", "i"), ("i", "u"))
    found: NDArray[Any] = data if ready else _read_numbers(plain_list(data, place), dtype, place)
    with np.errstate(over="ignore"):
        made = found.view(dtype) if dtype.kind in "Mm" else found.astype(dtype, copy=False)
    overflown = dtype.kind == "f" and np.isinf(made).sum() > np.isinf(found).sum()
    if overflown or (dtype.kind in "iu" and not np.array_equal(made, found)):
        raise broken(place, f"has cells that do not fit {dtype}")
    return made


def _read_numbers(cells: list[Any], dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    """Numbers at full width; what is not one is named by its place."""
    if dtype.kind == "f":
        cells = [_NOT_FINITE.get(c, c) if c is None or isinstance(c, str) else c for c in cells]
    elif dtype.kind in "Mm":
        cells = [np.iinfo(np.int64).min if c is None else c for c in cells]
    kinds = _KINDS.get(dtype.kind, (int,))
    wrong = next((i for i, cell in enumerate(cells) if type(cell) not in kinds), None)
    if wrong is not None:
        raise broken(f"{place}[{wrong}]", f"is not of type {dtype}")
    try:
        return np.array(cells, dtype={"f": np.float64, "u": np.uint64, "b": np.bool_}.get(dtype.kind, np.int64))
    except OverflowError as error:
        raise broken(place, f"has cells that do not fit {dtype}") from error


def _read_objects(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    if isinstance(data, dict) and data.keys() == {"distinct", "codes"}:
        distinct = _read_objects(data["distinct"], dtype, place)
        codes = read_cells(data["codes"], np.dtype(np.intp), f"{place}.codes")
        if np.any((codes < 0) | (codes >= len(distinct))):
            raise broken(f"{place}.codes", "is not a list of positions among the distinct cells")
        _check_room(distinct.itemsize // 4 if dtype.kind == "U" else 0, len(codes), place)
        found: NDArray[Any] = distinct[codes]
        return found
    cells: list[Any] = plain_list(data, place)
    cells = [math.nan if isinstance(cell, dict) and cell == {"number": "nan"} else cell for cell in cells]
    if not all(isinstance(cell, str if dtype.kind == "U" else str | int | float | None) for cell in cells):
        raise broken(place, f"has a cell that is {'not text' if dtype.kind == 'U' else 'neither text nor number'}")
    if dtype.kind == "U":
        _check_room(max(map(len, cells), default=0), len(cells), place)
        return np.array(cells, dtype=str)
    return object_array(cells)


def object_array(cells: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return cells as an array of objects, also where they are lists."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def _check_room(longest: int, count: int, place: str) -> None:
    """Every cell of an array of texts takes the room of the longest one."""
    if longest * count > _LARGEST_TEXT:
        raise broken(place, "has texts that are too long")

"""Cells of one column in the types of JSON, and back with the same dtype."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.files import broken

PLAIN_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|str|(datetime|timedelta)64\[(\w{1,2})\]")
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
_LARGEST_TEXT = 2**26
_WHOLE = {"i": int, "u": int, "b": bool}


class UnwritableError(Exception):
    """A column whose dtype or cells a file cannot hold exactly."""


def array_to_json(values: NDArray[Any]) -> tuple[str, list[Any]]:
    """Return the name of the dtype and the cells of a one-dimensional array.

    Examples
    --------
    >>> array_to_json(np.array([1.5, np.nan], dtype=np.float32))
    ('float32', [1.5, 'nan'])
    """
    dtype = values.dtype.newbyteorder("=")
    name = "str" if dtype.kind == "U" else str(dtype)
    if not _is_known(name):
        raise UnwritableError(f"has dtype {values.dtype}")
    if dtype.kind == "f":
        return name, ["nan" if math.isnan(cell) else cell for cell in values.tolist()]
    if dtype.kind in "Mm":
        ticks = values.astype(dtype).view(np.int64).tolist()
        return name, [None if gone else tick for tick, gone in zip(ticks, np.isnat(values), strict=True)]
    cells = values.tolist()
    return name, [_object(cell) for cell in cells] if dtype.kind == "O" else cells


def array_from_json(name: object, cells: list[Any], place: str) -> NDArray[Any]:
    """Return the array that `array_to_json` wrote; anything else is a FormatError.

    Examples
    --------
    >>> array_from_json("int8", [1, 2], "column")
    array([1, 2], dtype=int8)
    """
    if not isinstance(name, str) or not _is_known(name):
        raise broken(f"{place}.dtype", f"is {str(name)[:60]!r}, which is not known")
    if name == "object":
        objects = np.empty(len(cells), dtype=object)
        objects[:] = [_from_object(cell, place) for cell in cells]
        return objects
    if name == "str":
        return _text(cells, place)
    dtype = np.dtype(name)
    try:
        return _ticks(cells, dtype, place) if dtype.kind in "Mm" else _plain(cells, dtype, place)
    except (OverflowError, TypeError, ValueError) as error:
        raise broken(place, f"has cells that do not fit {name}") from error


def _is_known(name: str) -> bool:
    match = PLAIN_DTYPE.fullmatch(name)
    return match is not None and (match[4] is None or match[4] in _UNITS)


def _object(cell: Any) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return {"number": "nan"}
    if cell is None or type(cell) in (str, int, float, bool):
        return cell
    raise UnwritableError(f"holds a {type(cell).__name__}")


def _from_object(cell: Any, place: str) -> Any:
    if cell == {"number": "nan"}:
        return math.nan
    if cell is None or isinstance(cell, str | int | float):
        return cell
    raise broken(place, "has a cell that is neither text nor number")


def _text(cells: list[Any], place: str) -> NDArray[Any]:
    if not all(isinstance(cell, str) for cell in cells):
        raise broken(place, "has a cell that is not text")
    # Every cell of such an array takes the room of the longest one.
    if max(map(len, cells), default=0) * len(cells) > _LARGEST_TEXT:
        raise broken(place, "has texts that are too long")
    return np.array(cells, dtype=str)


def _plain(cells: list[Any], dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    if dtype.kind == "f":
        cells = [math.nan if cell == "nan" else cell for cell in cells]
        right = all(type(cell) in (int, float) for cell in cells)
    else:
        right = all(type(cell) is _WHOLE[dtype.kind] for cell in cells)
    if not right:
        raise broken(place, f"has a cell that is not of type {dtype}")
    with np.errstate(over="ignore"):  # too large becomes infinite, which is refused next
        array = np.array(cells, dtype=dtype)
    if dtype.kind == "f" and np.isinf(array).any():
        raise broken(place, "has a number that is not finite")
    return array


def _ticks(cells: list[Any], dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    if not all(cell is None or type(cell) is int for cell in cells):
        raise broken(place, "has a date that is not a whole number of its unit")
    missing = np.iinfo(np.int64).min
    return np.array([missing if cell is None else cell for cell in cells], dtype=np.int64).view(dtype)

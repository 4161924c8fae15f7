"""Arrays as lists of JSON, exactly: no cell and no dtype changes on the way."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.files.checks import broken, plain_list, require

MAX_DIMENSIONS = 4
MAX_LENGTH = 2**40  # of a dimension: products of four of them stay Python integers of a few words
MAX_CHARACTERS = 2**26
"""Of an array of texts, where each takes the room of the longest one."""

BYTES_PER_CHARACTER = 4  # of NumPy's arrays of texts

_DATES = r"(?:datetime|timedelta)64\[(?:[YMWDhms]|[munpfa]s)\]"
_DTYPES = re.compile(rf"bool|u?int(?:8|16|32|64)|float(?:16|32|64)|object|str|{_DATES}")
_NOT_A_TIME = np.iinfo(np.int64).min  # the tick of NaT
_NAN_CELL = {"number": "nan"}  # a NaN among objects, where null is None
# Long lists of numbers come as arrays: of floats for floats, of signed integers for integers.
_KIND_OF_PARSED = {"f": "f", "i": "i", "u": "i"}
_PLAIN_TYPES = (str, int, float, bool, type(None))


class UnwritableError(Exception):
    """A dtype or a cell that a file cannot hold exactly."""


def object_array(cells: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return cells as an array of objects, also where they are lists."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def dtype_name(values: NDArray[Any]) -> str:
    """Return the name of an array's dtype.

    Raises
    ------
    UnwritableError
        Files do not hold this dtype.
    """
    name = "str" if values.dtype.kind == "U" else str(values.dtype.newbyteorder("="))
    if _DTYPES.fullmatch(name) is None:
        raise UnwritableError(f"has dtype {values.dtype}")
    return name


def read_dtype(name: object, place: str) -> np.dtype[Any]:
    """Return the dtype of a name that `dtype_name` gives; anything else is a FormatError."""
    if not isinstance(name, str) or _DTYPES.fullmatch(name) is None:
        raise broken(f"{place}.dtype", f"is {str(name)[:60]!r}, which is not known")
    return np.dtype(name)


def write_cells(values: NDArray[Any]) -> Any:
    """Write the cells of an array.

    Parameters
    ----------
    values : array of any shape
        Its dtype is one that `dtype_name` knows.

    Returns
    -------
    list or dict
        A list, with null for NaN and NaT; ``{"shape", "cells"}`` unless there is one dimension;
        ``{"distinct", "codes"}`` for texts that recur.

    Raises
    ------
    UnwritableError
        A cell or the dtype cannot be held exactly.
    """
    dtype_name(values)
    if values.ndim != 1:
        return {"shape": list(values.shape), "cells": write_cells(values.ravel())}
    kind = values.dtype.kind
    if kind in "Mm":
        ticks = values.astype(np.int64).tolist()
        return [None if tick == _NOT_A_TIME else tick for tick in ticks]
    cells: list[Any] = values.tolist()
    if kind == "f":
        return [_write_float(cell) for cell in cells]
    if kind in "OU":
        return _write_objects(cells)
    return cells


def _write_float(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    if math.isinf(number):
        return str(number)
    return number


def _write_objects(cells: list[Any]) -> Any:
    """Texts and numbers in one list, or the distinct ones and their positions if that is shorter."""
    distinct: list[Any] = []
    code_of_key: dict[tuple[type, str], int] = {}
    codes = []
    for cell in cells:
        key = (type(cell), str(cell))  # 1, 1.0 and True are equal, but not alike
        if key not in code_of_key:
            code_of_key[key] = len(distinct)
            distinct.append(_write_object(cell))
        codes.append(code_of_key[key])
    if 2 * len(distinct) >= len(cells):
        return [distinct[code] for code in codes]
    return {"distinct": distinct, "codes": codes}


def _write_object(cell: Any) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return _NAN_CELL
    if type(cell) not in _PLAIN_TYPES or cell in (math.inf, -math.inf):
        raise UnwritableError(f"holds a {type(cell).__name__}")
    return cell


def read_cells(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    """Read what `write_cells` wrote.

    Parameters
    ----------
    data : object
        What the file holds.
    dtype : dtype
        That of the array.
    place : str
        Where it stands in the file.

    Returns
    -------
    array
        With the cells, shape and dtype that were written.

    Raises
    ------
    FormatError
        F04, with the place.
    """
    if isinstance(data, dict) and data.keys() == {"shape", "cells"}:
        shape = plain_list(data["shape"], place)
        cells = read_cells(data["cells"], dtype, place)
        _require_shape(shape, len(cells), place)
        return cells.reshape(shape)
    if dtype.kind == "O":
        return _read_objects(data, place)
    if dtype.kind == "U":
        return _read_texts(data, place)
    if dtype.kind in "Mm":
        return _read_times(data, dtype, place)
    return _read_numbers(data, dtype, place)


def _require_shape(shape: list[Any], count: int, place: str) -> None:
    lengths_are_valid = all(type(length) is int and 0 <= length <= MAX_LENGTH for length in shape)
    fits = len(shape) <= MAX_DIMENSIONS and lengths_are_valid and math.prod(shape) == count
    require(fits, f"{place}.shape", f"is not that of {count} cells")


def _read_times(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    cells = [_NOT_A_TIME if cell is None else cell for cell in plain_list(data, place)]
    ticks = _checked_array(cells, np.int64, (int,), dtype, place)
    return cast(NDArray[Any], ticks.view(dtype))


def _read_numbers(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    full = _numbers_at_full_width(data, dtype, place)
    with np.errstate(over="ignore"):
        narrow = full.astype(dtype, copy=False)
    if dtype.kind == "f":
        fits = np.isinf(narrow).sum() <= np.isinf(full).sum()
    else:
        fits = np.array_equal(narrow, full)
    require(fits, place, f"has cells that do not fit {dtype}")
    return narrow


def _numbers_at_full_width(data: Any, dtype: np.dtype[Any], place: str) -> NDArray[Any]:
    """Numbers in the widest type of their kind; what is not one is named by its place."""
    kind = dtype.kind
    if isinstance(data, np.ndarray) and data.dtype.kind == _KIND_OF_PARSED.get(kind):
        return data
    cells = plain_list(data, place)
    if kind == "f":
        floats = [_read_float(cell) for cell in cells]
        return _checked_array(floats, np.float64, (int, float), dtype, place)
    if kind == "b":
        return _checked_array(cells, np.bool_, (bool,), dtype, place)
    widest = np.uint64 if kind == "u" else np.int64
    return _checked_array(cells, widest, (int,), dtype, place)


def _read_float(cell: Any) -> Any:
    if cell is None:
        return math.nan
    if cell in ("inf", "-inf"):
        return float(cell)
    return cell


def _checked_array(
    cells: list[Any],
    widest: type[np.generic],
    allowed: tuple[type, ...],
    dtype: np.dtype[Any],
    place: str,
) -> NDArray[Any]:
    """Cells of the allowed types as an array of the widest type; the dtype is for messages."""
    for position, cell in enumerate(cells):
        if type(cell) not in allowed:
            raise broken(f"{place}[{position}]", f"is not of type {dtype}")
    try:
        return np.array(cells, dtype=widest)
    except OverflowError as error:
        raise broken(place, f"has cells that do not fit {dtype}") from error


def _read_objects(data: Any, place: str) -> NDArray[Any]:
    if _is_coded(data):
        distinct = _read_objects(data["distinct"], place)
        return cast(NDArray[Any], distinct[_read_codes(data, len(distinct), place)])
    cells = [_read_object(cell) for cell in plain_list(data, place)]
    are_plain = all(isinstance(cell, str | int | float | None) for cell in cells)
    require(are_plain, place, "has a cell that is neither text nor number")
    return object_array(cells)


def _read_object(cell: Any) -> Any:
    if isinstance(cell, dict) and cell == _NAN_CELL:
        return math.nan
    return cell


def _read_texts(data: Any, place: str) -> NDArray[Any]:
    if _is_coded(data):
        distinct = _read_texts(data["distinct"], place)
        codes = _read_codes(data, len(distinct), place)
        longest = distinct.itemsize // BYTES_PER_CHARACTER
        _require_room_for_texts(longest, len(codes), place)
        return cast(NDArray[Any], distinct[codes])
    cells = plain_list(data, place)
    require(all(isinstance(cell, str) for cell in cells), place, "has a cell that is not text")
    longest = max(map(len, cells), default=0)
    _require_room_for_texts(longest, len(cells), place)
    return np.array(cells, dtype=str)


def _is_coded(data: Any) -> bool:
    return isinstance(data, dict) and data.keys() == {"distinct", "codes"}


def _read_codes(data: Any, count: int, place: str) -> NDArray[Any]:
    codes = read_cells(data["codes"], np.dtype(np.intp), f"{place}.codes")
    inside = np.all((codes >= 0) & (codes < count))
    require(inside, f"{place}.codes", "is not a list of positions among the distinct cells")
    return codes


def _require_room_for_texts(longest: int, count: int, place: str) -> None:
    require(longest * count <= MAX_CHARACTERS, place, "has texts that are too long")

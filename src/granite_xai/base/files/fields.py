"""Entries of what a JSON file holds, each checked for its type before it is used."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from granite_xai.base.errors import FormatError
from granite_xai.base.typing import FloatArray, IntArray

T = TypeVar("T")


def entry(data: object, key: str, kind: type[T], place: str) -> T:
    """Return one entry of a dict after checking its type; truth values are not numbers.

    Examples
    --------
    >>> entry({"n": 3}, "n", int, "node")
    3
    """
    if not isinstance(data, dict):
        raise broken(place, "is not an object")
    if key not in data:
        raise broken(place, f"has no entry {key!r}")
    value = data[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
        raise broken(f"{place}.{key}", f"is not of type {kind.__name__}")
    return value


def members(data: object, key: str, place: str) -> list[Any]:
    """Return the list under a key.

    Examples
    --------
    >>> members({"nodes": [1]}, "nodes", "partition")
    [1]
    """
    return entry(data, key, list, place)


def number(data: object, key: str, place: str) -> float:
    """Return the finite number under a key.

    Examples
    --------
    >>> number({"fraction": 1}, "fraction", "node")
    1.0
    """
    value = data.get(key) if isinstance(data, dict) else None
    kind = int if isinstance(value, int) else float
    try:
        found = float(entry(data, key, kind, place))
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise broken(f"{place}.{key}", "is not a finite number")
    return found


def broken(place: str, what: str) -> FormatError:
    """Return the error for a file that is not what it claims to be.

    Examples
    --------
    >>> str(broken("rule", "is not an object"))
    'F04: rule is not an object.'
    """
    return FormatError(f"{place} {what}.", code="F04", argument="data")


def numbers(data: object, key: str, place: str, *, count: int | None = None, gaps: bool = False) -> FloatArray:
    """Return the list of finite numbers under a key; with ``gaps`` null stands for NaN.

    Examples
    --------
    >>> numbers({"edges": [1, 2.5, None]}, "edges", "bins", gaps=True)
    array([1. , 2.5, nan])
    """
    found = members(data, key, place)
    kinds = (int, float, type(None)) if gaps else (int, float)
    wrong = next((i for i, value in enumerate(found) if type(value) not in kinds), None)
    if wrong is not None:
        raise broken(f"{place}.{key}[{wrong}]", "is not a number")
    if count is not None and len(found) != count:
        raise broken(f"{place}.{key}", f"has {len(found)} numbers, not {count}")
    array: FloatArray = np.array([math.nan if value is None else value for value in found], dtype=np.float64)
    return array


def position(data: object, key: str, place: str, below: int) -> int:
    """Return the whole number under a key, at least 0 and below a limit.

    Examples
    --------
    >>> position({"column": 2}, "column", "curve", 3)
    2
    """
    value = entry(data, key, int, place)
    if not 0 <= value < below:
        raise broken(f"{place}.{key}", f"is {value}, not between 0 and {below - 1}")
    return value


def positions(data: object, key: str, place: str, below: int, *, at_least: int = 0) -> IntArray:
    """Return the list of whole numbers under a key, each at least ``at_least`` and below a limit.

    Examples
    --------
    >>> positions({"edges": [0, 4]}, "edges", "bins", 5)
    array([0, 4])
    """
    found = members(data, key, place)
    wrong = next((i for i, value in enumerate(found) if type(value) is not int or not at_least <= value < below), None)
    if wrong is not None:
        raise broken(f"{place}.{key}[{wrong}]", f"is not a whole number between {at_least} and {below - 1}")
    return np.array(found, dtype=np.intp)


def texts(data: object, key: str, place: str) -> list[str]:
    """Return the list of texts under a key.

    Examples
    --------
    >>> texts({"names": ["a", "b"]}, "names", "partition")
    ['a', 'b']
    """
    found = members(data, key, place)
    if not all(isinstance(value, str) for value in found):
        raise broken(f"{place}.{key}", "is not a list of texts")
    return found

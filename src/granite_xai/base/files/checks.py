"""Checks of what a file claims to be; each names the place that is wrong."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from granite_xai.base.errors import FormatError

T = TypeVar("T")


def broken(place: str, what: str) -> FormatError:
    """Phrase the error for a file that is not what it claims to be (F04).

    Parameters
    ----------
    place : str
        Where it is wrong, such as ``"partition.nodes[3]"``.
    what : str
        What is wrong there, such as ``"is not a list"``.
    """
    return FormatError(f"{place} {what}.", code="F04", argument="data")


def require(holds: object, place: str, what: str) -> None:
    """Refuse a file in which something does not hold.

    Parameters
    ----------
    holds : object
        Whether it holds.
    place, what : str
        As in `broken`: what is wrong where it does not.
    """
    if not holds:
        raise broken(place, what)


def entry(data: Any, key: str, kind: type[T], place: str) -> T:
    """Return one entry of an object after checking its type; truth values are not numbers.

    Parameters
    ----------
    data : object
        What should be an object of a file.
    key : str
        Name of the entry.
    kind : type
        What it must be.
    place : str
        Where the object stands in the file.
    """
    require(isinstance(data, dict), place, "is not an object")
    require(key in data, place, f"has no entry {key!r}")
    value = data[key]
    if kind is list and isinstance(value, np.ndarray):
        value = plain_list(value, place)
    is_truth_value_for_number = isinstance(value, bool) and kind in (int, float)
    if not isinstance(value, kind) or is_truth_value_for_number:
        raise broken(f"{place}.{key}", f"is not of type {kind.__name__}")
    return value


def plain_list(data: Any, place: str) -> list[Any]:
    """Return a list of a file; long lists of numbers come as arrays, with NaN for null."""
    if isinstance(data, list):
        return data
    if not isinstance(data, np.ndarray):
        raise broken(place, "is not a list")
    cells: list[Any] = data.tolist()
    if data.dtype.kind == "f":
        return [None if cell != cell else cell for cell in cells]
    return cells

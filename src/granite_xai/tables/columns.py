"""A column: its kind, its values, its levels, and the code of each row among the levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.files.arrays import object_array
from granite_xai.base.typing import BoolArray, IntArray

Kind = Literal["numeric", "ordinal", "nominal", "boolean", "date"]
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
LABELLED = ("ordinal", "nominal", "boolean")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, read once and never written.

    The name is ``x0``, ``x1``, … when the table has none. Missing values are NaN among numbers (float64), NaT among
    dates and durations, None among labels. An ordinal column knows all declared labels in their order, also those that
    no row carries, a nominal one those that its dtype declares; ``integer``: whether cells are whole numbers by dtype;
    ``passes``: whether the column only passes through to the model, neither explained nor split.

    >>> column = Column("x", 0, "numeric", np.array([2.0, np.nan, -0.0, 0.0]))
    >>> column.levels
    array([0., 2.])
    >>> column.codes
    array([ 1, -1,  0,  0])
    """

    name: str
    position: int
    kind: Kind
    values: NDArray[Any]
    order: tuple[Any, ...] | None = None
    integer: bool = False
    declared: tuple[Any, ...] | None = None
    passes: bool = False

    def __post_init__(self) -> None:
        """Lock the values: every reader shares them."""
        self.values.setflags(write=False)

    @cached_property
    def missing(self) -> BoolArray:
        """Which rows have no value."""
        if self.kind in LABELLED:
            return _locked(np.array([label is None for label in self.values], dtype=bool))
        return _locked(np.isnat(self.values) if self.kind == "date" else np.isnan(self.values))

    @cached_property
    def levels(self) -> NDArray[Any]:
        """The distinct values present, in their order (labels outside the order come last)."""
        return self._ranked[0]

    @cached_property
    def codes(self) -> IntArray:
        """Index of each row's value among the levels; -1 is missing."""
        return self._ranked[1]

    @cached_property
    def _ranked(self) -> tuple[NDArray[Any], IntArray]:
        present = ~self.missing
        codes = np.full(len(self.values), -1, dtype=np.intp)
        if self.kind in LABELLED:
            first = self.order if self.kind == "ordinal" else self.declared
            levels, codes[present] = _rank_labels(self.values[present], first)
        else:
            levels, codes[present] = np.unique(self.values[present], return_inverse=True)
            if self.kind == "numeric":
                levels = levels + 0.0  # -0.0 becomes 0.0, which it equals
        return _locked(levels), _locked(codes)

    def take(self, rows: IntArray) -> Column:
        """The same column on some rows; its levels are those present there."""
        part = replace(self, values=self.values[rows])
        if "_ranked" in self.__dict__:  # ranks of a part follow from ranks of the whole
            part.__dict__["_ranked"] = _thinned(self.levels, self.codes[rows])
        return part

    def merged(self, classes: IntArray) -> Column:
        """The same column with levels that share a class as one level, which has the label of the first of them."""
        if len(classes) == 0 or classes[-1] == len(classes) - 1:
            return self
        first = np.unique(classes, return_index=True)[1]
        part = replace(self, values=self.values)
        part.__dict__["_ranked"] = _locked(self.levels[first]), _locked(np.append(classes, -1)[self.codes])
        return part


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """Sort labels; those that cannot be compared by value are compared by type and text.

    >>> sorted_labels(["b", "a"]), sorted_labels([2, 1.5])
    (['a', 'b'], [1.5, 2])
    """
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _rank_labels(labels: NDArray[Any], first: tuple[Any, ...] | None) -> tuple[NDArray[Any], IntArray]:
    import pandas as pd

    found, distinct = pd.factorize(labels)
    known = {label: rank for rank, label in enumerate(first or ())}
    order = sorted((label for label in distinct if label in known), key=known.__getitem__)
    order += sorted_labels(label for label in distinct if label not in known)
    rank = {label: position for position, label in enumerate(order)}
    place = np.array([rank[label] for label in distinct], dtype=np.intp)
    return object_array(order), place[found]


def _thinned(levels: NDArray[Any], codes: IntArray) -> tuple[NDArray[Any], IntArray]:
    seen = np.zeros(len(levels) + 1, dtype=bool)  # the last place is for -1, missing
    seen[codes] = True
    place = np.cumsum(seen) - 1
    place[-1] = -1
    return _locked(levels[seen[:-1]]), _locked(place[codes])


def _locked(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array

"""A column: its values, its levels, and the code of each row among the levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.files import object_array
from granite_xai.base.typing import BoolArray, IntArray

Kind = Literal["numeric", "ordinal", "nominal", "boolean", "date"]
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
LABELLED = ("ordinal", "nominal", "boolean")  # kinds whose values are Python objects
MISSING_CODE = -1


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, read once and never written.

    Parameters
    ----------
    name : str
        x0, x1, … when the table has no names.
    position : int
        Its place among the columns of the table.
    kind : Kind
    values : array of shape (n_rows,)
        Missing values are NaN among numbers (float64), NaT among dates and durations, None among
        labels.
    order : tuple, optional
        Of an ordinal column: the declared labels, also those that no row carries.
    integer : bool
        Whether the cells are whole numbers by dtype.
    declared : tuple, optional
        Of a nominal column: the labels of its dtype.
    passes : bool
        Whether it only passes through to the model, neither explained nor split.
    seen : tuple, optional
        Of rows that were taken from a table: the labels that it has in all of its rows. None: these are all rows.
    """

    name: str
    position: int
    kind: Kind
    values: NDArray[Any]
    order: tuple[Any, ...] | None = None
    integer: bool = False
    declared: tuple[Any, ...] | None = None
    passes: bool = False
    seen: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        """Lock the values: every reader shares them."""
        self.values.setflags(write=False)

    @property
    def is_ordered(self) -> bool:
        """Whether its values have an order: numbers, dates, ordinal labels."""
        return self.kind not in ("nominal", "boolean")

    @cached_property
    def missing(self) -> BoolArray:
        """Which rows have no value."""
        if self.kind in LABELLED:
            return _locked(np.array([label is None for label in self.values], dtype=bool))
        if self.kind == "date":
            return _locked(np.isnat(self.values))
        return _locked(np.isnan(self.values))

    @property
    def levels(self) -> NDArray[Any]:
        """The distinct values present, in their order (labels outside the order come last)."""
        return self._levels_and_codes[0]

    @property
    def codes(self) -> IntArray:
        """Index of each row's value among the levels; -1 is missing."""
        return self._levels_and_codes[1]

    @cached_property
    def _levels_and_codes(self) -> tuple[NDArray[Any], IntArray]:
        present = ~self.missing
        present_values = self.values[present]
        if self.kind in LABELLED:
            levels = object_array(self._ordered_labels(pd.unique(present_values)))
            present_codes = pd.Index(levels, dtype=object).get_indexer(present_values)
        else:
            levels, present_codes = np.unique(present_values, return_inverse=True)
        if self.kind == "numeric":
            levels = levels + 0.0  # -0.0 becomes 0.0, which it equals
        codes = np.full(len(self.values), MISSING_CODE, dtype=np.intp)
        codes[present] = present_codes
        return _locked(levels), _locked(codes)

    def _ordered_labels(self, labels: Iterable[Any]) -> list[Any]:
        """Labels in the declared order; those that were not declared follow, sorted."""
        declared = self.order if self.kind == "ordinal" else self.declared
        rank = {label: position for position, label in enumerate(declared or ())}
        ranked = [label for label in labels if label in rank]
        undeclared = [label for label in labels if label not in rank]
        return sorted(ranked, key=rank.__getitem__) + sorted_labels(undeclared)

    def take(self, rows: IntArray) -> Column:
        """The same column on some rows; its levels are those present there.

        Parameters
        ----------
        rows : array of shape (n_part,)
            Positions of the rows, in any order; a row may recur.
        """
        seen = self.seen
        if seen is None and self.kind in LABELLED:
            seen = tuple(self.levels)
        part = replace(self, values=self.values[rows], seen=seen)
        if "_levels_and_codes" in self.__dict__:  # codes of a part follow from those of the whole
            codes = self.codes[rows]
            is_present = np.zeros(len(self.levels) + 1, dtype=bool)
            is_present[codes] = True
            is_present = is_present[:-1]  # MISSING_CODE marked the last place
            new_code = np.append(np.cumsum(is_present) - 1, MISSING_CODE)
            _set_levels(part, self.levels[is_present], new_code[codes])
        return part

    def merged(self, group_of_level: IntArray) -> Column:
        """The same column with the levels of a group as one level.

        Parameters
        ----------
        group_of_level : array of shape (n_levels,)
            Number of the group that each level is in, ascending from 0. A group has the label of
            its first level.
        """
        n_levels = len(group_of_level)
        if n_levels == 0 or group_of_level[-1] == n_levels - 1:  # every level is its own group
            return self
        first_levels = np.unique(group_of_level, return_index=True)[1]
        new_code = np.append(group_of_level, MISSING_CODE)  # its last place is for missing values
        merged = replace(self)
        _set_levels(merged, self.levels[first_levels], new_code[self.codes])
        return merged


def _set_levels(column: Column, levels: NDArray[Any], codes: IntArray) -> None:
    """Fill the cache of a column that was just made."""
    column.__dict__["_levels_and_codes"] = _locked(levels), _locked(codes)


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """Sort labels; those that cannot be compared by value are compared by type and text."""
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _locked(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array

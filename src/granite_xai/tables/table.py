"""A table that was read, and its columns: values, levels, and the code of each row among the levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.files import object_array
from granite_xai.base.typing import BoolArray, Coalition, IntArray
from granite_xai.tables.cells import LABELLED, MISSING_CODE, Kind
from granite_xai.tables.containers import Container, Outline

# Distinct keys are counted by a mark for every possible key while there are at most so many of
# these, and by sorting otherwise.
MARKS_PER_ROW = 8
FEW_MARKS = 1024


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
            levels_and_codes = _locked(self.levels[is_present]), _locked(new_code[codes])
            part.__dict__["_levels_and_codes"] = levels_and_codes
        return part


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


@dataclass(frozen=True, eq=False)
class Table:
    """A table, read once and never written.

    Parameters
    ----------
    columns : tuple of Column
    container : Container
        Holds the user's own table.
    notices : tuple of str
        Texts of the warnings that reading gave.
    """

    columns: tuple[Column, ...]
    container: Container
    notices: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.container.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def explained(self) -> tuple[int, ...]:
        """Positions of the columns that are explained and split."""
        return tuple(column.position for column in self.columns if not column.passes)

    @cached_property
    def passing(self) -> Coalition:
        """Positions of the columns that only pass through to the model."""
        return frozenset(range(self.n_columns)) - set(self.explained)

    @property
    def kinds(self) -> dict[Any, Kind]:
        """Kinds of the columns, by their labels in the user's library."""
        kinds = [column.kind for column in self.columns]
        return dict(zip(self.container.labels, kinds, strict=True))

    @property
    def native(self) -> Any:
        """The user's own table."""
        return self.container.native

    def row_labels(self, positions: Sequence[int] | IntArray) -> list[Any]:
        """Labels of rows as the user knows them, for messages."""
        return self.container.row_labels(np.asarray(positions, dtype=np.intp))

    def same_rows(self, other: Table) -> bool:
        """Whether both hold the same cells in the same order."""
        if (self.n_rows, self.n_columns) != (other.n_rows, other.n_columns):
            return False
        return all(map(_have_same_cells, self.columns, other.columns))

    def take(self, rows: Sequence[int] | IntArray) -> Table:
        """The table of some rows; levels are those present there, labels stay those of the user.

        Parameters
        ----------
        rows : sequence of int
            Positions, in any order; a row may recur.
        """
        rows = np.asarray(rows, dtype=np.intp)
        container = self.container.take(rows)  # first: a table loaded without its rows refuses here
        columns = tuple(column.take(rows) for column in self.columns)
        return Table(columns, container, self.notices)

    def select(self, positions: Sequence[int]) -> Any:
        """Some columns in the user's own library, as a copy."""
        return self.container.select(positions)

    def resolve(self, label: Any, argument: str) -> int:
        """Position of a column.

        Parameters
        ----------
        label : str or int
            As the library has it, or its name as text; an int that is no label is a position.
        argument : str
            Where the user gave it, for the message.

        Raises
        ------
        InputError
            There is no such column (P04).
        """
        return self.container.resolve(label, argument, self.names)

    def distinct(
        self, columns: Iterable[int], cells: IntArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Number the distinct rows of some columns.

        Parameters
        ----------
        columns : iterable of int
            Their positions; a set is taken in ascending order.
        cells : array of shape (n_rows, n_columns), optional
            Codes from 0 to compare instead of those of the columns.

        Returns
        -------
        numbers : array of shape (n_rows,)
            Of each row, the number of its distinct row.
        first_rows : array of shape (n_distinct,)
            Of each distinct row, its first row.
        """
        positions = sorted(columns) if isinstance(columns, (set, frozenset)) else columns
        if cells is None:
            codes = (self.columns[position].codes + 1 for position in positions)  # missing is 0
        else:
            codes = (cells[:, position] for position in positions)
        return distinct_rows(self.n_rows, codes)


def _have_same_cells(column: Column, other: Column) -> bool:
    same_codes = np.array_equal(column.codes, other.codes)
    return same_codes and column.levels.tolist() == other.levels.tolist()


def distinct_rows(n_rows: int, columns: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of some columns of codes.

    Parameters
    ----------
    n_rows : int
    columns : iterable of arrays of shape (n_rows,)
        Codes from 0.

    Returns
    -------
    numbers : array of shape (n_rows,)
        From 0, in the order of the codes of the first column, then the second, …
    first_rows : array of shape (n_distinct,)
        Of each number, the first row that has it.
    """
    numbers = np.zeros(n_rows, dtype=np.int64)
    n_numbers = 1
    for codes in columns:
        n_codes = int(codes.max(initial=-1)) + 1
        keys = numbers * n_codes + codes
        n_keys = n_numbers * n_codes
        if n_keys > MARKS_PER_ROW * n_rows + FEW_MARKS:
            distinct_keys, numbers = np.unique(keys, return_inverse=True)
            n_numbers = len(distinct_keys)
        else:
            occurs = np.zeros(n_keys, dtype=bool)
            occurs[keys] = True
            numbers = (np.cumsum(occurs) - 1)[keys]
            n_numbers = int(occurs.sum())
    n_distinct = min(n_numbers, n_rows)  # none where there are no rows
    first_rows = np.zeros(n_distinct, dtype=np.intp)
    # Of several assignments to one place the last one stays: go backwards.
    first_rows[numbers[::-1]] = np.arange(n_rows - 1, -1, -1, dtype=np.intp)
    return numbers.astype(np.intp, copy=False), first_rows


def require_rows(table: Table, what: str) -> None:
    """Refuse work that needs the rows of a table that was loaded without them (F09)."""
    if isinstance(table.container, Outline):
        table.container.refuse(what=what)


def recombine(
    base: Table, base_rows: Any, donor: Table, donor_rows: Any, columns: Iterable[int]
) -> Any:
    """Rows of one table with some columns from rows of another.

    Parameters
    ----------
    base, donor : Table
    base_rows, donor_rows : arrays of shape (n_rows,)
        Which row of the base, and which of the donor, each new row is made of.
    columns : iterable of int
        The columns that come from the donor.

    Returns
    -------
    table of the base's library, with n_rows rows
        Fresh: the model may write into it. Its dtypes are those of the base.
    """
    base_rows = np.asarray(base_rows, dtype=np.intp)
    donor_rows = np.asarray(donor_rows, dtype=np.intp)
    if base_rows.shape != donor_rows.shape:
        raise ValueError(
            f"base_rows has shape {base_rows.shape}, donor_rows has shape {donor_rows.shape}."
        )
    donor_container = donor.container
    if donor_container.library != base.container.library:
        donor_container = base.container.adopt([column.values for column in donor.columns])
    return base.container.recombined(base_rows, donor_container, donor_rows, sorted(columns))


def frame(data: Mapping[str, Sequence[Any] | Any], like: Table | None = None) -> Any:
    """Make a frame of results.

    Parameters
    ----------
    data : mapping of name to sequence
        The columns.
    like : Table, optional
        In whose library the frame comes; pandas for arrays, and without it.
    """
    if like is None or like.container.library in ("numpy", "pandas"):
        return nw.from_dict(dict(data), backend="pandas").to_native()
    backend = nw.from_native(like.native, eager_only=True).implementation
    lists = {name: list(values) for name, values in data.items()}
    return nw.from_dict(lists, backend=backend).to_native()

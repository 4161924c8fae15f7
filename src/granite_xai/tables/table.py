"""A table that has been read: its columns, its rows, and the distinct rows of some columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from granite_xai.base.options import unknown
from granite_xai.base.typing import IntArray
from granite_xai.tables.columns import Column, Kind
from granite_xai.tables.containers import Container


@dataclass(frozen=True, eq=False)
class Table:
    """A table, read once and never written.

    Parameters
    ----------
    columns : tuple of Column
        What was read.
    container : Container
        The user's own table; `native` is the object itself.
    notices : tuple of str
        Texts of the warnings that reading gave.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> table = read_table([[1, 0.5], [1, 0.5], [0, 2.0]], missing="error")
    >>> table.names, table.n_rows, table.n_columns
    (('x0', 'x1'), 3, 2)
    >>> codes, representatives = table.distinct([0, 1])
    >>> codes, representatives
    (array([1, 1, 0]), array([2, 0]))
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

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of the columns."""
        return tuple(column.kind for column in self.columns)

    @property
    def native(self) -> Any:
        """The user's own table."""
        return self.container.native

    @property
    def named(self) -> bool:
        """Whether the user's table has names that are text (scikit-learn's feature names)."""
        return self.container.named

    def row_labels(self, positions: Sequence[int] | IntArray) -> list[Any]:
        """Labels of rows as the user knows them, for messages."""
        return self.container.row_labels(np.asarray(positions, dtype=np.intp))

    def take(self, rows: Sequence[int] | IntArray) -> Table:
        """The table of some rows; levels are those present there, labels stay those of the user."""
        rows = np.asarray(rows, dtype=np.intp)
        container = self.container.take(rows)  # first: a table loaded without its rows refuses here
        return Table(tuple(column.take(rows) for column in self.columns), container, self.notices)

    def select(self, positions: Sequence[int]) -> Any:
        """Some columns in the user's own library, as a copy."""
        return self.container.select(positions)

    def resolve(self, label: Any, argument: str) -> int:
        """Position of a column, given by its label; an int that is no label is a position."""
        usable = isinstance(label, (str, Integral)) and not isinstance(label, bool)
        for labels in (self.container.labels, self.names) if usable else ():
            if label in labels:
                return labels.index(label)
        if isinstance(label, Integral) and usable and 0 <= int(label) < self.n_columns:
            return int(label)
        raise unknown(argument, label, self.names, code="P04", what="Columns")

    def distinct(self, columns: Iterable[int]) -> tuple[IntArray, IntArray]:
        """Number the distinct rows of some columns.

        NaN equals NaN, -0.0 equals 0.0. Values are ordered by the codes of the columns, first column first, missing
        before all levels.

        Parameters
        ----------
        columns : iterable of int
            Positions; a set is taken in ascending order.

        Returns
        -------
        codes : array of shape (n,)
            Number of each row's value.
        representatives : array of shape (U,)
            The first row that carries each value.
        """
        positions = sorted(columns) if isinstance(columns, (set, frozenset)) else list(columns)
        keys, size = np.zeros(self.n_rows, dtype=np.int64), 1
        for j in positions:
            column = self.columns[j]
            keys = keys * (len(column.levels) + 1) + (column.codes + 1)
            # numbering again keeps the keys small enough for 64 bits and for a table of all of them
            keys, size = _numbered(keys, size * (len(column.levels) + 1))
        return keys.astype(np.intp, copy=False), _first_rows(keys, size)


def _numbered(keys: IntArray, size: int) -> tuple[IntArray, int]:
    """Replace keys below ``size`` by their rank among those present."""
    if size > 8 * len(keys) + 1024:
        values, ranks = np.unique(keys, return_inverse=True)
        return ranks, len(values)
    seen = np.zeros(size, dtype=bool)
    seen[keys] = True
    place = np.cumsum(seen) - 1
    return place[keys], int(seen.sum())


def _first_rows(codes: IntArray, size: int) -> IntArray:
    if len(codes) == 0:
        size = 0
    first = np.zeros(size, dtype=np.intp)
    # of several assignments to one place the last one stays: go backwards
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1, dtype=np.intp)
    return first

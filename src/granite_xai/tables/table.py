"""A table that has been read: its columns, rows and distinct rows; and tables made of it for models and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Literal

import narwhals as nw
import numpy as np

from granite_xai.base.options import unknown
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.tables.columns import Column, Kind
from granite_xai.tables.containers import Container, Outline


@dataclass(frozen=True, eq=False)
class Table:
    """A table, read once and never written."""

    columns: tuple[Column, ...]
    container: Container  # holds the user's own table
    notices: tuple[str, ...] = ()  # texts of the warnings that reading gave

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
        """Positions of the columns that are explained and split; the others only pass through to the model."""
        return tuple(column.position for column in self.columns if not column.passes)

    @cached_property
    def passing(self) -> Coalition:
        """Positions of the columns that only pass through to the model."""
        return frozenset(range(self.n_columns)) - set(self.explained)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of the columns."""
        return tuple(column.kind for column in self.columns)

    @property
    def native(self) -> Any:
        """The user's own table."""
        return self.container.native

    def row_labels(self, positions: Sequence[int] | IntArray) -> list[Any]:
        """Labels of rows as the user knows them, for messages."""
        return self.container.row_labels(np.asarray(positions, dtype=np.intp))

    def same_rows(self, other: Table) -> bool:
        """Whether both hold the same cells in the same order."""
        pairs = zip(self.columns, other.columns, strict=False)
        return (self.n_rows, self.n_columns) == (other.n_rows, other.n_columns) and all(
            np.array_equal(one.codes, two.codes) and one.levels.tolist() == two.levels.tolist() for one, two in pairs
        )

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

    def distinct(self, columns: Iterable[int], cells: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """The number of each row among the distinct rows of some columns, and the first row that carries each.

        NaN equals NaN, -0.0 equals 0.0. Values are ordered by the codes of the columns, first column first (of a set
        the lowest), missing before all levels; ``cells`` (n, d) instead of the codes, where they are given.
        """
        chosen = sorted(columns) if isinstance(columns, (set, frozenset)) else columns
        return distinct_rows(self.n_rows, (self.columns[j].codes + 1 if cells is None else cells[:, j] for j in chosen))


def distinct_rows(n_rows: int, columns: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of some columns of codes from 0, and find the first row of each.

    >>> distinct_rows(3, [np.array([1, 0, 1])])
    (array([1, 0, 1]), array([1, 0]))
    """
    keys, size = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=-1)) + 1
        # numbering again keeps the keys small enough for 64 bits and for a table of all of them
        keys, size = _numbered(keys * width + column, size * width)
    first = np.zeros(size if len(keys) else 0, dtype=np.intp)
    # of several assignments to one place the last one stays: go backwards
    first[keys[::-1]] = np.arange(len(keys) - 1, -1, -1, dtype=np.intp)
    return keys.astype(np.intp, copy=False), first


def require_rows(table: Table, what: str) -> None:
    """Refuse work that needs the rows of a table that was loaded without them (F09)."""
    if isinstance(table.container, Outline):
        table.container.refuse(what=what)


def _numbered(keys: IntArray, size: int) -> tuple[IntArray, int]:
    """Replace keys below ``size`` by their rank among those present."""
    if size > 8 * len(keys) + 1024:
        values, ranks = np.unique(keys, return_inverse=True)
        return ranks, len(values)
    seen = np.zeros(size, dtype=bool)
    seen[keys] = True
    return (np.cumsum(seen) - 1)[keys], int(seen.sum())


def recombine(base: Table, base_rows: Any, donor: Table, donor_rows: Any, columns: Iterable[int]) -> Any:
    """Rows of one table with some columns from rows of another; fresh, in the library and the dtypes of the first."""
    rows, others = np.asarray(base_rows, dtype=np.intp), np.asarray(donor_rows, dtype=np.intp)
    if rows.shape != others.shape:
        raise ValueError(f"base_rows has shape {rows.shape}, donor_rows has shape {others.shape}.")
    alike = donor.container.library == base.container.library
    container = donor.container if alike else base.container.adopt(donor.columns)
    return base.container.recombined(rows, container, others, sorted(columns))


def nudged(table: Table, rows: Any, direction: Literal[1, -1], columns: Sequence[int] | None = None) -> Any:
    """Rows with every floating-point cell (of some columns) moved to the next number of its own dtype, up or down."""
    chosen = range(table.n_columns) if columns is None else columns
    return table.container.nudged(np.asarray(rows, dtype=np.intp), direction, list(chosen))


def frame(data: Mapping[str, Sequence[Any] | Any], like: Table | None = None) -> Any:
    """A frame in the library of a table; pandas for arrays."""
    if like is None or like.container.library in ("numpy", "pandas"):
        return nw.from_dict(dict(data), backend="pandas").to_native()
    backend = nw.from_native(like.native, eager_only=True).implementation
    return nw.from_dict({name: list(values) for name, values in data.items()}, backend=backend).to_native()

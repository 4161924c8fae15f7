"""Rows that nobody has: made of each column's own levels, to recognise a model without storing a row of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.tables import read_alike, recombine

if TYPE_CHECKING:
    from granite_xai.tables import Column, Table

COUNT = 8


def synthetic_rows(table: Table) -> Table:
    """Combine levels that are spread over each column, every column in another order.

    Examples
    --------
    >>> from granite_xai.tables import read_table
    >>> rows = synthetic_rows(read_table([[1.0, 5.0], [2.0, 6.0]], missing="error"))
    >>> rows.n_rows, sorted(set(rows.columns[0].values.tolist()))
    (8, [1.0, 2.0])
    """
    rows = np.arange(COUNT)
    made = table.take(np.zeros(COUNT, dtype=np.intp))
    for column in table.columns:
        native = recombine(made, rows, table, _carriers(column), [column.position])
        made = read_alike(native, table)
    return made


def without_rows(part: Table, position: int, like: Table) -> Table:
    """Keep one column of some rows and put synthetic cells into the others."""
    base = synthetic_rows(like)
    first = np.zeros(part.n_rows, dtype=np.intp)
    return read_alike(recombine(base, first, part, np.arange(part.n_rows), [position]), like)


def _carriers(column: Column) -> IntArray:
    """Rows that carry the chosen levels."""
    count = len(column.levels)
    if not count:
        return np.zeros(COUNT, dtype=np.intp)
    steps = (np.arange(COUNT) * (2 * column.position + 1) + column.position) % COUNT
    codes = (2 * steps + 1) * count // (2 * COUNT)
    return np.array([int(np.flatnonzero(column.codes == code)[0]) for code in codes], dtype=np.intp)

"""Columns that are the target itself."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import DataWarning, Diagnostics
from granite_xai.base.text import listing
from granite_xai.tables import Column, Table

FEWEST_ROWS = 30  # of fewer, a column and y may agree by chance


def note_columns_that_are_y(y: Any, table: Table, record: Diagnostics) -> None:
    """Warn of columns that hold the target, in whatever unit (T10).

    Parameters
    ----------
    y : array-like or None
        The user's target, which no question needs to read.
    table : Table
        The rows that it belongs to.
    record : Diagnostics
        Warns and remembers.
    """
    values = _values_of(y)
    if values is None or len(values) != table.n_rows or table.n_rows < FEWEST_ROWS:
        return
    distinct, ranks = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return
    ranks = ranks.reshape(-1)
    equal = [column.name for column in table.columns if _is_equal(column, values)]
    if equal:
        record.warn(f"T10: {_are(equal)} y. {MEANING}", DataWarning)
    elsewhere = [
        column.name
        for column in table.columns
        if column.name not in equal and _has_ranks(column, ranks, len(distinct))
    ]
    if elsewhere and values.dtype.kind != "U":
        record.warn(f"T10: {_are(elsewhere)} y in another unit or scale. {MEANING}", DataWarning)


MEANING = (
    "A model that was fitted with it has the answer among its features, and what is found of the others says little. "
    "Leave it out of X, and fit the model without it."
)


def _are(names: Sequence[str]) -> str:
    return f"column {names[0]} is" if len(names) == 1 else f"columns {listing(names)} are"


def _values_of(y: Any) -> NDArray[Any] | None:
    """One number or one text a row; None where y is something else."""
    if isinstance(y, list | tuple) and not all(isinstance(cell, Real | str) for cell in y):
        return None
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        return None
    if values.dtype == object:
        cells = values.tolist()
        if all(isinstance(cell, str) for cell in cells):
            return values.astype(str)
        if not all(isinstance(cell, Real) for cell in cells):
            return None
        values = np.array([float(cell) for cell in cells])
    if values.dtype.kind in "biuf" and np.all(np.isfinite(values)):
        return np.asarray(values, dtype=np.float64)
    if values.dtype.kind == "U":
        return values
    return None


def _is_equal(column: Column, values: NDArray[Any]) -> bool:
    """Whether a column holds the same numbers or the same texts."""
    if column.kind == "date":
        return False
    if column.kind == "numeric":
        return values.dtype.kind != "U" and bool(np.array_equal(column.values, values))
    return bool(column.values.tolist() == values.tolist())


def _has_ranks(column: Column, ranks: NDArray[Any], n_distinct: int) -> bool:
    """Whether a column with an order rises, or falls, strictly with these ranks."""
    if column.kind == "nominal" or len(column.levels) != n_distinct:
        return False
    return np.array_equal(column.codes, ranks) or np.array_equal(
        column.codes, n_distinct - 1 - ranks
    )

"""Distances between rows, free of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from granite_xai.tables import Table


def nearest(distances: FloatArray, sets: list[list[int]]) -> IntArray:
    """Number of the nearest representative of every row, for each set of representatives, shape (sets, n).

    >>> nearest(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]), [[0, 2]])
    array([[0, 0, 1]])
    """
    return np.stack([np.argmin(distances[:, chosen], axis=1) for chosen in sets]).astype(np.intp)


def row_distances(table: Table) -> FloatArray:
    """Squared distances of all pairs of rows: standardised gaps of ordered columns, 1 where other labels differ."""
    total = np.zeros((table.n_rows, table.n_rows))
    for column in table.columns:
        if column.kind in ("nominal", "boolean"):
            total += column.codes[:, None] != column.codes
            continue
        values = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
        values = np.where(column.codes >= 0, values, np.nan)
        spread = float(np.nanstd(values)) if (column.codes >= 0).any() else 0.0
        gaps = np.square((values[:, None] - values) / (spread or 1.0))
        total += np.where(np.isnan(gaps), column.missing[:, None] != column.missing, gaps)
    return total

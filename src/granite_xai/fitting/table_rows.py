"""The rows of a table, with their targets, weights and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.fitting.rows import numbered_by_first_row
from granite_xai.tables import Table, fixed_row_order


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """A table with what comes with its rows.

    Rows are known by their place in ``order``: row 0 is the first of that order, wherever the user's table has it.

    Parameters
    ----------
    table : Table
        As the user gave it.
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        As the user gave it.
    weights, clusters : arrays of shape (n_rows,)
        By place in ``order``.
    order : array of shape (n_rows,), optional
        Where each row stands in the table; None: as they stand.
    """

    table: Table
    y: FloatArray | None
    weights: FloatArray
    clusters: IntArray
    order: IntArray | None = None

    @property
    def positions(self) -> IntArray:
        """Where each row stands in the user's table."""
        if self.order is None:
            return np.arange(self.table.n_rows)
        return self.order

    @property
    def n_weighted(self) -> int:
        """Rows of positive weight."""
        return int(np.count_nonzero(self.weights > 0))

    def places(self, positions: Sequence[int]) -> IntArray:
        """Places by which rows are known here, of their positions in the user's table."""
        return np.argsort(self.positions)[positions]

    def in_fixed_order(self) -> TableRows:
        """The same rows, known by place in an order that depends only on what they hold."""
        order = fixed_row_order(self.table, self.y, self.weights, self.clusters)
        return TableRows(
            table=self.table,
            y=self.y,
            weights=self.weights[order],
            clusters=numbered_by_first_row(self.clusters[order]),
            order=order,
        )

    def take(self, places: IntArray) -> TableRows:
        """Some of the rows, by their places; always a copy: what is written into X later must not change the fit."""
        positions = self.positions[places]
        y = None
        if self.y is not None:
            y = self.y[positions]
        return TableRows(
            table=self.table.take(positions),
            y=y,
            weights=self.weights[places],
            clusters=numbered_by_first_row(self.clusters[places]),
        )


def lacking_clusters_warning(remedy: str) -> str:
    """The warning about rows without clusters, where the fit was given some (D47).

    Parameters
    ----------
    remedy : str
        The call that passes them.
    """
    return (
        "D47: the fit was given clusters and these rows have none: they count as independent rows, so that "
        f"the interval is too narrow where rows belong together. Pass {remedy}."
    )

"""Where each row lies in its columns, free of units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """The places of the rows; a baseline that is chosen in each region is the row nearest its centre.

    Parameters
    ----------
    ranks : array of shape (n_ordered_columns, n)
        Mid-ranks among the fitting rows over their number; NaN is missing.
    levels : array of shape (n_nominal_columns, n)
        Codes; -1 is missing.
    """

    ranks: FloatArray
    levels: IntArray

    @classmethod
    def of(cls, table: Table) -> Coordinates:
        """The coordinates in the columns of a table that are explained."""
        from scipy.stats import rankdata  # slow to load, and only such a baseline needs it

        ordered = []
        nominal = []
        for position in table.explained:
            column = table.columns[position]
            if column.is_ordered:
                ordered.append(column.codes)
            else:
                nominal.append(column.codes)
        codes = _stacked(ordered, table.n_rows)
        codes_or_nan = np.where(codes < 0, np.nan, codes)
        ranks = rankdata(codes_or_nan, axis=1, nan_policy="omit") / table.n_rows
        return cls(ranks=ranks, levels=_stacked(nominal, table.n_rows))

    def restrict(self, rows: IntArray) -> Coordinates:
        """Only these rows."""
        return Coordinates(ranks=self.ranks[:, rows], levels=self.levels[:, rows])


def _stacked(codes: list[IntArray], n_rows: int) -> IntArray:
    """Codes of some columns, perhaps of none, (columns, n)."""
    return np.array(codes, dtype=np.intp).reshape(-1, n_rows)

"""How likely values of one column are beside the other columns of each row, for conditional masking without bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class DensityRatios:
    """Ratios of a conditional to a marginal density, for one column and every row of a node.

    Parameters
    ----------
    column : int
        Position of the column.
    intervals : array of shape (n,)
        Interval of the column's value in each row.
    ratios : array of shape (n_intervals, n)
        ``p(x_i in interval | other columns of the row) / p(x_i in interval)``: 1 where the column does not depend on
        the others, always positive.
    """

    column: int
    intervals: IntArray
    ratios: FloatArray

    def restrict(self, rows: IntArray) -> DensityRatios:
        """Only these rows."""
        return DensityRatios(
            column=self.column, intervals=self.intervals[rows], ratios=self.ratios[:, rows]
        )

    def effective_rows(self, shown: bool) -> IntArray:
        """Rows that the weighted mean at each row rests on: ``(sum of weights)² / sum of squares``, rounded.

        Parameters
        ----------
        shown : bool
            Whether the column is shown and the others are hidden, or the other way round.
        """
        if shown:  # the mean at a row weighs all rows m by ratios[interval(n), m]
            sums = self.ratios.sum(axis=1)
            squares = np.square(self.ratios).sum(axis=1)
            effective = (sums**2 / squares)[self.intervals]
        else:  # it weighs the values of all rows m by ratios[interval(m), n]
            counts = np.bincount(self.intervals, minlength=len(self.ratios)).astype(np.float64)
            effective = (counts @ self.ratios) ** 2 / (counts @ np.square(self.ratios))
        return np.asarray(np.maximum(np.rint(effective), 1), dtype=np.intp)

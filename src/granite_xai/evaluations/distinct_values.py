"""The values of a set of columns at which the model is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The values v_1, …, v_U of some columns, each given by a row that carries it.

    Parameters
    ----------
    codes : array of shape (n_rows,)
        Number of the value that each row has.
    representatives : array of shape (n_values,)
        A row that carries each value.
    levels : array of shape (n_values,), optional
        Where the values are a grid of one column, their levels; -1 is missing.
    """

    codes: IntArray
    representatives: IntArray
    levels: IntArray | None = None

    def __len__(self) -> int:
        return len(self.representatives)


def lowest_and_highest(table: Table, position: int) -> DistinctValues:
    """The smallest and the largest value of an ordered column, to be evaluated at every row.

    No row is read at them: the codes are empty.
    """
    column = table.columns[position]
    lowest = int(np.argmax(column.codes == 0))
    highest = int(np.argmax(column.codes == len(column.levels) - 1))
    return DistinctValues(
        codes=np.zeros(0, dtype=np.intp), representatives=np.array([lowest, highest])
    )

"""Baseline masking: hidden columns are set to one row, the same in every region.

See docs/method.rst, "What the model is asked".
"""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from granite_xai.base.options import unknown
from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.engine.masked import Masked
from granite_xai.engine.references import AgainstReferences
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.masking.masking import Learned, Masking, Needed
from granite_xai.tables import Column, Table, read_table, recombine, row_like

NAMED_ROWS = ("median", "mean")


@dataclass(frozen=True, slots=True)
class Baseline(Masking):
    """Hidden columns are set to one row ``b``: ``F_T(x) = F(x_T, b_{-T})``.

    Parameters
    ----------
    row : "median", "mean", mapping or sequence
        ``"median"``, ``"mean"``: lower medians or means of the fitting rows (nominal columns: the most
        frequent level), the same in every region. A mapping of column to value, or one value for each
        column: that row.

    Examples
    --------
    >>> Baseline("mean").row
    'mean'
    """

    row: Any = "median"
    key: ClassVar[str] = "baseline"
    n_references: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if isinstance(self.row, str):
            if self.row not in NAMED_ROWS:
                raise unknown("row", self.row, NAMED_ROWS)
            return
        cells = self.row.items() if isinstance(self.row, Mapping) else self.row
        object.__setattr__(self, "row", tuple(cells))

    def learn(
        self, table: Table, coalitions: AbstractSet[Coalition], weights: FloatArray, seed: int
    ) -> Learned:
        """The row."""
        if self.row == "median":
            return Learned(references=_median_row(table, weights))
        if self.row == "mean":
            return Learned(references=_mean_row(table, weights))
        # A mapping is kept as pairs of column and value; no value of a row is a pair.
        is_mapping = all(isinstance(cell, tuple) and len(cell) == 2 for cell in self.row)
        cells = dict(self.row) if is_mapping else self.row
        return Learned(references=row_like(table, cells, "row"))

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """The rows against the baseline."""
        return Needed(against=coalitions)

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Predictions against the baseline."""
        return AgainstReferences(
            evaluations, splits, lambda visible: evaluations.against[self, visible]
        )


def _median_row(table: Table, weights: FloatArray) -> Table:
    """Lower medians of ordered columns, most frequent levels of the others, as a table of one row."""
    first = np.zeros(1, dtype=np.intp)
    row = table.take(first)
    for column in table.columns:
        donor = np.array([central_position(column, weights)], dtype=np.intp)
        native = recombine(row, first, table, donor, [column.position])
        row = read_table(native, kinds=table.kinds, missing="allow")
    return row


def _mean_row(table: Table, weights: FloatArray) -> Table:
    """Means of numeric columns, and the median row elsewhere, as a table of one row."""
    means: dict[str, float] = {}
    for column in table.columns:
        if column.kind == "numeric":
            present = column.codes >= 0
            mean = np.average(column.values[present], weights=weights[present])
            means[column.name] = float(mean)
    return row_like(_median_row(table, weights), means, "row")


def central_position(column: Column, weights: FloatArray) -> int:
    """The first row that carries the lower median of a column, or its most frequent level (ties: the first level).

    Missing values count only if there is nothing else.

    Parameters
    ----------
    column : Column
    weights : array of shape (n,)
        Of the rows.
    """
    present = np.flatnonzero(column.codes >= 0)
    if not len(present):
        return 0
    mass = np.bincount(
        column.codes[present], weights=weights[present], minlength=len(column.levels)
    )
    if column.is_ordered:  # the first level with half of the mass at or below it
        central_code = np.searchsorted(np.cumsum(mass) * 2, mass.sum())
    else:
        central_code = np.argmax(mass)
    return int(np.flatnonzero(column.codes == central_code)[0])

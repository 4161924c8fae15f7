"""What the maskings learn from the fitting rows, kept for regions and for new rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.masking.bins import BinFunction, fit_bins, interval_edges, ranks_among, rows_stood_for
from granite_xai.masking.masking import Baseline, Conditional, Masking
from granite_xai.tables import read_table, recombine, row_like

if TYPE_CHECKING:
    from granite_xai.tables import Column, Table

Reading = tuple[Masking, Coalition]
"""One masked model that is read: a masking operator and the visible columns."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedMaskings:
    """Bin functions of conditional masking, rows of baseline masking, intervals of accumulated effects.

    Parameters
    ----------
    bins : mapping from (masking, coalition) to a bin function
    baselines : mapping from a fixed baseline to a table of one row
    steps : mapping from a column to its intervals
    """

    bins: dict[Reading, BinFunction]
    baselines: dict[Baseline, Table]
    steps: dict[int, AleIntervals]


@dataclass(frozen=True, slots=True, eq=False)
class AleIntervals:
    """The intervals of one column that ALE moves across.

    Parameters
    ----------
    fitted : Column
        On the fitting rows.
    edges : (k,) int
        Ends of the intervals as positions among the fitting levels: the minimum and the upper ends of the bins.
    ends : Table
        A fitting row that carries each end.
    """

    fitted: Column
    edges: IntArray
    ends: Table

    def intervals(self, column: Column) -> IntArray:
        """Number of each row's interval, from 1; 0 for missing values."""
        if self.fitted.kind == "boolean":
            return (column.codes >= 0).astype(np.intp)
        ranks = ranks_among(column, self.fitted, side="left")
        found = np.clip(np.searchsorted(self.edges, ranks, side="left"), 1, len(self.edges) - 1)
        return np.where(column.codes < 0, 0, found).astype(np.intp)


def fit_steps(column: Column, table: Table, weights: FloatArray | None = None) -> AleIntervals | None:
    """Intervals between the minimum and the edges of the bins; None for nominal and constant columns."""
    if column.kind == "nominal" or len(column.levels) < 2:
        return None
    edges = np.union1d([0], interval_edges(column, rows_stood_for(weights))).astype(np.intp)
    carriers = [int(np.flatnonzero(column.codes == code)[0]) for code in edges]
    return AleIntervals(column, edges, table.take(np.array(carriers)))


def fit_reference(
    readings: Iterable[Reading], changes: Iterable[int], table: Table, weights: FloatArray, random_state: int
) -> FittedMaskings:
    """Learn the bins, baselines and intervals that some readings and changes need."""
    bins: dict[Reading, BinFunction] = {}
    baselines: dict[Baseline, Table] = {}
    for masking, visible in readings:
        if isinstance(masking, Conditional):
            bins[masking, visible] = fit_bins(masking, table, visible, random_state, weights)
        elif isinstance(masking, Baseline) and masking.row != "region" and masking not in baselines:
            baselines[masking] = baseline_row(masking, table, weights)
    steps = {i: found for i in changes if (found := fit_steps(table.columns[i], table, weights)) is not None}
    return FittedMaskings(bins, baselines, steps)


def baseline_row(masking: Baseline, table: Table, weights: FloatArray) -> Table:
    """The one row that stands in for hidden columns, as a table of one row."""
    if masking.row in ("median", "mean"):
        return _central_row(table, weights, means=masking.row == "mean")
    pairs = all(isinstance(item, tuple) and len(item) == 2 for item in masking.row)
    return row_like(table, dict(masking.row) if pairs else masking.row, "row")


def _central_row(table: Table, weights: FloatArray, means: bool) -> Table:
    """Lower medians (or means) of ordered columns, most frequent levels of the others."""
    first = np.zeros(1, dtype=np.intp)
    row = table.take(first)
    for column in table.columns:
        donor = np.array([central_position(column, weights)], dtype=np.intp)
        native = recombine(row, first, table, donor, [column.position])
        row = read_table(native, kinds=dict(zip(table.names, table.kinds, strict=True)), missing="allow")
    if not means:
        return row
    numeric = [column for column in table.columns if column.kind == "numeric"]
    return row_like(row, {column.name: _mean(column, weights) for column in numeric}, "row")


def central_position(column: Column, weights: FloatArray) -> int:
    """A row that carries the column's lower median, or for nominal columns its most frequent level.

    Missing values do not count, unless there is nothing else.
    """
    present = np.flatnonzero(column.codes >= 0)
    if not len(present):
        return 0
    shares = np.bincount(column.codes[present], weights=weights[present], minlength=len(column.levels))
    if column.kind in ("nominal", "boolean"):
        code = int(np.argmax(shares))
    else:
        code = int(np.searchsorted(np.cumsum(shares) * 2, shares.sum()))
    return int(np.flatnonzero(column.codes == code)[0])


def _mean(column: Column, weights: FloatArray) -> float:
    present = column.codes >= 0
    return float(np.average(column.values[present], weights=weights[present]))

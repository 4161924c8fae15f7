"""Baseline masking: hidden columns are set to one row, the same in every region or a central one of each."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from granite_xai.base.options import unknown
from granite_xai.base.typing import Coalition, FloatArray, IntArray, PairwiseShapley, Term, Terms
from granite_xai.compute.compiled import as_part
from granite_xai.compute.primitives import Array
from granite_xai.engine.centres import central_rows
from granite_xai.engine.masked import AgainstReferences, HybridFunction, Masked
from granite_xai.engine.splits import Splits
from granite_xai.engine.values import RowValues
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.masking.masking import Learned, Masking, Needed
from granite_xai.tables import read_table, recombine, row_like

if TYPE_CHECKING:
    from granite_xai.tables import Column, Table


@dataclass(frozen=True, slots=True)
class Baseline(Masking):
    """Hidden columns are set to one row ``b``: ``F_T(x) = F(x_T, b_{-T})``.

    Parameters
    ----------
    row : "median", "mean", "region", mapping or sequence
        ``"median"``, ``"mean"``: lower medians or means of the fitting rows (nominal columns: the most
        frequent level), the same in every region. ``"region"``: the row of the region closest to the
        region's medians and modes. A mapping of column to value, or one value a column: that row.

    Examples
    --------
    >>> Baseline("region").row
    'region'
    """

    row: Any = "median"
    key: ClassVar[str] = "baseline"

    def __post_init__(self) -> None:
        if isinstance(self.row, str) and self.row not in ("median", "mean", "region"):
            raise unknown("row", self.row, ("median", "mean", "region"))
        if isinstance(self.row, Mapping):
            object.__setattr__(self, "row", tuple(self.row.items()))
        elif not isinstance(self.row, str):
            object.__setattr__(self, "row", tuple(self.row))

    @property
    def averages_rows(self) -> bool:
        """Where the baseline is one of the region's rows."""
        return bool(self.row == "region")

    @property
    def n_references(self) -> int:
        """The one row, unless every region has its own."""
        return 0 if self.averages_rows else 1

    def learn(self, table: Table, coalitions: AbstractSet[Coalition], weights: FloatArray, seed: int) -> Learned:
        """The row, unless every region has its own."""
        return Learned() if self.averages_rows else Learned(references=_baseline_row(self.row, table, weights))

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """The rows against the baseline; pairs of rows where the baseline may be any of them."""
        return Needed(coalitions, coordinates=True) if self.averages_rows else Needed(against=coalitions)

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Predictions against the baseline of the row's region."""
        if self.averages_rows:
            return AgainstCentres.of(evaluations, splits)
        return AgainstReferences(evaluations, splits, lambda visible: evaluations.against[self, visible])

    def anchored(self, region: int | None) -> Masking:
        """For other rows a region's baseline is one of its fitting rows."""
        return RegionRow(region) if self.averages_rows else self


@dataclass(frozen=True, slots=True)
class RegionRow(Masking):
    """Hidden columns are set to the central fitting row of a region (None: of all rows): how other rows are explained."""

    region: int | None
    key: ClassVar[str] = "baseline"

    @property
    def n_references(self) -> int:
        """The one row."""
        return 1

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """The rows against the baseline."""
        return Needed(against=coalitions)

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Predictions against the baseline."""
        return AgainstReferences(evaluations, splits, lambda visible: evaluations.against[self, visible])


@dataclass(frozen=True, slots=True, eq=False)
class AgainstCentres:
    """Hidden columns are set to the central row of each side, one of its own.

    Parameters
    ----------
    left, right : (K,) int
        The central row of both sides of every split.
    """

    evaluations: Evaluations
    splits: Splits
    left: IntArray
    right: IntArray

    @classmethod
    def of(cls, evaluations: Evaluations, splits: Splits) -> AgainstCentres:
        """Under lines of weights the baselines stay as they are."""
        if evaluations.coordinates is None:
            raise ValueError("the evaluations hold no coordinates")
        fixed = splits.lines is not None
        members = np.broadcast_to(splits.weights, splits.inside.shape) if fixed else splits.left
        left, right = (central_rows(evaluations.coordinates, side) for side in (members, splits.right))
        return cls(evaluations, splits, left, right)

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of predictions against the central row, and of attributions."""
        P, splits = self.splits.primitives, self.splits
        own, total = P.array(np.zeros(splits.n_rows)), P.array(np.zeros((splits.n_rows, splits.count)))
        for term, coefficient in terms.items():
            if term == self.evaluations.everything:
                own = own + coefficient * P.array(self.evaluations.predictions)
            else:
                left, right = (self._against(term, rows) for rows in (self.left, self.right))
                total = total + coefficient * P.xp.where(splits.flags, left, right)
        return RowValues(own, parts=(as_part(P, total),))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """A function of the one prediction behind ``F_T``."""
        P = self.splits.primitives
        values = self.combined({coalition: 1.0}).array(self.splits)
        found = np.stack([function(line[None], slice(None))[0] for line in P.host(values).T], axis=1)
        return RowValues(P.array(np.zeros(self.splits.n_rows)), parts=(as_part(P, P.array(found)),))

    def total_variance(self, hidden: Coalition) -> Array:
        """Not defined: one reference row, nothing is redrawn (P03, when the question is resolved)."""
        raise NotImplementedError

    def _against(self, term: Term, baseline: IntArray) -> Array:
        """``F(x_T, b)`` of every row for the baseline row of each split, (n, K)."""
        P, evaluations = self.splits.primitives, self.evaluations
        if not term:
            return P.array(evaluations.predictions[baseline][None, :])
        if isinstance(term, PairwiseShapley):
            matrix, shown = evaluations.attributions[term], True
        else:
            store, shown = evaluations.places[term]  # type: ignore[index]
            matrix = evaluations.matrices[store]
        lines, columns = matrix.pairs
        if shown:
            return P.take(P.take(P.array(matrix.values), columns[baseline], 1), lines, 0)
        return P.take(P.take(P.array(matrix.values), lines[baseline], 0), columns, 1).T


def _baseline_row(row: Any, table: Table, weights: FloatArray) -> Table:
    """The one row that stands in for hidden columns, as a table of one row."""
    if row in ("median", "mean"):
        return _central_row(table, weights, means=row == "mean")
    pairs = all(isinstance(item, tuple) and len(item) == 2 for item in row)
    return row_like(table, dict(row) if pairs else row, "row")


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

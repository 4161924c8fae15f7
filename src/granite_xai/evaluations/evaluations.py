"""The evaluations of a node: everything the engine reads, restricted to the node's rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from granite_xai.base.typing import (
    AleColumn,
    BoolArray,
    Coalition,
    FloatArray,
    IntArray,
    PairwiseShapley,
    Term,
)
from granite_xai.compute import BLOCK, slices
from granite_xai.compute.primitives import ArrayNamespace, Pairs
from granite_xai.evaluations.steps import Steps, Vectors
from granite_xai.evaluations.values import FineCurve
from granite_xai.tables import Table

Reading = tuple[
    Any, Coalition
]  # one masked model that is read: a masking operator and the visible columns
LONG = 512  # cells of a line from which it is worth a call of its own


@dataclass(frozen=True, eq=False)
class Matrix:
    """``E_S`` on some rows: one line for each distinct value of S, one column for each row."""

    # A part of the rows with about as many values as rows is not cut out: it is read through the places of its rows.
    values: Any  # (U, n) float: centred by the offset of the evaluations; on the device where the search is
    codes: IntArray  # (n,) int: the line that holds each row's own value
    levels: IntArray | None = (
        None  # (U,) int: of lines that are a grid of one column, their levels (-1: missing)
    )
    columns: IntArray | None = (
        None  # (n,) int: the column of each row; None: all columns, in their order
    )

    @cached_property
    def present(self) -> tuple[IntArray, IntArray, IntArray]:
        """The values that occur: their lines, a carrier of each, and the number of each row's own."""
        lines, codes = _dense(self.codes, int(self.values.shape[0]))
        carriers = np.empty(len(lines), dtype=np.intp)
        carriers[codes[::-1]] = np.arange(
            len(codes) - 1, -1, -1
        )  # the first row of each value is written last
        return lines, carriers, codes

    @property
    def n_values(self) -> int:
        """Values that are read."""
        return int(self.values.shape[0]) if self.columns is None else len(self.present[0])

    @property
    def has_many(self) -> bool:
        """Whether there are about as many values as rows: rows are then averaged pair by pair, not value by value."""
        return 4 * self.n_values >= len(self.codes)

    @cached_property
    def pairs(self) -> Pairs:
        """Where each row is found."""
        return Pairs(
            self.codes, np.arange(len(self.codes)) if self.columns is None else self.columns
        )

    def restrict(self, rows: IntArray, primitives: ArrayNamespace | None = None) -> Matrix:
        """Only these rows; cut out, with only the values that occur in them, where those are few."""
        part = Matrix(self.values, self.codes[rows], self.levels, self.pairs.columns[rows])
        return part if part.has_many else part.compact(primitives)

    def compact(self, primitives: ArrayNamespace | None = None) -> Matrix:
        """The same as a matrix of its own."""
        if self.columns is None:
            return self
        lines, _, codes = self.present
        if primitives is None:
            values = cut_out(self.values, lines, self.columns)
        else:
            values = primitives.take(primitives.take(self.values, lines, 0), self.columns, 1)
        return Matrix(values, codes, None if self.levels is None else self.levels[lines])

    def joined(self) -> Matrix:
        """Equal neighbouring lines as one."""
        values, new = self.values, np.ones(len(self.values), dtype=np.bool_)
        alike = 1 + np.flatnonzero(np.all(values[1:, :8] == values[:-1, :8], axis=1))
        new[alike] = [not np.array_equal(values[line], values[line - 1]) for line in alike]
        if new.all():
            return self
        every = np.arange(values.shape[1])
        return Matrix(cut_out(values, np.flatnonzero(new), every), (np.cumsum(new) - 1)[self.codes])


def cut_out(values: FloatArray, lines: IntArray, columns: IntArray) -> FloatArray:
    """Some lines and columns of a matrix: short lines together, long ones one by one."""
    if len(columns) < LONG:
        return np.asarray(values[np.ix_(lines, columns)])
    result = np.empty((len(lines), len(columns)))
    for own, line in zip(result, lines, strict=True):
        values[line].take(columns, out=own, mode="clip")  # by default the result is buffered
    return result


def cells_of(
    values: Any, lines: IntArray, columns: IntArray, primitives: ArrayNamespace | None
) -> FloatArray:
    """Some cells of a matrix, wherever it is."""
    if primitives is None:
        return np.asarray(values[lines, columns])
    flat = primitives.xp.reshape(values, (-1,))
    return primitives.host(primitives.take(flat, lines * values.shape[1] + columns, 0))


def _dense(codes: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The codes below ``count`` that occur, and each code as its place among them: counted, which beats sorting."""
    occurs = np.zeros(count, dtype=np.bool_)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


@dataclass(frozen=True, eq=False)
class Bins:
    """The bin of each row: dense numbers, each of which occurs."""

    numbers: IntArray

    @classmethod
    def of(cls, bins: IntArray) -> Bins:
        """Bins from any numbers."""
        return cls(np.unique(bins, return_inverse=True)[1].reshape(-1))

    @cached_property
    def single(self) -> bool:
        """Whether all rows share one bin."""
        return not self.numbers.any()

    @cached_property
    def blocks(self) -> list[IntArray]:
        """The rows of each bin, ascending."""
        counts = np.bincount(self.numbers)
        small = (
            self.numbers.astype(np.uint16) if len(counts) <= 2**16 else self.numbers
        )  # sorted by radix
        return np.split(np.argsort(small, kind="stable"), np.cumsum(counts)[:-1])

    def restrict(self, rows: IntArray) -> Bins:
        """Only these rows."""
        return Bins(_dense(self.numbers[rows], int(self.numbers.max()) + 1)[1])


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Where each row lies in its columns, free of units."""

    ranks: FloatArray  # (ordered columns, n) float: mid-ranks among the fitting rows over their number; NaN is missing
    levels: IntArray  # (nominal columns, n) int: codes; -1 is missing

    @classmethod
    def of(cls, table: Table) -> Coordinates:
        """Mid-ranks of ordered columns as shares of the rows, codes of the others."""
        from scipy.stats import (
            rankdata,
        )  # slow to load, and only a baseline chosen in each region needs it

        columns = [table.columns[i] for i in table.explained]
        labels = [column.codes for column in columns if column.kind in ("nominal", "boolean")]
        ordered = [column.codes for column in columns if column.kind not in ("nominal", "boolean")]
        levels, places = (
            np.array(codes, dtype=np.intp).reshape(-1, table.n_rows) for codes in (labels, ordered)
        )
        return cls(
            rankdata(np.where(places < 0, np.nan, places), axis=1, nan_policy="omit")
            / table.n_rows,
            levels,
        )

    def restrict(self, rows: IntArray) -> Coordinates:
        """Only these rows."""
        return Coordinates(self.ranks[:, rows], self.levels[:, rows])


@dataclass(frozen=True, slots=True, eq=False)
class GridColumn:
    """What a column on a grid changes in its own gap (C22).

    Parameters
    ----------
    predictions : array of shape (n,)
        ``E_S[code(n), n]``: F at the rows with the column snapped, centred.
    ends : array of shape (2, n), optional
        ``E_S`` at the smallest and the largest value, for curves beyond a grid of quantiles alone.
    fine : FineCurve, optional
        Where a pilot chose the values: how curves run between them.
    bins : mapping
        From (masking, S) to the bin of each row's snapped value.
    against : mapping
        From (masking, S) to ``F(x_S, b)`` at each row's snapped value.
    """

    predictions: FloatArray
    ends: FloatArray | None
    fine: FineCurve | None
    bins: Mapping[Reading, Bins]
    against: Mapping[Reading, FloatArray]

    def restrict(self, rows: IntArray) -> GridColumn:
        """Only these rows."""
        return GridColumn(
            predictions=self.predictions[rows],
            ends=None if self.ends is None else self.ends[:, rows],
            fine=self.fine,
            bins=of_rows(self.bins, rows),
            against=of_rows(self.against, rows),
        )


def of_rows(known: Any, rows: IntArray, primitives: ArrayNamespace | None = None) -> Any:
    """What is known of some of the rows: arrays have these last; others restrict themselves; mappings hold many."""
    if isinstance(known, Mapping):
        return {key: of_rows(each, rows, primitives) for key, each in known.items()}
    if isinstance(known, tuple):
        return tuple(of_rows(each, rows) for each in known)
    if known is None or isinstance(known, np.ndarray):
        return None if known is None else known[..., rows]
    return known.restrict(rows, primitives) if isinstance(known, Matrix) else known.restrict(rows)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations:
    """All that is known of the model on the rows of a node."""

    predictions: FloatArray  # (n,) float: ``F`` at the rows, centred
    weights: FloatArray  # (n,) float
    offset: float  # what was subtracted from every evaluation, so that no variance is a difference of large numbers
    y: FloatArray | None  # (n,) float
    stored_as: Mapping[Coalition, tuple[Coalition, bool]]  # from a coalition T to ``(S, shown)``
    matrices: Mapping[Coalition, Matrix]  # from S to ``E_S``
    bins: Mapping[Reading, Bins]  # from (masking, coalition) to the bin number of each row
    against: Mapping[
        Reading, FloatArray
    ]  # from (masking, coalition) to ``F(x_T, b)`` for each learned row b, centred
    attributions: Mapping[
        PairwiseShapley, Matrix
    ]  # from a term to the attributions ``Phi[n, m]``, one line a row
    errors: Mapping[
        PairwiseShapley, FloatArray
    ]  # of sampled attributions the standard error against all rows
    changes: Mapping[
        AleColumn, Steps
    ]  # from a column and a number of intervals to the predictions along the column
    everything: Coalition  # all column positions
    block: int = BLOCK  # bytes of what is computed at a time from these
    coordinates: Coordinates | None = (
        None  # where each row lies in its columns, for a baseline chosen in each region
    )
    vectors: tuple[
        Vectors, ...
    ] = ()  # what a partitioner wants to be alike in a region, one vector a row; if any
    snapped: Mapping[Coalition, GridColumn] = field(
        default_factory=dict
    )  # what a column on a grid changes in its gap
    # from (masking, coalition T) to F at T of a row with hidden columns drawn by the residuals of another
    sampled: Mapping[Reading, Matrix] = field(default_factory=dict)
    primitives: ArrayNamespace | None = (
        None  # those of the device that holds the matrices; None: the processor
    )
    others: tuple[
        Evaluations, ...
    ] = ()  # of the same rows, where several outputs are explained: the further ones

    @property
    def outputs(self) -> tuple[Evaluations, ...]:
        """The evaluations of each output."""
        return (replace(self, others=()), *self.others) if self.others else (self,)

    @property
    def n_rows(self) -> int:
        """Rows of the node."""
        return len(self.predictions)

    @property
    def target(self) -> FloatArray:
        """The y of the rows, for behaviors that need it."""
        if self.y is None:  # checked before any model call (T01)
            raise ValueError("the evaluations hold no y")
        return self.y

    def stored(self, term: Term) -> tuple[Matrix, bool]:
        """The matrix of an attribution, a coalition or its complement, and whether it is the term's own."""
        if isinstance(term, PairwiseShapley):
            return self.attributions[term], True
        store, shown = self.stored_as[term]  # type: ignore[index]
        return self.matrices[store], shown

    def matrix(self, columns: Coalition) -> Matrix:
        """``E_S``; where its complement was evaluated instead, the transpose, one line a row."""
        matrix, shown = self.stored(columns)
        matrix = matrix.compact(self.primitives)
        if self.primitives is not None:
            matrix = replace(matrix, values=self.primitives.host(matrix.values))
        if shown:
            return matrix
        values = np.empty((self.n_rows, self.n_rows))
        for part in slices(self.n_rows, 8 * (self.n_rows + len(matrix.values)), self.block):
            values[part] = matrix.values[:, part].T.take(matrix.codes, axis=1)
        return Matrix(values, np.arange(self.n_rows))

    def on_grid(self, columns: Coalition) -> Evaluations:
        """The evaluations as the gap of S reads them: with S snapped in every term where it is on a grid (C22)."""
        if not self.snapped or columns not in self.matrices:
            return self
        # The complement may be one column, which elsewhere is read on its own grid.
        own = {columns: (columns, True), self.everything - columns: (columns, False)}
        alone = replace(self, stored_as={**self.stored_as, **own})
        if (snapped := self.snapped.get(columns)) is None:
            return alone
        bins, against = {**self.bins, **snapped.bins}, {**self.against, **snapped.against}
        return replace(alone, predictions=snapped.predictions, bins=bins, against=against)

    def restrict(self, rows: IntArray) -> Evaluations:
        """The same evaluations for some of the rows (positions within this node)."""
        # These are the same for any rows.
        kept = ("offset", "stored_as", "everything", "block", "primitives")
        own = (each.name for each in fields(self) if each.name not in kept)
        return replace(
            self,
            **{name: of_rows(getattr(self, name), rows, self.primitives) for name in own},
        )

    def on(self, primitives: ArrayNamespace | None) -> Evaluations:
        """The same evaluations with their matrices on a device."""
        if primitives is None:
            return self
        moved: dict[str, Any] = {"others": tuple(other.on(primitives) for other in self.others)}
        for name in ("matrices", "attributions", "sampled"):
            known = getattr(self, name).items()
            moved[name] = {
                key: replace(matrix, values=primitives.array(matrix.values))
                for key, matrix in known
            }
        return replace(self, **moved, primitives=primitives)

    def divide(self, inside: BoolArray, column: int, inner: bool) -> Evaluations:
        """One side of a cut along a column; only curves on a grid of this column know which column it is."""
        rows = np.flatnonzero(inside if inner else ~inside)
        cuts = [vectors.inner_entries(inside, column) for vectors in self.vectors]
        entries = [cut if cut is None or inner else ~cut for cut in cuts]
        parts = (
            vectors.part(rows, chosen)
            for vectors, chosen in zip(self.vectors, entries, strict=True)
        )
        return replace(self.restrict(rows), vectors=tuple(parts))

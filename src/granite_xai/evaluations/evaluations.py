"""The evaluations of a node: everything the engine reads, restricted to the node's rows."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

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
from granite_xai.evaluations.ale_predictions import AlePredictions
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.evaluations.fine_curve import FineCurve
from granite_xai.evaluations.matrix import Matrix
from granite_xai.evaluations.row_bins import Bins
from granite_xai.evaluations.vectors import Vectors

# A working block is one part in so many of a device's free memory, as it is of the host's limit.

# One masked model that is read: a masking operator (of a room above this one) and the visible columns.
Reading = tuple[Any, Coalition]


@dataclass(frozen=True, slots=True, eq=False)
class GridColumn:
    """What a column on a grid changes in its own gap: there its values are *snapped*, moved to the grid (C22).

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
            ends=_last_axis(self.ends, rows),
            fine=self.fine,
            bins=_restrict_all(self.bins, rows),
            against=_last_axis_of_all(self.against, rows),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations:
    """What the model answered about the n rows of a node, and about recombinations of them.

    Parameters
    ----------
    predictions : array of shape (n,)
        ``F`` at the rows, centred.
    weights : array of shape (n,)
    offset : float
        What was subtracted from every evaluation, so that no variance is a difference of large
        numbers.
    y : array of shape (n,), optional
        The target.
    stored_as : mapping of coalition T to (S, shown)
        ``F_T`` is read from ``E_S``: T is S (shown), or everything but S.
    matrices : mapping of coalition S to Matrix
        ``E_S``.
    bins : mapping of (masking, coalition) to Bins
    against : mapping of (masking, coalition) to array of shape (n_references, n)
        ``F(x_T, b)`` for each reference row b of the masking, centred.
    attributions : mapping of term to Matrix
        ``Phi[n, m]``, one line a row.
    errors : mapping of term to array of shape (n,)
        Of sampled attributions the standard error against all rows.
    ale : mapping of AleColumn to AlePredictions
        The predictions along a column.
    everything : coalition
        All column positions.
    block : int
        Bytes of what is computed at a time from these.
    vectors : tuple of Vectors
        What a partitioner wants to be alike in a region.
    snapped : mapping of coalition to GridColumn
        For each single column on a grid, what moving it to its grid values changes in its own gap.
    densities : mapping of (masking, coalition T) to DensityRatios
        Weights of the rows, for the one column that T shows or hides.
    others : tuple of Evaluations
        Of the same rows, where several outputs are explained: the further ones.
    """

    predictions: FloatArray
    weights: FloatArray
    offset: float
    y: FloatArray | None
    stored_as: Mapping[Coalition, tuple[Coalition, bool]]
    matrices: Mapping[Coalition, Matrix]
    bins: Mapping[Reading, Bins]
    against: Mapping[Reading, FloatArray]
    attributions: Mapping[PairwiseShapley, Matrix]
    errors: Mapping[PairwiseShapley, FloatArray]
    ale: Mapping[AleColumn, AlePredictions]
    everything: Coalition
    block: int = BLOCK
    vectors: tuple[Vectors, ...] = ()
    snapped: Mapping[Coalition, GridColumn] = field(default_factory=dict)
    densities: Mapping[Reading, DensityRatios] = field(default_factory=dict)
    others: tuple[Evaluations, ...] = ()
    _on_grid: dict[Coalition, Evaluations] = field(default_factory=dict, init=False, repr=False)

    @property
    def outputs(self) -> tuple[Evaluations, ...]:
        """The evaluations of each output."""
        if not self.others:
            return (self,)
        return (replace(self, others=()), *self.others)

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
        """The matrix from which a term is read, and whether it is shown there.

        Shown: an attribution, or ``F_S`` read from ``E_S``. Otherwise the term is the complement of
        the set that was evaluated.
        """
        if isinstance(term, PairwiseShapley):
            return self.attributions[term], True
        store, shown = self.stored_as[term]  # type: ignore[index]
        return self.matrices[store], shown

    def matrix(self, columns: Coalition) -> Matrix:
        """``E_S``; where its complement was evaluated, that turned round, one line a row."""
        matrix, shown = self.stored(columns)
        matrix = matrix.compact()
        if shown:
            return matrix
        values = np.empty((self.n_rows, self.n_rows))
        row_bytes = 8 * (self.n_rows + len(matrix.values))
        for part in slices(self.n_rows, row_bytes, self.block):
            values[part] = matrix.values[:, part].T.take(matrix.codes, axis=1)
        return Matrix(values=values, codes=np.arange(self.n_rows))

    def on_grid(self, columns: Coalition) -> Evaluations:
        """The evaluations as the gap of S reads them: S is snapped in every term where it has a grid (C22).

        They are these same ones where no column has a grid, or ``E_S`` itself is not evaluated: S is then
        read from its complement, at all its values.
        """
        if not self.snapped or columns not in self.matrices:
            return self
        if columns not in self._on_grid:
            self._on_grid[columns] = self._with_snapped(columns)
        return self._on_grid[columns]

    def _with_snapped(self, columns: Coalition) -> Evaluations:
        """The evaluations in which some columns are read from their own matrix, on its grid where it has one."""
        # The complement may be one column, which elsewhere is read on its own grid.
        complement = self.everything - columns
        of_grid = {columns: (columns, True), complement: (columns, False)}
        # Nothing is written to it: a copy would cost the square of the number of columns.
        stored_as = ChainMap(
            of_grid, cast("dict[Coalition, tuple[Coalition, bool]]", self.stored_as)
        )
        grid_column = self.snapped.get(columns)
        if grid_column is None:
            return replace(self, stored_as=stored_as)
        return replace(
            self,
            stored_as=stored_as,
            predictions=grid_column.predictions,
            bins={**self.bins, **grid_column.bins},
            against={**self.against, **grid_column.against},
        )

    def restrict(self, rows: IntArray) -> Evaluations:
        """The same evaluations for some of the rows (positions within this node)."""
        return Evaluations(
            predictions=self.predictions[rows],
            weights=self.weights[rows],
            offset=self.offset,
            y=_last_axis(self.y, rows),
            stored_as=self.stored_as,
            matrices=self._restrict_matrices(self.matrices, rows),
            bins=_restrict_all(self.bins, rows),
            against=_last_axis_of_all(self.against, rows),
            attributions=self._restrict_matrices(self.attributions, rows),
            errors=_last_axis_of_all(self.errors, rows),
            ale=_restrict_all(self.ale, rows),
            everything=self.everything,
            block=self.block,
            vectors=tuple(vectors.restrict(rows) for vectors in self.vectors),
            snapped=_restrict_all(self.snapped, rows),
            densities=_restrict_all(self.densities, rows),
            others=tuple(output.restrict(rows) for output in self.others),
        )

    def divide(self, is_left: BoolArray, column: int, left_side: bool) -> Evaluations:
        """One side of a cut along a column.

        Parameters
        ----------
        is_left : array of shape (n,)
            Whether a row is on the left.
        column : int
            Position of the column that is cut; vectors on a grid of this column are cut with it.
        left_side : bool
            Whether the left side is returned, or the right one.
        """
        on_side = is_left if left_side else ~is_left
        side_rows = np.flatnonzero(on_side)
        side_vectors = []
        for vectors in self.vectors:
            of_side = vectors.restrict(side_rows)
            left_entries = vectors.left_entries(is_left, column)
            if left_entries is not None:
                of_side = of_side.restrict_entries(left_entries if left_side else ~left_entries)
            side_vectors.append(of_side)
        return replace(self.restrict(side_rows), vectors=tuple(side_vectors))

    def _restrict_matrices(
        self, matrices: Mapping[Key, Matrix], rows: IntArray
    ) -> dict[Key, Matrix]:
        return {key: matrix.restrict(rows) for key, matrix in matrices.items()}


class _Restrictable(Protocol):
    """What is known of each row."""

    def restrict(self, rows: IntArray, /) -> Any:
        """Only these rows."""


Key = TypeVar("Key")
OfRows = TypeVar("OfRows", bound=_Restrictable)


def _restrict_all(by_key: Mapping[Key, OfRows], rows: IntArray) -> dict[Key, OfRows]:
    return {key: of_rows.restrict(rows) for key, of_rows in by_key.items()}


def _last_axis_of_all(arrays: Mapping[Key, FloatArray], rows: IntArray) -> dict[Key, FloatArray]:
    return {key: array[..., rows] for key, array in arrays.items()}


def _last_axis(array: FloatArray | None, rows: IntArray) -> FloatArray | None:
    """Some rows of an array that has its rows last; None where there is no array."""
    if array is None:
        return None
    return array[..., rows]

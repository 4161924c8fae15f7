"""What the model said about some rows: predictions, and predictions with some columns moved.

For a set S of columns, ``E_S[n, u]`` is the prediction for row n with S at its value u (docs/method.rst,
"What the model is asked"). All distinct values are asked, or a few that stand for the others (C22).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.models import RESPONSE, Scale
from granite_xai.tables import Rows

__all__ = ["Attribution", "Coalition", "Evaluations", "Fact", "Matrix", "Sample"]


class Fact(Protocol):
    """Something that is known of each of some rows."""

    def take(self, places: IntArray, /) -> Any:
        """The same of some of the rows."""


class Matrix(NamedTuple):
    """``E_S``.

    Parameters
    ----------
    values : array of shape (n, U)
        Row n with S at value u.
    codes : array of shape (n,)
        The row's own value.
    levels : array of shape (U,), optional
        Of a single column, the level that each value is; -1: missing.
    sizes : tuple of int
        Of several columns whose values are combined in every way: how many values each of them has,
        ascending by column; the last one changes first along U. Empty: values are told apart as a whole.
    """

    values: FloatArray
    codes: IntArray
    levels: IntArray | None = None
    sizes: tuple[int, ...] = ()

    def take(self, places: IntArray) -> Matrix:
        """Some rows, and only the values that they have."""
        if self.sizes:
            return self._take_combined(places)
        codes = self.codes[places]
        is_present = np.zeros(self.values.shape[1], dtype=np.bool_)
        is_present[codes] = True
        if is_present.all():
            return Matrix(self.values[places], codes, self.levels)
        present = np.flatnonzero(is_present)
        levels = None if self.levels is None else self.levels[present]
        new_codes = np.cumsum(is_present) - 1
        return Matrix(self.values[np.ix_(places, present)], new_codes[codes], levels)

    def _take_combined(self, places: IntArray) -> Matrix:
        """Some rows, and all combinations of the values that they have in each column."""
        kept = []
        codes = []
        for of_column in np.unravel_index(self.codes, self.sizes):
            present, numbers = np.unique(of_column[places], return_inverse=True)
            kept.append(present)
            codes.append(numbers)
        sizes = tuple(len(present) for present in kept)
        by_column = self.values.reshape(len(self.values), *self.sizes)
        values = by_column[np.ix_(places, *kept)].reshape(len(places), -1)
        return Matrix(values, np.ravel_multi_index(tuple(codes), sizes), sizes=sizes)

    def of_some_columns(self, places: Sequence[int]) -> Matrix:
        """``E_L`` of some of the columns whose values are combined, the others at each row's own values.

        Parameters
        ----------
        places : sequence of int
            Which of the columns L is, by their places in S, ascending.
        """
        own_codes = np.unravel_index(self.codes, self.sizes)
        sizes = tuple(self.sizes[place] for place in places)
        values_of_some = np.unravel_index(np.arange(math.prod(sizes)), sizes)
        codes = [of_column[:, None] for of_column in own_codes]  # (n, 1) each
        for place, of_column in zip(places, values_of_some, strict=True):
            codes[place] = of_column[None, :]  # (1, U of L)
        entries = np.ravel_multi_index(tuple(np.broadcast_arrays(*codes)), self.sizes)
        own = tuple(own_codes[place] for place in places)
        values = np.take_along_axis(self.values, entries, axis=1)
        return Matrix(values, np.ravel_multi_index(own, sizes), sizes=sizes)

    def own(self) -> FloatArray:
        """The prediction of each row at its own value, (n,)."""
        return np.asarray(self.values[np.arange(len(self.codes)), self.codes])

    def turned(self) -> Matrix:
        """``E`` of the other columns: row m's values on them, for each row n, (n, n)."""
        pairs = self.values[:, self.codes]  # [m, n]: row m elsewhere, row n's value on S
        return Matrix(np.ascontiguousarray(pairs.T), np.arange(len(self.codes)))


class Attribution(NamedTuple):
    """Effects ``Phi[n, m]`` of a set on row n against the single reference row m.

    Parameters
    ----------
    values : array of shape (n, n)
    errors : array of shape (n,), optional
        Where they are sampled, the standard error of the effect against all rows.
    """

    values: FloatArray
    errors: FloatArray | None = None

    def take(self, places: IntArray) -> Attribution:
        """Some rows, against each other."""
        errors = None if self.errors is None else self.errors[places]
        return Attribution(self.values[np.ix_(places, places)], errors)


@dataclass(frozen=True, eq=False)
class Evaluations:
    """What the model said about n rows, in one of its outputs; every array has its rows first.

    Parameters
    ----------
    f : array of shape (n,)
        Predictions, less `offset`.
    weights : array of shape (n,)
    y : array of shape (n,), optional
        The target, as it was given.
    matrices : mapping of coalition to Matrix
        ``E_S``, less `offset`.
    everything : coalition
        All columns.
    facts : mapping
        What explanations read besides: bins, references, accumulated effects, attributions, each
        under its own key.
    moved : mapping of coalition S to mapping
        Facts as the gap of S reads them, where a few values stand for S.
    offset : float
        The mean prediction, which is taken away so that no variance is a difference of large numbers.
    gap : coalition, optional
        The set whose gap reads these, see `in_gap_of`.
    scale : Scale
        On which all of it is.
    """

    f: FloatArray
    weights: FloatArray
    y: FloatArray | None
    matrices: Mapping[Coalition, Matrix]
    everything: Coalition
    facts: Mapping[Hashable, Any] = field(default_factory=dict)
    moved: Mapping[Coalition, Mapping[Hashable, Any]] = field(default_factory=dict)
    offset: float = 0.0
    gap: Coalition | None = None
    scale: Scale = RESPONSE

    @property
    def predictions(self) -> FloatArray:
        """The predictions themselves, (n,), whatever the scale."""
        return np.asarray(self.scale.back(self.f + self.offset))

    def on_scale(self, scale: Scale) -> Evaluations:
        """The predictions of these rows, as they are and recombined, on another scale; nothing else."""
        f = scale.read(self.f + self.offset)
        offset = float(np.average(f, weights=self.weights))
        matrices = {
            columns: matrix._replace(values=scale.read(matrix.values + self.offset) - offset)
            for columns, matrix in self.matrices.items()
        }
        return replace(
            self, f=f - offset, matrices=matrices, facts={}, moved={}, offset=offset, scale=scale
        )

    def __len__(self) -> int:
        return len(self.f)

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.everything)

    def take(self, places: IntArray) -> Evaluations:
        """The same about some of the rows."""
        return replace(
            self,
            f=self.f[places],
            weights=self.weights[places],
            y=None if self.y is None else self.y[places],
            matrices=_take_all(self.matrices, places),
            facts=_take_all(self.facts, places),
            moved={columns: _take_all(facts, places) for columns, facts in self.moved.items()},
        )

    def in_gap_of(self, members: Coalition) -> Evaluations:
        """The same as the gap of a set reads them (C22).

        The set is at the values that stand for the rows' own in every term of its gap: in the
        predictions, in its own matrix, which also serves the other columns, and in what is known. Where
        values of several columns are combined, some of these columns are read from there as well.
        """
        is_moved = members in self.moved
        if members not in self.matrices:
            return self
        if not is_moved and self.everything - members not in self.matrices:  # one way to read it
            return self
        matrix = self.matrices[members]
        matrices = dict(self.matrices)
        if matrix.sizes:
            columns = sorted(members)
            matrices = {members: matrix}
            for size in range(1, len(columns)):
                for places in combinations(range(len(columns)), size):
                    some_columns = Coalition(columns[place] for place in places)
                    matrices[some_columns] = matrix.of_some_columns(places)
        return replace(
            self,
            f=matrix.own() if is_moved else self.f,
            matrices=matrices,
            facts={**self.facts, **self.moved.get(members, {})},
            gap=members,
        )

    def reading(self, visible: Coalition) -> tuple[Matrix, bool]:
        """The matrix from which ``F_T`` is read, and whether it shows T: otherwise it hides T's columns.

        Parameters
        ----------
        visible : coalition
            T, neither empty nor everything.
        """
        if self.gap is not None:
            if self.gap == visible:
                return self.matrices[visible], True
            if len(self.gap) + len(visible) == self.n_columns and self.gap.isdisjoint(visible):
                return self.matrices[self.gap], False
        if visible in self.matrices:
            return self.matrices[visible], True
        return self.matrices[self.everything - visible], False


class Sample(NamedTuple):
    """Rows with what the model said about them.

    Parameters
    ----------
    rows : Rows
    outputs : tuple of Evaluations
    errors : tuple of float
        Of each output the error of one prediction (C4).
    """

    rows: Rows
    outputs: tuple[Evaluations, ...]
    errors: tuple[float, ...]

    def take(self, places: IntArray) -> Sample:
        """Some of the rows."""
        outputs = tuple(evaluations.take(places) for evaluations in self.outputs)
        return Sample(self.rows.take(places), outputs, self.errors)

    def of_output(self, number: int) -> Sample:
        """The same about one of several outputs."""
        rows = self.rows
        if rows.y is not None and rows.y.ndim == 2:
            rows = replace(rows, y=rows.y[:, number])
        return Sample(rows, (self.outputs[number],), (self.errors[number],))


Key = TypeVar("Key")


def _take_all(by_key: Mapping[Key, Any], places: IntArray) -> dict[Key, Any]:
    return {key: of_rows.take(places) for key, of_rows in by_key.items()}

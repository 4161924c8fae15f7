"""K weighings of the same rows, of which means are taken: the sides of cuts, or lines of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, cast

import numpy as np
from scipy.sparse import csr_array

from granite_xai.base.typing import BoolArray, FloatArray, IntArray

EVERY_ROW = slice(None)


class CutsOfColumn(Protocol):
    """k cuts of one column. Rows that all of them send the same way are one class."""

    @property
    def column(self) -> int:
        """Position of the column."""

    @property
    def classes(self) -> IntArray:
        """Class of each row, (n,)."""

    @property
    def left(self) -> BoolArray:
        """Which classes each cut sends left, (k, n_classes)."""


@dataclass(frozen=True, eq=False)
class SignedLines:
    """The weights of n rows, moved by a step with and against each of P vectors of signs.

    The lines of weights are ``w``, ``w (1 + a s)`` for each vector s, then ``w (1 - a s)``.

    Parameters
    ----------
    weights : array of shape (n,)
    signs : array of shape (n, P)
    step : float
    """

    weights: FloatArray
    signs: FloatArray
    step: float

    @cached_property
    def shares(self) -> FloatArray:
        """Of each row in the weight of all, (n,)."""
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def moves(self) -> FloatArray:
        """Shares with their signs, (n, P)."""
        return self.shares[:, None] * self.signs

    @cached_property
    def tilt(self) -> FloatArray:
        """What the weight of all rows gains along each vector, as a share of it, (P,)."""
        return np.asarray(self.moves.sum(axis=0))

    def lines(self, whole: float, odd: FloatArray, even: FloatArray | float = 0.0) -> FloatArray:
        """``whole`` as the rows weigh, then ``whole + even + odd`` and ``whole + even - odd``, (1 + 2 P,)."""
        return np.concatenate([[whole], whole + even + odd, whole + even - odd])

    def mass(self) -> FloatArray:
        """Weight of all rows on each line, as a share of it, (1 + 2 P,)."""
        return self.lines(1.0, self.step * self.tilt)


@dataclass(frozen=True, eq=False)
class AlongSigns:
    """Numbers of n rows that are means over them, on all lines of weights along signs.

    On the lines with and against s they are ``(q ± a d) / (1 ± a t)``, with d what they gain along s and
    t the tilt: weighted sums, over the weight. So their moments on every line follow from sums over the
    rows of products of q, d and s.

    Parameters
    ----------
    row_part : array of shape (n, r)
        Read at the row.
    means_read : array of shape (r,)
        Averaged over the rows: `q = row_part @ means_read``.
    means_gained : array of shape (r, P)
        ``d = row_part @ means_gained``.
    signed : SignedLines
    """

    row_part: FloatArray
    means_read: FloatArray
    means_gained: FloatArray
    signed: SignedLines

    @cached_property
    def values(self) -> FloatArray:
        """q, as the rows weigh, (n,)."""
        return np.asarray(self.row_part @ self.means_read)

    @cached_property
    def gained(self) -> FloatArray:
        """d, (n, P)."""
        return np.asarray(self.row_part @ self.means_gained)

    def less(self, numbers: FloatArray) -> AlongSigns:
        """The same less numbers of the rows that are the same on every line, (n,)."""
        return AlongSigns(
            np.column_stack([self.row_part, numbers]),
            np.append(self.means_read, -1.0),
            np.vstack([self.means_gained, -self.signed.tilt]),
            self.signed,
        )

    def error_moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean over the rows of ``e²``, and of ``2 s q e``, with e what they gain from against s to with s.

        Gains are those over twice the step; (P,) each.
        """
        signed = self.signed
        weighted = 2.0 * signed.shares * self.values
        errors = self.gained - self.values[:, None] * signed.tilt
        errors /= 1.0 - np.square(signed.step * signed.tilt)
        tilts = np.einsum("np,np->p", signed.signs, weighted[:, None] * errors)
        return signed.shares @ np.square(errors), tilts

    def means(self) -> FloatArray:
        """Mean over the rows on each line, (1 + 2 P,)."""
        signed = self.signed
        odd = signed.shares @ self.gained + self.values @ signed.moves
        even = np.einsum("np,np->p", signed.moves, self.gained)
        sums = signed.lines(
            float(signed.shares @ self.values), signed.step * odd, signed.step**2 * even
        )
        return np.asarray(sums / signed.mass() ** 2)

    def mean_squares(self) -> FloatArray:
        """Mean square over the rows on each line, (1 + 2 P,)."""
        signed = self.signed
        step = signed.step
        squares = np.square(self.values)
        products = self.values[:, None] * self.gained
        squares_gained = np.square(self.gained)
        odd = step * (2.0 * signed.shares @ products + squares @ signed.moves)
        odd += step**3 * np.einsum("np,np->p", signed.moves, squares_gained)
        even = signed.shares @ squares_gained
        even += 2.0 * np.einsum("np,np->p", signed.moves, products)
        sums = signed.lines(float(signed.shares @ squares), odd, step**2 * even)
        return np.asarray(sums / signed.mass() ** 3)


@dataclass(frozen=True, eq=False)
class RegionWeights:
    """K weighings of the same n rows.

    Either every weighing has two sides, and each row is on one of them (cuts); or it has one, and
    rows differ by their weights alone (lines: all rows, random signs).

    Parameters
    ----------
    weights : array of shape (n, K)
        Of the rows on the left, 0 elsewhere; or of all rows.
    total : array of shape (n,), optional
        Weight of each row on whichever side of a cut; None: there is only one side.
    classes : array of shape (n, n_columns), optional
        Of cuts of columns, the class of each row in each column, numbered through all columns.
    tables : tuple of arrays of shape (n_classes, k)
        Of each column, which classes each cut sends left.
    columns : array of shape (K,), optional
        Of cuts of columns, the position of the column.
    signed : SignedLines, optional
        Where the lines are those along vectors of signs.
    """

    weights: FloatArray
    total: FloatArray | None = None
    classes: IntArray | None = None
    tables: tuple[FloatArray, ...] = ()
    columns: IntArray | None = None
    signed: SignedLines | None = None

    @classmethod
    def whole(cls, weights: FloatArray) -> RegionWeights:
        """All rows as one region. Under several lines of weights, (n, K): ``RegionWeights(weights)``."""
        return cls(weights[:, None])

    @classmethod
    def along_signs(cls, signed: SignedLines) -> RegionWeights:
        """All rows as one region, as they weigh, and with and against each vector of signs."""
        moves = signed.step * signed.signs
        moved = np.hstack([np.ones((len(moves), 1)), 1 + moves, 1 - moves])
        return cls(moved * signed.weights[:, None], signed=signed)

    @classmethod
    def sides(cls, goes_left: BoolArray, weights: FloatArray) -> RegionWeights:
        """Both sides of cuts, given by which rows go left, (n, K)."""
        return cls(goes_left * weights[:, None], weights)

    @classmethod
    def along(cls, cuts: Sequence[CutsOfColumn], weights: FloatArray) -> RegionWeights:
        """Both sides of the cuts of some columns, one column after the other."""
        tables = [np.ascontiguousarray(of_column.left.T, dtype=np.float64) for of_column in cuts]
        goes_left = [table[of.classes] for of, table in zip(cuts, tables, strict=True)]
        starts = np.cumsum([0, *(len(table) for table in tables[:-1])])
        classes = np.stack([of.classes for of in cuts], axis=1) + starts
        columns = np.repeat([of.column for of in cuts], [len(of.left) for of in cuts])
        weighted = np.hstack(goes_left) * weights[:, None]
        return cls(weighted, weights, classes, tuple(tables), columns)

    @property
    def count(self) -> int:
        """K."""
        return int(self.weights.shape[1])

    def take(self, places: IntArray | slice) -> RegionWeights:
        """The same weighings of some of the rows."""
        return replace(
            self,
            weights=self.weights[places],
            total=None if self.total is None else self.total[places],
            classes=None if self.classes is None else self.classes[places],
            signed=None,
        )

    def blocks(self, most: int) -> Iterator[RegionWeights]:
        """The weighings in turn, at most so many at a time."""
        if self.count <= most:
            yield self
            return
        for start in range(0, self.count, most):
            part = slice(start, start + most)
            columns = None if self.columns is None else self.columns[part]
            yield RegionWeights(self.weights[:, part], self.total, columns=columns)

    def sums(self, numbers: FloatArray) -> FloatArray:
        """Weighted sums of numbers of the rows, (n, r), for `own_means`.

        Returns
        -------
        array of shape (r, K) or (r, K + 1)
            Over the rows on the left of each weighing; of two sides, then over all rows.
        """
        if self.total is None:
            return np.asarray(numbers.T @ self.weights)
        if self.classes is None:
            on_left = [numbers.T @ self.weights]
        else:
            by_class = self._by_class @ numbers  # (classes, r)
            ends = np.cumsum([len(table) for table in self.tables])
            of_columns = np.split(by_class, ends[:-1])
            on_left = [of.T @ table for of, table in zip(of_columns, self.tables, strict=True)]
        return np.hstack([*on_left, numbers.T @ self.total[:, None]])

    @cached_property
    def _by_class(self) -> csr_array:
        """From the rows to their classes: the weight of each row in the class that it has in each column."""
        classes = cast(IntArray, self.classes)  # cuts have both
        n_rows, n_columns = classes.shape
        shape = (n_rows, sum(len(table) for table in self.tables))
        starts = np.arange(0, n_rows * n_columns + 1, n_columns)
        weights = np.repeat(cast(FloatArray, self.total), n_columns)
        return csr_array((weights, classes.ravel(), starts), shape=shape).T.tocsr()

    def mass(self) -> FloatArray:
        """Weight of each region, (sides, K); 0 where a side has no row."""
        return self._mass

    @cached_property
    def _mass(self) -> FloatArray:
        on_left: FloatArray = self.weights.sum(axis=0)
        if self.total is None:
            return on_left[None]
        on_right = self.total.sum() - on_left
        lightest = self.total.min(initial=np.inf)
        # A total less the left one may be round-off: less than the lightest row is nothing.
        return np.stack([on_left, np.where(on_right < lightest / 2, 0.0, on_right)])

    def means(self, values: FloatArray) -> FloatArray:
        """Mean over the rows of each region of what each row has on its own side.

        Parameters
        ----------
        values : array of shape (n, K) or (n, 1)

        Returns
        -------
        array of shape (sides, K)
            0 where a side has no row.
        """
        values = np.broadcast_to(values, self.weights.shape)
        mass = self.mass()
        sums = np.einsum("nk,nk->k", self.weights, values)[None]
        if self.total is not None:
            sums = np.concatenate([sums, self.total @ values - sums])
        return np.asarray(np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0))

    def at_rows(self, on_left: FloatArray, on_right: FloatArray | None = None) -> FloatArray:
        """What each row has, (n, K), of numbers of both sides, (n, K) or (K,) each.

        So ``at_rows(*means)`` is the mean of the region that a row is in.
        """
        if self.total is None or on_right is None:
            return on_left
        # Products with 0 and 1 pick a side several times faster than `numpy.where` at random places.
        is_left, is_right = self._is_on_side
        return is_left * on_left + is_right * on_right

    @cached_property
    def _is_on_side(self) -> tuple[FloatArray, FloatArray]:
        is_left = np.asarray(self.weights > 0, dtype=np.float64)
        return is_left, 1.0 - is_left

    def own_means(self, sums: FloatArray, rows: slice = EVERY_ROW) -> FloatArray:
        """Means over the side that each of some rows is on, (n, K).

        Parameters
        ----------
        sums : array of shape (n, K) or (n, K + 1)
            What `sums` gives, as each row reads it. What is on the right is the total without what is
            on the left.
        rows : slice
            Which rows read.
        """
        if self.total is None:
            return np.asarray(sums / np.where(self._mass > 0, self._mass, 1.0))
        of_left, of_all = self._per_mass_of_side
        means: FloatArray = sums[:, :-1] * of_left[rows]
        means += sums[:, -1:] * of_all[rows]
        return means

    @cached_property
    def _per_mass_of_side(self) -> tuple[FloatArray, FloatArray]:
        """What sums over the left and over all rows are multiplied by at each row: one over the mass of its side."""
        left, right = np.where(self._mass > 0, self._mass, 1.0)
        is_left, is_right = self._is_on_side
        return is_left / left - is_right / right, is_right / right

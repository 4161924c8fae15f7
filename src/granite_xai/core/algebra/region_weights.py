"""K weighings of the same rows, of which means are taken: the sides of cuts, or lines of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray


class CutsOfColumn(Protocol):
    """k cuts of one column. Rows that all of them send the same way are one class."""

    @property
    def classes(self) -> IntArray:
        """Class of each row, (n,)."""

    @property
    def left(self) -> BoolArray:
        """Which classes each cut sends left, (k, n_classes)."""


@dataclass(frozen=True, eq=False)
class RegionWeights:
    """K weighings of the same n rows.

    Either every weighing has two sides, and each row is on one of them (cuts); or it has one, and
    rows differ by their weights alone (lines: all rows, replicates, signs).

    Parameters
    ----------
    weights : array of shape (n, K)
        Of the rows on the left, 0 elsewhere; or of all rows.
    total : array of shape (n,), optional
        Weight of each row on whichever side of a cut; None: there is only one side.
    """

    weights: FloatArray
    total: FloatArray | None = None

    @classmethod
    def whole(cls, weights: FloatArray) -> RegionWeights:
        """All rows as one region."""
        return cls(weights[:, None])

    @classmethod
    def lines(cls, weights: FloatArray) -> RegionWeights:
        """All rows as one region, again and again under other weights, (n, K)."""
        return cls(weights)

    @classmethod
    def sides(cls, goes_left: BoolArray, weights: FloatArray) -> RegionWeights:
        """Both sides of cuts, given by which rows go left, (n, K)."""
        return cls(goes_left * weights[:, None], weights)

    @classmethod
    def along(cls, cuts: Sequence[CutsOfColumn], weights: FloatArray) -> RegionWeights:
        """Both sides of the cuts of some columns, one column after the other."""
        goes_left = [of_column.left.T[of_column.classes] for of_column in cuts]
        return cls.sides(np.hstack(goes_left), weights)

    @property
    def count(self) -> int:
        """K."""
        return self.weights.shape[1]

    def take(self, places: IntArray | slice) -> RegionWeights:
        """The same weighings of some of the rows."""
        total = None if self.total is None else self.total[places]
        return RegionWeights(self.weights[places], total)

    def blocks(self, most: int) -> Iterator[RegionWeights]:
        """The weighings in turn, at most so many at a time."""
        for start in range(0, self.count, most):
            yield RegionWeights(self.weights[:, start : start + most], self.total)

    def mass(self) -> FloatArray:
        """Weight of each region, (sides, K); 0 where a side has no row."""
        on_left = self.weights.sum(axis=0)
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
        return np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)

    def at_rows(self, on_left: FloatArray, on_right: FloatArray | None = None) -> FloatArray:
        """What each row has, (n, K), of numbers of both sides, (n, K) or (K,) each.

        So ``at_rows(*means)`` is the mean of the region that a row is in.
        """
        if self.total is None or on_right is None:
            return on_left
        return np.where(self.weights > 0, on_left, on_right)

"""Membership: a batch of ways to split the rows of a node into two sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.engine.sides import side_sums
from granite_xai.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """K ways to split n weighted rows into an inner and an outer side.

    Every row lies on exactly one side of each split, so that "the value in the row's own region" is one array of
    shape (K, n) for both sides together. A single region is the split with an empty outer side.

    Parameters
    ----------
    inside : (K, n) bool
    weights : (n,) float, all positive
    columns : (K,) int, optional
        Position of the column that each split cuts, for the few that ask.
    """

    inside: BoolArray
    weights: FloatArray
    inner: FloatArray
    outer: FloatArray
    mass: FloatArray
    columns: IntArray | None = None

    @classmethod
    def of(cls, inside: BoolArray, weights: FloatArray, columns: IntArray | None = None) -> Splits:
        """The batch of splits given by membership of the inner side.

        >>> Splits.of(np.array([[True, False, False]]), np.ones(3)).mass
        array([[1., 2.]])
        """
        inner = np.where(inside, weights, 0.0)
        outer = weights - inner
        mass = np.stack([inner.sum(axis=1), outer.sum(axis=1)], axis=1)
        return cls(inside, weights, inner, outer, mass, columns)

    @classmethod
    def whole(cls, weights: FloatArray) -> Splits:
        """All rows as one region.

        >>> Splits.whole(np.ones(3)).mass
        array([[3., 0.]])
        """
        return cls.of(np.ones((1, len(weights)), dtype=np.bool_), weights)

    @property
    def divisors(self) -> FloatArray:
        """Mass of both sides, 1 where a side is empty (its cells are never read)."""
        return np.where(self.mass > 0, self.mass, 1.0)

    @property
    def scales(self) -> tuple[FloatArray, FloatArray]:
        """One over the mass of the inner and of the outer side, as columns."""
        scale = 1.0 / self.divisors
        return scale[:, :1], scale[:, 1:]

    def pick(self, inner: FloatArray, outer: FloatArray) -> FloatArray:
        """For each split and row, the value of the row's own side."""
        return np.where(self.inside, inner, outer)

    def means(self, values: FloatArray) -> FloatArray:
        """Weighted mean of (K, n) values on each side, shape (K, 2); 0 on an empty side.

        >>> Splits.of(np.array([[True, False, False]]), np.ones(3)).means(np.array([[1.0, 2.0, 4.0]]))
        array([[1., 3.]])
        """
        return self._sums(values) / self.divisors

    def variances(self, values: FloatArray) -> FloatArray:
        """Weighted variance (divisor n) of (K, n) values on each side, shape (K, 2), in two passes."""
        centre = self.means(values)
        return self.means(np.square(values - self.pick(centre[:, :1], centre[:, 1:])))

    def _sums(self, values: FloatArray) -> FloatArray:
        if values.shape[0] == 1 and len(self.mass) > 1:  # the same values for every split
            return np.stack([self.inner @ values[0], self.outer @ values[0]], axis=1)
        return side_sums(values, self.weights, self.inside)

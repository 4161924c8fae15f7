"""Types that several rooms share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

Coalition = frozenset[int]
"""A set of column positions: the columns that stay visible."""

Players = Sequence[Coalition]
"""Disjoint sets of columns that are hidden or shown as one: single features, or groups."""

Elementwise = Callable[[FloatArray], FloatArray]
"""A loss on gaps, applied cell by cell."""

PairLoss = Callable[[FloatArray, FloatArray], FloatArray]
"""A loss of predictions against targets, applied cell by cell."""


class JansenTotal(NamedTuple):
    """Jansen's total variance of the columns in ``hidden``.

    It is not the value of a coalition, so it is a term by itself.
    """

    hidden: Coalition


class PairwiseShapley(NamedTuple):
    """Pairwise attributions ``Phi[n, m]`` of a set of players, summed over all coalitions."""

    kind: str
    members: tuple[Coalition, ...]
    players: tuple[Coalition, ...] = ()


class AleColumn(NamedTuple):
    """Position of a column that ALE moves along, and the number of its intervals."""

    column: int
    intervals: int = 10


class AleDifference(NamedTuple):
    """The change of the prediction across the interval of a column in which a row lies.

    ``averaged``: its mean over the rows in the interval.
    """

    column: AleColumn
    averaged: bool


Term = Coalition | JansenTotal | PairwiseShapley | AleDifference
"""What an explanation is a linear combination of."""

Terms = Mapping[Term, float]
"""The linear combination ``phi = sum of coefficient * nu(term)``."""

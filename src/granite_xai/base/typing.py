"""Types that several rooms share, and sets of features: their unions, subsets and complements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations
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


def union(players: Iterable[Coalition]) -> Coalition:
    """All columns of the players."""
    return frozenset(chain.from_iterable(players))


def subsets(players: Players) -> Iterable[tuple[Coalition, ...]]:
    """Every subset of the players, small ones first."""
    return chain.from_iterable(combinations(players, size) for size in range(len(players) + 1))


def without(players: Players, members: Players) -> tuple[Coalition, ...]:
    """The players that are not among the members."""
    return tuple(player for player in players if player not in members)

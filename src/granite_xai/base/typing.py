"""Types that several rooms share, and sets of features: their unions, subsets and complements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations

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


def union(players: Iterable[Coalition]) -> Coalition:
    """All columns of the players."""
    return frozenset(chain.from_iterable(players))


def subsets(players: Players) -> Iterable[tuple[Coalition, ...]]:
    """Every subset of the players, small ones first."""
    return chain.from_iterable(combinations(players, size) for size in range(len(players) + 1))


def without(players: Players, members: Players) -> tuple[Coalition, ...]:
    """The players that are not among the members."""
    return tuple(player for player in players if player not in members)

"""The shared words: arrays, coalitions, terms and games."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
Coalition = frozenset[int]  # a set of column positions; the columns that stay visible
Players = Sequence[Coalition]
Elementwise = Callable[[FloatArray], FloatArray]  # a loss on gaps, applied cell by cell
Made = TypeVar("Made")
PairLoss = Callable[
    [FloatArray, FloatArray], FloatArray
]  # a loss of predictions against targets, applied cell by cell


class Later(Generic[Made]):
    """What is made now or when it is first read; a file or a pickle reads it."""

    def __init__(self, make: Callable[[], Made], now: bool = False) -> None:
        self._held: Any = make() if now else make
        self.made = now

    @property
    def value(self) -> Made:
        """What was made."""
        if not self.made:
            self._held, self.made = self._held(), True
        return cast(Made, self._held)

    def __getstate__(self) -> dict[str, Any]:
        return {"_held": self.value, "made": True}


class JansenTotal(NamedTuple):
    """Jansen's total variance of the columns in ``hidden``: no value of a coalition, so a term of its own."""

    hidden: Coalition


class PairwiseShapley(NamedTuple):
    """Pairwise attributions ``Phi[n, m]`` of a set among some players, already summed over all coalitions."""

    kind: str
    members: tuple[Coalition, ...]
    players: tuple[Coalition, ...] = ()


class AleColumn(NamedTuple):
    """Position of a column that ALE moves along, and the number of its intervals."""

    column: int
    intervals: int = 10


class AleDifference(NamedTuple):
    """The change of the prediction across a row's interval of one column, or its mean over the rows in the interval."""

    column: AleColumn
    averaged: bool


Term = Coalition | JansenTotal | PairwiseShapley | AleDifference
Terms = Mapping[
    Term, float
]  # a linear combination of values: ``phi = sum of coefficient * nu(term)``

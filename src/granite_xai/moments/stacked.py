"""All sets of "ICE against PDP" side by side: figures of one region after another in few steps.

Of one set the gap of row n in a region is ``z[n]' K mean(z)`` (`FullAgainstPure`). Here the vectors z
of all sets stand beside one another in one row of a matrix, and K exchanges places within each set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.statistics import FullAgainstPure

MOST_NUMBERS = 2**22  # rows times numbers of a row up to which vectors are kept side by side


@dataclass(frozen=True, eq=False)
class StackedGaps:
    """Some sets on the same rows.

    Parameters
    ----------
    vectors : array of shape (n_rows, width)
        ``z`` of every set, interactions as multiples of ``unit``.
    weights : array of shape (n_rows,)
    starts : array of shape (n_sets,)
        Where the vector of each set begins.
    partners : array of shape (width,)
        The place that K exchanges each place with.
    signs : array of shape (width,)
        The sign that K gives to what it puts in each place.
    unit : float
        Largest interaction. Interactions stand beside ones: in a unit of their own they are of the
        same size, whatever the unit of the predictions is.
    """

    vectors: FloatArray
    weights: FloatArray
    starts: IntArray
    partners: IntArray
    signs: FloatArray
    unit: float

    @classmethod
    def of(cls, sets: Sequence[FullAgainstPure]) -> StackedGaps:
        """Put some sets side by side."""
        vectors = np.hstack([statistics.vectors() for statistics in sets])
        sizes = [2 * statistics.rank + 2 for statistics in sets]
        starts = np.cumsum([0, *sizes[:-1]])
        partners = []
        signs = []
        is_interaction = []
        for statistics, start in zip(sets, starts, strict=True):
            rank = statistics.rank
            # K exchanges e with 1, and U with w under a minus sign.
            row_factors = np.arange(1, 1 + rank)
            value_factors = np.arange(1 + rank, 1 + 2 * rank)
            last = 1 + 2 * rank
            partners.append(start + np.concatenate([[last], value_factors, row_factors, [0]]))
            signs.append(np.concatenate([[1.0], np.full(2 * rank, -1.0), [1.0]]))
            is_interaction.append(np.arange(last + 1) <= rank)
        of_interactions = np.concatenate(is_interaction)
        unit = float(np.abs(vectors[:, of_interactions]).max(initial=0.0))
        if unit > 0.0:
            vectors[:, of_interactions] /= unit
        return cls(
            vectors=vectors,
            weights=sets[0].weights,
            starts=starts,
            partners=np.concatenate(partners),
            signs=np.concatenate(signs),
            unit=unit,
        )

    @property
    def slices(self) -> list[slice]:
        """The places of each set."""
        ends = [*self.starts[1:].tolist(), self.vectors.shape[1]]
        return [slice(start, end) for start, end in zip(self.starts.tolist(), ends, strict=True)]

    def take(self, rows: IntArray) -> StackedGaps:
        """Only some of the rows; the unit stays."""
        return StackedGaps(
            vectors=self.vectors[rows],
            weights=self.weights[rows],
            starts=self.starts,
            partners=self.partners,
            signs=self.signs,
            unit=self.unit,
        )

    def times_k(self, vectors: FloatArray) -> FloatArray:
        """``K v`` of many vectors, along the last axis: (..., width)."""
        return np.asarray(vectors[..., self.partners] * self.signs)

    def mean_squared_gap(self) -> float:
        """The disagreement of the rows as one region, summed over the sets."""
        shares = self.weights / self.weights.sum()
        weighted = self.vectors * self.times_k(shares @ self.vectors)
        gaps = np.add.reduceat(weighted, self.starts, axis=1)  # (n_rows, n_sets)
        return float(self.unit**2 * (shares @ np.square(gaps)).sum())

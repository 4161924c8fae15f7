"""Local effects inside the regions of a split, and their distance to what the column's value alone explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.behavior.behavior import Game
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Bins, Evaluations

if TYPE_CHECKING:
    from granite_xai.resolved import ResolvedExplainer


def local_values(effect: ResolvedExplainer, evaluations: Evaluations, splits: Splits) -> FloatArray:
    """Local effects of every set, each row in its own region, shape (sets, K, n)."""
    game = Game.of(effect.behavior, effect.masking, evaluations, splits)
    return np.stack([game.values(terms) for terms in effect.combined])


@dataclass(frozen=True, slots=True, eq=False)
class AroundDependence:
    """Squared distance of local effects to their mean among the region's rows with like values of the column."""

    effect: ResolvedExplainer  # the local effects, resolved
    columns: tuple[int, ...]  # positions of the compared columns, in the order of the effect's sets
    recalculate: bool  # whether effects are those inside the region; otherwise those on all rows

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        return 8 * n_rows * (len(self.columns) + 4)

    def regional(self, evaluations: Evaluations, splits: Splits) -> FloatArray:
        """Mean over the rows of both sides of every split, shape (K, 2)."""
        again = local_values(self.effect, evaluations, splits) if self.recalculate else None
        total = np.zeros(splits.inside.shape)
        for place, column in enumerate(self.columns):
            fixed, bins = evaluations.changes[column]
            values = fixed if again is None else again[place]
            total += np.square(values - bin_means(values, Bins.of(bins).numbers, splits))
        return splits.means(total)


def bin_means(values: FloatArray, bins: IntArray, splits: Splits) -> FloatArray:
    """Mean of a row's values over the rows of the same bin and region, at every row, shape (K, n)."""
    members = (bins[:, None] == np.arange(bins.max() + 1)).astype(np.float64)
    left, right = (
        ((side * values) @ members / np.maximum(side @ members, np.finfo(np.float64).tiny))[:, bins]
        for side in (splits.left, splits.right)
    )
    means: FloatArray = np.where(splits.inside, left, right)
    return means

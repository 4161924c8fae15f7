"""Local effects of every row, in the region that the row belongs to."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.resolved import ResolvedExplainer


def local_values(
    effect: ResolvedExplainer, evaluations: Evaluations, splits: Splits | None = None
) -> FloatArray:
    """Local effects of every set at every row, of shape (n_sets, n_splits, n_rows).

    Parameters
    ----------
    effect : ResolvedExplainer
    evaluations : Evaluations
        Of all rows.
    splits : Splits, optional
        Each row is explained on its own side; None: all rows are one region.
    """
    if splits is None:
        splits = Splits.whole(evaluations.weights)
    game = Game.of(effect.behavior, effect.masking, evaluations, splits)
    return np.stack([game.values(terms) for terms in effect.combined])

"""The order of the levels of a nominal column with many levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations

if TYPE_CHECKING:
    from granite_xai.tables import Column


def order_levels(column: Column, rows: IntArray, present: IntArray, evaluations: Evaluations) -> IntArray:
    """Order levels along the first principal component of their pure effects (C13).

    One row of the matrix for each level, one column for each (other column, value): the pure effect of that value
    computed on the level's rows, minus its mean over the levels, times the root of the value's share. Levels that act
    alike then stand side by side.

    Parameters
    ----------
    column : Column
        The nominal column, on all fitting rows.
    rows : array of int
        The node's rows.
    present : array of int
        Codes of the levels in the node.
    evaluations : Evaluations
        Of the node.
    """
    members = np.where(column.codes[rows] == present[:, None], evaluations.weights, 0.0)
    members /= members.sum(axis=1, keepdims=True)
    others = sorted(evaluations.everything - {column.position})
    blocks = [_effects(members, evaluations, position) for position in others]
    if not blocks:
        return present
    left, sizes, _ = np.linalg.svd(np.hstack(blocks), full_matrices=False)
    score = left[:, 0] * sizes[0]
    score = score if score[0] <= score[-1] else -score
    # Rounded, so that levels with equal effects keep their own order.
    score = np.round(score / max(np.abs(score).max(), 1e-300), 9)
    return present[np.lexsort((np.arange(len(present)), score))]


def _effects(members: FloatArray, evaluations: Evaluations, position: int) -> FloatArray:
    matrix = evaluations.matrix(frozenset({position}))
    shares = np.bincount(matrix.codes, weights=evaluations.weights, minlength=len(matrix.values))
    effects = members @ matrix.values.T - (members @ evaluations.predictions)[:, None]
    centred: FloatArray = (effects - effects.mean(axis=0)) * np.sqrt(shares / shares.sum())
    return centred

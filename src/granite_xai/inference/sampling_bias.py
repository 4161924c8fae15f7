"""Sampling bias of a disagreement: what a sample shows on average beyond the truth.

A disagreement is a mean loss of gaps, and gaps are differences of means over rows. The means move
with the sample, and so does the loss (method page, "Sampling bias"). Random signs of the rows tell
how far: each draw s moves the weights of the rows by ``1 + a s`` and ``1 - a s``, and the gaps with
them.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import Elementwise, FloatArray, IntArray
from granite_xai.engine.signed_weights import STEP, slopes


def excess(loss: Elementwise, gaps: FloatArray, moves: FloatArray) -> FloatArray:
    """How much moving the gaps to both sides raises their loss, for each of several moves.

    Parameters
    ----------
    loss : callable
    gaps : array
    moves : array of shape (n_moves, ...)
        ... that of the gaps.
    """
    return np.asarray((loss(gaps + moves) + loss(gaps - moves)) / 2 - loss(gaps))


def mean_excess(loss: Elementwise, gaps: FloatArray, moves: FloatArray) -> FloatArray:
    """The mean of `excess` over the moves."""
    return np.asarray(excess(loss, gaps, moves).mean(axis=0))


def bias_of_rows(
    loss: Elementwise, gaps: FloatArray, signs: FloatArray, cells: IntArray
) -> FloatArray:
    """Sampling bias of the loss at every row, for a question with a gap at every row.

    The bias has two parts. The means that a gap compares vary from sample to sample, which raises
    the loss. And a row is itself one of the rows that its gap averages over, which lowers the loss
    where a row is compared with their mean: in the extreme, a row alone in its cell is its own mean.
    The second part is what the gap moves by when the weight of its own row moves.

    Parameters
    ----------
    loss : callable
    gaps : array of shape (1 + 2 P, n)
        Under `signed_lines`.
    signs : array of shape (P, n)
    cells : array of shape (n,)
        Rows (at most, clusters) of the smallest cell that the gap averages over, at every row.

    Returns
    -------
    array of shape (n,)
    """
    shown = gaps[0]
    moves = slopes(gaps, cells)  # (P, n)
    small_cell = np.sqrt(cells / np.maximum(cells - 1, 1))
    raised = loss(shown + moves)
    lowered = loss(shown - moves)
    by_spread = (raised + lowered) / 2 - loss(shown)
    by_own_weight = small_cell * signs * (raised - lowered) / 2
    bias: FloatArray = (by_spread + by_own_weight).mean(axis=0)
    alone = cells == 1
    if alone.any() and not alone.all():  # such a gap does not move: it borrows from the others
        bias[alone] = np.mean((cells * bias)[~alone])
    return bias


def bias_of_regions(
    loss: Elementwise, gaps: FloatArray, n_observations: IntArray | int
) -> FloatArray:
    """Sampling bias of the loss of every set, for a question with one gap for a region and set.

    Parameters
    ----------
    loss : callable
    gaps : array of shape (1 + 2 P, S)
        Under `signed_lines`.
    n_observations : int
        Rows of the region, or clusters of them.

    Returns
    -------
    array of shape (S,)
    """
    shown = gaps[0]
    n_pairs = (len(gaps) - 1) // 2
    with_signs = gaps[1 : 1 + n_pairs]
    against_signs = gaps[1 + n_pairs :]
    bias_of_gaps = (with_signs + against_signs - 2 * shown).mean(axis=0) / (2 * STEP**2)
    unbiased = shown - bias_of_gaps
    without_bias = loss(unbiased) - mean_excess(loss, unbiased, slopes(gaps, n_observations))
    return np.asarray(loss(shown) - without_bias)

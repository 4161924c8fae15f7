"""Sampling bias of a disagreement: what a sample shows on average beyond the truth.

A disagreement is a mean loss of gaps, and gaps are differences of means over rows. The means move
with the sample, and so does the loss (method page, "Sampling bias"). Random signs of the rows tell
how far: each draw s moves the weights of the rows by ``1 + a s`` and ``1 - a s``, and the gaps with
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute.primitives import SQUARE
from granite_xai.engine.signed_weights import STEP, slopes
from granite_xai.explanation.behavior.losses import Loss


class MovedLosses(NamedTuple):
    """Losses of gaps that sampling errors move to both sides; P moves."""

    moves: FloatArray  # (P, ...) sampling errors of the gaps
    unmoved: FloatArray  # (...) loss of the gaps as they are
    excess: FloatArray  # (P, ...) how much each move raises the loss, on average of both sides
    tilt: FloatArray  # (P, ...) half of what a move up raises the loss more than a move down


def moved_losses(loss: Loss, gaps: FloatArray, moves: FloatArray) -> MovedLosses:
    """Losses of gaps, moved to both sides by each of several moves.

    Parameters
    ----------
    loss : Loss
    gaps : array
    moves : array of shape (n_moves, ...)
        ... that of the gaps.
    """
    unmoved = loss.of_gaps(gaps)
    if loss.mode == SQUARE:  # (g ± m)² = g² ± 2 g m + m²
        return MovedLosses(moves, unmoved, excess=np.square(moves), tilt=2.0 * gaps * moves)
    moved_up = loss.of_gaps(gaps + moves)
    moved_down = loss.of_gaps(gaps - moves)
    return MovedLosses(
        moves=moves,
        unmoved=unmoved,
        excess=(moved_up + moved_down) / 2 - unmoved,
        tilt=(moved_up - moved_down) / 2,
    )


def mean_excess(loss: Loss, gaps: FloatArray, moves: FloatArray) -> FloatArray:
    """How much moving the gaps to both sides raises their loss, on average over the moves."""
    return np.asarray(moved_losses(loss, gaps, moves).excess.mean(axis=0))


def signed_losses(loss: Loss, gaps: FloatArray, n_averaged: IntArray | int) -> MovedLosses:
    """Losses of gaps that random signs of the rows move.

    Parameters
    ----------
    loss : Loss
    gaps : array of shape (1 + 2 P, ...)
        Under `signed_lines`.
    n_averaged : int or array of shape (...)
        Rows (at most, clusters) that each gap averages over: of several means that with the fewest.
    """
    return moved_losses(loss, gaps[0], slopes(gaps, n_averaged))


def bias_of_rows(losses: MovedLosses, signs: FloatArray, n_averaged: IntArray) -> FloatArray:
    """Sampling bias Q(n) of the loss at every row, for a question with a gap at every row.

    The bias has two parts. The means that a gap compares vary from sample to sample, which raises
    the loss. And a row is itself one of the rows that its gap averages over, which lowers the loss
    where a row is compared with their mean: in the extreme, a row is alone, and is its own mean.
    The second part is what the gap moves by when the weight of its own row moves.

    Parameters
    ----------
    losses : MovedLosses
        Of the gaps (n,) under P `signed_losses`.
    signs : array of shape (P, n)
    n_averaged : array of shape (n,)
        Rows (at most, clusters) that the gap of each row averages over.

    Returns
    -------
    array of shape (n,)
    """
    small_sample = np.sqrt(n_averaged / np.maximum(n_averaged - 1, 1))  # root of kappa
    by_own_weight = small_sample * np.einsum("pn,pn->n", signs, losses.tilt) / len(signs)
    bias: FloatArray = losses.excess.mean(axis=0) + by_own_weight
    is_alone = n_averaged == 1
    if is_alone.any() and not is_alone.all():
        # The gap of a row alone does not move: it borrows from the others.
        bias[is_alone] = np.mean((n_averaged * bias)[~is_alone])
    return bias


def bias_of_regions(loss: Loss, gaps: FloatArray, moves: FloatArray) -> FloatArray:
    """Sampling bias of the loss of every set, for a question with one gap for a region and set.

    With the bias ``beta`` of the gap, this is ``loss(g)`` less ``loss(g - beta)`` without what the
    moves add to it.

    Parameters
    ----------
    loss : Loss
    gaps : array of shape (1 + 2 P, S)
        Under `signed_lines`.
    moves : array of shape (P, S)
        Their sampling errors, one for each vector of signs.

    Returns
    -------
    array of shape (S,)
    """
    shown = gaps[0]
    n_pairs = len(moves)
    with_signs = gaps[1 : 1 + n_pairs]
    against_signs = gaps[1 + n_pairs :]
    bias_of_gaps = (with_signs + against_signs - 2 * shown).mean(axis=0) / (2 * STEP**2)
    unbiased = shown - bias_of_gaps
    without_bias = loss.of_gaps(unbiased) - mean_excess(loss, unbiased, moves)
    return np.asarray(loss.of_gaps(shown) - without_bias)

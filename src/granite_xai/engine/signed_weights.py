"""Random signs that move the weights of rows, to tell how figures vary with the sample.

For a vector of signs s the rows have the weights ``w (1 + a s)`` and ``w (1 - a s)``. Half the difference of
a figure under both, over a, is what the figure gains when the sample moves by s; its root mean square over
random signs is the figure's standard error.
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

STEP = 0.1  # a, how far the weights move
PAIRS = 50  # vectors of signs


def signs(clusters: IntArray, seed: int) -> FloatArray:
    """Vectors of random signs, one sign for each cluster of rows, (PAIRS, n).

    Parameters
    ----------
    clusters : array of shape (n,)
        Number of the cluster of each row.
    seed : int
    """
    n_clusters = int(clusters.max(initial=-1)) + 1
    drawn = np.random.default_rng([seed, 11]).integers(0, 2, size=(PAIRS, n_clusters))
    cluster_signs = 2.0 * drawn.astype(np.float64) - 1.0
    return np.asarray(cluster_signs[:, clusters])


def signed_lines(drawn: FloatArray, weights: FloatArray) -> FloatArray:
    """Lines of weights: as they are, then with each vector of signs, then against each, (1 + 2 P, n).

    Parameters
    ----------
    drawn : array of shape (P, n)
        Vectors of signs.
    weights : array of shape (n,)
    """
    factors = np.vstack([np.ones(len(weights)), 1.0 + STEP * drawn, 1.0 - STEP * drawn])
    return np.asarray(factors * weights)


def slopes(values: FloatArray, cells: IntArray | int) -> FloatArray:
    """How far figures lie from their limits, one draw for each pair of lines, (P, ...).

    Parameters
    ----------
    values : array of shape (1 + 2 P, ...)
        Figures under `signed_lines`.
    cells : int or array that broadcasts against a figure
        Rows that each figure averages over. A figure of one row does not move: it borrows the variance
        of the others.
    """
    n_pairs = (len(values) - 1) // 2
    counts = np.asarray(cells)
    with_signs = values[1 : 1 + n_pairs]
    against_signs = values[1 + n_pairs :]
    small_sample = np.sqrt(counts / np.maximum(counts - 1, 1))
    moves: FloatArray = (with_signs - against_signs) / (2 * STEP) * small_sample
    of_one_row = counts == 1
    if of_one_row.any() and not of_one_row.all():
        others = ~of_one_row
        row_variances = counts[others] * np.square(moves[:, others]).mean(axis=0)
        moves[:, of_one_row] = np.sqrt(np.mean(row_variances))
    return moves


def standard_errors(values: FloatArray, cells: IntArray | int) -> FloatArray:
    """Standard errors of figures under signed pairs of weights; parameters as of `slopes`."""
    return np.asarray(np.sqrt(np.mean(np.square(slopes(values, cells)), axis=0)))

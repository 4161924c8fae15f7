"""Random signs that move the weights of rows, to tell how figures vary with the sample.

For a vector of signs s (one sign a row, the same within a cluster) a figure f is computed under three lines of
weights: w as they are, w (1 + a s) and w (1 - a s). Its *slope* along s is

    d = (f(w (1 + a s)) - f(w (1 - a s))) / (2 a)

which is what the figure gains when the sample moves by s, to first order. The root mean square of d over random s
is the standard error of f (docs/method.rst, "Sampling bias").
"""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

STEP = 0.1  # a, how far the weights move
PAIRS = 50  # vectors of signs
SIGNS_DRAW = 11  # with the seed of the fit: what the signs are drawn by


def signs(clusters: IntArray, seed: int) -> FloatArray:
    """Vectors of random signs, one sign for each cluster of rows, (PAIRS, n).

    Parameters
    ----------
    clusters : array of shape (n,)
        Number of the cluster of each row.
    seed : int
    """
    n_clusters = int(clusters.max(initial=-1)) + 1
    generator = np.random.default_rng([seed, SIGNS_DRAW])
    zeros_and_ones = generator.integers(0, 2, size=(PAIRS, n_clusters))
    cluster_signs = 2.0 * zeros_and_ones.astype(np.float64) - 1.0
    return np.asarray(cluster_signs[:, clusters])


def signed_lines(sign_vectors: FloatArray, weights: FloatArray) -> FloatArray:
    """Lines of weights: w, then w (1 + a s) of each vector of signs, then w (1 - a s) of each, (1 + 2 P, n).

    Parameters
    ----------
    sign_vectors : array of shape (P, n)
    weights : array of shape (n,)
    """
    unmoved = np.ones(len(weights))
    moves = STEP * sign_vectors
    factors = np.vstack([unmoved, 1.0 + moves, 1.0 - moves])
    return np.asarray(factors * weights)


def slopes(figures: FloatArray, cell_sizes: IntArray | int) -> FloatArray:
    """The slope of figures along each vector of signs, corrected for small cells, (P, ...).

    A figure that averages over m rows varies less under moved weights than under new rows: its slope is
    multiplied by ``sqrt(m / (m - 1))``, as a variance with divisor m - 1 is. A figure of one row does not
    move: its slope is the root of the mean of m d² over the other figures.

    Parameters
    ----------
    figures : array of shape (1 + 2 P, ...)
        Under the lines of weights of `signed_lines`.
    cell_sizes : int or array that broadcasts against a figure
        m, the rows that each figure averages over.
    """
    n_vectors = (len(figures) - 1) // 2
    sizes = np.asarray(cell_sizes)
    with_signs = figures[1 : 1 + n_vectors]
    against_signs = figures[1 + n_vectors :]
    small_cell_factor = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    moves: FloatArray = (with_signs - against_signs) * (small_cell_factor / (2 * STEP))
    of_one_row = sizes == 1
    if of_one_row.any() and not of_one_row.all():
        of_several = ~of_one_row
        row_variances = sizes[of_several] * np.square(moves[:, of_several]).mean(axis=0)
        moves[:, of_one_row] = np.sqrt(np.mean(row_variances))
    return moves


def standard_errors(figures: FloatArray, cell_sizes: IntArray | int) -> FloatArray:
    """Standard errors of figures: the root mean square of their `slopes`, whose parameters these are."""
    return np.asarray(np.sqrt(np.mean(np.square(slopes(figures, cell_sizes)), axis=0)))

"""What sampling noise adds to a disagreement, in closed form (method page, "Sums over rows").

In the question "ICE against PDP" the gap of row n is ``z[n]' K mean(z)``, K as in
`FullAgainstPure`. If the mean of z over the rows of a region is off by ``d``, gaps are off by
``z[n]' K d``, and the disagreement grows by ``d' K S K d`` on average, S the mean of ``z z'``. With
the covariance V of the mean of z over samples of rows this is

    chance = trace(K S K V),

and where every true gap is 0 the disagreement is distributed as a sum of squared normal numbers
with the eigenvalues of ``K S K V`` as variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.statistics import FullAgainstPure

NEGLIGIBLE_VARIANCE = 1e-12  # share of the largest eigenvalue below which a direction is rounding


def mean_covariance(
    vectors: FloatArray, weights: FloatArray, clusters: IntArray | None
) -> FloatArray:
    """Covariance of the weighted mean of rows, or of whole clusters of rows, over samples.

    Parameters
    ----------
    vectors : array of shape (n_rows, size)
    weights : array of shape (n_rows,)
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """
    total = weights.sum()
    mean = weights @ vectors / total
    moves = (vectors - mean) * weights[:, None] / total
    count = len(vectors)
    if clusters is not None:
        numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
        count = int(numbers.max()) + 1
        by_cluster = np.zeros((count, vectors.shape[1]))
        np.add.at(by_cluster, numbers, moves)
        moves = by_cluster
    return np.asarray(moves.T @ moves * count / max(count - 1, 1))


def chance_level(statistics: FullAgainstPure, clusters: IntArray | None) -> float:
    """What sampling noise adds to the mean squared gap of one set, on average."""
    covariance = mean_covariance(statistics.vectors(), statistics.weights, clusters)
    return float(np.sum(statistics.turned_moments() * covariance))


def chance_bar(
    sets: Sequence[FullAgainstPure], clusters: IntArray | None, levels: Sequence[float]
) -> list[float]:
    """What the summed mean squared gaps of some sets exceed with small probability by noise alone.

    Parameters
    ----------
    sets : sequence of FullAgainstPure
        The same rows in each.
    clusters : array, optional
    levels : sequence of float
        Probabilities not to exceed the bar.
    """
    # Eigenvalues are read from matrices in which interactions stand beside ones: in their own unit
    # they are of the same size, whatever the unit of the predictions is.
    unit = max(float(np.abs(each.factors.row_factors).max(initial=0.0)) for each in sets)
    if unit == 0.0:
        return [0.0 for _ in levels]
    sets = [_in_unit(each, unit) for each in sets]
    stacked = np.column_stack([each.vectors() for each in sets])
    covariance = mean_covariance(stacked, sets[0].weights, clusters)
    # K S K = A A' by blocks: the eigenvalues of A' V A are those of K S K V, and it is symmetric.
    ends = np.cumsum([2 * each.rank + 2 for each in sets])
    roots = [_root(each.turned_moments()) for each in sets]
    widths = np.cumsum([root.shape[1] for root in roots])
    stretched = np.zeros((int(ends[-1]), int(widths[-1])))
    for root, end, width in zip(roots, ends, widths, strict=True):
        stretched[end - root.shape[0] : end, width - root.shape[1] : width] = root
    variances = np.linalg.eigvalsh(stretched.T @ covariance @ stretched)
    variances = np.maximum(variances, 0.0)
    return [unit**2 * squares_quantile(variances, level) for level in levels]


def _in_unit(statistics: FullAgainstPure, unit: float) -> FullAgainstPure:
    """The same with interactions as multiples of a unit."""
    factors = statistics.factors
    return replace(
        statistics,
        factors=replace(
            factors,
            interaction=factors.interaction / unit,
            row_factors=factors.row_factors / unit,
        ),
    )


def _root(matrix: FloatArray) -> FloatArray:
    """A matrix A with ``A A'`` as given, of as few columns as that needs."""
    strengths, directions = np.linalg.eigh(matrix)
    kept = strengths > NEGLIGIBLE_VARIANCE * max(float(strengths[-1]), np.finfo(float).tiny)
    return np.asarray(directions[:, kept] * np.sqrt(strengths[kept]))


def squares_quantile(variances: FloatArray, level: float) -> float:
    """Quantile of a sum of squared normal numbers with the given variances.

    The distribution is replaced by that of a shifted and scaled chi-square variable with the same
    mean, variance and skewness (Pearson's three moment approximation).
    """
    largest = float(np.max(variances, initial=0.0))
    if largest <= 0.0:
        return 0.0
    relative = variances / largest  # cubes of tiny variances would be 0
    first, second, third = (float(np.sum(relative**power)) for power in (1, 2, 3))
    degrees = second**3 / third**2
    quantile = float(stats.chi2.ppf(level, degrees))
    return largest * (first + (quantile - degrees) * float(np.sqrt(second / degrees)))


def chance_by_region(
    statistics: FullAgainstPure, sums: FloatArray, counts: FloatArray
) -> FloatArray:
    """What noise adds in many regions of unweighted rows: ``(trace(K S K S) - R) / (n - 1)``.

    Parameters
    ----------
    statistics : FullAgainstPure
        Only its rank is read.
    sums : array of shape (n_products, 1, ...)
        Sums of the rows of each region.
    counts : array of shape (...)
        Rows of each region.
    """
    excess = statistics.mean_squared_pair_gap(sums) - statistics.mean_squared_gap(sums)
    return np.asarray(excess / np.maximum(counts - 1.0, 1.0))

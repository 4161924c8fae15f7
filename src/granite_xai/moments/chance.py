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

from typing import NamedTuple

import numpy as np
from scipy import stats

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.moments.stacked import StackedGaps


class SumOfSquares(NamedTuple):
    """A sum of squared normal numbers, by the sums of powers of their variances.

    Variances are given as multiples of ``unit``: cubes of tiny ones would be 0.
    """

    unit: float
    first: float
    second: float
    third: float

    @property
    def mean(self) -> float:
        """Expected value."""
        return self.unit * self.first

    def quantile(self, level: float) -> float:
        """What the sum does not exceed with this probability.

        The distribution is replaced by that of a shifted and scaled chi-square variable with the
        same mean, variance and skewness (Pearson's three moment approximation).
        """
        if self.first <= 0.0:
            return 0.0
        degrees = self.second**3 / self.third**2
        spread = float(np.sqrt(self.second / degrees))
        quantile = float(stats.chi2.ppf(level, degrees))
        return self.unit * (self.first + (quantile - degrees) * spread)


NO_NOISE = SumOfSquares(unit=0.0, first=0.0, second=0.0, third=0.0)


def mean_moves(vectors: FloatArray, weights: FloatArray, clusters: IntArray | None) -> FloatArray:
    """How far each row, or each cluster of rows, moves the weighted mean of rows.

    Their products ``moves' moves`` are the covariance of the mean over samples of rows or clusters.

    Parameters
    ----------
    vectors : array of shape (n_rows, size)
    weights : array of shape (n_rows,)
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.

    Returns
    -------
    array of shape (n_rows or n_clusters, size)
    """
    shares = weights / weights.sum()
    moves = (vectors - shares @ vectors) * shares[:, None]
    n_observations = len(vectors)
    if clusters is not None:
        cluster_numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
        n_observations = int(cluster_numbers.max()) + 1
        by_cluster = np.zeros((n_observations, vectors.shape[1]))
        np.add.at(by_cluster, cluster_numbers, moves)
        moves = by_cluster
    return np.asarray(moves * np.sqrt(n_observations / max(n_observations - 1, 1)))


def disagreement_by_chance(gaps: StackedGaps, clusters: IntArray | None) -> SumOfSquares:
    """What the summed mean squared gaps of some sets would be if every true gap were 0.

    Its variances are the eigenvalues of ``K S K V``, K S K by blocks. Only sums of their powers are
    needed, which are traces: nothing is decomposed. With ``V = moves' moves`` the matrix
    ``moves K S K moves'`` has the same eigenvalues but zeros; the smaller of both is formed.

    Parameters
    ----------
    gaps : StackedGaps
        The sets, on the rows of the region.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """
    if gaps.unit == 0.0:
        return NO_NOISE
    shares = gaps.weights / gaps.weights.sum()
    moves = mean_moves(gaps.vectors, gaps.weights, clusters)
    turned = gaps.times_k(gaps.vectors)  # (n_rows, width)
    weighted = turned * shares[:, None]
    turned_moves = np.empty_like(moves)  # moves K S K
    for place in gaps.slices:
        turned_moves[:, place] = moves[:, place] @ (weighted[:, place].T @ turned[:, place])
    if len(moves) < moves.shape[1]:
        matrix = turned_moves @ moves.T
    else:
        matrix = turned_moves.T @ moves
    first = float(np.trace(matrix))
    if first <= 0.0:
        return NO_NOISE
    matrix = matrix / first
    return SumOfSquares(
        unit=gaps.unit**2 * first,
        first=1.0,
        second=float(np.sum(matrix * matrix.T)),
        third=float(np.sum((matrix @ matrix) * matrix.T)),
    )

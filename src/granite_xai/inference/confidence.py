"""Confidence: how sure a fit shall be, and what follows for bars and intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit

from granite_xai.base.typing import IntArray
from granite_xai.inference.replicates import Replicates

FEWEST_CLUSTERS = 5  # below it their spread is hardly known, and there is no interval
REPLICATES_STREAM = 7  # of random numbers


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure a fit shall be: its level, how many replicates tell, and the seed they are drawn with."""

    level: float
    n_replicates: int
    seed: int

    @property
    def normal(self) -> float:
        """Standard errors on both sides of an estimate."""
        return NormalDist().inv_cdf((1.0 + self.level) / 2.0)

    def quantile(self, n_clusters: int) -> float:
        """Standard errors on both sides of an estimate from so many clusters: Student's t; nan for too few."""
        if n_clusters < FEWEST_CLUSTERS:
            return math.nan
        return float(stdtrit(n_clusters - 1, (1.0 + self.level) / 2.0))

    def one_sided_quantile(self, n_clusters: int) -> float:
        """Standard errors above an estimate from so many clusters, for a limit on one side."""
        if n_clusters < FEWEST_CLUSTERS:
            return math.nan
        return float(stdtrit(n_clusters - 1, self.level))

    @property
    def error(self) -> float:
        """Probability to find regions where there are none."""
        return 1.0 - self.level

    @property
    def bar_level(self) -> float:
        """Level of the chance bar: half of the error is left to the test of gains."""
        return 1.0 - self.error / 2

    def replicates(self, clusters: IntArray) -> Replicates:
        """The replicates of some rows: one random number for each cluster and replicate.

        Parameters
        ----------
        clusters : array of shape (n_rows,)
            Number of the cluster of each row.
        """
        n_clusters = int(clusters.max(initial=-1)) + 1
        generator = np.random.default_rng([self.seed, REPLICATES_STREAM])
        by_cluster = generator.exponential(size=(self.n_replicates, n_clusters))
        rows_stand_alone = n_clusters == len(clusters)
        return Replicates(
            multipliers=by_cluster[:, clusters],
            bar_position=min(rank_of_bar(self.n_replicates, self.bar_level), self.n_replicates) - 1,
            bar_level=self.bar_level,
            clusters=None if rows_stand_alone else clusters,
        )


def rank_of_bar(n_replicates: int, level: float) -> int:
    """Which of the sorted replicates, counted from 1, is the chance bar; more than there are: none is.

    An order statistic, since interpolating between two of them is too low. Rounding keeps products
    such as 0.95 * 400 from ending a little above a whole number.
    """
    return math.ceil(round(level * (n_replicates + 1), 9))

"""Scatter: how far the rows of a region are apart, whatever vectors describe them.

    R(region) = mean over its rows of the squared distance between a row's vector and the region's mean vector

With ICE curves on a grid this is the loss of REPID and GADGET, with indicators of a cluster it is Gini's
impurity, with one number a row CART's variance: one search serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.disagreement.objective import Measure, ScaledObjective
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.vectors import Vectors, centred
from granite_xai.search.problem import Problem

ZERO_SCATTER = 1e-12
"""Scatter of indicators below which a region counts as pure."""

BYTES_OF_NUMBER = 8  # double precision

ARRAYS_ALIVE = 4
"""Arrays of one number a row and split that exist at once while splits are scored."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Mean squared distance of the rows' vectors to their mean, summed over all vectors.

    A `Measure`: what a search lowers in place of a disagreement.
    """

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        return BYTES_OF_NUMBER * n_rows * ARRAYS_ALIVE

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """Scatter of both sides of every split.

        Parameters
        ----------
        evaluations : Evaluations
            Its ``vectors`` are read.
        splits : Splits
            K ways to divide the rows.
        jobs : int
            Not used: the sums are products of matrices.

        Returns
        -------
        array of shape (K, 2)
        """
        total = np.zeros_like(splits.mass)
        for vectors in evaluations.vectors:
            total = total + _scatter_of_sides(vectors, splits)
        return total


def _scatter_of_sides(vectors: Vectors, splits: Splits) -> FloatArray:
    """Scatter of one kind of vectors on both sides of every split, (K, 2)."""
    left = _scatter_of_regions(vectors.values, splits.left_weights)
    right = _scatter_of_regions(vectors.values, splits.right_weights)
    scatter = np.stack([left, right], axis=1)
    if vectors.column is None:
        return scatter
    # A cut along the column of a curve also shortens the curve.
    for split in np.flatnonzero(splits.columns == vectors.column):
        entries = vectors.left_entries(splits.inside[split], vectors.column)
        if entries is not None:
            left_curves = centred(vectors.values[:, entries])
            right_curves = centred(vectors.values[:, ~entries])
            scatter[split, 0] = _scatter_of_regions(left_curves, splits.left_weights[[split]])[0]
            scatter[split, 1] = _scatter_of_regions(right_curves, splits.right_weights[[split]])[0]
    return scatter


def _scatter_of_regions(values: FloatArray, members: FloatArray) -> FloatArray:
    """Scatter of vectors in each of some regions, (K,).

    Parameters
    ----------
    values : array of shape (n, n_entries)
    members : array of shape (K, n)
        Weight of each row in each region; 0 outside.
    """
    mass = members.sum(axis=1)  # (K,)
    divisor = np.where(mass > 0, mass, 1.0)
    # Centred by the common mean first: what all rows share must not swamp what sets them apart.
    total_mass = float(mass.sum()) or 1.0
    deviations = values - members.sum(axis=0) @ values / total_mass
    means = (members @ deviations) / divisor[:, None]  # (K, n_entries)
    mean_squares = (members @ np.square(deviations).sum(axis=1)) / divisor
    return np.asarray(np.maximum(mean_squares - np.square(means).sum(axis=1), 0.0))


class PosedProblem(NamedTuple):
    """A problem posed anew: another measure than the question's shall become small."""

    problem: Problem
    measure_on_all_rows: float  # the problem has shares of it


def pose_with_measure(
    problem: Problem, measure: Measure, evaluations: Evaluations, floor: float
) -> PosedProblem:
    """Pose the same problem with another measure.

    Parameters
    ----------
    problem : Problem
    measure : Measure
        What shall become small.
    evaluations : Evaluations
        What the measure reads.
    floor : float
        Value up to which the measure on all rows counts as nothing.
    """
    whole = Splits.whole(evaluations.weights)
    on_all_rows = float(measure.regional(evaluations, whole)[0, 0])
    factor = 0.0
    if on_all_rows > floor:
        factor = 1.0 / on_all_rows
    shares = ScaledObjective(
        comparisons=(measure,),
        factors=np.array([factor]),
        floors=np.array([floor]),
        total=problem.shares.total,
    )
    posed = replace(
        problem,
        evaluations=evaluations,
        shares=shares,
        roots=np.array([on_all_rows]),
        chance=None,
    )
    return PosedProblem(problem=posed, measure_on_all_rows=on_all_rows)


def pose_scatter(problem: Problem, vectors: Sequence[Vectors], floor: float = 0.0) -> PosedProblem:
    """Pose the problem of making vectors alike in each region; parameters as of `pose_with_measure`."""
    evaluations = replace(problem.evaluations, vectors=tuple(vectors))
    return pose_with_measure(problem, Scatter(), evaluations, floor)

"""How far local effects lie from a smooth curve of their feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.vectors import Vectors
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.search.local_effects import local_values
from granite_xai.tables import Column

KNOTS = 10
"""Knots of a feature's curve; features with no more values are read by value."""

SMOOTH = 1e-3
"""Price of the curve's bends."""

RIDGE = 1e-9
"""Price of the curve's coefficients, so that values without rows do not make it singular."""


@dataclass(frozen=True, slots=True, eq=False)
class AroundDependence:
    """Squared distance of local effects to a smooth curve of the feature, fitted to the region's rows.

    A `Measure`: what a search lowers in place of a disagreement. The evaluations carry `effects_with_basis` of each
    feature as their vectors.

    Parameters
    ----------
    effect : ResolvedExplainer
        The local effects.
    recalculate : bool
        Whether effects are those inside the region; otherwise those on all rows.
    mass : float
        Weight of all rows: curves of small regions are smoothed the more.
    """

    effect: ResolvedExplainer
    recalculate: bool
    mass: float

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        n_coefficients = KNOTS + 2
        return 8 * (4 * n_rows + 4 * n_coefficients**2)

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """Mean over the rows of both sides of every split, (K, 2)."""
        if self.recalculate:
            effects_inside = local_values(self.effect, evaluations, splits)  # (features, K, n)
        total = np.zeros(splits.mass.shape)
        for feature, vectors in enumerate(evaluations.vectors):
            effects = vectors.values[:, 0]
            basis = vectors.values[:, 1:]
            if self.recalculate:
                effects = effects_inside[feature]
            effects = np.broadcast_to(effects, splits.inside.shape)  # (K, n)
            total[:, 0] += sum_around_curve(effects, basis, splits.left_weights, self.mass)
            total[:, 1] += sum_around_curve(effects, basis, splits.right_weights, self.mass)
        return np.asarray(total / np.where(splits.mass > 0, splits.mass, 1.0))


def effects_with_basis(effects: FloatArray, column: Column) -> Vectors:
    """The effects of a feature on all rows, beside the functions that its curve is made of.

    Parameters
    ----------
    effects : array of shape (n,)
    column : Column

    Returns
    -------
    Vectors
        Of each row its effect, then its `spline_basis`.
    """
    return Vectors(np.column_stack([effects, spline_basis(column)]))


def spline_basis(column: Column) -> FloatArray:
    """Functions of a feature that a curve is made of, one line a row.

    Returns
    -------
    array of shape (n, p)
        Cubic B-splines between its quantiles; indicators of its values, if there are at most ten.
    """
    if len(column.levels) <= KNOTS:
        levels = np.arange(len(column.levels))
        return np.equal.outer(column.codes, levels).astype(np.float64)
    from sklearn.preprocessing import SplineTransformer

    values = np.asarray(column.values, dtype=np.float64)[:, None]
    knots = np.unique(np.quantile(values, np.linspace(0, 1, KNOTS)))[:, None]
    return np.asarray(SplineTransformer(degree=3, knots=knots).fit_transform(values))


def sum_around_curve(
    values: FloatArray, basis: FloatArray, weights: FloatArray, mass: float
) -> FloatArray:
    """Weighted sum of squares of values around their penalised curve, in each of K regions.

    With B the basis, W the weights of a region and P the penalty, the curve has the coefficients
    ``c = (B' W B + P)⁻¹ B' W v``, and what it leaves is ``v' W v + c' B' W B c - 2 c' B' W v``.

    Parameters
    ----------
    values, weights : arrays of shape (K, n)
    basis : array of shape (n, p)
    mass : float
        Weight of all rows.

    Returns
    -------
    array of shape (K,)
    """
    n, p = basis.shape
    products = (basis[:, :, None] * basis[:, None, :]).reshape(n, p * p)
    gram = (weights @ products).reshape(-1, p, p)  # B' W B
    weighted = weights * values
    projections = weighted @ basis  # B' W v, (K, p)
    penalty = SMOOTH * mass / p * _bends(basis) + RIDGE * mass * np.eye(p)
    coefficients = np.linalg.solve(gram + penalty, projections[:, :, None])[:, :, 0]
    squares = np.einsum("kn,kn->k", weighted, values)
    curve_squares = np.einsum("kp,kpq,kq->k", coefficients, gram, coefficients)
    cross_products = np.einsum("kp,kp->k", coefficients, projections)
    return np.asarray(np.maximum(squares + (curve_squares - 2 * cross_products), 0.0))


def _bends(basis: FloatArray) -> FloatArray:
    """Squares of the second differences of the coefficients, (p, p); indicators have no bends."""
    p = basis.shape[1]
    is_indicator = bool(np.all((basis <= 0) | (basis >= 1)))
    if is_indicator:
        return np.zeros((p, p))
    second_differences = np.diff(np.eye(p), 2, axis=0)
    return second_differences.T @ second_differences

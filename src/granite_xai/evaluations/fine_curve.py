"""Curves along a column between the few values at which the model was asked (C22).

Sixteen values are too few to draw a curve through. Between them the mean curve of any rows is taken to run as
the curves of the pilot rows do: it is their mean curve plus the combination of their differences that fits at
the sixteen values. Curves and surrogates are so as fine as the pilot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

# What is added to the diagonal of the covariance, as a share of its mean entry there: curves need not run
# exactly through the values at which they are known, so that noise of the pilot is not followed.
RIDGE = 1e-3
# The same as a share of the variance of all predictions, where pilot rows do not differ.
FLAT_RIDGE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class FineCurve:
    """How the mean curve of some rows runs between the values that stand for cells.

    At the pilot's levels it is ``offsets + weights @ curve[standing]``.

    Parameters
    ----------
    standing : array of shape (n_cells,)
        Levels at which the curve is known: those that stand for cells.
    levels : array of shape (n_pilot_values,)
        Levels at which the pilot rows were asked, ascending.
    offsets : array of shape (n_pilot_values,)
    weights : array of shape (n_pilot_values, n_cells)
        Each line adds up to 1; that of a standing level is 1 for its cell, and its offset is 0.
    """

    standing: IntArray
    levels: IntArray
    offsets: FloatArray
    weights: FloatArray

    def at_levels(self, at_standing: FloatArray) -> FloatArray:
        """The curve at the pilot's levels.

        Parameters
        ----------
        at_standing : array of shape (n_cells,) or (n_cells, n_curves)
            The curve, or several, at the standing levels.

        Returns
        -------
        array of shape (n_pilot_values,) or (n_pilot_values, n_curves)
        """
        between = self.weights @ at_standing
        if at_standing.ndim == 1:
            return np.asarray(self.offsets + between)
        return np.asarray(self.offsets[:, None] + between)


def fit_fine_curve(
    curves: FloatArray, levels: IntArray, standing_values: IntArray, cell_of_value: IntArray
) -> FineCurve:
    """Learn from the curves of the pilot rows how curves run between standing values.

    Let m be the mean curve of the pilot rows and s the standing values. K is the covariance between values
    of the pilot rows' curves less m, each of them less its mean over s. A curve b that is known at s is
    expected at a value v to be

        m(v) + mean(b(s) - m(s)) + K(v, s) K(s, s)^-1 d,   d = b(s) - m(s) - mean(b(s) - m(s)).

    K(s, s) is made a little larger on its diagonal (`RIDGE`). What this misses at s itself is added in the
    whole cell.

    Parameters
    ----------
    curves : array of shape (n_values, n_pilot)
        Predictions of the pilot rows.
    levels : array of shape (n_values,)
        Levels of the values.
    standing_values : array of shape (n_cells,)
        Which of the values stand for cells.
    cell_of_value : array of shape (n_values,)
    """
    n_cells = len(standing_values)
    mean_curve = curves.mean(axis=1)
    deviations = curves - mean_curve[:, None]
    deviations = deviations - deviations[standing_values].mean(axis=0)
    covariance = deviations @ deviations[standing_values].T / curves.shape[1]  # K(v, s)
    covariance_of_standing = covariance[standing_values]  # K(s, s)
    ridge = RIDGE * np.trace(covariance_of_standing) / n_cells + FLAT_RIDGE * np.var(curves)
    if ridge > 0.0:
        regularized = covariance_of_standing + ridge * np.eye(n_cells)
        regression = np.linalg.solve(regularized, covariance.T).T  # K(v, s) K(s, s)^-1
    else:  # all predictions are equal
        regression = np.zeros_like(covariance)
    averaging = np.full((n_cells, n_cells), 1.0 / n_cells)  # from b(s) - m(s) to its mean
    centring = np.eye(n_cells) - averaging  # from b(s) - m(s) to d
    missed = np.eye(n_cells) - regression[standing_values]
    weights = averaging[cell_of_value] + (regression + missed[cell_of_value]) @ centring
    return FineCurve(
        standing=levels[standing_values],
        levels=levels,
        offsets=mean_curve - weights @ mean_curve[standing_values],
        weights=weights,
    )

"""Curves: the pure effect of one column in one region, at every value of the fitting rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.masking.levels import sortable
from granite_xai.surrogate.grid_curves import as_numbers, grid_curve
from granite_xai.tables import Column


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The pure effect of one column in one region.

    Parameters
    ----------
    column : Column
        Of the fitting rows.
    effects : array of shape (1 + levels,)
        For missing values (0 where there were none), then for each level.
    centre : float
        Mean of the effects over the rows of the region, from which a description counts them; 0 in the paper's
        surrogate.
    level_shares : array of shape (levels,)
        Share of the region's rows with a value that have each level.
    """

    column: Column
    effects: FloatArray
    centre: float = 0.0
    level_shares: FloatArray = field(default_factory=lambda: np.zeros(0))

    def centred(self, shares: FloatArray) -> Curve:
        """The curve counted from its mean over rows; a missing value adds 0 where none was seen.

        Parameters
        ----------
        shares : array of shape (n,)
            Of the fitting rows in the region; 0 for rows of other regions.
        """
        centre = float(shares @ self.effects[self.column.codes + 1])
        effects = self.effects
        if not np.any(self.column.codes < 0):
            effects = np.append(centre, effects[1:])
        return replace(self, effects=effects, centre=centre)

    def at(self, column: Column) -> FloatArray:
        """What the curve adds at each row of another table, counted from its centre.

        Interpolated, constant beyond the ends; levels never seen add 0.

        Parameters
        ----------
        column : Column
            The same column in the other table.
        """
        centred_effects = self.effects - self.centre
        of_missing = centred_effects[0]
        of_levels = centred_effects[1:]
        if not self.column.is_ordered or len(self.column.levels) == 0:
            effect_of = dict(zip(self.column.levels.tolist(), of_levels.tolist(), strict=True))
            by_level = np.array([effect_of.get(level, 0.0) for level in column.levels.tolist()])
        else:
            fitted_levels, levels = sortable(column, self.column)
            by_level = np.interp(
                as_numbers(levels, self.column), as_numbers(fitted_levels, self.column), of_levels
            )
        # A missing value has the code -1, which reads the last entry.
        return np.append(by_level, of_missing)[column.codes]


def effects_by_region(
    column: Column, evaluations: Evaluations, shares: FloatArray, means: FloatArray
) -> FloatArray:
    """Pure effects of a column in some regions: ``F_S`` less the mean prediction.

    Parameters
    ----------
    column : Column
    evaluations : Evaluations
        Of all fitting rows.
    shares : array of shape (K, n)
        Of the rows in each region; 0 for rows of other regions.
    means : array of shape (K,)
        Mean prediction of each region.

    Returns
    -------
    array of shape (K, 1 + levels)
        For missing values, then for each level.
    """
    if len(evaluations.everything) == 1:  # the only column: its curve is the model
        masked = np.broadcast_to(evaluations.predictions, shares.shape)
        return _by_level(column, masked, means)
    matrix, is_shown = evaluations.stored(frozenset({column.position}))
    if not is_shown:
        n_values = matrix.values.shape[0]
        share_of_value = np.stack(
            [np.bincount(matrix.codes, weights=share, minlength=n_values) for share in shares]
        )
        masked = share_of_value @ matrix.values  # (K, n)
        return _by_level(column, masked, means)
    if matrix.levels is not None:
        curves = [grid_curve(column, evaluations, share) for share in shares]
        return np.stack(curves) - means[:, None]
    masked_by_value = matrix.values @ shares.T  # (values, K)
    return _by_level(column, masked_by_value.T[:, matrix.codes], means)


def _by_level(column: Column, masked: FloatArray, means: FloatArray) -> FloatArray:
    """Effects of each level, (K, 1 + levels), from the masked model at each row, (K, n)."""
    effects = np.zeros((len(means), len(column.levels) + 1))
    effects[:, column.codes + 1] = masked - means[:, None]
    return effects

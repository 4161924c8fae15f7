"""Central rows: the one closest to a region's lower medians and modes, and the masked model that counts from it."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.compute.primitives import Array, as_part
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.engine.values import HybridFunction, RowValues
from granite_xai.evaluations.evaluations import Coordinates, Evaluations


def central_rows(coordinates: Coordinates, weights: FloatArray) -> IntArray:
    """Position of the central row of each region."""
    # The distance of a row is the sum over ordered columns of the difference in rank (as a share of the fitting rows)
    # plus 1 for each nominal column that differs; a missing value differs by 1 from any other. Ties: the first row.
    # ``weights`` are those of each row in each region, (K, n), and 0 outside.
    distance = np.zeros(weights.shape)
    for ranks in coordinates.ranks:
        missing, median = np.isnan(ranks), _lower_medians(ranks, weights)[:, None]
        apart = np.where(missing, 0.0, np.abs(ranks - median))
        distance += np.where(missing != np.isnan(median), 1.0, apart)
    for levels in coordinates.levels:
        distance += levels != _modes(levels, weights)[:, None]
    # Rounded, so that rows at the same distance are a tie whatever the order of the sums.
    return np.asarray(np.argmin(np.where(weights > 0, np.round(distance, 12), np.inf), axis=1))


def _lower_medians(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    """Smallest value with at least half of the weight of the present rows at or below it; NaN without any."""
    order = np.argsort(ranks, kind="stable")[: int(np.count_nonzero(~np.isnan(ranks)))]  # missing values last
    if not len(order):
        return np.full(len(weights), np.nan)
    below = np.cumsum(weights[:, order], axis=1)
    half = np.argmax(2 * below >= below[:, -1:], axis=1)
    return np.where(below[:, -1] > 0, ranks[order][half], np.nan)


def _modes(levels: IntArray, weights: FloatArray) -> IntArray:
    """The heaviest level of each region, ties to the first; missing only where nothing else is there."""
    table = weights @ (levels[:, None] == np.arange(levels.max(initial=-1) + 1)).astype(np.float64)
    if not table.shape[1]:
        return np.full(len(weights), -1, dtype=np.intp)
    return np.where(table.max(axis=1) > 0, np.argmax(table, axis=1), -1)


class AgainstCentres(Masked):
    """Hidden columns are set to the central row of each side, one of its own."""

    def __init__(self, evaluations: Evaluations, splits: Splits) -> None:
        if evaluations.coordinates is None:
            raise ValueError("the evaluations hold no coordinates")
        self.evaluations, self.splits = evaluations, splits
        fixed = splits.lines is not None  # under lines of weights the baselines stay as they are
        sides = (np.broadcast_to(splits.weights, splits.inside.shape) if fixed else splits.left, splits.right)
        self.left, self.right = (central_rows(evaluations.coordinates, side) for side in sides)  # of every split, (K,)

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of predictions against the central row, and of attributions."""
        P, splits = self.splits.primitives, self.splits
        own, total = splits.zeros, P.array(np.zeros((splits.n_rows, splits.count)))
        for term, coefficient in terms.items():
            if term == self.evaluations.everything:
                own = own + coefficient * P.array(self.evaluations.predictions)
            else:
                left, right = (self._against(term, rows) for rows in (self.left, self.right))
                total = total + coefficient * P.xp.where(splits.flags, left, right)
        return RowValues(own, parts=(as_part(P, total),))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """A function of the one prediction behind ``F_T``."""
        P, values = self.splits.primitives, self.combined({coalition: 1.0}).array(self.splits)
        found = np.stack([function(line[None], slice(None))[0] for line in P.host(values).T], axis=1)
        return RowValues(self.splits.zeros, parts=(as_part(P, P.array(found)),))

    def _against(self, term: Term, baseline: IntArray) -> Array:
        """``F(x_T, b)`` of every row for the baseline row of each split, (n, K)."""
        P, evaluations = self.splits.primitives, self.evaluations
        if not term:
            return P.array(evaluations.predictions[baseline][None, :])
        matrix, shown = evaluations.stored(term)
        both = (0.0, 1.0) if shown else (1.0, 0.0)
        return P.pair_block(P.array(matrix.values), matrix.pairs.at(baseline), matrix.pairs, *both).T

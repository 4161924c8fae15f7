"""The masked model whose hidden columns are set to the central row of the region."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.compute.primitives import as_part
from granite_xai.engine.masked import Masked
from granite_xai.engine.pairs import hybrid_predictions
from granite_xai.engine.row_values import HybridFunction, RowValues
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.evaluations.evaluations import Evaluations

# Decimals to which distances are rounded, so that rows at the same distance are a tie whatever the order of sums.
TIE_DECIMALS = 12


def central_rows(coordinates: Coordinates, weights: FloatArray) -> IntArray:
    """Position of the central row of each region, (K,); ties go to the first row.

    The distance of a row is the sum over ordered columns of the difference in rank (as a share of the
    fitting rows) from the region's lower median, plus 1 for each nominal column that differs from the
    region's most frequent level. A missing value differs by 1 from any other.

    Parameters
    ----------
    coordinates : Coordinates
    weights : array of shape (K, n)
        Weight of each row in each region, 0 outside.
    """
    distance = np.zeros(weights.shape)
    for ranks in coordinates.ranks:
        medians = _lower_medians(ranks, weights)[:, None]
        is_missing = np.isnan(ranks)
        rank_distance = np.where(is_missing, 0.0, np.abs(ranks - medians))
        one_is_missing = is_missing != np.isnan(medians)
        distance += np.where(one_is_missing, 1.0, rank_distance)
    for levels in coordinates.levels:
        distance += levels != _most_frequent(levels, weights)[:, None]
    distance = np.round(distance, TIE_DECIMALS)
    return np.asarray(np.argmin(np.where(weights > 0, distance, np.inf), axis=1))


def _lower_medians(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    """Smallest rank with at least half of the weight of the present rows at or below it; NaN without any."""
    n_present = int(np.count_nonzero(~np.isnan(ranks)))
    order = np.argsort(ranks, kind="stable")[:n_present]  # missing values come last
    if n_present == 0:
        return np.full(len(weights), np.nan)
    below = np.cumsum(weights[:, order], axis=1)
    total = below[:, -1]
    middle = np.argmax(2 * below >= total[:, None], axis=1)
    return np.where(total > 0, ranks[order][middle], np.nan)


def _most_frequent(levels: IntArray, weights: FloatArray) -> IntArray:
    """The heaviest level of each region, ties to the first; missing only where nothing else is there."""
    is_level = levels[:, None] == np.arange(levels.max(initial=-1) + 1)
    mass = weights @ is_level.astype(np.float64)  # (K, levels)
    if mass.shape[1] == 0:
        return np.full(len(weights), -1, dtype=np.intp)
    return np.where(mass.max(axis=1) > 0, np.argmax(mass, axis=1), -1)


class AgainstCentres(Masked):
    """``F_T`` is ``F(x_T, b)`` with b the central row of the side that holds the row."""

    def __init__(self, evaluations: Evaluations, splits: Splits) -> None:
        if evaluations.coordinates is None:
            raise ValueError("the evaluations hold no coordinates")
        self.evaluations = evaluations
        self.splits = splits
        left_weights = splits.left_weights
        if splits.lines is not None:  # under lines of weights the baselines stay as they are
            left_weights = np.broadcast_to(splits.weights, splits.inside.shape)
        self.left_centres = central_rows(evaluations.coordinates, left_weights)  # (K,)
        self.right_centres = central_rows(evaluations.coordinates, splits.right_weights)  # (K,)

    def combined(self, terms: Terms) -> RowValues:
        """A linear combination of predictions against the central row, and of attributions."""
        of_row = self.splits.zeros
        total = np.zeros((self.splits.n_rows, self.splits.count))
        for term, coefficient in terms.items():
            if term == self.evaluations.everything:
                of_row = of_row + coefficient * self.evaluations.predictions
            else:
                on_left = self._against(term, self.left_centres)
                on_right = self._against(term, self.right_centres)
                total = total + coefficient * np.where(self.splits.members, on_left, on_right)
        return RowValues(of_row, parts=(as_part(total),))

    def averaged(self, coalition: Coalition, function: HybridFunction) -> RowValues:
        """A function of the one prediction behind ``F_T``."""
        masked = self.combined({coalition: 1.0}).array(self.splits)  # (n, K)
        # One baseline a split: its predictions are a single line of references.
        results = [function(predictions[None], slice(None))[0] for predictions in masked.T]
        part = as_part(np.stack(results, axis=1))
        return RowValues(self.splits.zeros, parts=(part,))

    def _against(self, term: Term, baseline_rows: IntArray) -> FloatArray:
        """``F(x_T, b)`` of every row for the baseline row b of each split, (n, K); (1, K) without visible columns."""
        if not term:
            return self.evaluations.predictions[baseline_rows][None, :]
        matrix, is_shown = self.evaluations.stored(term)
        matrix = replace(matrix, values=matrix.values)
        references = matrix.pairs.at(baseline_rows)
        return hybrid_predictions(matrix, references, matrix.pairs, is_shown=is_shown).T

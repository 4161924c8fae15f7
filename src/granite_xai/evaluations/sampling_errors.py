"""Standard errors of effects that are sampled over coalitions (docs/method.rst, C19).

A draw is a pair of opposite orders in which players arrive. Each draw gives an estimate of the effect, and the
effect is their mean: its standard error is the standard deviation of the draws over the root of their number.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, Terms
from granite_xai.evaluations.matrix import Matrix


class SamplingErrors:
    """Keeps the marginal masked model of every coalition at all rows, from which each draw is computed again.

    No matrix is kept: `add` is called while they are evaluated, `errors` when all are there.

    Parameters
    ----------
    predictions, weights : arrays of shape (n,)
    everything : coalition
        All columns.
    """

    def __init__(self, predictions: FloatArray, weights: FloatArray, everything: Coalition) -> None:
        self._everything = everything
        self._shares = weights / weights.sum()
        mean = np.full_like(predictions, np.average(predictions, weights=weights))
        self._masked: dict[Coalition, FloatArray] = {everything: predictions, frozenset(): mean}

    def add(self, store: Coalition, matrix: Matrix) -> None:
        """Keep the masked model of S and of its complement (docs/method.rst, "What the model is asked").

        Parameters
        ----------
        store : coalition
            S.
        matrix : Matrix
            ``E_S`` at all rows.
        """
        n_values = len(matrix.values)
        share_of_value = np.bincount(matrix.codes, weights=self._shares, minlength=n_values)
        mean_of_value = matrix.values @ self._shares
        self._masked[store] = mean_of_value[matrix.codes]
        self._masked[self._everything - store] = share_of_value @ matrix.values

    def errors(self, draws: Iterable[Terms]) -> FloatArray:
        """Standard error of the mean over the draws, (n,).

        Parameters
        ----------
        draws : iterable of terms
            The coefficients of coalitions in the effect of each draw.
        """
        effects = np.stack([self._effect(terms) for terms in draws])
        return np.asarray(effects.std(axis=0, ddof=1) / np.sqrt(len(effects)))

    def _effect(self, terms: Terms) -> FloatArray:
        """The effect of one draw at every row, (n,)."""
        parts = [
            coefficient * self._masked[coalition]
            for coalition, coefficient in terms.items()
            if isinstance(coalition, frozenset)
        ]
        return np.asarray(np.sum(parts, axis=0))

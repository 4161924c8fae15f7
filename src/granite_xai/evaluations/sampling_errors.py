"""Standard errors of effects that are sampled over coalitions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, Terms
from granite_xai.evaluations.matrix import Matrix


class SamplingErrors:
    """The marginal masked model of every coalition at all rows, combined draw by draw.

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
        """Keep the masked model of S and of its complement ("What the model is asked")."""
        share_of_value = np.bincount(
            matrix.codes, weights=self._shares, minlength=len(matrix.values)
        )
        self._masked[store] = (matrix.values @ self._shares)[matrix.codes]
        self._masked[self._everything - store] = share_of_value @ matrix.values

    def errors(self, draws: Iterable[Terms]) -> FloatArray:
        """Standard error of the mean over the draws, (n,)."""
        effects = np.stack([self._effect(terms) for terms in draws])
        return np.asarray(effects.std(axis=0, ddof=1) / np.sqrt(len(effects)))

    def _effect(self, terms: Terms) -> FloatArray:
        parts = [
            coefficient * self._masked[coalition]
            for coalition, coefficient in terms.items()
            if isinstance(coalition, frozenset)
        ]
        return np.asarray(np.sum(parts, axis=0))

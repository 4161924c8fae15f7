"""Pairwise attributions ``Phi[n, m]``: the effect of a set on row n against the single reference m.

A local effect under marginal masking is linear in ``R^T[n, m]``, so the sum over coalitions is taken before any
region is known:

    Phi[n, m] = sum over T of a_T R^T[n, m],     effect of row n in a region = mean of Phi[n, m] over its rows m
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, PairwiseShapley, Terms
from granite_xai.compute import Workspace
from granite_xai.evaluations.evaluations import Matrix


class PairwiseShapleySums:
    """Sums centred matrices ``E_S`` up as they are evaluated, so that none has to be kept."""

    def __init__(
        self, wanted: Mapping[PairwiseShapley, Terms], predictions: FloatArray, everything: Coalition, space: Workspace
    ) -> None:
        self._wanted, self._everything, self._space = wanted, everything, space
        self.values: dict[PairwiseShapley, FloatArray] = {}
        n = len(predictions)
        for term, terms in wanted.items():
            # The full coalition reads the row's own prediction, the empty one the reference's.
            own, reference = terms.get(everything, 0.0), terms.get(frozenset(), 0.0)
            self.values[term] = space.empty((n, n))
            for part in space.slices(n, 16 * n):
                self.values[term][part] = own * predictions[part, None] + reference * predictions[None, :]

    def add(self, store: Coalition, matrix: Matrix) -> None:
        """Add ``R^S`` and its transpose ``R^{-S}`` to every attribution that reads them."""
        count, n = matrix.values.shape
        for coalition in (store, self._everything - store):
            reading = {term: terms[coalition] for term, terms in self._wanted.items() if terms.get(coalition)}
            for part in self._space.slices(n if reading else 0, 8 * (2 * n + count)):
                if coalition == store:
                    lines = matrix.values[matrix.codes[part]]
                else:
                    lines = matrix.values[:, part].T.take(matrix.codes, axis=1)
                for term, coefficient in reading.items():
                    self.values[term][part] += coefficient * lines


class SamplingErrors:
    """Standard errors of sampled effects: the masked model of every coalition, combined draw by draw."""

    def __init__(self, predictions: FloatArray, weights: FloatArray, everything: Coalition) -> None:
        mean = np.full_like(predictions, np.average(predictions, weights=weights))
        self._masked: dict[Coalition, FloatArray] = {everything: predictions, frozenset(): mean}
        self._shares, self._everything = weights / weights.sum(), everything

    def add(self, store: Coalition, matrix: Matrix) -> None:
        """Keep the marginal masked model of ``store`` and of its complement."""
        by_value = np.bincount(matrix.codes, weights=self._shares, minlength=len(matrix.values))
        self._masked[store] = (matrix.values @ self._shares)[matrix.codes]
        self._masked[self._everything - store] = by_value @ matrix.values

    def errors(self, draws: Iterable[Terms]) -> FloatArray:
        """Standard error of the mean over the draws, one for each row."""
        known = self._masked
        parts = ([value * known[t] for t, value in terms.items() if isinstance(t, frozenset)] for terms in draws)
        effects = np.stack([np.sum(each, axis=0) for each in parts])
        return np.asarray(effects.std(axis=0, ddof=1) / np.sqrt(len(effects)))

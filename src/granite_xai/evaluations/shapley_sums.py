"""Pairwise attributions, summed up from matrices ``E_S`` while these are evaluated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, PairwiseShapley, Terms
from granite_xai.compute import slices
from granite_xai.evaluations.matrix import Matrix


class ShapleySums:
    """The effects ``Phi[n, m]`` of sets of columns on row n against the single reference row m.

    A local effect under marginal masking is linear in ``R^T[n, m]``, the prediction of row n with the
    columns outside T taken from row m. So the sum over coalitions is taken before any region is known:

        Phi[n, m] = sum over T of a_T R^T[n, m],

    and the effect of row n in a region is the mean of ``Phi[n, m]`` over its rows m. No matrix is kept.

    Parameters
    ----------
    coefficients : mapping of attribution to terms
        The coefficients a_T of each attribution.
    predictions : array of shape (n,)
        Centred.
    everything : coalition
        All columns.
    block : int
        Bytes of what is computed at a time.
    """

    def __init__(
        self,
        coefficients: Mapping[PairwiseShapley, Terms],
        predictions: FloatArray,
        everything: Coalition,
        block: int,
    ) -> None:
        self._coefficients = coefficients
        self._everything = everything
        self._block = block
        self.values: dict[PairwiseShapley, FloatArray] = {}
        n_rows = len(predictions)
        for attribution, terms in coefficients.items():
            # The full coalition reads the row's own prediction, the empty one the reference's.
            row_factor = terms.get(everything, 0.0)
            reference_factor = terms.get(frozenset(), 0.0)
            phi = np.empty((n_rows, n_rows))
            for part in slices(n_rows, 16 * n_rows, block):
                rows = row_factor * predictions[part, None]
                phi[part] = rows + reference_factor * predictions[None, :]
            self.values[attribution] = phi

    def add(self, store: Coalition, matrix: Matrix) -> None:
        """Add ``R^S``, and ``R^{D without S}``, which is ``R^S`` turned round, where they are read."""
        self._add_coalition(store, matrix, shown=True)
        self._add_coalition(self._everything - store, matrix, shown=False)

    def _add_coalition(self, coalition: Coalition, matrix: Matrix, shown: bool) -> None:
        factors = {
            attribution: terms[coalition]
            for attribution, terms in self._coefficients.items()
            if terms.get(coalition)
        }
        if not factors:
            return
        n_values, n_rows = matrix.values.shape
        row_bytes = 8 * (2 * n_rows + n_values)
        for part in slices(n_rows, row_bytes, self._block):
            if shown:
                hybrids = matrix.values[matrix.codes[part]]  # (rows, references)
            else:
                hybrids = matrix.values[:, part].T.take(matrix.codes, axis=1)
            for attribution, factor in factors.items():
                self.values[attribution][part] += factor * hybrids

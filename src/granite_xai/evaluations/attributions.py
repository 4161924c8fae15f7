"""Effects of every row against every single reference row, summed up while matrices are asked.

A local effect under marginal masking is linear in ``R_T[n, m]``, the prediction of row n with the columns
outside T taken from row m. So the sum over coalitions is taken before any region is known,

    Phi[n, m] = sum over T of a_T R_T[n, m],

and the effect of row n in a region is the mean of ``Phi[n, m]`` over its rows m. No matrix is kept.

Of sampled effects every draw (a pair of opposite orders of arrival) is computed again, against all
rows: the effect is their mean, and their standard deviation over the root of their number is its
standard error (C19).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from granite_xai.base.limits import slices
from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.evaluations.evaluations import Attribution, Matrix
from granite_xai.evaluations.request import Summed, Weighted


class Sums:
    """Attributions that grow with every matrix.

    Parameters
    ----------
    wanted : mapping of key to Summed
        Those without terms are left out: the paths of trees give them.
    f, weights : arrays of shape (n,)
        Centred predictions of the rows, and their weights.
    n_columns : int
    block : int
        Bytes of what is computed at a time.
    """

    def __init__(
        self,
        wanted: Mapping[Hashable, Summed],
        f: FloatArray,
        weights: FloatArray,
        n_columns: int,
        block: int,
    ) -> None:
        self._wanted = {key: summed for key, summed in wanted.items() if summed.terms}
        self._everything = Coalition(range(n_columns))
        self._shares = weights / weights.sum()
        self._block = block
        # The masked model of each coalition against all rows, (n,): what draws are made of.
        mean = np.full_like(f, self._shares @ f)
        self._masked: dict[Coalition, FloatArray] = {self._everything: f, Coalition(): mean}
        self._phi: dict[Hashable, FloatArray] = {}
        for key, summed in self._wanted.items():
            # With everything visible the row's own prediction is read, with nothing the reference's.
            of_row = summed.terms.get(self._everything, 0.0) * f
            of_reference = summed.terms.get(Coalition(), 0.0) * f
            self._phi[key] = of_row[:, None] + of_reference

    def add(self, columns: Coalition, matrix: Matrix) -> None:
        """Add ``R_S``, and R of the other columns, which is ``R_S`` turned round, where they are read."""
        if not self._wanted:
            return
        values, codes = matrix.values, matrix.codes
        others = self._everything - columns
        if any(summed.draws for summed in self._wanted.values()):
            share_of_value = np.bincount(codes, weights=self._shares, minlength=values.shape[1])
            self._masked[columns] = (self._shares @ values)[codes]
            self._masked[others] = values @ share_of_value
        for coalition in (columns, others):
            factors = {
                key: summed.terms[coalition]
                for key, summed in self._wanted.items()
                if summed.terms.get(coalition)
            }
            if not factors:
                continue
            for part in slices(len(values), 8 * (2 * len(values) + values.shape[1]), self._block):
                if coalition == columns:
                    hybrids = values[:, codes[part]].T  # row n on S, row m elsewhere
                else:
                    hybrids = values[part][:, codes]  # row m on S, row n elsewhere
                for key, factor in factors.items():
                    self._phi[key][part] += factor * hybrids

    def attributions(self) -> dict[Hashable, Attribution]:
        """What was summed up, with the errors of what is sampled."""
        attributions = {}
        for key, summed in self._wanted.items():
            errors = None
            if summed.draws:
                effects = np.stack([self._effect(draw) for draw in summed.draws])
                errors = effects.std(axis=0, ddof=1) / np.sqrt(len(effects))
            attributions[key] = Attribution(self._phi[key], errors)
        return attributions

    def _effect(self, terms: Weighted) -> FloatArray:
        """The effect of one draw at every row, against all rows, (n,)."""
        effect = np.zeros_like(self._masked[self._everything])
        for coalition, coefficient in terms.items():
            effect += coefficient * self._masked[coalition]
        return effect

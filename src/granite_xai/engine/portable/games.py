"""The value ``nu(T)`` of each term by plain products, for a batch of splits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from granite_xai.base.typing import AleDifference, Coalition, FloatArray, JansenTotal, PairwiseShapley, Term, Terms
from granite_xai.behavior.behavior import Behavior, Risk
from granite_xai.engine.portable.arithmetic import Arithmetic, Array
from granite_xai.engine.portable.masked import Masked
from granite_xai.masking.masking import Baseline


@dataclass(frozen=True, eq=False)
class Game:
    """``nu(T)`` in every region: (K, n) for behaviors with one value a row, otherwise (K, 2) in float64."""

    behavior: Behavior
    masked: Masked
    twice: frozenset[Term] = frozenset()
    known: dict[Term, Array] = field(default_factory=dict)

    @property
    def arithmetic(self) -> Arithmetic:
        """Where and in what numbers."""
        return self.masked.arithmetic

    def combine(self, terms: Terms) -> Array:
        """The linear combination of values that makes an effect, or a gap between two effects."""
        total = None
        for term, coefficient in terms.items():
            part = coefficient * self(term)
            total = part if total is None else total + part
        return self.arithmetic.array(np.zeros((1, 1))) if total is None else total

    def __call__(self, term: Term) -> Array:
        """Value of a term; those that several sets read are computed once."""
        if term in self.known:
            return self.known[term]
        value = self._value(term)
        if term in self.twice:
            self.known[term] = value
        return value

    def _value(self, term: Term) -> Array:
        if isinstance(term, AleDifference):
            raise TypeError("changes along a column are no part of this")  # see why_not
        if isinstance(term, PairwiseShapley):
            return self.masked.attribution(term)
        if isinstance(term, JansenTotal):
            return self._total(term.hidden)
        if isinstance(self.behavior, Risk):
            losses = self._losses(self.behavior, term)
            return -losses if self.behavior.pointwise else -self.masked.sides.means(losses)
        return self.masked(term) if self.behavior.per_row else self.masked.sides.variances(self.masked(term))

    def _total(self, hidden: Coalition) -> Array:
        if isinstance(self.masked.masking, Baseline):  # one reference row: nothing is redrawn
            return self.arithmetic.array(np.zeros((1, 2)), self.arithmetic.wide)
        return self.masked.total_variance(hidden)

    def _losses(self, behavior: Risk, coalition: Coalition) -> Array:
        masked, evaluations = self.masked, self.masked.evaluations
        y = evaluations.target
        everything = coalition == evaluations.everything
        if behavior.average == "prediction" or everything or isinstance(masked.masking, Baseline):
            return self._loss(behavior, masked(coalition), y[None])
        if not coalition:  # every row's y against every reference's prediction
            losses = self._loss(behavior, masked.predictions.T, y[None])
            return self.arithmetic.cast(masked.pairwise(coalition, losses))
        store, shown = evaluations.places[coalition]
        values, codes = masked.moved.matrix(store, evaluations, masked.rows)
        if not shown:
            return self.arithmetic.cast(masked.hidden(coalition, self._loss(behavior, values, y[None]), codes))
        lines = self.arithmetic.xp.take(values, self.arithmetic.numbers(codes), axis=0)
        return self.arithmetic.cast(masked.pairwise(coalition, self._loss(behavior, lines, y[:, None]).T))

    def _loss(self, behavior: Risk, values: Array, y: FloatArray) -> Array:
        """Losses of centred predictions; ``pivot - y`` is one number, so that a large pivot costs no digits."""
        arithmetic, pivot = self.arithmetic, self.masked.evaluations.pivot
        if behavior.loss == "log":
            return arithmetic.cast(self._log_loss(values, y))
        residuals = values + arithmetic.array(pivot - y)
        return arithmetic.xp.abs(residuals) if behavior.loss == "absolute" else residuals**2

    def _log_loss(self, values: Array, y: FloatArray) -> Array:
        """In float64: next to 0 and 1 a probability has no digits left in float32."""
        arithmetic, xp = self.arithmetic, self.arithmetic.xp
        p = arithmetic.cast(values, arithmetic.wide) + self.masked.evaluations.pivot
        p = xp.clip(p, 1e-15, 1 - 1e-15)
        return xp.where(arithmetic.flags(y > 0.5), -xp.log(p), -xp.log1p(-p))

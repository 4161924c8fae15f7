"""The value ``nu(T)`` of each coalition, for a batch of splits at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from granite_xai.base.typing import AleDifference, Coalition, FloatArray, JansenTotal, PairwiseShapley, Term, Terms
from granite_xai.behavior.behavior import RESIDUAL_LOSSES, Behavior, Risk
from granite_xai.engine.fused import mean_residual_loss
from granite_xai.engine.masked import MaskedModel, bin_means
from granite_xai.engine.membership import Splits
from granite_xai.evaluations.evaluations import Bins, Evaluations


@dataclass(frozen=True, slots=True)
class RegionalGame:
    """``nu(T)`` in every region of a batch of splits.

    Values have shape (K, n) for behaviors with one value a row (each row in its own region), otherwise (K, 2),
    one for each side.
    """

    behavior: Behavior
    masked: MaskedModel
    evaluations: Evaluations
    splits: Splits
    shared: dict[Term, FloatArray] = field(default_factory=dict)
    starts: dict[frozenset[tuple[Term, float]], FloatArray] = field(default_factory=dict)

    def __call__(self, term: Term) -> FloatArray:
        """Value of a coalition, Jansen's total variance of a set, or its mean pairwise attribution."""
        if term in self.shared:
            return self.shared[term]
        if isinstance(term, AleDifference):
            return self._change(term)
        if isinstance(term, PairwiseShapley):
            return self.masked.attribution(term)
        if isinstance(term, JansenTotal):
            return self.masked.total_variance(term.hidden)
        if isinstance(self.behavior, Risk):
            return self._risk(self.behavior, term)
        return self.masked(term) if self.behavior.per_row else self.masked.variances(term)

    def share(self, terms: set[Term]) -> None:
        """Compute terms that several sets read once and keep them."""
        for term in terms - self.shared.keys():
            self.shared[term] = self(term)

    def combine(self, terms: Terms) -> FloatArray:
        """The linear combination of values that makes an effect, or a gap between two effects."""
        total = self._start({term: value for term, value in terms.items() if term in self.shared})
        for term, coefficient in terms.items():
            if term in self.shared:
                continue
            if self.behavior.key == "local" and isinstance(term, frozenset):
                self.masked.add(total, coefficient, term)
            else:
                total += coefficient * self(term)
        return total

    def _start(self, terms: Terms) -> FloatArray:
        """The part of a combination that is the same for several sets, as an array that may be written."""
        key = frozenset(terms.items())
        if key not in self.starts:
            start = np.zeros(self.splits.inside.shape if self.behavior.per_row else self.splits.mass.shape)
            for term, coefficient in terms.items():
                start += coefficient * self.shared[term]
            self.starts[key] = start
        return self.starts[key].copy()

    def _change(self, term: AleDifference) -> FloatArray:
        changes, intervals = self.evaluations.changes[term.column]
        if not term.averaged:
            return changes[None]
        return bin_means(changes, Bins.of(intervals), self.splits)

    def _risk(self, behavior: Risk, coalition: Coalition) -> FloatArray:
        residual_loss = RESIDUAL_LOSSES.get(behavior.loss) if isinstance(behavior.loss, str) else None
        if behavior.average == "loss":
            losses = self.masked.mean_loss(coalition, behavior.function)
        elif residual_loss is not None:
            own = self.evaluations.pivot - self.evaluations.target
            squared = residual_loss is np.square
            means = None if behavior.pointwise else mean_residual_loss(self.masked, coalition, own, squared=squared)
            if means is not None:
                return -means
            residuals = np.broadcast_to(own, self.splits.inside.shape).copy()
            self.masked.add(residuals, 1.0, coalition)
            losses = residual_loss(residuals, out=residuals)
        else:
            predictions = self.masked(coalition) + self.evaluations.pivot
            losses = behavior.function(predictions, np.broadcast_to(self.evaluations.target, predictions.shape))
        return -losses if behavior.pointwise else -self.splits.means(losses)


def read_twice(combinations: Sequence[Terms]) -> set[Term]:
    """Terms that more than one set reads."""
    seen: set[Term] = set()
    twice: set[Term] = set()
    for terms in combinations:
        twice |= seen & terms.keys()
        seen |= terms.keys()
    return twice

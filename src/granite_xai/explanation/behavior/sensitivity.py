"""Sensitivity: the variance of the masked prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import JansenTotal, Term, Terms
from granite_xai.base.validation import unknown
from granite_xai.compute.primitives import MOMENTS, Array
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import sensitivity_error
from granite_xai.explanation.behavior.behavior import Behavior, Game
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking import Masking


@dataclass(frozen=True, slots=True)
class Sensitivity(Behavior):
    """The variance of the masked prediction over the region: ``nu(T) = Var[F_T]``.

    Parameters
    ----------
    total : "difference" or "jansen"
        How a full effect is measured: ``Var F - Var F_{-S}``, or Jansen's mean variance of F when the
        columns of S are redrawn. They are equal for independent columns; on dependent ones the
        difference contains covariances and can be negative.

    Examples
    --------
    >>> Sensitivity(total="jansen").total
    'jansen'
    """

    total: str = "difference"
    key: ClassVar[str] = "sensitivity"

    def __post_init__(self) -> None:
        if self.total not in ("difference", "jansen"):
            raise unknown("total", self.total, ("difference", "jansen"))

    def terms(
        self, interaction: str, sets: PlayersAndSets, masking: Masking
    ) -> tuple[Terms, ...] | None:
        """Jansen's total variance of each set, for full effects."""
        if self.total != "jansen" or interaction != "full":
            return None
        if sets.order > 1 or not masking.redraws:
            where = "full effects of columns and groups under marginal or conditional masking"
            hint = "Use total='difference' for interactions and for baseline masking."
            message = f"Sensitivity(total='jansen') is defined for {where}."
            raise InputError(message, code="P03", argument="total", hint=hint)
        return tuple({JansenTotal(member): 1.0} for (member,) in sets.sets)

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """``2 sd(F) delta + delta²``."""
        variance = Splits.whole(evaluations.weights).variances(evaluations.predictions[None])[0, 0]
        return sensitivity_error(delta, float(np.sqrt(variance)))

    def value(self, game: Game, term: Term) -> Array:
        """The variance of ``F_T`` on both sides, or Jansen's total variance."""
        if isinstance(term, JansenTotal):
            return game.masked.total_variance(term.hidden)
        splits, values = game.splits, game.masked.combined({term: 1.0})
        if not term:  # the same for all rows
            return splits.primitives.array(np.zeros((2, splits.count)))
        if values.tiled is None:
            mean = (values.sums(MOMENTS, splits) * splits.scale)[0, :, :]
            values = values._replace(at=-mean if values.at is None else values.at - mean)
        else:  # read once: centred by the mean prediction, which is near
            values = game.masked.combined({term: 1.0, frozenset(): -1.0})
        moments = values.sums(MOMENTS, splits) * splits.scale
        return moments[1, :, :] - moments[0, :, :] ** 2

"""Sensitivity: the variance of the masked prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.typing import FloatArray, JansenTotal, Term, Terms
from granite_xai.compute.primitives import MOMENTS
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import sensitivity_error
from granite_xai.explanation.behavior.behavior import Behavior, Game
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking import Masking

TOTALS = ("difference", "jansen")


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
        if self.total not in TOTALS:
            raise unknown("total", self.total, TOTALS)

    def terms(
        self, interaction: str, sets: PlayersAndSets, masking: Masking
    ) -> tuple[Terms, ...] | None:
        """Jansen's total variance of each set (C5), for full effects."""
        if self.total != "jansen" or interaction != "full":
            return None
        if sets.order > 1 or not masking.redraws:
            raise InputError(
                "Sensitivity(total='jansen') is defined for full effects of features and groups under marginal or "
                "conditional masking.",
                code="P03",
                argument="total",
                hint="Use total='difference' for interactions and for baseline masking.",
            )
        return tuple({JansenTotal(member): 1.0} for (member,) in sets.sets)

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """``2 sd(F) delta + delta²`` (C4)."""
        all_rows = Splits.whole(evaluations.weights)
        variance = all_rows.variances(evaluations.predictions[None])[0, 0]
        return sensitivity_error(delta, float(np.sqrt(variance)))

    def value(self, game: Game, term: Term) -> FloatArray:
        """The variance of ``F_T`` on both sides of every split, or Jansen's total variance (C5), (2, K)."""
        if isinstance(term, JansenTotal):
            return game.masked.total_variance(term.hidden)
        splits = game.splits
        if not term:  # F without visible columns is the same for all rows
            return np.zeros((2, splits.count))
        moments = self._centred(game, term).sums(MOMENTS, splits) * splits.scale  # (2, 2, K)
        mean = moments[0, :, :]
        mean_square = moments[1, :, :]
        return mean_square - mean**2

    def _centred(self, game: Game, term: Term) -> RowValues:
        """``F_T`` minus a number near its mean on each side: its variance then loses no digits to a large mean.

        The number is the mean itself, where values can be read twice. What is made in tiles can be read only once: then
        it is the mean prediction of the side, which is near.
        """
        values = game.masked.combined({term: 1.0})
        if values.tiled is not None:
            return game.masked.combined({term: 1.0, frozenset(): -1.0})
        means = (values.sums(MOMENTS, game.splits) * game.splits.scale)[0, :, :]
        level = -means if values.of_side is None else values.of_side - means
        return values._replace(of_side=level)

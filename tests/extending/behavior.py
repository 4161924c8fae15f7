"""A behavior: the standard deviation of the masked prediction, in the units of the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from granite_xai.behavior import Sensitivity
from granite_xai.behavior.behavior import Behavior


@dataclass(frozen=True, slots=True)
class Deviation(Behavior):
    """The standard deviation of the masked prediction over the region: ``nu(T) = sd[F_T]``."""

    key: ClassVar[str] = "deviation"

    def error(self, delta, evaluations):
        """That of a prediction."""
        return delta

    def value(self, game, term):
        """The root of the variance on both sides, (2, K)."""
        xp = game.splits.primitives.xp
        variance = Sensitivity().value(game, term)
        return xp.sqrt(xp.where(variance > 0, variance, xp.zeros_like(variance)))

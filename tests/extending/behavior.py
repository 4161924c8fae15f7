"""A behavior: the mean absolute deviation of the masked prediction, a measure of spread that outliers move less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from granite_xai.compute.primitives import ABSOLUTE, MOMENTS
from granite_xai.explanation.behavior.behavior import Behavior, Game

from granite_xai.base.typing import FloatArray, Term
from granite_xai.evaluations.evaluations import Evaluations


@dataclass(frozen=True, slots=True)
class Deviation(Behavior):
    """How far masked predictions of a region lie from their mean: ``nu(T) = mean |F_T - mean F_T|``."""

    key: ClassVar[str] = "deviation"

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """A prediction and the mean may both be off."""
        return 2 * delta

    def value(self, game: Game, term: Term) -> FloatArray:
        """Sums over both sides of every split: first the means, then the distances from them."""
        splits = game.splits
        means = (
            game.masked.combined({term: 1.0}).sums(MOMENTS, splits)[0, :, :] * splits.scale[0, :, :]
        )
        values = game.masked.combined({term: 1.0})
        level = -means if values.of_side is None else values.of_side - means
        centred = values._replace(of_side=level)
        return centred.sums(ABSOLUTE, splits)[0, :, :] * splits.scale[0, :, :]

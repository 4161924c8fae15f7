"""Risk: minus the loss of the masked prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.typing import PairLoss, Term
from granite_xai.base.validation import unknown
from granite_xai.compute.primitives import MOMENTS, Array
from granite_xai.engine.row_values import HybridFunction
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import risk_error
from granite_xai.explanation.behavior.behavior import Behavior, Game
from granite_xai.explanation.behavior.losses import LOSSES, Loss, risk_loss


@dataclass(frozen=True, slots=True)
class Risk(Behavior):
    """Minus the loss of the masked prediction: ``nu(T) = -mean L(F_T(x), y)``.

    Parameters
    ----------
    loss : str or callable, optional
        ``"squared"``, ``"absolute"``, ``"log"``, ``"brier"`` or ``loss(prediction, y)`` applied cell by
        cell. None: log loss when a probability is explained, otherwise squared error.
    average : "prediction" or "loss"
        The loss of the averaged prediction, or the averaged loss (classic permutation importance).
    pointwise : bool
        One value a row instead of one a region.

    Examples
    --------
    >>> Risk(loss="absolute").needs_y
    True
    """

    loss: str | PairLoss | None = None
    average: str = "prediction"
    pointwise: bool = False
    key: ClassVar[str] = "risk"
    needs_y: ClassVar[bool] = True

    def __post_init__(self) -> None:
        risk_loss("squared" if self.loss is None else self.loss)
        if self.average not in ("prediction", "loss"):
            raise unknown("average", self.average, ("prediction", "loss"))

    @property
    def per_row(self) -> bool:  # type: ignore[override]
        """Whether the value is one number a row."""
        return self.pointwise

    @property
    def needs_probability(self) -> str | None:  # type: ignore[override]
        """The loss, where it is one of probabilities."""
        return (
            self.loss if isinstance(self.loss, str) and LOSSES[self.loss].of_probability else None
        )

    def resolved(self, is_probability: bool) -> Risk:
        """The same behavior with its loss decided."""
        return (
            self
            if self.loss is not None
            else replace(self, loss="log" if is_probability else "squared")
        )

    @property
    def _loss(self) -> Loss:
        return risk_loss("squared" if self.loss is None else self.loss)

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """The largest change of the mean loss, of the model and of its mean, when predictions move by ``delta``."""
        predictions, weights = evaluations.predictions + evaluations.offset, evaluations.weights
        return risk_error(
            delta, self._loss.pair, predictions, evaluations.offset, evaluations.target, weights
        )

    def value(self, game: Game, term: Term) -> Array:
        """Minus the loss of ``F_T``, of each row or averaged over both sides."""
        if not isinstance(term, frozenset):
            raise TypeError(f"{term} is no coalition")
        splits, P, loss = game.splits, game.splits.primitives, self._of(game)
        averaged = self.average == "loss" and term != game.evaluations.everything
        values = game.masked.averaged(term, loss) if averaged else game.masked.combined({term: 1.0})
        if self.pointwise:
            found = values.array(splits)
            return -found if averaged else -P.array(loss(P.host(found).T, slice(None)).T)
        if averaged:
            sums = values.sums(MOMENTS, splits)
        elif self._loss.mode is None:
            sums = values.sums(MOMENTS, splits, lambda found, rows: loss(found.T, rows).T)
        else:
            own = P.array(game.evaluations.offset - game.evaluations.target)
            sums = values._replace(own=values.own + own).sums(self._loss.mode, splits)
        return -sums[0, :, :] * splits.scale[0, :, :]

    def _of(self, game: Game) -> HybridFunction:
        """The loss of centred predictions (m, c) of some rows c."""
        offset, y, pair = game.evaluations.offset, game.evaluations.target, self._loss.pair
        return lambda found, rows: pair(found + offset, np.broadcast_to(y[rows], found.shape))

"""Risk: minus the loss of the masked prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.options import unknown
from granite_xai.base.typing import Coalition, FloatArray, PairLoss, Term
from granite_xai.compute.primitives import MOMENTS
from granite_xai.engine.row_values import HybridFunction, RowIndex
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import risk_error
from granite_xai.explanation.behavior.behavior import Behavior, Game
from granite_xai.explanation.behavior.losses import LOSSES, Loss, risk_loss

AVERAGES = ("prediction", "loss")


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
        One value for each row instead of one for each region.

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
        if self.average not in AVERAGES:
            raise unknown("average", self.average, AVERAGES)

    @property
    def per_row(self) -> bool:  # type: ignore[override]
        """Whether there is a value for each row."""
        return self.pointwise

    @property
    def needs_probability(self) -> str | None:  # type: ignore[override]
        """The name of the loss, where that is defined for probabilities only."""
        if isinstance(self.loss, str) and LOSSES[self.loss].of_probability:
            return self.loss
        return None

    def resolved(self, is_probability: bool) -> Risk:
        """The same behavior with its loss decided: log loss of a probability, otherwise squared error."""
        if self.loss is not None:
            return self
        return replace(self, loss="log" if is_probability else "squared")

    @property
    def _loss(self) -> Loss:
        return risk_loss("squared" if self.loss is None else self.loss)

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Largest change of a mean loss when predictions move by ``delta`` (C4).

        The mean losses are those of the model and of its mean prediction.
        """
        return risk_error(
            delta,
            self._loss.of_predictions,
            evaluations.predictions + evaluations.offset,
            evaluations.offset,
            evaluations.target,
            evaluations.weights,
        )

    def value(self, game: Game, term: Term) -> FloatArray:
        """Minus the loss of ``F_T``: of each row, (n, K), or its mean on both sides of every split, (2, K)."""
        if not isinstance(term, frozenset):
            raise TypeError(f"{term} is no coalition")
        # With all columns visible nothing is averaged, and the loss is that of the prediction.
        if self.average == "loss" and term != game.evaluations.everything:
            return self._mean_of_losses(game, term)
        return self._loss_of_mean(game, term)

    def _mean_of_losses(self, game: Game, coalition: Coalition) -> FloatArray:
        """C7: the loss of every single prediction behind ``F_T``, averaged like the predictions."""
        losses = game.masked.averaged(coalition, self._loss_function(game))
        if self.pointwise:
            return -losses.array(game.splits)
        return -_side_means(losses.sums(MOMENTS, game.splits), game.splits)

    def _loss_of_mean(self, game: Game, coalition: Coalition) -> FloatArray:
        """The loss of ``F_T``, which is a mean of predictions.

        The engine has one line a row, (rows, K); a loss function takes one column a row: arrays are turned on the way
        to it, and back.
        """
        splits = game.splits
        loss_function = self._loss_function(game)
        predictions = game.masked.combined({coalition: 1.0})
        if self.pointwise:
            written = predictions.array(splits)  # (n, K)
            return -np.asarray(loss_function(written.T, slice(None)).T, dtype=np.float64)
        mode = self._loss.mode
        if mode is None:
            losses = predictions.sums(
                MOMENTS, splits, lambda values, rows: loss_function(values.T, rows).T
            )
        else:  # a function of prediction minus y, which the engine adds up in one pass
            level = game.evaluations.offset - game.evaluations.target  # (n,)
            residuals = predictions._replace(of_row=predictions.of_row + level)
            losses = residuals.sums(mode, splits)
        return -_side_means(losses, splits)

    def _loss_function(self, game: Game) -> HybridFunction:
        """The loss as a function of the centred predictions (m, c) of c rows, and of these rows."""
        evaluations = game.evaluations
        loss = self._loss

        def losses(centred_predictions: FloatArray, rows: RowIndex) -> FloatArray:
            target = np.broadcast_to(evaluations.target[rows], centred_predictions.shape)
            return loss.of_predictions(centred_predictions + evaluations.offset, target)

        return losses


def _side_means(sums: FloatArray, splits: Splits) -> FloatArray:
    """Means over both sides of every split, (2, K), from weighted sums (2, 2, K), whose first line holds values."""
    return sums[0, :, :] * splits.scale[0, :, :]

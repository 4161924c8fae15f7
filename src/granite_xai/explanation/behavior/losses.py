"""Losses: of a gap between two explanations, or of a prediction against y. One table, one line a loss with a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Elementwise, FloatArray, PairLoss
from granite_xai.base.validation import unknown
from granite_xai.compute.primitives import ABSOLUTE, SQUARE
from granite_xai.models.output import first_line


class Loss(NamedTuple):
    """A loss, applied cell by cell."""

    of_gap: Elementwise | None = (
        None  # the loss of a difference; None: it is no function of prediction minus y
    )
    of_pair: PairLoss | None = (
        None  # the loss of predictions and targets; None: that of their difference
    )
    mode: int | None = (
        None  # how the engine adds it up in one pass; None: value by value, as any loss
    )
    of_probability: bool = (
        False  # whether it is defined for probabilities only; such a loss is none of gaps
    )

    def pair(self, prediction: FloatArray, y: FloatArray) -> FloatArray:
        """Losses of some predictions."""
        return self.gap(prediction - y) if self.of_pair is None else self.of_pair(prediction, y)

    def gap(self, gaps: FloatArray) -> FloatArray:
        """Losses of some differences."""
        if self.of_gap is None:
            raise TypeError("this loss is none of differences")
        return self.of_gap(gaps)


def _log_loss(prediction: FloatArray, y: FloatArray) -> FloatArray:
    p = np.clip(prediction, 1e-15, 1 - 1e-15)
    return np.asarray(-(y * np.log(p) + (1 - y) * np.log1p(-p)))


LOSSES: dict[str, Loss] = {
    "squared": Loss(np.square, mode=SQUARE),
    "absolute": Loss(np.abs, mode=ABSOLUTE),
    "log": Loss(of_pair=_log_loss, of_probability=True),
    "brier": Loss(np.square, mode=SQUARE, of_probability=True),
}


def gap_loss(loss: str | Elementwise) -> Loss:
    """The loss of a gap: a named one, or the user's own, which is checked whenever it is used (T07)."""
    if callable(loss):
        return Loss(OwnLoss(loss, "loss", "gaps"))
    named = [
        name for name, each in LOSSES.items() if each.of_gap is not None and not each.of_probability
    ]
    if loss not in named:
        raise unknown("loss", loss, named)
    return LOSSES[loss]


def risk_loss(loss: str | PairLoss) -> Loss:
    """The loss of a prediction: a named one, or the user's own, which is checked whenever it is used (T07)."""
    if callable(loss):
        return Loss(of_pair=OwnLoss(loss, "risk_loss", "predictions"))
    if loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    return LOSSES[loss]


@dataclass(frozen=True, slots=True)
class OwnLoss:
    """A user's own loss, which must return finite numbers ≥ 0 of the shape it was given (T07)."""

    loss: Callable[..., Any]
    argument: str
    what: str

    def __call__(self, *given: FloatArray) -> FloatArray:
        """Losses of some cells; the loss gets copies, which it may write to."""
        cells, hint = (
            np.broadcast_arrays(*given),
            f"Return one finite number ≥ 0 for each of the {self.what}.",
        )
        try:
            losses = np.asarray(self.loss(*(np.array(each) for each in cells)))
        except Exception as error:  # the user's function may raise anything
            name = getattr(self.loss, "__name__", type(self.loss).__name__)
            message = f"the loss {name} raised {type(error).__name__} ({first_line(error)}) at {self.what} of shape"
            raise InputError(
                f"{message} {cells[0].shape}.", code="T07", argument=self.argument, hint=hint
            ) from error
        shape, numbers = cells[0].shape, losses.dtype.kind in "fiub"
        if (
            losses.shape != shape
            or not numbers
            or not np.all(np.isfinite(losses))
            or np.any(losses < 0)
        ):
            message = f"the loss returned {losses.dtype} of shape {losses.shape} for {self.what} of shape {shape}, "
            message += "or values that are negative or not finite."
            raise InputError(message, code="T07", argument=self.argument, hint=hint)
        return losses.astype(np.float64, copy=False)

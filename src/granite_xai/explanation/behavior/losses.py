"""Losses that are applied cell by cell.

They are losses of predictions against a target, or of gaps between two explanations. The named ones stand in one
table; a function of the user's is a loss that is checked whenever it is used (T07).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.text import error_text
from granite_xai.base.typing import Elementwise, FloatArray, PairLoss
from granite_xai.compute.primitives import ABSOLUTE, SQUARE

LEAST_PROBABILITY = 1e-15  # log loss clips probabilities to between this and 1 minus this (C18)


class Loss(NamedTuple):
    """A loss, applied cell by cell.

    Parameters
    ----------
    gap_function : callable, optional
        The loss of a difference; None: it is no function of prediction minus y.
    pair_function : callable, optional
        The loss of predictions and targets; None: that of their difference.
    mode : int, optional
        How the engine adds it up in one pass (`compute.primitives`); None: value by value, as any function.
    of_probability : bool
        Whether it is defined for probabilities only; such a loss is none of gaps.
    """

    gap_function: Elementwise | None = None
    pair_function: PairLoss | None = None
    mode: int | None = None
    of_probability: bool = False

    @property
    def has_gaps(self) -> bool:
        """Whether it is a loss of gaps between explanations, too."""
        return self.gap_function is not None and not self.of_probability

    def of_predictions(self, prediction: FloatArray, y: FloatArray) -> FloatArray:
        """Loss of each prediction against its target; both arrays have one shape, and so have the losses."""
        if self.pair_function is None:
            return self.of_gaps(prediction - y)
        return self.pair_function(prediction, y)

    def of_gaps(self, gaps: FloatArray) -> FloatArray:
        """Loss of each difference, in the shape of the differences."""
        if self.gap_function is None:
            raise TypeError("this loss is none of differences")
        return self.gap_function(gaps)


def _log_loss(prediction: FloatArray, y: FloatArray) -> FloatArray:
    """``-(y log p + (1 - y) log(1 - p))``."""
    p = np.clip(prediction, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.asarray(-(y * np.log(p) + (1 - y) * np.log1p(-p)))


LOSSES: dict[str, Loss] = {
    "squared": Loss(gap_function=np.square, mode=SQUARE),
    "absolute": Loss(gap_function=np.abs, mode=ABSOLUTE),
    "log": Loss(pair_function=_log_loss, of_probability=True),
    "brier": Loss(gap_function=np.square, mode=SQUARE, of_probability=True),
}


def gap_loss(loss: str | Elementwise) -> Loss:
    """The loss of the gap between two explanations (C16).

    Parameters
    ----------
    loss : str or callable
        A name, or a function of an array of gaps.

    Raises
    ------
    InputError
        P01 for an unknown name.
    """
    if callable(loss):
        return Loss(gap_function=CheckedLoss(loss, argument="loss", what="gaps"))
    names = [name for name, entry in LOSSES.items() if entry.has_gaps]
    if loss not in names:
        raise unknown("loss", loss, names)
    return LOSSES[loss]


def risk_loss(loss: str | PairLoss) -> Loss:
    """The loss of a prediction.

    Parameters
    ----------
    loss : str or callable
        A name, or a function of an array of predictions and one of targets.

    Raises
    ------
    InputError
        P01 for an unknown name.
    """
    if callable(loss):
        return Loss(pair_function=CheckedLoss(loss, argument="risk_loss", what="predictions"))
    if loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    return LOSSES[loss]


@dataclass(frozen=True, slots=True)
class CheckedLoss:
    """A user's loss, which must return finite numbers ≥ 0 in the shape of its arguments (T07).

    Parameters
    ----------
    loss : callable
    argument : str
        The argument it was passed as, for messages.
    what : str
        What it is a loss of, for messages.
    """

    loss: Callable[..., Any]
    argument: str
    what: str

    def __call__(self, *arguments: FloatArray) -> FloatArray:
        """Losses cell by cell; the function gets copies, which it may write to."""
        arrays = np.broadcast_arrays(*arguments)
        shape = arrays[0].shape
        try:
            losses = np.asarray(self.loss(*(np.array(array) for array in arrays)))
        except Exception as error:  # the user's function may raise anything
            name = getattr(self.loss, "__name__", type(self.loss).__name__)
            raise self._refusal(
                f"the loss {name} raised {type(error).__name__} ({error_text(error)}) at {self.what} of shape {shape}."
            ) from error
        if losses.shape != shape or not _are_losses(losses):
            raise self._refusal(
                f"the loss returned {losses.dtype} of shape {losses.shape} for {self.what} of shape {shape}, or values "
                "that are negative or not finite."
            )
        return losses.astype(np.float64, copy=False)

    def _refusal(self, message: str) -> InputError:
        return InputError(
            message,
            code="T07",
            argument=self.argument,
            hint=f"Return one finite number ≥ 0 for each of the {self.what}.",
        )


def _are_losses(values: np.ndarray[Any, Any]) -> bool:
    """Whether values are finite numbers ≥ 0."""
    is_numeric = values.dtype.kind in "fiub"
    return is_numeric and bool(np.all(np.isfinite(values)) and np.all(values >= 0))

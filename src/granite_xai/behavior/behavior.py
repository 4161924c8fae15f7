"""Behavior: which aspect of the masked model counts as its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.typing import FloatArray, PairLoss


def _log_loss(prediction: FloatArray, y: FloatArray) -> FloatArray:
    p = np.clip(prediction, 1e-15, 1 - 1e-15)
    return np.where(y > 0.5, -np.log(p), -np.log1p(-p))


def _squared(prediction: FloatArray, y: FloatArray) -> FloatArray:
    return np.square(prediction - y)


def _absolute(prediction: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(prediction - y)


RISK_LOSSES: dict[str, PairLoss] = {
    "squared": _squared,
    "absolute": _absolute,
    "log": _log_loss,
    "brier": _squared,
}
RESIDUAL_LOSSES: dict[str, np.ufunc] = {"squared": np.square, "absolute": np.abs, "brier": np.square}
"""The losses that depend on prediction minus y alone."""
PROBABILITY_LOSSES = frozenset({"log", "brier"})


@dataclass(frozen=True, slots=True)
class CheckedLoss:
    """A user's own loss, which must return finite numbers ≥ 0 of the shape it was given (T07).

    Examples
    --------
    >>> CheckedLoss(lambda prediction, y: abs(prediction - y))(np.array([1.0, 2.0]), np.array([3.0, 3.0]))
    array([2., 1.])
    """

    loss: PairLoss

    def __call__(self, prediction: FloatArray, y: FloatArray) -> FloatArray:
        """Losses of some predictions; the loss gets copies, which it may write to."""
        given = np.broadcast_arrays(prediction, y)
        losses = np.asarray(self.loss(given[0].copy(), given[1].copy()))
        shape = given[0].shape
        numbers = losses.dtype.kind in "fiub"
        if losses.shape != shape or not numbers or not np.all(np.isfinite(losses)) or np.any(losses < 0):
            raise InputError(
                f"the loss returned {losses.dtype} of shape {losses.shape} for predictions of shape {shape}, "
                "or values that are negative or not finite.",
                code="T07",
                argument="risk_loss",
                hint="Return one finite number ≥ 0 for each prediction.",
            )
        return losses.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class Local:
    """The masked prediction of each row: ``nu(T) = F_T(x)``.

    Examples
    --------
    >>> Local().needs_y
    False
    """

    key: ClassVar[str] = "local"
    needs_y: ClassVar[bool] = False
    per_row: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Sensitivity:
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
    needs_y: ClassVar[bool] = False
    per_row: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.total not in ("difference", "jansen"):
            raise unknown("total", self.total, ("difference", "jansen"))


@dataclass(frozen=True, slots=True)
class Risk:
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
        if self.loss is not None and not callable(self.loss) and self.loss not in RISK_LOSSES:
            raise unknown("loss", self.loss, RISK_LOSSES)
        if self.average not in ("prediction", "loss"):
            raise unknown("average", self.average, ("prediction", "loss"))

    @property
    def per_row(self) -> bool:
        """Whether the value is one number a row."""
        return self.pointwise

    def resolved(self, is_probability: bool) -> Risk:
        """The same behavior with its loss decided."""
        if self.loss is not None:
            return self
        return Risk("log" if is_probability else "squared", self.average, self.pointwise)

    @property
    def function(self) -> PairLoss:
        """The loss as a function of predictions and targets."""
        if self.loss is None:
            return RISK_LOSSES["squared"]
        return CheckedLoss(self.loss) if callable(self.loss) else RISK_LOSSES[self.loss]


Behavior = Local | Sensitivity | Risk
BEHAVIORS: dict[str, Behavior] = {"local": Local(), "sensitivity": Sensitivity(), "risk": Risk()}

"""Behavior: from masked models ``F_T`` to the values ``nu(T)`` of a cooperative game.

A behavior says which aspect of the masked model counts as its value: its prediction at each row, its
variance in the region, or minus its loss in the region (docs/method.rst, "What is compared").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from granite_xai.algebra.interaction import Full, Interaction
from granite_xai.algebra.masked_model import Averaged, MaskedModel
from granite_xai.algebra.region_weights import AlongSigns, RegionWeights
from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.text import error_text
from granite_xai.base.typing import Elementwise, FloatArray, IntArray, PairLoss
from granite_xai.evaluations.evaluations import Evaluations

LEAST_PROBABILITY = 1e-15  # log loss clips probabilities to between this and 1 minus this (C18)
LOSS_ROUNDING = 2.0**-51  # of a mean loss, relative
CENSORED = "censored brier"
TOTALS = ("difference", "jansen")
AVERAGES = ("prediction", "loss")


class Behavior(ABC):
    """Which aspect of the masked model counts as its value.

    Attributes
    ----------
    key : str
        Its name in the catalog.
    needs_y : bool
        Whether it compares predictions with a target.
    is_linear : bool
        Whether a value is the masked model itself, so that a combination of values is one of masked
        models.
    per_row : bool
        Whether there is a value for each row; otherwise there is one for each region.
    needs_probability : str or None
        The name of its loss, where that is defined for probabilities only.
    """

    __slots__ = ()
    key: ClassVar[str]
    needs_y: ClassVar[bool] = False
    is_linear: ClassVar[bool] = False
    per_row: ClassVar[bool] = False
    needs_probability: ClassVar[str | None] = None

    @abstractmethod
    def value(
        self, masked: Averaged, evaluations: Evaluations, regions: RegionWeights
    ) -> FloatArray:
        """``nu`` of a masked model: (n, K) where there is a value for each row, otherwise (sides, K)."""

    @abstractmethod
    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Error of one value when every prediction may be off by ``delta`` (the noise floor, C4)."""

    def resolved(self, is_probability: bool, is_survival: bool = False) -> Behavior:
        """The same behavior with what depends on the model decided.

        Parameters
        ----------
        is_probability : bool
            Whether the model predicts a probability.
        is_survival : bool
            Whether that is one to survive to some time, and y may be censored.
        """
        return self

    def of_hidden(self, interaction: Interaction) -> Behavior | None:
        """Where effects are values of a game of their own, of the others alone visible; None: they are not."""
        return None


@dataclass(frozen=True, slots=True)
class Local(Behavior):
    """The masked prediction of each row: ``nu(T) = F_T(x)``.

    Examples
    --------
    >>> Local().needs_y
    False
    """

    key: ClassVar[str] = "local"
    per_row: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True

    def value(
        self, masked: Averaged, evaluations: Evaluations, regions: RegionWeights
    ) -> FloatArray:
        """``F_T`` at every row."""
        return masked.values(regions)

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Error of one value: that of a prediction."""
        return delta


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

    def value(
        self, masked: Averaged, evaluations: Evaluations, regions: RegionWeights
    ) -> FloatArray:
        """The variance of ``F_T``, in two passes."""
        along_signs = _along_signs(masked, regions)
        if along_signs is not None:
            centred = along_signs.less(np.full(len(evaluations), along_signs.means()[0]))
            return (centred.mean_squares() - np.square(centred.means()))[None]
        values = masked.values(regions)
        return regions.means(np.square(values - regions.at_rows(*regions.means(values))))

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """``2 sd(F) delta + delta²``."""
        shares = evaluations.weights / evaluations.weights.sum()
        variance = shares @ np.square(evaluations.f - shares @ evaluations.f)
        return 2.0 * float(np.sqrt(variance)) * delta + delta**2

    def of_hidden(self, interaction: Interaction) -> Behavior | None:
        """Full effects by Jansen's formula (C5)."""
        if self.total == "jansen" and isinstance(interaction, Full):
            return RedrawnVariance()
        return None


@dataclass(frozen=True, slots=True)
class RedrawnVariance(Behavior):
    """Jansen's total variance: the mean over the rows of the variance of F when hidden columns are redrawn (C5)."""

    key: ClassVar[str] = "sensitivity"

    def value(
        self, masked: Averaged, evaluations: Evaluations, regions: RegionWeights
    ) -> FloatArray:
        """``mean_n Var_u E[u, n]``, of differences from F so that no digits are lost to a large mean."""
        redrawn = cast(MaskedModel, masked)  # of maskings that redraw rows

        def moment(power: int) -> FloatArray:
            def deviation(predictions: FloatArray, places: IntArray) -> FloatArray:
                return (predictions - evaluations.f[places, None]) ** power

            return redrawn.means_of_each(deviation, regions)

        return regions.means(moment(2) - np.square(moment(1)))

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """As that of a variance."""
        return Sensitivity().error(delta, evaluations)


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

    def resolved(self, is_probability: bool, is_survival: bool = False) -> Risk:
        """The same behavior with its loss decided: log loss of a probability, otherwise squared error.

        Of survival it is the Brier score with weights for censoring.
        """
        if is_survival:
            return replace(self, loss=CENSORED)
        if self.loss is not None:
            return self
        return replace(self, loss="log" if is_probability else "squared")

    def value(
        self, masked: Averaged, evaluations: Evaluations, regions: RegionWeights
    ) -> FloatArray:
        """Minus the loss of ``F_T``, or minus the mean loss of the predictions behind it (C7).

        On another scale than that of predictions these are averaged there, and turned back before the loss is taken.
        """

        def losses(predictions: FloatArray, places: IntArray) -> FloatArray:
            y = np.broadcast_to(_target(evaluations)[places, None], predictions.shape)
            return self._loss.of_predictions(turned_back(predictions + evaluations.offset), y)

        turned_back = evaluations.scale.back
        has_squares = self.has_squares(evaluations)
        along_signs = _along_signs(masked, regions) if has_squares else None
        if along_signs is not None:
            return -along_signs.less(_target(evaluations) - evaluations.offset).mean_squares()[None]
        if self.average == "loss" and isinstance(masked, MaskedModel):
            values = masked.means_of_each(losses, regions)
        else:
            values = losses(masked.values(regions), np.arange(len(evaluations)))
        return -values if self.pointwise else -regions.means(values)

    def error(self, delta: float, evaluations: Evaluations) -> float:
        """Largest change of a mean loss, of the model and of its mean, when predictions move by ``delta``.

        Never below the rounding of a mean loss itself, which counts where residuals are far larger
        than predictions.
        """
        y = _target(evaluations)

        def loss(masked: FloatArray) -> FloatArray:
            return self._loss.of_predictions(evaluations.scale.back(masked), y)

        errors = []
        for predictions in (evaluations.f, np.zeros_like(evaluations.f)):
            masked = predictions + evaluations.offset
            losses = loss(masked)
            change_up = np.abs(loss(masked + delta) - losses)
            change_down = np.abs(loss(masked - delta) - losses)
            errors += [np.maximum(change_up, change_down), LOSS_ROUNDING * losses]
        return max(float(np.average(error, weights=evaluations.weights)) for error in errors)

    def has_squares(self, evaluations: Evaluations) -> bool:
        """Whether its value is minus the mean squared error of the masked prediction, one for a region."""
        is_squared = self._loss.gap_function is np.square and evaluations.scale.is_response
        return is_squared and self.average == "prediction" and not self.pointwise

    @property
    def _loss(self) -> Loss:
        return risk_loss("squared" if self.loss is None else self.loss)


def _along_signs(masked: Averaged, regions: RegionWeights) -> AlongSigns | None:
    """A masked model on lines of weights along signs; None where its moments do not follow from sums."""
    if regions.signed is not None and isinstance(masked, MaskedModel) and masked.adds_up:
        return masked.along_signs(regions.signed)
    return None


def _target(evaluations: Evaluations) -> FloatArray:
    if evaluations.y is None:  # checked before any model call (T01)
        raise ValueError("the evaluations hold no y")
    return evaluations.y


# Losses ---------------------------------------------------------------------------------------


class Loss(NamedTuple):
    """A loss of predictions against a target, or of gaps between two explanations, cell by cell.

    Parameters
    ----------
    gap_function : callable, optional
        The loss of a difference; None: it is no function of prediction minus y.
    pair_function : callable, optional
        The loss of predictions and targets; None: that of their difference.
    of_probability : bool
        Whether it is defined for probabilities only; such a loss is none of gaps.
    """

    gap_function: Elementwise | None = None
    pair_function: PairLoss | None = None
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


def _censored_brier_score(prediction: FloatArray, y: FloatArray) -> FloatArray:
    """``w (status - p)²``, where y is the weight w of a row that is alive, and -w of one that is not."""
    return np.asarray(np.abs(y) * np.square((y > 0) - prediction))


LOSSES: dict[str, Loss] = {
    "squared": Loss(gap_function=np.square),
    "absolute": Loss(gap_function=np.abs),
    "log": Loss(pair_function=_log_loss, of_probability=True),
    "brier": Loss(gap_function=np.square, of_probability=True),
    CENSORED: Loss(pair_function=_censored_brier_score, of_probability=True),
}


def gap_loss(loss: str | Elementwise) -> Loss:
    """The loss of the gap between two explanations (C16), by its name or a function of an array of gaps.

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
    """The loss of a prediction, by its name or a function of arrays of predictions and of targets.

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
        is_numeric = losses.dtype.kind in "fiub"
        if (
            losses.shape != shape
            or not is_numeric
            or not np.all(np.isfinite(losses) & (losses >= 0))
        ):
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


BEHAVIORS: dict[str, Behavior] = {
    "local": Local(),
    "sensitivity": Sensitivity(),
    "risk": Risk(),
}

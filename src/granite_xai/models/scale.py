"""The scale on which effects are compared and added up: that of the predictions, their log-odds, logs, and the like.

A scale says how predictions are read. What users read as a prediction is turned back (docs/method.rst, "Scale").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.models.outputs import as_it_is

Transform = Callable[[Any], Any]
SMALLEST = 1e-300  # numbers are told from 0 down to here
NEAR_ONE = 1e-12  # numbers are told from 1 up to this distance, by a model in double precision
NEAR_ONE_SINGLE = 1e-6  # in single precision
ROUNDED_ZERO = 1e-15  # of a prediction that is 0, where it is added up of parts
ROUNDED = 1.001  # times a distance from an end that is read there, after it was turned back


@dataclass(frozen=True)
class Scale:
    """A scale of predictions.

    Parameters
    ----------
    name : str
        As ``Granite(scale=)`` has it, and as texts call it.
    clip : float
        Predictions that lie on an end of the scale are read at this distance from it.
    near_low : float
        Predictions so near to the lower end lie on it: where some do, sums of a model's parts may miss it by rounding.
    is_single : bool
        Whether predictions are in single precision, which tells fewer numbers from 1.
    reads_margin : bool
        Whether the model is asked for the number on the scale itself.
    own : (callable, callable), optional
        Functions of a user: from predictions to the scale, and back from it.
    """

    name: str = "response"
    clip: float = SMALLEST
    near_low: float = SMALLEST
    is_single: bool = False
    reads_margin: bool = False
    own: tuple[Transform, Transform] | None = None

    @property
    def is_response(self) -> bool:
        """Whether predictions are read as they are."""
        return self.name == "response"

    @property
    def phrase(self) -> str:
        """Where effects are compared, as part of a sentence: "on the log-odds scale"; empty for the response."""
        if self.is_response:
            return ""
        return f"on the {self.name}" if self.own else f"on the {self.name} scale"

    @property
    def is_bounded(self) -> bool:
        """Whether some predictions may lie on an end of the scale."""
        return self.name in _ENDS and not self.reads_margin

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers between which predictions have a place on the scale."""
        return _ENDS.get(self.name, (-np.inf, np.inf))

    @property
    def needs(self) -> str:
        """Which predictions have a place on the scale."""
        return _NEEDS.get(self.name, "numbers that its function takes")

    @property
    def back(self) -> Transform:
        """From numbers on the scale to predictions."""
        return self._transforms[1]

    @property
    def _transforms(self) -> tuple[Transform, Transform]:
        return _TRANSFORMS[self.name] if self.own is None else self.own

    def title(self, label: str) -> str:
        """What users call an output on the scale: "log-odds of class 'yes'".

        Parameters
        ----------
        label : str
            Of the output: "predict", "probability of class 'yes'", ...
        """
        if self.is_response:
            return label
        what = "prediction" if label == "predict" else label
        if self.name == "log-odds":
            return f"log-odds of {what.removeprefix('probability of ')}"
        if self.name in _TRANSFORMS:
            return f"{self.name} of the {what}"
        return f"{what} {self.phrase}"

    def read(self, predictions: FloatArray) -> FloatArray:
        """Predictions as numbers on the scale."""
        if self.is_response or self.reads_margin:
            return predictions
        low, high = self.ends
        near_high = NEAR_ONE_SINGLE if self.is_single else NEAR_ONE
        above_low = np.where(predictions <= low + self.near_low, low + self.clip, predictions)
        is_high = predictions >= high - near_high
        inside = np.where(is_high, high - max(self.clip, near_high), above_low)
        return np.asarray(self._transforms[0](inside), dtype=np.float64)

    def settled(self, predictions: FloatArray, is_single: bool = False) -> tuple[Scale, BoolArray]:
        """The scale that reads predictions on an end at half the smallest distance that others have from it.

        Parameters
        ----------
        predictions : array
            Some of those that are read.
        is_single : bool

        Returns
        -------
        Scale
        array of bool
            Which of the predictions lie on an end.
        """
        low, high = self.ends
        near_high = NEAR_ONE_SINGLE if is_single else NEAR_ONE
        is_low = predictions <= low + ROUNDED * SMALLEST
        near_low = ROUNDED_ZERO if is_low.any() else SMALLEST
        is_on_end = is_low | (predictions <= low + near_low)
        is_on_end |= predictions >= high - ROUNDED * near_high
        scale = replace(self, is_single=is_single, near_low=near_low)
        inside = predictions[~is_on_end]
        if len(inside):
            scale = replace(scale, clip=float(np.minimum(inside - low, high - inside).min()) / 2)
        return scale, is_on_end


def _from_cumulative_hazard(values: Any) -> Any:
    return np.exp(-np.exp(values))


def _to_cumulative_hazard(values: Any) -> Any:
    return np.log(-np.log(values))


_TRANSFORMS: dict[str, tuple[Transform, Transform]] = {
    "response": (as_it_is, as_it_is),
    "log-odds": (logit, expit),
    "log": (np.log, np.exp),
    "log-log": (_to_cumulative_hazard, _from_cumulative_hazard),
}
_ENDS = {"log-odds": (0.0, 1.0), "log": (0.0, np.inf), "log-log": (0.0, 1.0)}
_NEEDS = {
    "log-odds": "numbers from 0 to 1",
    "log": "numbers of at least 0",
    "log-log": "numbers from 0 to 1",
}
RESPONSE = Scale()
SCALES = {
    "response": RESPONSE,
    "log-odds": Scale("log-odds"),
    "log": Scale("log"),
    "log-log": Scale("log-log"),
}
OWN_SCALE = "given scale"
SYNONYMS = {"logit": "log-odds", "cloglog": "log-log"}
"""Names of links for scales."""


def read_scale(scale: Any) -> Scale:
    """The scale that a user names, or describes by two functions.

    Parameters
    ----------
    scale : str or (callable, callable)
        A name, or the functions to the scale and back from it.

    Examples
    --------
    >>> read_scale("log-odds").read(np.array([0.5]))
    array([0.])
    >>> read_scale((np.sqrt, np.square)).back(3.0)
    np.float64(9.0)
    """
    if isinstance(scale, str):
        if scale not in SCALES:
            error = unknown("scale", scale, SCALES)
            if scale in SYNONYMS:
                error.hint = f"Did you mean {SYNONYMS[scale]!r}?"
            raise error
        return SCALES[scale]
    if isinstance(scale, tuple | list) and len(scale) == 2 and all(map(callable, scale)):
        to, back = scale
        return Scale(OWN_SCALE, own=(to, back))
    raise InputError(
        f"scale={scale!r} is no scale.",
        code="P01",
        argument="scale",
        hint=f"Pass one of {', '.join(SCALES)}, or two functions: to the scale, and back from it.",
    )

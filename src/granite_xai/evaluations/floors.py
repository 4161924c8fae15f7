"""The noise floor: the disagreement that errors of the model's values alone can produce (design 1.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from granite_xai.base.typing import Elementwise, FloatArray, PairLoss
    from granite_xai.evaluations.probing import Probe


def round_off(scale: float, float32: bool) -> float:
    """Error of one value by rounding alone: ``8 eps s``, ``s`` the largest value in size.

    Examples
    --------
    >>> round_off(1.0, float32=False) == 2.0**-49
    True
    """
    return 8 * (2.0**-23 if float32 else 2.0**-52) * abs(scale)


def is_float32(values: FloatArray) -> bool:
    """Whether every value is exactly a single-precision number and not all are whole.

    Examples
    --------
    >>> is_float32(np.array([0.5, 1.0])), is_float32(np.array([0.1, 1.0])), is_float32(np.array([1.0, 2.0]))
    (True, False, False)
    """
    with np.errstate(over="ignore", under="ignore"):
        exact = bool(np.all(values.astype(np.float32).astype(np.float64) == values))
    return exact and values.size > 0 and not bool(np.all(values == np.round(values)))


def delta(found: Probe, scale: float, float32: bool) -> float:
    """Error of one value of the model: ``max(8 eps s, repeat, reorder, moved)``, ``s`` the largest value in size.

    Examples
    --------
    >>> from granite_xai.evaluations.probing import Probe
    >>> delta(Probe(0.0, 0.0, 0.0, False, 0.0), scale=1.0, float32=False) == 8 * 2.0**-52
    True
    """
    return max(round_off(scale, float32), found.repeat, found.reorder, found.moved)


def local_error(delta: float) -> float:
    """Error of a value of the game for local behavior: ``e = delta``.

    Examples
    --------
    >>> local_error(0.5)
    0.5
    """
    return delta


def sensitivity_error(delta: float, sd: float) -> float:
    """Error of a variance: ``e = 2 sd(F) delta + delta**2``.

    Examples
    --------
    >>> sensitivity_error(0.5, sd=2.0)
    2.25
    """
    return 2.0 * sd * delta + delta**2


def risk_error(
    delta: float,
    loss: PairLoss,
    predictions: FloatArray,
    mean: float,
    y: FloatArray,
    weights: FloatArray | None = None,
) -> float:
    """Error of a risk: ``max over T in {empty, D} of mean_n max_± |L(F_T ± delta, y) - L(F_T, y)|``.

    Examples
    --------
    >>> squared = lambda prediction, y: (prediction - y) ** 2
    >>> risk_error(0.5, squared, np.array([1.0, 3.0]), 2.0, np.array([1.0, 3.0]))
    1.25
    """
    errors = [_loss_error(delta, loss, shown, y, weights) for shown in (predictions, np.full_like(predictions, mean))]
    return max(errors)


def _loss_error(delta: float, loss: PairLoss, shown: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
    at = loss(shown, y)
    change = np.maximum(np.abs(loss(shown + delta, y) - at), np.abs(loss(shown - delta, y) - at))
    return float(np.average(change, weights=weights))


def floor(n_sets: int, loss: Elementwise, order: int, error: float) -> float:
    """Disagreement that errors alone can produce: ``|S| * loss(2**(k + 1) * e)``, k the order (1: individual, joint).

    Examples
    --------
    >>> floor(3, np.square, order=1, error=0.5)
    12.0
    """
    return n_sets * float(loss(np.array([2.0 ** (order + 1) * error]))[0])


def sampling_floor(loss: Elementwise, standard_error: FloatArray, weights: FloatArray | None = None) -> float:
    """What sampled partial effects add to the floor: ``sum_S mean_n loss(2 * standard error)``; rows by sets.

    Examples
    --------
    >>> sampling_floor(np.square, np.array([[0.5, 1.0], [0.5, 0.0]]))
    3.0
    """
    return float(np.sum(np.average(loss(2.0 * standard_error), axis=0, weights=weights)))

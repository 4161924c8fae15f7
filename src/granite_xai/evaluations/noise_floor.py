"""The noise floor: the disagreement that errors of the model's answers alone can produce (C4)."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import Elementwise, FloatArray, PairLoss

ENTERS_FLOOR = (
    "This enters the noise floor: disagreement below it is reported as nothing to explain."
)
# Changes, as shares of the standard deviation, that other orders of summation may explain.
ORDER_OF_SUMS_DOUBLE = 1e-7
ORDER_OF_SUMS_SINGLE = 1e-3
TIMES_PROBED = 10  # answers within so many times the probed error are as the probe found them
EPSILON_SINGLE = 2.0**-23
EPSILON_DOUBLE = 2.0**-52
LOSS_ROUNDING = 2.0**-51  # of a mean loss, relative


def round_off(scale: float, float32: bool) -> float:
    """Error of one value by rounding alone: ``8 eps s`` (C4).

    Parameters
    ----------
    scale : float
        s, the largest value in size.
    float32 : bool
        Whether the values are in single precision.
    """
    epsilon = EPSILON_SINGLE if float32 else EPSILON_DOUBLE
    return 8 * epsilon * abs(scale)


def is_float32(values: FloatArray) -> bool:
    """Whether every value is exactly a single-precision number and not all are whole."""
    if values.size == 0:
        return False
    with np.errstate(over="ignore", under="ignore"):
        rounded = values.astype(np.float32).astype(np.float64)
    are_single = bool(np.all(rounded == values))
    are_whole = bool(np.all(values == np.round(values)))
    return are_single and not are_whole


def changed_answers_warning(
    error: float, largest_change: float, spread: float, float32: bool
) -> str | None:
    """The warning of a model whose answers changed within the fit more than any probe showed (M09).

    Parameters
    ----------
    error : float
        Error of one value, as probed.
    largest_change : float
        The largest difference between two answers for the same row.
    spread : float
        Standard deviation of the predictions.
    float32 : bool
        Whether the model answers in single precision.

    Returns
    -------
    str or None
        None where rounding, or other orders of summation, explain the change.
    """
    order_of_sums = ORDER_OF_SUMS_SINGLE if float32 else ORDER_OF_SUMS_DOUBLE
    explained = max(order_of_sums * spread, TIMES_PROBED * error)
    if largest_change <= explained:
        return None
    return (
        f"M09: the model's answers for the same rows differ by up to {largest_change:.3g} within the fit "
        f"(standard deviation of its predictions: {spread:.3g}): they depend on the length of the "
        f"batch, or the model changes. {ENTERS_FLOOR}"
    )


def large_integers_warning(largest_change: float) -> str:
    """The warning of a model that tells integers apart which float64 cannot hold (D20)."""
    return (
        f"D20: the model's answers differ by up to {largest_change:.3g} for rows that differ only in integers "
        "beyond 2^53. float64 cannot hold these integers, so that such rows count as equal here. "
        f"{ENTERS_FLOOR} Subtract an offset from the column, or make it a category."
    )


def sensitivity_error(delta: float, sd: float) -> float:
    """Error of a variance: ``e = 2 sd(F) delta + delta**2`` (C4)."""
    return 2.0 * sd * delta + delta**2


def risk_error(
    delta: float,
    loss: PairLoss,
    predictions: FloatArray,
    mean: float,
    y: FloatArray,
    weights: FloatArray | None = None,
) -> float:
    """Error of a risk: ``max over T in {empty, D} of mean_n max_± |L(F_T ± delta, y) - L(F_T, y)|`` (C4).

    Never below the rounding of a mean loss itself, which counts where residuals are far larger than
    predictions.

    Parameters
    ----------
    delta : float
        Error of one prediction.
    loss : callable
        ``loss(predictions, y)``, row by row.
    predictions, y : arrays of shape (n,)
    mean : float
        The mean prediction, ``F`` of the empty coalition.
    weights : array of shape (n,), optional
    """
    errors = []
    for masked in (predictions, np.full_like(predictions, mean)):
        losses = loss(masked, y)
        change_up = np.abs(loss(masked + delta, y) - losses)
        change_down = np.abs(loss(masked - delta, y) - losses)
        change = np.maximum(change_up, change_down)
        errors.append(float(np.average(change, weights=weights)))
        errors.append(float(np.average(LOSS_ROUNDING * losses, weights=weights)))
    return max(errors)


def rounding_floor(n_sets: int, loss: Elementwise, order: int, error: float) -> float:
    """Disagreement that errors of values alone can produce: ``|S| * loss(2**(k + 1) * e)`` (C4).

    Parameters
    ----------
    n_sets : int
        |S|, the number of sets of columns that are compared.
    loss : callable
        The loss of a gap.
    order : int
        k; 1: no interactions.
    error : float
        e, the error of one value.
    """
    gap = np.array([2.0 ** (order + 1) * error])
    return n_sets * float(loss(gap)[0])


def sampling_floor(
    loss: Elementwise, standard_error: FloatArray, weights: FloatArray | None = None
) -> float:
    """What sampled partial effects add to the floor: ``sum_S mean_n loss(2 * standard error)`` (C4, C19).

    Parameters
    ----------
    loss : callable
        The loss of a gap.
    standard_error : array of shape (n_rows, n_sets)
    weights : array of shape (n_rows,), optional
    """
    mean_losses = np.average(loss(2.0 * standard_error), axis=0, weights=weights)
    return float(np.sum(mean_losses))

"""Outputs that belong together: names for those of a function, and survival probabilities at several times.

Where some rows are censored, what is known of them at a time is a status with a weight (docs/method.rst, "Censoring").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.text import listing
from granite_xai.base.typing import FloatArray
from granite_xai.models.outputs import OutputAxis, Response, as_it_is

TIME = "time"


@dataclass(frozen=True, eq=False)
class NamedOutputs:
    """A function of a table with a name for each of its outputs; made by `outputs` and `survival`.

    Parameters
    ----------
    function : callable
        From the table to its answer.
    names : tuple
        Of the columns of the answer.
    axis : OutputAxis, optional
        What they are ordered by.
    response : {"predict", "probability"}
        What its numbers are.
    unpack : callable
        From the answer to an array of shape (n_rows, n_outputs).
    """

    function: Callable[[Any], Any]
    names: tuple[Any, ...]
    axis: OutputAxis | None = None
    response: Response = "predict"
    unpack: Callable[[Any], Any] = as_it_is

    def __call__(self, X: Any) -> Any:
        """Every output of every row, (n_rows, n_outputs)."""
        return self.unpack(self.function(X))


def outputs(function: Any, names: Iterable[Any], axis: str | None = None) -> NamedOutputs:
    """Give the outputs of a model names, and the axis along which they are ordered.

    Parameters
    ----------
    function : callable or estimator
        From a table to an array of shape (n_rows, n_outputs), such as forecasts of several horizons.
    names : sequence of str or of numbers
        Of the outputs, all different.
    axis : str, optional
        What ordered outputs are ordered by, such as "horizon". Numbers as names are places on it; names that are
        text stand side by side.

    Returns
    -------
    callable
        A model for `Granite`; with ``output="all"`` it explains all outputs in one tree.

    Examples
    --------
    >>> import granite_xai as gx
    >>> import numpy as np
    >>> forecast = lambda X: np.column_stack([X["x1"], X["x1"] * X["x2"]])
    >>> model = gx.outputs(forecast, [1, 24], axis="horizon")
    >>> toy = gx.datasets.make_toy(n=100)
    >>> gx.Granite(model, output="all").fit(toy.X).outputs_
    (1, 24)
    """
    call = function if callable(function) else getattr(function, "predict", None)
    if not callable(call):
        raise ModelError(
            f"function is a {type(function).__name__}, which has no predict and cannot be called.",
            code="M21",
            argument="function",
            hint="Pass a fitted estimator or a function of the table.",
        )
    named = () if isinstance(names, str) else tuple(names)
    are_numbers = all(isinstance(n, int | float) and not isinstance(n, bool) for n in named)
    are_names = are_numbers or all(isinstance(name, str) for name in named)
    if not named or not are_names or len(set(named)) < len(named):
        raise InputError(
            f"names={names!r} are no names of outputs.",
            code="P02",
            argument="names",
            hint="Pass a different text, or a different number, for each output.",
        )
    order = None
    if axis is not None:
        places = [float(name) for name in named] if are_numbers else range(len(named))
        order = OutputAxis(axis, tuple(map(float, places)))
        if sorted(order.places) != list(order.places):
            raise InputError(
                f"names={names!r} are not in the order of the axis.",
                code="P02",
                argument="names",
                hint="Sort the outputs by their numbers, and the names with them.",
            )
    return NamedOutputs(call, named, order)


def survival(model: Any, times: Sequence[float]) -> NamedOutputs:
    """Survival probabilities at some times, of a model that predicts survival functions.

    Parameters
    ----------
    model : object
        With ``predict_survival_function``, as in scikit-survival (step functions or arrays) and in lifelines
        (a frame, times by rows).
    times : sequence of float
        In increasing order.

    Returns
    -------
    callable
        A model for `Granite` with an output for each time, named "t = 12" and the like. Questions about risk take
        the status and the time of each row as y, a structured array or a frame with the columns ``event`` and
        ``time``, and weigh the Brier score by the inverse probability of censoring.

    Raises
    ------
    InputError
        P02: these are no times. T11: one lies beyond the last observed time.

    Examples
    --------
    >>> import granite_xai as gx
    >>> import numpy as np
    >>> import pandas as pd
    >>> class Exponential:
    ...     def predict_survival_function(self, X, times):
    ...         rates = np.where(X["x2"] > 0, np.exp(X["x1"]), 1.0)
    ...         return pd.DataFrame(np.exp(-np.outer(times, rates)), index=times)
    >>> model = gx.survival(Exponential(), times=[0.5, 1])
    >>> toy = gx.datasets.make_toy(n=200)
    >>> g = gx.Granite(model, output="all").fit(toy.X)
    >>> g.outputs_
    ('t = 0.5', 't = 1')
    """
    method = getattr(model, "predict_survival_function", None)
    if not callable(method):
        raise ModelError(
            f"{type(model).__name__} has no predict_survival_function.",
            code="M21",
            argument="model",
            hint="Pass a fitted model of scikit-survival or lifelines, or name the outputs of a function: gx.outputs.",
        )
    places = np.atleast_1d(np.asarray(times, dtype=np.float64))
    are_times = places.ndim == 1 and len(places) > 0 and np.all(np.isfinite(places))
    if not are_times or np.any(np.diff(places, prepend=-1.0) <= 0) or places[0] < 0:
        raise InputError(
            f"times={times!r} are no times in increasing order.",
            code="P02",
            argument="times",
            hint="Pass different numbers ≥ 0, the smallest first.",
        )
    observed = getattr(model, "unique_times_", getattr(model, "durations", None))
    if observed is not None:
        refuse_times_beyond(places, float(np.max(observed)))
    parameters = inspect.signature(method).parameters
    call = method
    if "times" in parameters:  # lifelines
        call = partial(_at_times, method, places)
    elif "return_array" in parameters and observed is not None:  # scikit-survival
        call = partial(method, return_array=True)
    names = tuple(f"t = {np.format_float_positional(place, trim='-')}" for place in places)
    axis = OutputAxis(TIME, tuple(places.tolist()))
    return NamedOutputs(
        call, names, axis, "probability", unpack=partial(_read_functions, places, observed)
    )


def refuse_times_beyond(times: FloatArray, last: float) -> None:
    """Refuse times of which no row says anything (T11)."""
    beyond = times[times > last].tolist()
    if beyond:
        raise InputError(
            f"times: {listing(beyond)} beyond the last observed time, {last:g}.",
            code="T11",
            argument="times",
            hint=f"Pass times up to {last:g}.",
        )


def _at_times(method: Callable[..., Any], times: FloatArray, X: Any) -> Any:
    """The frame of lifelines, with its columns in the order of the rows: of strata it sorts them."""
    if hasattr(X, "reset_index"):
        X = X.reset_index(drop=True)
    frame = method(X, times=times)
    if hasattr(frame, "columns") and set(frame.columns) == set(range(len(X))):
        frame = frame[list(range(len(X)))]
    return frame


def _read_functions(times: FloatArray, observed: Any, returned: Any) -> FloatArray:
    """S(t) at some times, (n_rows, n_times), from whatever stands for survival functions.

    Parameters
    ----------
    times : array of shape (n_times,)
    observed : array, optional
        Times of the columns, where the answer is an array of shape (n_rows, n_observed).
    returned : object
        Such an array, a frame of shape (times, n_rows) with the times as its index, or step functions, which have
        places ``x`` and can be called.
    """
    if hasattr(returned, "index") and hasattr(returned, "columns"):
        steps, values = np.asarray(returned.index, dtype=np.float64), np.asarray(returned).T
    elif getattr(returned, "ndim", 1) == 2 and observed is not None:
        steps, values = np.asarray(observed, dtype=np.float64), np.asarray(returned)
    else:
        if not all(hasattr(curve, "x") and callable(curve) for curve in returned):
            what = type(next(iter(returned), None)).__name__
            raise ModelError(
                f"predict_survival_function returned {what}, whose times are not known.",
                code="M03",
                argument="model",
                hint="Return step functions with places x, a frame of times by rows, or an array, with the model's "
                "unique_times_.",
            )
        refuse_times_beyond(times, min((float(curve.x[-1]) for curve in returned), default=np.inf))
        first = np.array([curve.x[0] for curve in returned])
        curves = [curve(np.maximum(times, curve.x[0])) for curve in returned]
        return np.where(times < first[:, None], 1.0, np.reshape(curves, (-1, len(times))))
    refuse_times_beyond(times, float(steps[-1]))
    # Nobody has died before the first step.
    values = np.column_stack([np.ones(len(values)), values])
    return values[:, np.searchsorted(steps, times, side="right")]

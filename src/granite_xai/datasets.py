"""Data to learn and to test with: tables and small models.

Bike sharing is read from the folder named by the environment variable ``GRANITE_DATA`` (``bike-sharing/hour.csv``) or,
without it, fetched from OpenML and kept by scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from granite_xai.base.errors import InputError
from granite_xai.base.options import whole_number
from granite_xai.base.typing import FloatArray

__all__ = [
    "Toy",
    "load_bike_sharing",
    "load_diabetes",
    "make_order_two",
    "make_rentals",
    "make_toy",
]

Seed = int | np.random.Generator | None
_BIKE_COLUMNS = [
    "yr",
    "mnth",
    "hr",
    "holiday",
    "weekday",
    "workingday",
    "weathersit",
    "temp",
    "hum",
    "windspeed",
]
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_BIKE_LABELS = {
    "yr": {0: "2011", 1: "2012"},
    "holiday": {0: "no", 1: "yes"},
    "weekday": dict(enumerate(_WEEKDAYS)),
    "workingday": {0: "no", 1: "yes"},
    "weathersit": {1: "clear", 2: "mist", 3: "rain", 4: "heavy rain"},
}
_LARGEST_TEMPERATURE = 41
"""Degrees Celsius, by which the published table divides temperatures."""

_LARGEST_WINDSPEED = 67
"""By which the published table divides wind speeds."""


def load_bike_sharing(*, as_frame: bool = True, labels: bool = False) -> tuple[Any, Any]:
    """Hourly bike rentals in Washington, D.C., 2011 and 2012, prepared as in the paper.

    17,379 hours; X are ten features: ``temp`` in degrees Celsius, ``mnth`` counted from 0, the rest as published; y is
    the number of rentals ``cnt``.

    Parameters
    ----------
    as_frame : bool
        A DataFrame and a Series, or two arrays of floats.
    labels : bool
        Give yr, holiday, weekday, workingday and weathersit as categories with names instead of numbers.

    Examples
    --------
    >>> X, y = load_bike_sharing()
    >>> list(X)
    ['yr', 'mnth', 'hr', 'holiday', 'weekday', 'workingday', 'weathersit', 'temp', 'hum', 'windspeed']
    >>> list(load_bike_sharing(labels=True)[0]["weathersit"].cat.categories)
    ['clear', 'mist', 'rain', 'heavy rain']
    """
    if labels and not as_frame:
        raise InputError(
            "labels=True needs as_frame=True: an array of numbers has no names.",
            code="P03",
            argument="labels",
        )
    hours = _hours_of_bike_sharing()
    months = hours["mnth"] - 1
    degrees = hours["temp"] * _LARGEST_TEMPERATURE
    X = hours[_BIKE_COLUMNS].assign(mnth=months, temp=degrees)
    if labels:
        for column, names in _BIKE_LABELS.items():
            categories = pd.CategoricalDtype(list(names.values()))
            X[column] = X[column].map(names).astype(categories)
    return _frames_or_arrays(X, hours["cnt"], as_frame)


def load_diabetes(*, as_frame: bool = True) -> tuple[Any, Any]:
    """Diabetes progression after one year, given ten measurements in their own units: 442 patients.

    It comes with scikit-learn and needs no network; ``as_frame`` as in `load_bike_sharing`. X are the features age,
    sex, bmi, bp, s1 to s6, y is the ``target``.

    Examples
    --------
    >>> X, y = load_diabetes()
    >>> X.shape, float(X["bmi"].median())
    ((442, 10), 25.7)
    """
    from sklearn.datasets import load_diabetes as load

    X, y = load(return_X_y=True, as_frame=True, scaled=False)
    return _frames_or_arrays(X, y, as_frame)


def _frames_or_arrays(X: pd.DataFrame, y: pd.Series[Any], as_frame: bool) -> tuple[Any, Any]:
    if as_frame:
        return X, y
    return X.to_numpy(dtype=float), y.to_numpy(dtype=float)


def _hours_of_bike_sharing() -> pd.DataFrame:
    """The published ``hour.csv`` from the folder GRANITE_DATA or, where it is not there, OpenML's copy made like it."""
    file = "bike-sharing/hour.csv"
    folder = os.environ.get("GRANITE_DATA")
    if folder and (Path(folder) / file).is_file():
        return pd.read_csv(Path(folder) / file, skipinitialspace=True)
    from sklearn.datasets import fetch_openml

    data = "Bike_Sharing_Demand"
    try:
        openml = fetch_openml(name=data, version=2, as_frame=True, parser="pandas").frame
    except (OSError, ValueError, HTTPException) as error:
        place = "GRANITE_DATA is not set"
        if folder:
            place = f"the folder GRANITE_DATA={folder!r} has no {file}"
        raise InputError(
            f"The data set {data!r} is not at hand: {place}, and OpenML did not answer ({error}).",
            code="D44",
            argument="GRANITE_DATA",
            hint=f"Set GRANITE_DATA to a folder with {file}, or connect to the network.",
        ) from error
    # OpenML has other names, labels for codes, and units in place of shares.
    names = {"year": "yr", "month": "mnth", "hour": "hr", "humidity": "hum", "count": "cnt"}
    weather = ("clear", "misty", "rain", "heavy_rain")
    hours: pd.DataFrame = openml.rename(columns=names).assign(
        holiday=_codes(openml, "holiday", ("False", "True")),
        workingday=_codes(openml, "workingday", ("False", "True")),
        weathersit=_codes(openml, "weather", weather) + 1,
        temp=(openml["temp"] / _LARGEST_TEMPERATURE).round(2),
        windspeed=(openml["windspeed"] / _LARGEST_WINDSPEED).round(4),
    )
    return hours


def _codes(openml: pd.DataFrame, column: str, labels: Sequence[str]) -> pd.Series[int]:
    """A column of labels as their places; other labels are an error."""
    texts = openml[column].astype(str)
    unexpected = sorted(set(texts) - set(labels))
    if unexpected:
        raise InputError(
            f"OpenML's column {column!r} has unexpected values: {unexpected}.",
            code="D44",
            columns=[column],
        )
    return texts.map(labels.index).astype(int)


@dataclass(frozen=True)
class Toy:
    """Rows and the model that is explained on them.

    Examples
    --------
    >>> toy = make_toy(n=3)
    >>> toy.X.shape, toy.model(toy.X).shape
    ((3, 4), (3,))
    """

    X: pd.DataFrame
    model: Callable[[Any], FloatArray]


def make_toy(n: int = 1000, random_state: Seed = 0) -> Toy:
    """The model of Figure 1: ``F = 3 x1 x2 + x3 + 2 x4``, an interaction and a dependence.

    ``x1 ~ N(0, 1)``; ``x2`` and ``x3`` are -1 or 1 with equal probability; ``x4 ~ N(x3, 1)``.

    Parameters
    ----------
    n, random_state
        Number of rows, and where the random numbers come from: int, Generator or None.

    Examples
    --------
    >>> make_toy().model([[1.0, -1.0, 1.0, 0.5]])
    array([-1.])
    """
    n_rows = whole_number("n", n, at_least=1)
    generator = np.random.default_rng(random_state)
    x1 = generator.normal(size=n_rows)
    x2 = generator.choice([-1.0, 1.0], n_rows)
    x3 = generator.choice([-1.0, 1.0], n_rows)
    x4 = generator.normal(x3)
    return Toy(X=_frame(np.column_stack([x1, x2, x3, x4])), model=_figure_one)


def make_order_two(n: int = 2000, random_state: Seed = 0) -> Toy:
    """The illustration of effects of order two, which vanish beyond pairs once ``x3`` is split at 0.

    ``F = x1 + 0.7 x1 x2`` where ``x3 >= 0`` and ``-x1 + 0.7 x1 x4`` elsewhere; four standard normal columns. Parameters
    as in `make_toy`.

    Examples
    --------
    >>> make_order_two().model([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, -1.0, 0.0]])
    array([ 1.7, -1. ])
    """
    n_rows = whole_number("n", n, at_least=1)
    generator = np.random.default_rng(random_state)
    return Toy(X=_frame(generator.normal(size=(n_rows, 4))), model=_order_two)


def make_rentals(n: int = 6000, random_state: Seed = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Simulated bike rentals by the hour, of which the mechanism is known.

    On working days people ride to work and back, with peaks at 8 and 17 o'clock; on days off they ride around midday.
    Warm weather multiplies both. Humidity takes a little away at any hour, and the windspeed does nothing.

    Parameters
    ----------
    n, random_state
        Number of hours, and where the random numbers come from: int, Generator or None.

    Returns
    -------
    X : DataFrame of shape (n, 5)
        ``hour`` (0 to 23), ``workingday`` (0 or 1), ``temperature`` in degrees Celsius, ``humidity`` and ``windspeed``.
    y : Series of shape (n,)
        Rentals in that hour, with noise.

    Examples
    --------
    >>> X, y = make_rentals(n=1000)
    >>> list(X), y.name
    (['hour', 'workingday', 'temperature', 'humidity', 'windspeed'], 'rentals')
    """
    n_rows = whole_number("n", n, at_least=1)
    generator = np.random.default_rng(random_state)
    hour = generator.integers(24, size=n_rows)
    workingday = (generator.random(n_rows) < 5 / 7).astype(int)
    temperature = np.round(generator.normal(15.0, 8.0, size=n_rows), 1)
    humidity = np.round(generator.uniform(20.0, 100.0, size=n_rows))
    windspeed = np.round(generator.gamma(2.0, 6.0, size=n_rows), 1)
    to_work_and_back = np.exp(-((hour - 8) ** 2) / 3.0) + 1.2 * np.exp(-((hour - 17) ** 2) / 6.0)
    around_midday = np.exp(-((hour - 14) ** 2) / 30.0)
    rhythm = np.where(workingday == 1, to_work_and_back, around_midday)
    warmth = np.clip(0.4 + 0.04 * temperature, 0.2, 1.6)
    expected = 20.0 + 300.0 * rhythm * warmth - 0.3 * (humidity - 60.0)
    rentals = np.maximum(np.round(expected + generator.normal(0.0, 15.0, size=n_rows)), 0.0)
    X = pd.DataFrame(
        {
            "hour": hour,
            "workingday": workingday,
            "temperature": temperature,
            "humidity": humidity,
            "windspeed": windspeed,
        }
    )
    return X, pd.Series(rentals, name="rentals")


def _figure_one(X: Any) -> FloatArray:
    x1, x2, x3, x4 = np.asarray(X, dtype=float).T
    return np.asarray(3 * x1 * x2 + x3 + 2 * x4)


def _order_two(X: Any) -> FloatArray:
    x1, x2, x3, x4 = np.asarray(X, dtype=float).T
    return np.asarray(np.where(x3 >= 0, x1 + 0.7 * x1 * x2, -x1 + 0.7 * x1 * x4))


def _frame(values: FloatArray) -> pd.DataFrame:
    """Columns x1, x2, … as in the paper."""
    return pd.DataFrame(values, columns=[f"x{j + 1}" for j in range(values.shape[1])])

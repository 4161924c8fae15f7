"""The tables of the paper.

Bike sharing and kin8nm are read from the folder named by the environment variable ``GRANITE_DATA``
(``bike-sharing/hour.csv``, ``kin8nm/kin8nm.csv``) or, without it, fetched from OpenML and kept by scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from granite_xai.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_BIKE_COLUMNS = ["yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit", "temp", "hum", "windspeed"]
_BIKE_LABELS: dict[str, dict[int, str]] = {
    "yr": {0: "2011", 1: "2012"},
    "holiday": {0: "no", 1: "yes"},
    "weekday": dict(enumerate(["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"])),
    "workingday": {0: "no", 1: "yes"},
    "weathersit": {1: "clear", 2: "mist", 3: "rain", 4: "heavy rain"},
}
_TEMPERATURE, _WIND = 41, 67  # the published table divides degrees Celsius and wind speed by these


def load_bike_sharing(*, as_frame: bool = True, labels: bool = False) -> tuple[Any, Any]:
    """Hourly bike rentals in Washington, D.C., 2011 and 2012, prepared as in the paper.

    17,379 hours; ten features: ``temp`` in degrees Celsius, ``mnth`` counted from 0, the rest as published.

    Parameters
    ----------
    as_frame : bool
        A DataFrame and a Series, or two arrays of floats.
    labels : bool
        Give yr, holiday, weekday, workingday and weathersit as categories with names instead of numbers.

    Returns
    -------
    X, y
        Features and number of rentals ``cnt``.

    Examples
    --------
    >>> X, y = load_bike_sharing()
    >>> list(X)
    ['yr', 'mnth', 'hr', 'holiday', 'weekday', 'workingday', 'weathersit', 'temp', 'hum', 'windspeed']
    >>> list(load_bike_sharing(labels=True)[0]["weathersit"].cat.categories)
    ['clear', 'mist', 'rain', 'heavy rain']
    """
    if labels and not as_frame:
        words = "labels=True needs as_frame=True: an array of numbers has no names."
        raise InputError(words, code="P03", argument="labels")
    hours = _from_disk_or_openml("bike-sharing/hour.csv", "Bike_Sharing_Demand", 2, _in_published_form)
    X = hours[_BIKE_COLUMNS].assign(mnth=hours["mnth"] - 1, temp=hours["temp"] * _TEMPERATURE)
    return _as_asked(_labelled(X) if labels else X, hours["cnt"], as_frame)


def load_kin8nm(*, as_frame: bool = True) -> tuple[Any, Any]:
    """Distance of a robot arm's tip from a target, given the angles of its eight joints: 8,192 rows.

    Parameters
    ----------
    as_frame : bool
        A DataFrame and a Series, or two arrays of floats.

    Returns
    -------
    X, y
        Angles ``theta1`` to ``theta8`` and distance ``y``.

    Examples
    --------
    >>> X, y = load_kin8nm()
    >>> X.columns[0], X.columns[-1], y.name
    ('theta1', 'theta8', 'y')
    """
    arm = _from_disk_or_openml("kin8nm/kin8nm.csv", "kin8nm", 1, lambda frame: frame.astype(float))
    return _as_asked(arm.drop(columns="y"), arm["y"], as_frame)


def load_diabetes(*, as_frame: bool = True) -> tuple[Any, Any]:
    """Diabetes progression after one year, given ten measurements in their own units: 442 patients.

    It comes with scikit-learn and needs no network.

    Parameters
    ----------
    as_frame : bool
        A DataFrame and a Series, or two arrays of floats.

    Returns
    -------
    X, y
        Features age, sex, bmi, bp, s1 to s6 and ``target``.

    Examples
    --------
    >>> X, y = load_diabetes()
    >>> X.shape, float(X["bmi"].median())
    ((442, 10), 25.7)
    """
    from sklearn.datasets import load_diabetes as load

    X, y = load(return_X_y=True, as_frame=True, scaled=False)
    return _as_asked(X, y, as_frame)


def _as_asked(X: pd.DataFrame, y: pd.Series[Any], as_frame: bool) -> tuple[Any, Any]:
    return (X, y) if as_frame else (X.to_numpy(dtype=float), y.to_numpy(dtype=float))


def _labelled(X: pd.DataFrame) -> pd.DataFrame:
    """The coded columns as categories with names, in the order of the codes."""
    import pandas as pd

    named = {
        column: pd.Categorical(X[column].map(names), categories=list(names.values()))
        for column, names in _BIKE_LABELS.items()
    }
    return X.assign(**named)


def _from_disk_or_openml(
    file: str, name: str, version: int, prepare: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    import pandas as pd

    folder = os.environ.get("GRANITE_DATA")
    if folder and (Path(folder) / file).is_file():
        return pd.read_csv(Path(folder) / file, skipinitialspace=True)
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml(name=name, version=version, as_frame=True, parser="pandas").frame
    except (OSError, ValueError, HTTPException) as error:
        place = f"the folder GRANITE_DATA={folder!r} has no {file}" if folder else "GRANITE_DATA is not set"
        words = f"The data set {name!r} is not at hand: {place}, and OpenML did not answer ({error})."
        hint = f"Set GRANITE_DATA to a folder with {file}, or connect to the network."
        raise InputError(words, code="D44", argument="GRANITE_DATA", hint=hint) from error
    return prepare(frame)


def _in_published_form(openml: pd.DataFrame) -> pd.DataFrame:
    """OpenML's copy of bike sharing with the names, codes and units of the published ``hour.csv``.

    Rounding after the division restores the published decimals, so that both sources give the same numbers.
    """
    truth = ("False", "True")
    names = {"year": "yr", "month": "mnth", "hour": "hr", "humidity": "hum", "count": "cnt"}
    return openml.rename(columns=names).assign(
        holiday=_coded(openml, "holiday", truth),
        workingday=_coded(openml, "workingday", truth),
        weathersit=_coded(openml, "weather", ("clear", "misty", "rain", "heavy_rain")) + 1,
        temp=(openml["temp"] / _TEMPERATURE).round(2),
        windspeed=(openml["windspeed"] / _WIND).round(4),
    )


def _coded(openml: pd.DataFrame, column: str, labels: Sequence[str]) -> pd.Series[int]:
    texts = openml[column].astype(str)
    unexpected = sorted(set(texts) - set(labels))
    if unexpected:
        words = f"OpenML's column {column!r} has unexpected values: {unexpected}."
        raise InputError(words, code="D44", columns=[column])
    return texts.map(labels.index).astype(int)

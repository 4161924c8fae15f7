"""Fits of many kinds, whose words are recorded: tables that are easy to picture, models that are formulas.

Cells come from `random.Random.random`, whose stream is the same in every version of Python, and the formulas are sums
and products: they give the same answer on any machine.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import granite_xai as gx

WEATHER = ("clear", "mist", "rain", "snow")


def drawn(seed: int, n_rows: int, low: float, high: float, digits: int) -> np.ndarray:
    """Numbers between two bounds, with so many digits behind the point."""
    generator = random.Random(seed)
    return np.array([round(low + (high - low) * generator.random(), digits) for _ in range(n_rows)])


def whole(seed: int, n_rows: int, count: int) -> np.ndarray:
    """Whole numbers from 0 to count - 1."""
    generator = random.Random(seed)
    return np.array([int(count * generator.random()) for _ in range(n_rows)])


# ------------------------------------------------------------------------------------------------ tables and models


@cache
def rides(n_rows: int = 700) -> pd.DataFrame:
    """An hour, a temperature and what it feels like, wind, and whether people work."""
    temp = drawn(1, n_rows, -5, 30, 1)
    return pd.DataFrame(
        {
            "hour": whole(2, n_rows, 24),
            "temp": temp,
            "feels": np.round(temp - 2 + 4 * drawn(3, n_rows, 0, 1, 3), 1),
            "wind": drawn(4, n_rows, 0, 40, 0),
            "workingday": whole(5, n_rows, 2),
        }
    )


def bikes(X: Any) -> np.ndarray:
    """Two peaks on working days, one on others; warmth counts where there is little wind."""
    hour, temp, feels, wind, works = np.asarray(X, dtype=float)[:, :5].T
    commute = np.maximum(0, 1 - np.abs(hour - 8) / 3) + np.maximum(0, 1 - np.abs(hour - 17) / 4)
    leisure = np.maximum(0, 1 - np.abs(hour - 14) / 6)
    warmth = (3 * temp + feels) * np.where(wind < 20, 1.0, 0.2) + 0.1 * (hour - 12) * temp
    return 50 + 200 * np.where(works > 0.5, commute, leisure) + warmth


def apart(X: Any) -> np.ndarray:
    """A sum of one term a column."""
    hour, temp, _, wind, works = np.asarray(X, dtype=float)[:, :5].T
    return 50 + 4 * np.abs(hour - 12) + 3 * temp - 0.05 * wind**2 + 20 * works


def rented_and_returned(X: Any) -> np.ndarray:
    """Two outputs in different units."""
    _, temp, _, _, works = np.asarray(X, dtype=float)[:, :5].T
    return np.column_stack([bikes(X), apart(X) / 10 + 0.5 * temp * works])


class Late:
    """The probability of being late, which wind raises in rain only."""

    classes_ = np.array(["late", "on time"])

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        wet = np.isin(X["weather"].astype(object), ["rain", "snow"])
        score = np.where(wet, 0.1 * X["wind"].to_numpy(), 0.0) + 0.02 * X["distance"].to_numpy() - 2
        late = np.clip(0.5 + 0.2 * score, 0.01, 0.99)
        return np.column_stack([late, 1 - late])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


late = Late()


@cache
def trips(n_rows: int = 700) -> pd.DataFrame:
    """Weather as a category, and two numbers."""
    levels = np.array(WEATHER, dtype=object)[whole(6, n_rows, 4)]
    return pd.DataFrame(
        {
            "weather": pd.Categorical(levels, categories=WEATHER),
            "wind": drawn(7, n_rows, 0, 40, 0),
            "distance": drawn(8, n_rows, 1, 60, 0),
        }
    )


@cache
def trips_with_gaps(n_rows: int = 700) -> pd.DataFrame:
    """The same with missing cells, a date and a truth value."""
    frame = trips(n_rows).copy()
    days = whole(9, n_rows, 300).astype("timedelta64[D]")
    frame["day"] = np.datetime64("2024-01-01", "s") + days.astype("timedelta64[s]")
    frame["member"] = whole(10, n_rows, 2) == 1
    for seed, name in enumerate(("weather", "wind"), 11):
        frame[name] = frame[name].mask(whole(seed, n_rows, 8) == 0)
    return frame


def minutes(X: pd.DataFrame) -> np.ndarray:
    """How long a trip takes: snow and wind slow down those who are no members, a missing wind counts as a calm day."""
    wind = np.nan_to_num(X["wind"].to_numpy(dtype=float), nan=5.0)
    slow = np.isin(X["weather"].astype(object), ["snow", "rain"])
    member = X["member"].to_numpy(dtype=float)
    pace = np.where(slow, 2.0 + 0.1 * wind * (1 - member), 1.5)
    return pace * X["distance"].to_numpy(dtype=float)


@cache
def sensors(n_rows: int = 700) -> pd.DataFrame:
    """Twenty-five columns, of which three count."""
    columns = {f"sensor_{i:02d}": drawn(20 + i, n_rows, -1, 1, 2) for i in range(25)}
    return pd.DataFrame(columns)


def alarm(X: Any) -> np.ndarray:
    """A product whose sign a third column turns round."""
    x = np.asarray(X, dtype=float)
    return 3 * x[:, 3] * np.where(x[:, 7] > 0.1, 1.0, -1.0) + x[:, 11] * x[:, 3]


# -------------------------------------------------------------------------------------------------------------- fits


@dataclass(frozen=True)
class Fit:
    """One fit; where it has flags, it is also shown in every other way, the command line among them."""

    model: Any
    table: Callable[[int], pd.DataFrame]
    question: Any = "ice-pdp"
    n_rows: int = 700
    beside: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] | None = None

    @property
    def name_of_model(self) -> str:
        """As it is called in this module."""
        return "late" if isinstance(self.model, Late) else self.model.__name__

    @property
    def X(self) -> pd.DataFrame:
        return self.table(self.n_rows)

    @property
    def y(self) -> np.ndarray | None:
        """What is measured: the model's answer and some noise, a class that may be another; nothing of two outputs."""
        if isinstance(self.model, Late):
            is_late = self.model.predict_proba(self.X)[:, 0] > drawn(41, self.n_rows, 0, 1, 4)
            return np.where(is_late, "late", "on time")
        answer = self.model(self.X)
        if answer.ndim > 1:
            return None
        return answer + drawn(40, self.n_rows, -20, 20, 1) * np.ptp(answer) / 200

    def fit(self) -> gx.Granite:
        beside = {
            "sample_weight": drawn(42, self.n_rows, 0.5, 2.5, 1),
            "clusters": whole(43, self.n_rows, 40),
        }
        chosen = {name: beside[name] for name in self.beside}
        return gx.Granite(self.model, self.question, **self.options).fit(self.X, self.y, **chosen)


PLACES = {"groups": {"weather": ["temp", "feels", "wind"], "time": ["hour", "workingday"]}}

FITS: dict[str, Fit] = {
    **{name: Fit(bikes, rides, name) for name in gx.questions() if name != "ice-pdp"},
    "ice-pdp": Fit(bikes, rides, flags=()),
    "two-questions": Fit(bikes, rides, ["ice-pdp", "mplot-pdp"]),
    "classifier": Fit(
        late,
        trips,
        flags=("--categories", "weather", "--output", "late"),
        options={"output": "late"},
    ),
    "categories-and-gaps": Fit(
        minutes,
        trips_with_gaps,
        options={"missing": "allow"},
        flags=("--missing", "allow", "--categories", "weather"),
    ),
    "two-outputs": Fit(
        rented_and_returned, rides, options={"output": "all"}, flags=("--output", "all")
    ),
    "groups": Fit(bikes, rides, options={"influence": "joint", **PLACES}),
    "pairs": Fit(bikes, rides, "variance", options={"influence": "interaction"}),
    "clusters": Fit(bikes, rides, beside=("clusters",)),
    "weights": Fit(bikes, rides, "pfi-risk", beside=("sample_weight",)),
    "small": Fit(bikes, rides, n_rows=60, flags=()),
    "nothing-found": Fit(apart, rides, flags=()),
    "wide": Fit(alarm, sensors),
}
SHOWN = [name for name, fit in FITS.items() if fit.flags is not None]
"""The fits that are shown in every way."""

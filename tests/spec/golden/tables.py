"""The tables of the golden fits, drawn from fixed seeds.

All numbers come from `random.Random.random`, the one generator of Python whose stream is guaranteed
to stay the same in every version.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

FIRST_DAY = np.datetime64("2024-01-01", "s")
SIZES = ("small", "medium", "large")
COLORS = ("red", "green", "blue", "grey")
TOWNS = ("Aachen", "Bonn", "Celle", "Dresden", "Emden", "Fulda", "Gotha", "Hagen", "Ulm")
LABELS = ("high", "low", "mid")


@dataclass(frozen=True)
class Rows:
    """Rows of a table with what may belong to them."""

    X: Any  # ndarray, pandas or polars
    y: np.ndarray  # (rows,) float: a target for questions about risk, and for training
    labels: np.ndarray  # (rows,) str: the same target as three classes
    weights: np.ndarray  # (rows,) float: sample weights between 0.5 and 2.5

    def part(self, positions: slice) -> Rows:
        """Some of the rows."""
        return Rows(
            X=self.X[positions],
            y=self.y[positions],
            labels=self.labels[positions],
            weights=self.weights[positions],
        )

    def first(self, count: int) -> Rows:
        """The first rows."""
        return self.part(slice(count))


@dataclass(frozen=True)
class Split:
    """The rows that a fit sees, and the other rows that it is asked about."""

    fitting: Rows
    other: Rows


class Draws:
    """Columns of random cells from one seed."""

    def __init__(self, seed: int, n_rows: int) -> None:
        self.generator = random.Random(seed)
        self.n_rows = n_rows

    def uniform(self, low: float = -1.0, high: float = 1.0, digits: int = 3) -> np.ndarray:
        """Numbers between two bounds, with so many digits after the point."""
        shares = np.array([self.generator.random() for _ in range(self.n_rows)])
        return np.round(low + (high - low) * shares, digits)

    def places(self, count: int) -> np.ndarray:
        """Whole numbers from 0 to count - 1."""
        return np.array([int(count * self.generator.random()) for _ in range(self.n_rows)])

    def levels(self, names: Sequence[str]) -> np.ndarray:
        """One of the names for each row."""
        return np.array(names, dtype=object)[self.places(len(names))]


def split_rows(draws: Draws, X: Any, signal: np.ndarray, n_fitting: int) -> Split:
    """Add a target, labels and weights to a table, and divide it after the fitting rows."""
    y = signal + draws.uniform(-0.5, 0.5)
    # Fixed bounds, not quantiles: both parts of the table are labelled alike.
    places = np.where(y > 0.5, 0, np.where(y < -0.5, 1, 2))
    rows = Rows(
        X=X,
        y=y,
        labels=np.array(LABELS)[places],
        weights=draws.uniform(0.5, 2.5, digits=2),
    )
    return Split(fitting=rows.first(n_fitting), other=rows.part(slice(n_fitting, None)))


def numbers() -> Split:
    """Four independent columns of numbers."""
    draws = Draws(seed=1, n_rows=160)
    X = np.column_stack([draws.uniform() for _ in range(4)])
    return split_rows(draws, X, signal=2 * X[:, 0] * np.sign(X[:, 1]) + X[:, 2], n_fitting=100)


def more_numbers() -> Split:
    """Three independent columns of numbers on the 300 rows of a larger table."""
    draws = Draws(seed=2, n_rows=360)
    X = np.column_stack([draws.uniform() for _ in range(3)])
    return split_rows(draws, X, signal=2 * X[:, 0] * X[:, 1] + X[:, 2], n_fitting=300)


def dependent() -> Split:
    """Four columns of numbers: x1 follows x0 closely, x2 follows x0 where x3 is positive."""
    draws = Draws(seed=3, n_rows=180)
    x0 = draws.uniform()
    x1 = np.round(0.8 * x0 + 0.2 * draws.uniform(), 3)
    x3 = draws.uniform()
    x2 = np.round(np.where(x3 > 0, x0, -0.5 * x0) + 0.3 * draws.uniform(), 3)
    X = np.column_stack([x0, x1, x2, x3])
    return split_rows(draws, X, signal=2 * x0 * np.sign(x3) + x1, n_fitting=120)


def few_values() -> Split:
    """Four columns of whole numbers between -2 and 2."""
    draws = Draws(seed=4, n_rows=200)
    X = np.column_stack([draws.places(5) - 2.0 for _ in range(4)])
    return split_rows(draws, X, signal=X[:, 0] * np.sign(X[:, 1]) + X[:, 2], n_fitting=140)


def many_columns() -> Split:
    """Thirteen columns of few values: more players than partial effects are computed exactly for."""
    draws = Draws(seed=5, n_rows=90)
    X = np.column_stack([draws.places(4) / 2.0 - 0.75 for _ in range(13)])
    return split_rows(draws, X, signal=X[:, 0] * X[:, 1] + X[:, 2], n_fitting=60)


def mixed() -> Split:
    """A pandas frame with numbers, whole numbers, levels, ordered levels, truth values and dates."""
    draws = Draws(seed=6, n_rows=180)
    frame = _mixed_frame(draws)
    signal = frame["heat"].to_numpy() * np.where(frame["color"] == "red", 2.0, -1.0)
    return split_rows(draws, frame, signal, n_fitting=120)


def mixed_with_gaps() -> Split:
    """The same kinds of columns with missing values in four of them."""
    draws = Draws(seed=7, n_rows=180)
    frame = _mixed_frame(draws)
    signal = frame["heat"].to_numpy() * np.where(frame["color"] == "red", 2.0, -1.0)
    for name in ("heat", "color", "size", "day"):
        frame[name] = frame[name].mask(draws.places(6) == 0)
    return split_rows(draws, frame, signal, n_fitting=120)


def mixed_in_polars() -> Split:
    """The table of all kinds of columns as a polars frame."""
    return _in_polars(mixed())


def gaps_in_polars() -> Split:
    """The table with missing values as a polars frame."""
    return _in_polars(mixed_with_gaps())


def many_levels() -> Split:
    """A pandas frame with a column of nine levels, more than all divisions of which are tried (C13)."""
    draws = Draws(seed=8, n_rows=200)
    frame = pd.DataFrame(
        {
            "town": pd.Categorical(draws.levels(TOWNS), categories=TOWNS),
            "heat": draws.uniform(),
            "wind": draws.uniform(),
        }
    )
    return split_rows(draws, frame, signal=frame["heat"].to_numpy(), n_fitting=140)


def _mixed_frame(draws: Draws) -> pd.DataFrame:
    heat = draws.uniform()
    hour = (draws.places(5) + 2 * (heat + 1)).astype(int)  # later when it is warm
    days = draws.places(60).astype("timedelta64[D]").astype("timedelta64[s]")
    return pd.DataFrame(
        {
            "heat": heat,
            "hour": hour,
            "color": pd.Categorical(draws.levels(COLORS), categories=COLORS),
            "size": pd.Categorical(draws.levels(SIZES), categories=SIZES, ordered=True),
            "open": draws.places(2) == 1,
            "day": FIRST_DAY + days,
        }
    )


def _in_polars(split: Split) -> Split:
    parts = []
    for rows in (split.fitting, split.other):
        frame = pl.from_pandas(rows.X.assign(size=rows.X["size"].astype(object)))
        # An Enum is how polars says that levels are ordered.
        frame = frame.with_columns(pl.col("size").cast(pl.Enum(list(SIZES))))
        parts.append(replace(rows, X=frame))
    return Split(fitting=parts[0], other=parts[1])


TABLES: dict[str, Callable[[], Split]] = {
    "numbers": numbers,
    "more numbers": more_numbers,
    "dependent": dependent,
    "few values": few_values,
    "many columns": many_columns,
    "mixed": mixed,
    "mixed with gaps": mixed_with_gaps,
    "mixed in polars": mixed_in_polars,
    "gaps in polars": gaps_in_polars,
    "many levels": many_levels,
}


@cache
def table(name: str) -> Split:
    """A table by its name, drawn once."""
    return TABLES[name]()
